"""Tables of a file, read into their own types: unknown keys and values that do not fit are told with a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from forewarn.core.fleet_check import Place, Problem
from forewarn.wire.bad_body import choices_of
from forewarn.wire.choices import either, suggest

T = TypeVar("T")
Locate = Callable[[Place], str]
Kinds = Mapping[str, type[Any]]  # by section, the dataclass of its entries

_PATH = re.compile(r"\$\.(\w+)")
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
_MISSING = re.compile(r"Object missing required field `(\w+)`")


def told(problem: Problem, locate: Locate) -> str:
    """The problem on a line of its own, behind its place."""
    return f"{locate(problem.where)}: {problem.what} {problem.remedy}"


def read_sections(raw: Mapping[str, Any], kinds: Kinds) -> dict[str, list[Any]] | list[Problem]:
    """The entries of every section in their own types; or what is unknown, else the first that does not fit."""
    if unknown := list(_unknown(raw, kinds)):
        return unknown
    sections: dict[str, list[Any]] = {}
    for section, entries in raw.items():
        if not isinstance(entries, list):
            remedy = f"Write [[{section}]] above every entry."
            return [Problem(Place(section, 0), f"{section} is not a list.", remedy)]
        found = sections[section] = []
        for index, entry in enumerate(entries):
            value = read_entry(entry, kinds[section], Place(section, index))
            if isinstance(value, Problem):
                return [value]
            found.append(value)
    return sections


def _unknown(raw: Mapping[str, Any], kinds: Kinds) -> Iterator[Problem]:
    """Sections and keys that nobody knows."""
    for section, entries in raw.items():
        if section not in kinds:
            yield unknown_section(section, list(kinds))
            continue
        for index, entry in enumerate(entries if isinstance(entries, list) else []):
            yield from unknown_keys(entry, kinds[section], Place(section, index), f"{section} have")


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


def read_entry(entry: object, kind: type[T], where: Place) -> T | Problem:
    """An entry in its own type, or what is wrong with the first value that does not fit."""
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError as problem:
        return _wrong_value(kind, where, str(problem))


def _wrong_value(kind: type[Any], where: Place, message: str) -> Problem:
    """What msgspec says of a value that it cannot use, with a remedy."""
    what, _, path = message.partition(" - at `")
    match = _PATH.match(path)
    key = match[1] if match else ""
    where = Place(where.section, where.index, key)
    if missing := _MISSING.match(what):
        return Problem(where, f"This entry has no {missing[1]}.", f"Give it a {missing[1]}.")
    said = f"{key or 'This entry'} cannot be used: {what[:1].lower()}{what[1:]}."
    hint = get_type_hints(kind).get(key)
    if known := choices_of(hint) or [word for each in get_args(hint) for word in choices_of(each)]:
        return Problem(where, said, f"It can be {either(known)}.")
    return Problem(where, said, _remedy(what))


def _remedy(what: str) -> str:
    """What to write instead."""
    expected = _EXPECTED.match(what)
    return f"Write {_WRITTEN.get(expected[1] if expected else '', 'what the reference page says of it')}."
