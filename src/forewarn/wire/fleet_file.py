"""Fleet files: TOML, or the same keys as JSON.

A refusal reads `FILE:LINE: sentence. What to do.`, and for JSON `PATH: sentence. What to do.`
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, get_args, get_type_hints

import msgspec

from forewarn.core.fleet_check import Place, Problem, check
from forewarn.core.fleet_conflicts import conflicts_in_empty_store
from forewarn.core.fleet_spec import FleetSpec
from forewarn.wire.entries import Locate, read_sections, told
from forewarn.wire.imds import compute
from forewarn.wire.times import iso_duration, parse_duration
from forewarn.wire.toml_lines import find_lines
from forewarn.wire.toml_text import BadToml, read_toml_text

Order = Callable[[Place], Any]  # a key to sort places by

FLEET_SECTIONS = {each.name: get_args(get_type_hints(FleetSpec)[each.name])[0] for each in fields(FleetSpec)}


class BadFleet(Exception):
    """A description that cannot be used; each line names a place, a problem and a remedy."""

    def __init__(self, lines: tuple[str, ...], problems: Sequence[Problem] = ()) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.problems = list(problems)  # what the lines tell; empty, where the text is no description at all


@dataclass(frozen=True, slots=True)
class FleetText:
    """A description that was read, and the way to say where in it something stands."""

    spec: FleetSpec
    locate: Locate
    order: Order

    def refusal(self, problems: list[Problem]) -> BadFleet:
        """The problems, each with its place, in the order of the text."""
        found = sorted(problems, key=lambda each: self.order(each.where))
        return BadFleet(tuple(told(each, self.locate) for each in found), found)


def read_toml(text: str, name: str) -> FleetText:
    """The fleet that a TOML text describes, or `BadFleet`."""
    try:
        raw = read_toml_text(text)
    except BadToml as problem:
        raise BadFleet((f"{name}:{problem.line}: {problem}",)) from None
    lines = find_lines(text)

    def line_of(place: Place) -> int:
        return lines.line(place.section, place.index, place.key)

    def locate(place: Place) -> str:
        line = line_of(place)
        return f"{name}:{line}" if line else name

    return read_tables(raw, locate, line_of)


def read_json(raw: Any) -> FleetText:  # noqa: ANN401 - whatever JSON holds
    """The fleet that a JSON object describes, or `BadFleet`."""

    def locate(place: Place) -> str:
        where = f"{place.section}[{place.index}]" if place.section else "fleet"
        return f"{where}.{place.key}" if place.key else where

    if not isinstance(raw, dict):
        raise BadFleet(("fleet: a fleet is a JSON object. Send one with hosts, vms and sets.",))
    return read_tables(raw, locate)


# A fleet may be large. What is done to it in one call of a library keeps every other thread waiting; so it is
# decoded, converted and encoded entry by entry.


def read_json_sections(sections: Mapping[str, msgspec.Raw]) -> FleetText:
    """The fleet that a JSON object describes, whose members are still text; or `BadFleet`."""
    try:
        return read_json({name: _entries(text) for name, text in sections.items()})
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise BadFleet((f"fleet: it is not valid JSON: {problem}. Mend the JSON.",)) from None


def _entries(text: msgspec.Raw) -> Any:  # noqa: ANN401 - whatever JSON holds
    try:
        entries = msgspec.json.decode(text, type=list[msgspec.Raw])
    except msgspec.ValidationError:  # no list: what to say of that is known further on
        return msgspec.json.decode(text)
    return [msgspec.json.decode(entry) for entry in entries]


def write_json(spec: FleetSpec) -> bytes:
    """The fleet as JSON."""
    sections = [
        b'"%s":[%s]' % (section.encode(), b",".join(map(msgspec.json.encode, getattr(spec, section))))
        for section in FLEET_SECTIONS
    ]
    return b"{%s}" % b",".join(sections)


def _section_first(place: Place) -> tuple[int, int]:
    """Sort by section in the order of a fleet file, then by entry; unknown sections come last."""
    known = list(FLEET_SECTIONS)
    return known.index(place.section) if place.section in known else len(known), place.index


def read_tables(raw: Mapping[str, Any], locate: Locate, order: Order = _section_first) -> FleetText:
    """The fleet that tables describe, wherever they were written down; or `BadFleet` with every problem."""
    sections = read_sections(raw, FLEET_SECTIONS)
    text = FleetText(FleetSpec(**sections.entries), locate, order)
    if problems := [*sections.problems, *check(text.spec, sections.unsure), *compute.check(text.spec)]:
        raise text.refusal([*problems, *conflicts_in_empty_store(text.spec, sections.unsure)])
    return text


def write_toml(fleet: Mapping[str, Any]) -> str:
    """A fleet as a fleet file; what is as it would be anyway is left out."""
    blocks = []
    for section, kind in FLEET_SECTIONS.items():
        for entry in fleet[section]:
            lines = [
                f"{each.name} = {_toml(_as_written(each.name, entry[each.name]))}"
                for each in fields(kind)
                if entry[each.name] is not None and entry[each.name] != _usual(each)
            ]
            blocks.append("\n".join([f"[[{section}]]", *lines]) + "\n")
    return "\n".join(blocks)


def _usual(each: Field[Any]) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What a key is when it is left out."""
    return each.default if each.default_factory is MISSING else msgspec.to_builtins(each.default_factory())


def _as_written(key: str, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """`PT5M`, where JSON has `PT300S`."""
    is_duration = key == "terminate_notification" and isinstance(value, str)
    return iso_duration(parse_duration(value)) if is_duration else value


def _toml(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """A value in TOML; its strings and numbers are written as in JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML does not take it as it is
