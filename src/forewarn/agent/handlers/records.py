"""What an attempt leaves on disk, so that the next agent can tell what came of it. Written before it counts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from forewarn.agent.handlers.base import Result, Task

_BEGUN = "begun.json"
_RESULT = "result.json"


def keep(path: Path, said: Mapping[str, Any], *, is_lasting: bool = True) -> None:
    """Write it whole or not at all. What is to last is there also when the machine goes down now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    _write(part, said, is_lasting=is_lasting)
    part.replace(path)
    if is_lasting:
        _sync(path.parent)


def mark(path: Path, said: Mapping[str, Any]) -> None:
    """Write that something is about to begin, at the price of one flush, as it waits for this.

    The file systems of Linux write the name of a new file together with it; the later name may get lost when the
    machine goes down, so `marked` looks under both.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    _write(part, said, is_lasting=True)
    part.replace(path)


def marked(path: Path) -> dict[str, Any] | None:
    """What was marked; None: nothing was, so nothing has begun. What cannot be read is empty."""
    if path.exists():
        return recall(path) or {}
    return recall(path.with_name(f"{path.name}.part"))


def recall(path: Path) -> dict[str, Any] | None:
    """What was kept; None where there is nothing, or nothing that can be read."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None


def settled(task: Task, act: Callable[[], Result], *, marks_begin: bool = True) -> Result:
    """Do it between two records: that it was begun, and what came of it. What goes wrong outside is a failure.

    What came of it need not last: if the machine goes down, it is as if the agent had died before the end. So it
    counts though the disk does not take it. What was told to stop is not over: where an agent ended, the next one
    goes on.
    """
    try:
        (task.scratch / _RESULT).unlink(missing_ok=True)
        if marks_begin:
            mark(task.scratch / _BEGUN, {"step": task.step, "try": task.try_number})
        result = act()
    except (OSError, ValueError) as problem:
        return Result(is_done=False, note=f"{type(problem).__name__}: {problem}")
    if result.is_done or not task.stop.is_set():
        with suppress(OSError):
            keep(task.scratch / _RESULT, asdict(result), is_lasting=False)
    return result


def was_begun(task: Task) -> bool:
    """Whether the attempt was begun: without a record of that, it was not."""
    return marked(task.scratch / _BEGUN) is not None


def settled_result(task: Task) -> Result | None:
    """What came of the attempt, if it got that far."""
    said = recall(task.scratch / _RESULT)
    if said is None:
        return None
    return Result(bool(said.get("is_done")), str(said.get("note", "")), bool(said.get("is_uncertain")))


_BEFORE = "before.json"


def is_still_needed(memory: Path, since: float) -> bool:
    """Whether an effect's directory says how something was that nobody has undone. What is older is given up."""
    path = memory / _BEFORE
    try:
        return "was" in (recall(path) or {}) and path.stat().st_mtime >= since
    except OSError:
        return False


class Before:
    """How something was before a step changed it: kept by the first try, for the undo.

    What is kept stays until it is undone, whatever the try and the event: a later one would only see what the
    first one did. That it was undone is kept too: a record that is lost is not taken for one that nobody needs.
    """

    def __init__(self, task: Task) -> None:
        name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in task.step)
        beside = task.scratch.parent / f"{name}.before.json"
        self._path = beside if task.memory is None else task.memory / _BEFORE
        self._was_done = task.was_done

    def keep(self, said: Mapping[str, Any]) -> None:
        """Note how it is, as far as that was not done; also that there is nothing to note."""
        was = self.recall()
        if was is None or not set(said) <= set(was):
            keep(self._path, {"was": {**said, **(was or {})}})

    def recall(self) -> dict[str, Any] | None:
        """How it was; None where nobody noted it, or it has been undone."""
        kept = recall(self._path)
        was = kept.get("was") if kept else None
        return was if isinstance(was, dict) else None

    def forget(self) -> None:
        """It has been undone."""
        keep(self._path, {"is_undone": True})

    def nothing_to_undo(self, words: str) -> Result:
        """What an undo says that finds no record. After a step that was done there has to be one."""
        if self._was_done and not (recall(self._path) or {}).get("is_undone"):
            note = "how it was before the event is not known any more, so nothing was undone: see to it by hand"
            return Result(is_done=False, note=note)
        return Result(is_done=True, note=words)


def _write(path: Path, said: Mapping[str, Any], *, is_lasting: bool) -> None:
    """Into a new file, always: what lies there under that name may lead elsewhere, and is taken away."""
    path.unlink(missing_ok=True)
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(number, "w", encoding="utf-8") as file:
        json.dump(said, file)
        if is_lasting:
            file.flush()
            os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    if os.name != "posix":  # elsewhere directories cannot be opened
        return
    number = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
