"""Structs as rows of CSV (RFC 4180), for programs that calculate with tables.

A text that such a program would take for a formula is written with a quote mark in front: what somebody wrote into
a name or a reason is never carried out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from forewarn.wire.rest import ApprovalView
from forewarn.wire.times import iso

_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def header_of(kind: type[msgspec.Struct]) -> bytes:
    """The row of names."""
    return _write([kind.__struct_fields__])


def rows_of(structs: Iterable[msgspec.Struct]) -> bytes:
    """A row for each of them."""
    return _write([_cell(value) for value in msgspec.structs.astuple(each)] for each in structs)


def _write(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _cell(value: Any) -> object:  # noqa: ANN401 - whatever a struct holds
    match value:
        case None | int() | float():
            return value
        case datetime():
            return iso(value)
        case list():
            return _guarded("; ".join(map(_part, value)))
        case _:
            return _guarded(str(value))


def _part(value: object) -> str:
    return f"{value.by} {iso(value.at)}" if isinstance(value, ApprovalView) else str(value)


def _guarded(text: str) -> str:
    return f"'{text}" if text.startswith(_STARTS_A_FORMULA) else text
