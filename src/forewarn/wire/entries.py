"""Tables of a file, read into their own types: unknown keys and values that do not fit are told with a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, TypeVar, cast, get_args, get_type_hints

import msgspec

from forewarn.core.fleet_check import ANY_ENTRY, Place, Problem
from forewarn.wire.bad_body import choices_of
from forewarn.wire.choices import either, nearest, suggest

T = TypeVar("T")
Locate = Callable[[Place], str]
Kinds = Mapping[str, type[Any]]  # by section, the dataclass of its entries

_EXPECTED = re.compile(r"Expected `(\w+)")
_WRITTEN = {  # by what msgspec calls it
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a text in quotes",
    "duration": 'a length of time like "15m", "1h30m" or "PT5M"',
    "array": "a list in brackets",
    "object": "a table of keys and values",
}


def told(problem: Problem, locate: Locate) -> str:
    """The problem on a line of its own, behind its place."""
    return f"{locate(problem.where)}: {problem.what} {problem.remedy}"


@dataclass(frozen=True, slots=True)
class Sections:
    """What could be read of a file: every entry, with defaults and stand-in names for what could not."""

    entries: dict[str, list[Any]]
    problems: list[Problem]
    unsure: frozenset[Place]  # keys without a usable value; without index and key: a whole section


def read_sections(raw: Mapping[str, Any], kinds: Kinds) -> Sections:
    """Read the entries of every section, and report everything that is unknown or does not fit."""
    sections: dict[str, list[Any]] = {}
    problems: list[Problem] = []
    unsure: set[Place] = set()
    for section, entries in raw.items():
        if section not in kinds:
            problems.append(unknown_section(section, list(kinds)))
            unsure |= {Place(each, ANY_ENTRY) for each in nearest(section, list(kinds))}
        elif not isinstance(entries, list):
            problems.append(no_list(section))
            unsure.add(Place(section, ANY_ENTRY))
        else:
            found = sections[section] = []
            for index, entry in enumerate(entries):
                where = Place(section, index)
                wrong = unknown_keys(entry, kinds[section], where, f"{section} have")
                value = read_entry(entry, kinds[section], where)
                if isinstance(value, list):
                    wrong += value
                    value, missing = _rest_of(entry, kinds[section], where)
                    unsure |= missing
                if wrong:
                    problems += wrong
                    unsure |= {replace(where, key=key) for key in _meant(wrong, kinds[section])}
                found.append(value)
    return Sections(sections, problems, frozenset(unsure))


def _rest_of(entry: object, kind: type[Any], where: Place) -> tuple[Any, set[Place]]:
    """The entry without its unusable values, and where something that it needs is missing."""
    values = read_values(entry, kind, where)[0] if isinstance(entry, dict) else {}
    missing = set()
    if "name" not in values:
        values["name"] = f"{where.section}[{where.index}]"
        missing.add(replace(where, key="name"))
    return kind(**values), missing


def _meant(problems: Iterable[Problem], kind: type[Any]) -> Iterator[str]:
    """The keys that the problems are about: a misspelt key is about the key that it resembles."""
    known = [each.name for each in fields(kind)]
    for each in problems:
        yield from [each.where.key] if each.where.key in known else nearest(each.where.key, known)


def no_list(section: str) -> Problem:
    """A section that has its entries in one table, or none at all."""
    return Problem(Place(section, 0), f"{section} is not a list.", f"Write [[{section}]] above every entry.")


def unknown_section(section: str, known: Sequence[str]) -> Problem:
    """A section that nobody knows."""
    return Problem(Place(section, 0), f"There is no section {section}.", suggest(section, known))


def unknown_keys(entry: object, kind: type[Any], where: Place, who: str) -> list[Problem]:
    """The keys of an entry that nobody knows; `who` begins the sentence: `hosts have`."""
    known = [each.name for each in fields(kind)]
    return [
        Problem(Place(where.section, where.index, key), f"{who} no key {key}.", suggest(key, known))
        for key in (entry if isinstance(entry, dict) else ())
        if key not in known
    ]


def read_entry(entry: object, kind: type[T], where: Place) -> T | list[Problem]:
    """An entry in its own type, or what is wrong with each value that does not fit.

    Keys that nobody knows are not told here. The list is empty where they are all that is wrong.
    """
    value = _converted(entry, kind, where)
    if not isinstance(value, Problem):
        return cast("T", value)
    return read_values(entry, kind, where)[1] if isinstance(entry, dict) else [value]


def read_values(
    entry: Mapping[str, object], kind: type[Any], where: Place
) -> tuple[dict[str, Any], list[Problem]]:
    """The values of an entry that fit, by key, and what is wrong with the others, or missing.

    Of an entry with a key that nobody knows nothing is called missing: that key may be meant to be it.
    """
    values: dict[str, Any] = {}
    problems = []
    hints = get_type_hints(kind)
    may_miss = set(entry) <= set(hints)
    for each in fields(kind):
        if each.name in entry:
            place = Place(where.section, where.index, each.name)
            value = values[each.name] = _converted(entry[each.name], hints[each.name], place)
            if isinstance(value, Problem):
                problems.append(values.pop(each.name))
        elif may_miss and each.default is MISSING and each.default_factory is MISSING:
            problems.append(Problem(where, f"This entry has no {each.name}.", f"Give it a {each.name}."))
    return values, problems


def _converted(value: object, kind: Any, where: Place) -> Any:  # noqa: ANN401 - a type, and a value of it
    """The value as that type, or the problem that it cannot be."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as problem:
        return _wrong_value(kind if where.key else None, where, str(problem))


def _wrong_value(hint: Any, where: Place, message: str) -> Problem:  # noqa: ANN401 - a type
    """What msgspec says of a value that it cannot use, with a remedy."""
    what = message.partition(" - at `")[0]
    said = f"{where.key or 'This entry'} cannot be used: {what[:1].lower()}{what[1:]}."
    if known := choices_of(hint) or [word for each in get_args(hint) for word in choices_of(each)]:
        return Problem(where, said, f"It can be {either(known)}.")
    return Problem(where, said, _remedy(what))


def _remedy(what: str) -> str:
    """What to write instead."""
    expected = _EXPECTED.match(what)
    return f"Write {_WRITTEN.get(expected[1] if expected else '', 'what the reference page says of it')}."
