"""The file of a recording: a header, then a line of JSON for every change, every gap, and the end.

    {"forewarn": "recording", "format": 1, "at": ..., "endpoint": ..., "api_version": ..., "vm": ...}
    {"at": ..., "seconds": 0.01, "api_version": "2020-07-01", "document": "..."}
    {"at": ..., "seconds": 61.5, "error": "timeout", "message": "..."}
    {"at": ..., "seconds": 93.0, "end": true}

`at` is the wall clock, `seconds` the elapsed time since the header. A document is the text as received. Without an
`end`, the recorder was killed. An unreadable line is damage: it is reported, and skipped only on request.
"""

from __future__ import annotations

import codecs
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal, Self

import msgspec

from forewarn.agent.events import Document, Unreadable, read_document
from forewarn.core.notice import in_words
from forewarn.errors import ForewarnError
from forewarn.wire.imds.versions import EVENTS_VERSIONS

FORMAT = 1
_MOST_NAMED = 5
_LONGEST = timedelta(days=3660)
_LONGEST_SECONDS = _LONGEST.total_seconds()
_YEARS = range(1970, 3000)  # times within these can be moved to any other of them
_LONGEST_LINE = 16 * 1024 * 1024

Instant = Annotated[datetime, msgspec.Meta(tz=True)]


class Header(msgspec.Struct, omit_defaults=True):
    """What was recorded, by which version, and the start."""

    forewarn: Literal["recording"]
    format: int
    at: Instant
    version: str = ""
    endpoint: str = ""
    api_version: str = ""
    vm: str = ""  # the name of the recording VM, if the endpoint has it


class RecordingLine(msgspec.Struct, omit_defaults=True):
    """A document, an error, or the end."""

    at: Instant
    seconds: float
    api_version: str = ""
    document: str | None = None
    error: str | None = None
    status: int | None = None
    message: str = ""
    end: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """The endpoint changed its document."""

    seconds: float
    at: datetime
    api_version: str
    body: bytes

    @property
    def document(self) -> Document:
        """The document."""
        return read_document(self.body)


@dataclass(frozen=True, slots=True)
class Gap:
    """The endpoint stopped giving usable answers."""

    seconds: float
    error: str


@dataclass(slots=True)
class Recording:
    """The contents of a file."""

    header: Header
    changes: list[Change] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    end: float | None = None  # in seconds; None: the recorder was killed
    damage: list[str] = field(default_factory=list)  # FILE:LINE: problem

    @property
    def seconds(self) -> float:
        """The length of the recording."""
        last = [each[-1].seconds for each in (self.changes, self.gaps) if each]
        return max([*last, self.end or 0.0])


class BadRecording(ForewarnError):
    """The file cannot be read, written or replayed."""


class RecordingFile:
    """A file to record into. `write` returns when the line is on the disk."""

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        try:
            self._file = path.open("wb" if overwrite else "xb")
        except FileExistsError:
            raise BadRecording(
                f"{path} is there already, and nothing was recorded.", "Name another, or say --overwrite."
            ) from None
        except OSError as problem:
            raise BadRecording(
                f"{path} cannot be written: {problem.strerror}.", "Name another with --out."
            ) from None

    def write(self, line: Header | RecordingLine) -> None:
        """Add a line, or raise `BadRecording`."""
        try:
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()
        except OSError as problem:
            with suppress(OSError):  # the rest of the line
                self._file.close()
            raise BadRecording(
                f"{self._file.name} cannot be written any more: {problem.strerror}.",
                "What is in it until then can be played with --skip-damaged; record again somewhere else.",
            ) from None
        with suppress(OSError):  # a pipe has no disk
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_recording(path: Path, *, skips_damage: bool = False) -> Recording:
    """Read a recording; raise `BadRecording` for a damaged line, unless damage is skipped."""
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise BadRecording(f"{path} cannot be read: {problem.strerror}.", "Name another file.") from None
    recording = _read(content.removeprefix(codecs.BOM_UTF8), str(path))
    if recording.damage and not skips_damage:
        named = recording.damage[:_MOST_NAMED]
        if more := len(recording.damage) - len(named):
            named.append(f"and {more} more")
        raise BadRecording("\n".join(named), "Play the rest with --skip-damaged.")
    if not recording.changes:
        raise BadRecording(f"{path} holds no document, so there is nothing to play.", "Record it again.")
    return recording


def _read(content: bytes, name: str) -> Recording:
    header: Header | None = None
    recording = Recording(Header("recording", FORMAT, datetime.max.replace(tzinfo=UTC)))
    lines = content.split(b"\n")
    is_cut = bool(lines.pop())  # what follows the last newline
    if is_cut:
        lines.append(content.rpartition(b"\n")[2])
    for number, text in enumerate(lines, 1):
        try:
            if number == 1:
                header = recording.header = _read_header(text, name)
            else:
                _take(recording, _read_line(text, recording.seconds))
        except ValueError as problem:
            was_cut = is_cut and number == len(lines)
            why = "the line is cut off, as when the recorder is killed" if was_cut else str(problem)
            recording.damage.append(f"{name}:{number}: {why}.")
    if header is None:
        recording.header = _header_from(recording)
    return recording


def _read_header(text: bytes, name: str) -> Header:
    try:
        header = msgspec.json.decode(text, type=Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ValueError("this is no header of a recording") from problem
    if header.format < 1:
        raise ValueError(f"its format is {header.format}, and there is no such format")
    if header.format > FORMAT:
        raise BadRecording(
            f"{name} was recorded by forewarn {header.version}, in a format that this version does not know.",
            "Play it with that version.",
        )
    _check_version(header.api_version)
    return header


def _header_from(recording: Recording) -> Header:
    """A header from the first document, in place of a damaged one."""
    for first in recording.changes:
        return Header("recording", FORMAT, first.at, api_version=first.api_version)
    return recording.header


def _read_line(text: bytes, after: float) -> RecordingLine:
    """Read a line, or raise ValueError."""
    if len(text) > _LONGEST_LINE:
        raise ValueError("the line is too long")
    try:
        line = msgspec.json.decode(text, type=RecordingLine)
    except RecursionError as problem:
        raise ValueError("the line cannot be read: it is nested too deep") from problem
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"the line cannot be read: {problem}") from problem
    if not math.isfinite(line.seconds) or line.seconds < after:
        raise ValueError(f"its time, {line.seconds:g} s, lies before that of a line above it, {after:g} s")
    if line.seconds > _LONGEST_SECONDS:
        raise ValueError(f"its time, {line.seconds:g} s, is more than {in_words(_LONGEST)} after the beginning")
    if line.at.year not in _YEARS:
        raise ValueError(f"it is of the year {line.at.year}, from which times cannot be moved")
    if (line.document is not None) + (line.error is not None) + line.end != 1:
        raise ValueError("the line is no document, no error and no end")
    _check_version(line.api_version)
    if line.document is not None:
        try:
            _check_times(read_document(line.document.encode()))
        except (Unreadable, UnicodeEncodeError) as problem:
            raise ValueError(f"its document cannot be read: {str(problem).rstrip('.')}") from problem
    return line


def _check_version(name: str) -> None:
    """Raise ValueError for an unknown api-version; a line without one has that of the header."""
    if name and name not in EVENTS_VERSIONS:
        raise ValueError(f"there is no api-version {name}")


def _check_times(document: Document) -> None:
    """Raise ValueError for a NotBefore too far ahead to be moved."""
    for event in document.events:
        if event.not_before is not None and event.not_before.year > _YEARS[-1]:
            raise ValueError(f"the NotBefore of its event {event.id} is of the year {event.not_before.year}")


def _take(recording: Recording, line: RecordingLine) -> None:
    if line.document is not None:
        version = line.api_version or recording.header.api_version
        recording.changes.append(Change(line.seconds, line.at, version, line.document.encode()))
    elif line.error is not None:
        recording.gaps.append(Gap(line.seconds, line.error))
    else:
        recording.end = line.seconds


def stretches(recording: Recording) -> Iterator[tuple[Gap, float]]:
    """Every gap, and its length in seconds."""
    ends = sorted([*(each.seconds for each in recording.changes), recording.seconds])
    last = -1.0
    for gap in recording.gaps:
        until = next((each for each in ends if each >= gap.seconds), gap.seconds)
        if until != last:  # consecutive errors are one gap
            yield gap, until - gap.seconds
        last = until
