"""What is wrong with a configuration, all at once, each with its place."""

from __future__ import annotations

from forewarn.agent.compat import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, or that looks like a mistake."""

    place: str  # FILE, or the name of a variable or a flag
    line: int  # 0: the whole of it
    message: str  # a sentence
    advice: str = ""  # what to do, a sentence too

    def __str__(self) -> str:
        where = f"{self.place}:{self.line}" if self.line else self.place
        return f"{where}: {self.message}" + (f" {self.advice}" if self.advice else "")


class ConfigProblems(Exception):
    """The configuration cannot be used; everything that is wrong with it."""

    def __init__(self, problems: tuple[Problem, ...], warnings: tuple[Problem, ...] = ()) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
        self.warnings = warnings
