"""JSON schemas in words."""

from __future__ import annotations

import json
from itertools import compress
from typing import Any

from tools.markdown import anchor, code, table

Schema = dict[str, Any]

_WORDS = {"date-time": "instant", "duration": "duration"}
_LIMITS = {
    "minimum": "{} or more",
    "maximum": "at most {}",
    "minLength": "{} characters or more",
    "maxLength": "at most {} characters",
}


def in_words(schema: Schema) -> str:
    """What a value may be; a named type is a link to its section."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{anchor(name)})"
    if "anyOf" in schema:
        kinds = sorted(schema["anyOf"], key=lambda each: each.get("type") == "null")  # null is said last
        return " or ".join(in_words(each) for each in kinds)
    if "enum" in schema:
        return " or ".join(code(json.dumps(each)) for each in schema["enum"])
    kind = _WORDS.get(schema.get("format", ""), schema.get("type", "anything"))
    if kind == "array":
        return f"list of {_several(schema['items'])}" if schema.get("items") else "list"
    if kind == "object" and schema.get("additionalProperties"):
        return f"names and {_several(schema['additionalProperties'])}"
    limits = [text.format(schema[key]) for key, text in _LIMITS.items() if key in schema]
    return f"{kind} ({', '.join(limits)})" if limits else str(kind)


def _several(schema: Schema) -> str:
    words = in_words(schema)
    return f"{words}s" if words.isalpha() else words


def members(schema: Schema) -> str:
    """The members of an object as a table: name, type, and default and meaning where there are any."""
    columns = [("member", "type", "default", "what it means")]
    for name, each in schema.get("properties", {}).items():
        is_required = name in schema.get("required", [])
        default = "" if is_required else code(json.dumps(each["default"])) if "default" in each else "empty"
        columns.append((code(name), in_words(each), default, each.get("description", "")))
    is_used = [any(cells) for cells in zip(*columns[1:], strict=True)]
    head, *rows = [tuple(compress(row, is_used)) for row in columns]
    return table(head, rows)
