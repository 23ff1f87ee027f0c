"""What to say of a JSON body that does not fit: which member, what is wrong with it, and what it can be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from forewarn.wire.choices import did_you_mean, either
from forewarn.wire.rest import ONE_LINE

_WHERE = re.compile(r"(?P<what>.*) - at `\$(?P<path>[^`]*)`", re.DOTALL)
_STEP = re.compile(r"\.(?P<member>[^.\[]+)|\[[^\]]*\]")
_CHOICE = re.compile(r"Invalid enum value (?P<value>.*)", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)

_BOUND = re.compile(r"Expected `(?:int|float)` (?P<sign>[<>]=?) (?P<limit>\S+)")
_MISSES = {">=": "less than", ">": "not more than", "<=": "more than", "<": "not less than"}
_REMEDIES = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}


class BodyFault(NamedTuple):
    """What is wrong, and what to do; as the end of a sentence, and as a sentence."""

    what: str
    remedy: str


def explain(problem: msgspec.ValidationError, expected: Any) -> BodyFault:  # noqa: ANN401 - a type
    """What msgspec found, in words for whoever wrote the body."""
    text = str(problem)
    placed = _WHERE.fullmatch(text)
    what, path = (placed["what"], placed["path"]) if placed else (text, "")
    kind, name = _at(expected, path), path.lstrip(".")
    if choice := _CHOICE.fullmatch(what):
        if known := choices_of(kind):
            return BodyFault(f"{name} is {choice['value']}", f"It can be {either(known)}.")
    elif unknown := _UNKNOWN.fullmatch(what):
        if known := _members(kind):
            question = did_you_mean(unknown["name"], known)
            remedy = f"{question} It can have {either(known)}.".lstrip()
            return BodyFault(f"{name or 'it'} has no member {unknown['name']!r}", remedy)
    elif bound := _BOUND.fullmatch(what):
        sign, limit = bound["sign"], bound["limit"]
        return BodyFault(f"{name} is {_MISSES[sign]} {limit}", f"Ask for {_REMEDIES[sign]} {limit}.")
    elif what == "Invalid RFC3339 encoded datetime":
        return BodyFault(f"{name} is no instant", "Write it like 2026-03-02T22:00:00Z.")
    elif " matching regex " in what and _is_one_line(kind):
        return BodyFault(f"{name} has a line break or another control character", "Write it in one line.")
    return BodyFault(text, "See /openapi.json for what it may hold.")


def _variants(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - a type
    """What a value may be: a type, and before it what is said about it; each of a union by itself."""
    if get_origin(kind) is Annotated:
        inner, *said = get_args(kind)
        yield from said
        yield from _variants(inner)
    elif get_origin(kind) in {Union, UnionType}:
        for each in get_args(kind):
            yield from _variants(each)
    else:
        yield kind


def _at(kind: Any, path: str) -> Any:  # noqa: ANN401 - a type
    """The type of what stands at that path; None where it is not known."""
    for step in _STEP.finditer(path):
        below = (_below(each, step["member"]) for each in _variants(kind))
        kind = next((each for each in below if each is not None), None)
    return kind


def _below(kind: Any, member: str | None) -> Any:  # noqa: ANN401 - a type
    if member is None:
        return get_args(kind)[-1] if get_origin(kind) in {list, dict} else None
    return _fields(kind).get(member)


def _fields(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a type
    """The members of an object, by the names that JSON has for them."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return {}
    hints = get_type_hints(kind, include_extras=True)
    return {each.encode_name: hints[each.name] for each in msgspec.structs.fields(kind)}


def choices_of(kind: Any) -> list[str]:  # noqa: ANN401 - a type
    """The words of which a value has to be one; none where others are taken too."""
    for each in _variants(kind):
        if get_origin(each) is Literal:
            return [str(value) for value in get_args(each)]
        if isinstance(each, type) and issubclass(each, Enum):
            return [str(value.value) for value in each]
    return []


def _members(kind: Any) -> list[str]:  # noqa: ANN401 - a type
    return [name for each in _variants(kind) for name in _fields(each)]


def _is_one_line(kind: Any) -> bool:  # noqa: ANN401 - a type
    return any(isinstance(each, msgspec.Meta) and each.pattern == ONE_LINE for each in _variants(kind))
