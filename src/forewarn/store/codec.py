"""Values of the core to rows and back.

How a field is written follows from its type; a type that is not known here is a mistake found at import.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from operator import attrgetter
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

import msgspec

from forewarn.core.event import Approval
from forewarn.core.rollout import Work

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Encode = Callable[[Any], Any]


def micros(at: datetime) -> int:
    """An instant as whole microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def instant(count: int) -> datetime:
    """The instant that many microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=count)


def _names(text: str) -> tuple[str, ...]:
    return tuple(msgspec.json.decode(text))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _encode_approvals(approvals: tuple[Approval, ...]) -> str:
    return _json([(approval.by, micros(approval.at)) for approval in approvals])


def _decode_approvals(text: str) -> tuple[Approval, ...]:
    return tuple(Approval(by, instant(at)) for by, at in msgspec.json.decode(text))


def _encode_work(work: Work) -> str:
    return msgspec.json.encode(work, enc_hook=str).decode()  # a time zone is written by its name


def _decode_work(text: str) -> Work:
    return msgspec.json.decode(text, type=Work, dec_hook=_time_zone)


def _time_zone(_expected: type, name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)


def _span(value: timedelta) -> int:
    return value // _MICROSECOND


def _same(value: Any) -> Any:  # noqa: ANN401 - it is the identity
    return value


_CODECS: dict[Any, tuple[Encode, Encode]] = {
    str: (_same, _same),
    int: (_same, _same),
    bool: (_same, bool),
    datetime: (micros, instant),
    timedelta: (_span, lambda count: timedelta(microseconds=count)),
    tuple[str, ...]: (_json, _names),
    Mapping[str, str]: (_json, msgspec.json.decode),
    Mapping[str, Any]: (_json, msgspec.json.decode),
    tuple[Approval, ...]: (_encode_approvals, _decode_approvals),
    Work: (_encode_work, _decode_work),
}


def _codec_for(hint: Any) -> tuple[Encode, Encode]:  # noqa: ANN401 - type hints are of any type
    if get_origin(hint) in {Union, types.UnionType}:
        inner = [each for each in get_args(hint) if each is not types.NoneType]
        encode, decode = _codec_for(inner[0])
        if encode is _same and decode is _same:
            return _same, _same
        return (
            lambda value: None if value is None else encode(value),
            lambda value: None if value is None else decode(value),
        )
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _same, hint
    return _CODECS[hint]


class Codec(Generic[T]):
    """Rows of one class of values."""

    def __init__(self, of: type[T]) -> None:
        self.of = of
        hints = get_type_hints(of)
        self.columns = [field.name for field in fields(of)]  # type: ignore[arg-type]
        codecs = [_codec_for(hints[name]) for name in self.columns]
        self._cells = attrgetter(*self.columns)
        self._encoders = [(index, encode) for index, (encode, _) in enumerate(codecs) if encode is not _same]
        self._decoders = [decode for _, decode in codecs]

    def encode(self, value: T) -> list[Any]:
        """The value as a row."""
        row = list(self._cells(value))
        for index, encode in self._encoders:
            row[index] = encode(row[index])
        return row

    def decode(self, row: Sequence[Any]) -> T:
        """The value that a row holds."""
        return self.of(*[decode(cell) for decode, cell in zip(self._decoders, row, strict=True)])
