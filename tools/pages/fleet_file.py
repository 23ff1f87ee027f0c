"""Fleet files, from the structs that they are read into and the words beside them."""

from __future__ import annotations

import json
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any, get_args, get_type_hints

import msgspec

from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.fleet_words import KEYS, TABLES
from tools.markdown import code, page, table
from tools.schema import in_words

_INTRODUCTION = """\
A fleet in TOML, for `forewarn serve --fleet FILE` and `forewarn fleet apply FILE`; `PUT /v1/fleet` takes the
same keys as JSON ([REST](rest.md)). A fleet is taken as a whole or refused as a whole: a refusal names every line
that is wrong and what to do about it. Refused are an unknown key, a name that is used twice, a host or a set that
does not exist, and a fleet that drops or moves a VM with an open operation."""


def write() -> str:
    """The page."""
    parts = []
    hints = get_type_hints(FleetSpec)
    for section in fields(FleetSpec):
        kind = get_args(hints[section.name])[0]
        rows = [
            (code(each.name), type_of(kind, each), default_of(each), KEYS[kind][each.name])
            for each in fields(kind)
        ]
        parts += [
            f"## [[{section.name}]]",
            TABLES[kind],
            table(("key", "type", "default", "what it means and may be"), rows),
        ]
    return page("Fleet file", _INTRODUCTION, *parts)


def type_of(kind: type, field: Field[Any]) -> str:
    """What a key may hold; that it may be missing is said by its default."""
    schema, components = msgspec.json.schema_components([get_type_hints(kind)[field.name]], ref_template="{name}")
    found = schema[0]
    found = components.get(found.get("$ref", ""), found)
    items = found.get("items") or {}
    if "$ref" in items:  # no type has a section of its own here
        found = found | {"items": components[items["$ref"]]}
    kinds = [each for each in found.get("anyOf", [found]) if each.get("type") != "null"]
    return in_words({"anyOf": kinds} if len(kinds) > 1 else kinds[0])


def default_of(field: Field[Any]) -> str:
    """The default as it would be written; nothing where the key may be missing, a word where it may not."""
    if field.default_factory is not MISSING:
        return code(json.dumps(field.default_factory()))
    if field.default is MISSING:
        return "needed"
    if field.default is None:
        return ""
    value = field.default.value if isinstance(field.default, Enum) else field.default
    return code(json.dumps(value))
