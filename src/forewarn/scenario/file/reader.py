"""Read a scenario file from TOML, collecting every problem on the way.

A problem reads `FILE:LINE: sentence. What to do.`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import PurePath
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from forewarn.config import SETTINGS
from forewarn.core.fleet_check import Place, Problem
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.notice import in_words
from forewarn.errors import ForewarnError
from forewarn.scenario.file.keys import NO_SETTINGS, SERVICE_SETTINGS
from forewarn.scenario.file.model import (
    END,
    Expectation,
    FileLine,
    GuestScript,
    Head,
    PartialEntry,
    Scenario,
    TimedAction,
)
from forewarn.wire.choices import suggest
from forewarn.wire.entries import no_list, read_entry, read_values, told, unknown_keys, unknown_section
from forewarn.wire.fleet_file import FLEET_SECTIONS, BadFleet, read_tables
from forewarn.wire.times import parse_duration, parse_instant
from forewarn.wire.toml_lines import TomlLines, find_lines
from forewarn.wire.toml_text import BadToml, read_toml_text

T = TypeVar("T")

_LISTS: Mapping[str, type[Any]] = {"guests": GuestScript, "at": TimedAction, "expect": Expectation}
_TABLES = ("scenario", "settings")
LONGEST_TIME = timedelta(days=3650)  # longer ones would overflow
_CLOCK = re.compile(r"(\d+):([0-5]\d):([0-5]\d)")
_SETTINGS = {setting.name: setting for setting in SETTINGS if setting.name in SERVICE_SETTINGS}


class BadScenario(ForewarnError):
    """forewarn refuses the file; each line names a place, a problem and a remedy."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True, slots=True)
class ScenarioText:
    """A scenario and the lines of its file.

    An entry with problems is not part of `scenario`: `unread` has its problems, `partial` its readable rest.
    """

    scenario: Scenario
    name: str
    lines: TomlLines
    unread: list[Problem] = field(default_factory=list)
    partial: list[PartialEntry] = field(default_factory=list)
    indexes: Mapping[str, list[int]] = field(default_factory=dict)  # of the entries in `scenario`, by section

    def locate(self, place: Place) -> str:
        """`FILE:LINE`."""
        line = self.lines.line(place.section, place.index, place.key)
        return f"{self.name}:{line}" if line else self.name

    def line_of(self, place: Place) -> int:
        """The number of the line."""
        return self.lines.line(place.section, place.index, place.key)

    def numbered(self, section: str, entries: Sequence[T]) -> list[tuple[int, T]]:
        """The entries of `scenario`, each with its index in the file."""
        return list(zip(self.indexes.get(section, []), entries, strict=True))

    def is_right(self, *sections: str) -> bool:
        """Whether these sections have no problems."""
        return not any(each.where.section in sections for each in self.unread)


def read_scenario(text: str, name: str) -> ScenarioText:
    """Read a TOML text; raise `BadScenario` if it is not TOML. `checks.py` decides whether it can be played."""
    try:
        raw = read_toml_text(text)
    except BadToml as problem:
        raise BadScenario((f"{name}:{problem.line}: {problem}",)) from None
    reader = _Reader(raw, ScenarioText(_NOTHING, name, find_lines(text)))
    found = reader.read()
    named = replace(found.head, name=found.head.name or PurePath(name).stem)
    return replace(
        reader.text,
        scenario=replace(found, head=named),
        unread=reader.problems,
        partial=reader.partial,
        indexes=reader.indexes,
    )


class _Reader:
    """Reads one file, and goes on after a problem."""

    def __init__(self, raw: dict[str, Any], text: ScenarioText) -> None:
        self._raw = raw
        self.text = text
        self.problems: list[Problem] = []
        self.partial: list[PartialEntry] = []
        self.indexes: dict[str, list[int]] = {}

    def read(self) -> Scenario:
        known = [*_TABLES, *FLEET_SECTIONS, *_LISTS]
        self.problems += [unknown_section(each, known) for each in self._raw if each not in known]
        scenario = Scenario(
            head=self._entry(self._table("scenario"), Head, Place("scenario", 0), "[scenario] has") or Head(),
            fleet=FleetSpec(),
            settings=self._settings(),
            guests=self._list("guests", GuestScript),
            actions=self._list("at", TimedAction),
            expectations=self._list("expect", Expectation),
            action_lines=self._lines("at"),
            expectation_lines=self._lines("expect"),
        )
        return replace(scenario, fleet=self._fleet())

    def _fleet(self) -> FleetSpec:
        tables = {section: entries for section, entries in self._raw.items() if section in FLEET_SECTIONS}
        try:
            return read_tables(tables, self.text.locate).spec
        except BadFleet as problem:
            self.problems += problem.problems
            return FleetSpec()

    def _table(self, section: str) -> dict[str, Any]:
        table = self._raw.get(section, {})
        if isinstance(table, dict):
            return table
        remedy = f"Write [{section}] once, with its keys below it."
        self.problems.append(Problem(Place(section, 0), f"{section} is not a table.", remedy))
        return {}

    def _list(self, section: str, kind: type[T]) -> list[T]:
        entries = self._raw.get(section, [])
        if not isinstance(entries, list):
            self.problems.append(no_list(section))
            return []
        found = {
            n: self._entry(each, kind, Place(section, n), f"[[{section}]] has") for n, each in enumerate(entries)
        }
        self.indexes[section] = [n for n, entry in found.items() if entry is not None]
        return [entry for entry in found.values() if entry is not None]

    def _lines(self, section: str) -> list[FileLine]:
        entries = self._raw.get(section, [])
        count = len(entries) if isinstance(entries, list) else 0
        return [FileLine(self.text.name, self.text.line_of(Place(section, index))) for index in range(count)]

    def _entry(self, entry: Any, kind: type[T], where: Place, who: str) -> T | None:  # noqa: ANN401 - TOML
        """An entry in its own type; None if it has problems."""
        problems = unknown_keys(entry, kind, where, who)
        if isinstance(entry, dict):
            entry, unfit = _with_times(entry, kind, where)
            problems += unfit
        value = read_entry(entry, kind, where)
        if isinstance(value, list):
            told_already = {each.where for each in problems}
            problems += [each for each in value if each.where not in told_already]
        elif not problems:
            return value
        self.problems += problems
        if isinstance(entry, dict):
            wrong = {each.where.key for each in problems}
            values = read_values(entry, kind, where)[0]
            fitting = {key: each for key, each in values.items() if key not in wrong}
            self.partial.append(PartialEntry(where.section, where.index, fitting))
        return None

    def _settings(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, value in self._table("settings").items():
            where = Place("settings", 0, name)
            if name in NO_SETTINGS:
                why, remedy = NO_SETTINGS[name]
                self.problems.append(Problem(where, f"A scenario cannot set {name}: {why}.", remedy))
                continue
            if name not in _SETTINGS:
                remedy = suggest(name, list(_SETTINGS))
                self.problems.append(Problem(where, f"[settings] has no key {name}.", remedy))
                continue
            try:
                values[name] = _SETTINGS[name].parse(value)
            except ValueError as problem:
                what = f"{name} is invalid: {problem}."
                self.problems.append(Problem(where, what, f"{_SETTINGS[name].help}"))
        return values


class _Unfit(Exception):
    """A value is not a time."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def _with_times(entry: Mapping[str, Any], kind: type[Any], where: Place) -> tuple[dict[str, Any], list[Problem]]:
    """The entry with its times parsed, and problems with those that cannot be."""
    read, problems = dict(entry), []
    for key, hint in get_type_hints(kind).items():
        if key not in entry:
            continue
        try:
            if _holds(hint, timedelta):
                read[key] = _time(entry[key], is_expectation=kind is Expectation and key == "time")
            elif _holds(hint, datetime):
                read[key] = _instant(entry[key])
        except _Unfit as problem:
            what = f"{key} is invalid: {problem.what}."
            problems.append(Problem(Place(where.section, where.index, key), what, problem.remedy))
    return read, problems


def _holds(hint: Any, kind: type) -> bool:  # noqa: ANN401 - a type
    return hint is kind or (kind in get_args(hint) and set(get_args(hint)) <= {kind, NoneType})


def _time(value: object, *, is_expectation: bool) -> timedelta:
    """A length of time, or the end of the scenario."""
    if is_expectation and value == "end":
        return END
    time = _length(value)
    if time > LONGEST_TIME:
        raise _Unfit(f"{value!r} is too long", f"Use at most {in_words(LONGEST_TIME)}.")
    return time


def _length(value: object) -> timedelta:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not 0 <= value <= timedelta.max.total_seconds() / 2:
            raise _Unfit(f"{value} is not a time", "Use 0 or more seconds.")
        return timedelta(seconds=value)
    text = str(value).strip()
    if clock := _CLOCK.fullmatch(text):
        text = "{}h{}m{}s".format(*clock.groups())
    try:
        return parse_duration(text)
    except ValueError:
        raise _Unfit(f"{value!r} is not a time", 'Write it like "15m", "1h30m" or "0:15:00".') from None


def _instant(value: object) -> datetime:
    try:
        return parse_instant(value.isoformat() if isinstance(value, date) else str(value))
    except OverflowError:
        raise _Unfit(f"{value} does not exist in UTC", "Write it like 2026-01-05T09:00:00Z.") from None
    except ValueError:
        raise _Unfit(f"{value!r} is not a date and time", "Write it like 2026-01-05T09:00:00Z.") from None


_NOTHING = Scenario(Head(), FleetSpec(), {}, [], [], [], [], [])


def problem_lines(text: ScenarioText, problems: Iterable[Problem]) -> tuple[str, ...]:
    """The problems as text, in the order of the file."""
    found = sorted(problems, key=lambda each: text.line_of(each.where))
    return tuple(dict.fromkeys(told(each, text.locate) for each in found))
