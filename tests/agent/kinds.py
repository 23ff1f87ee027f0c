"""Kinds of handlers for tests of what surrounds handlers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forewarn.agent.case import Direction
from forewarn.agent.handlers.base import Option, Result, Task


class Note:
    """Writes down what it is told, and takes it back; or fails as often as it is told to."""

    help = "Writes a line into a file; its undo writes another."
    is_for_all_events = False
    options = (
        Option("file", "path", "The file.", is_required=True),
        Option("fails", "number", "How many tries fail.", default=0),
        Option("undo", "flag", "Whether there is an undo.", default=True),
        Option("pause_seconds", "seconds", "A length of time."),
        Option("password", "secret", "A secret."),
        Option("headers", "table", "Texts."),
        Option("ports", "numbers", "Numbers."),
        Option("words", "texts", "Texts."),
        Option("otherwise", "options", "Other options."),
    )

    def check(self, options: Mapping[str, Any]) -> list[str]:
        return ["file has to be absolute"] if not options["file"].startswith("/") else []

    def undoes(self, options: Mapping[str, Any]) -> bool:
        return bool(options.get("undo", True))

    def run(self, task: Task) -> Result:
        if task.direction is Direction.DO and task.try_number <= task.options.get("fails", 0):
            return Result(is_done=False, note="as it was told to")
        with Path(task.options["file"]).open("a", encoding="utf-8") as file:
            file.write(f"{task.direction} {task.step} {task.event.status}\n")
        return Result(is_done=True)

    def take_over(self, task: Task) -> Result | None:
        return None


class Broken(Note):
    """Has a bug."""

    options = ()

    def check(self, options: Mapping[str, Any]) -> list[str]:
        return []

    def run(self, task: Task) -> Result:
        raise ZeroDivisionError("a bug")


class Registry:
    """The kinds there are."""

    KINDS = ("note", "broken")

    def find(self, kind: str) -> Note:
        return {"note": Note, "broken": Broken}[kind]()


KINDS = Registry()
