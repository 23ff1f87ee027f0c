"""Scenario files, from the structs that they are read into and the words beside them."""

from __future__ import annotations

import json
from dataclasses import MISSING, Field, fields
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, get_args, get_type_hints

from forewarn.config import SETTINGS
from forewarn.core.fault import Fault
from forewarn.scenario.file.keys import ACTIONS, EXPECTED_OF, KEYS, SERVICE_SETTINGS, SETTING_NOTES, TABLES
from forewarn.scenario.file.model import END, Expectation, GuestScript, Head, TimedAction, clock_of
from forewarn.wire.bad_body import choices_of
from forewarn.wire.times import iso
from tools.markdown import code, page, table

_INTRODUCTION = """\
A scenario in TOML, for `forewarn scenario play FILE`.
[Play maintenance from a file](../howto/scenarios.md) shows how to write one. forewarn refuses a file with unknown
keys or names, values that do not fit, times that go back, or expectations that contradict themselves; the refusal
names every line that is wrong and what to do about it. Names are checked once the fleet has no mistakes.

Its fleet has the tables of a [fleet file](fleet-file.md). A VM that has no address gets one on this machine."""
_SECTIONS = (
    ("[scenario]", Head),
    ("[[guests]]", GuestScript),
    ("[[at]]", TimedAction),
    ("[[expect]]", Expectation),
)
_ABOUT = {"vm": "a VM (`vm`)", "guest": "a scripted guest (`guest`)", "": "the whole fleet"}


def write() -> str:
    """The page."""
    parts = []
    for title, kind in _SECTIONS:
        parts += [f"## {title}", TABLES[kind]]
        if kind is TimedAction:
            parts.append(_actions())
        if kind is Expectation:
            parts.append(_subjects())
        rows = [
            (code(each.name), _type_of(kind, each), _default_of(each), KEYS[kind][each.name])
            for each in fields(kind)
        ]
        parts.append(table(("key", "type", "default", "meaning"), rows))
        if kind is Head:
            parts += [
                "## [settings]",
                "Settings of `forewarn serve` that apply in the play.",
                _settings(),
            ]
    faults = f"{', '.join(map(code, Fault))}: see [Faults](faults.md) for what they do and their `options`."
    return page("Scenario file", _INTRODUCTION, *parts, "## Faults", faults)


def _actions() -> str:
    rows = [
        (code(action), " or ".join(map(code, words.needs)), ", ".join(map(code, words.takes)), words.does)
        for action, words in ACTIONS.items()
    ]
    return table(("do", "needs", "takes", "what it does"), rows)


def _subjects() -> str:
    return table(
        ("about", "keys"),
        [(_ABOUT[subject], ", ".join(map(code, keys))) for subject, keys in EXPECTED_OF.items()],
    )


def _settings() -> str:
    found = {setting.name: setting.help for setting in SETTINGS}
    rows = [(code(name), f"{found[name]} {SETTING_NOTES.get(name, '')}".rstrip()) for name in SERVICE_SETTINGS]
    return table(("key", "meaning"), rows)


def _type_of(kind: type, field: Field[Any]) -> str:
    hint = get_type_hints(kind)[field.name]
    if words := choices_of(hint):
        return " or ".join(code(json.dumps(word)) for word in words)
    hint = next((each for each in get_args(hint) if each is not type(None)), hint) if _is_optional(hint) else hint
    names = {timedelta: "duration", datetime: "instant", str: "string", int: "integer", bool: "boolean"}
    if hint in names:
        return names[hint]
    if getattr(hint, "__origin__", None) is dict:
        return "table"
    (item,) = get_args(hint)
    words = choices_of(item)
    return "list of " + (" or ".join(code(json.dumps(word)) for word in words) if words else "strings")


def _is_optional(hint: Any) -> bool:  # noqa: ANN401 - a type
    return type(None) in get_args(hint)


def _default_of(field: Field[Any]) -> str:
    """The default as it would be written; nothing where the key may be missing, a word where it may not."""
    value = field.default if field.default_factory is MISSING else field.default_factory()
    if value is MISSING:
        return "needed"
    if value is None or value in ("", [], {}):
        return ""
    if value == END:
        return code('"end"')
    if isinstance(value, timedelta):
        return code(f'"{clock_of(value)}"')
    if isinstance(value, datetime):
        return code(iso(value))
    return code(json.dumps(value.value if isinstance(value, Enum) else value))
