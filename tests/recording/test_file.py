"""The file: what is damaged is told by file and line, and the rest is played only when told to."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.clock import VirtualClock
from forewarn.recording.endpoint import EndpointFailure, RecordedEndpoint
from forewarn.recording.file import BadRecording, RecordingFile, read_recording, stretches
from forewarn.recording.recorder import Recorder
from tests.every_line import struck_at_every_line
from tests.recording.replaying import document, end, error, event, header, written
from tests.running import START

GOOD = [header(), document(0, 1), document(10, 2), end(20)]


# Damage.


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{nonsense}\n", "the line cannot be read: JSON is malformed"),
        ("\n", "the line cannot be read: Input data was truncated"),
        ("\0\0\0\n", "the line cannot be read: JSON is malformed"),
        ('{"more": ' + "[" * 100_000 + "\n", "the line cannot be read: it is nested too deep"),
        ('{"seconds": 5}\n', "the line cannot be read: Object missing required field `at`"),
        ({**document(5, 1), "seconds": "5"}, "the line cannot be read: Expected `float`, got `str`"),
        (document(-5, 1), "its time, -5 s, lies before that of a line above it, 0 s"),
        ({**document(5, 1), "document": "<html>"}, "its document cannot be read: The answer is no JSON"),
        ({**document(5, 1), "document": "{}"}, "its document cannot be read: The answer has no list of events"),
        ({**document(5, 1), "seconds": 1e300}, "its time, 1e+300 s, is more than 3660 days after the beginning"),
        ({**document(5, 1), "at": "9999-12-31T23:00:00Z"}, "it is of the year 9999, from which times cannot be"),
        (
            document(5, 1, event(NotBefore="Fri, 31 Dec 8999 23:00:00 GMT")),
            "the NotBefore of its event A123BC45-1234-5678-AB90-ABCDEF123456 is of the year 8999",
        ),
        (document(5, 1, api_version="banana"), "there is no api-version banana."),
        ({**end(5), "end": False}, "the line is no document, no error and no end"),
        ({**document(5, 1), "end": True}, "the line is no document, no error and no end"),
    ],
)
def test_damaged_line_is_named_and_skipped_only_on_request(tmp_path: Path, line: object, why: str):
    file = written(tmp_path, *GOOD[:2], line, *GOOD[2:])

    with pytest.raises(BadRecording) as refused:
        read_recording(file)
    rest = read_recording(file, skips_damage=True)

    assert refused.value.message.startswith(f"{file}:3: {why}")
    assert refused.value.hint == "Play the rest with --skip-damaged."
    assert [each.seconds for each in rest.changes] == [0, 10]
    assert rest.end == 20


def test_cut_off_last_line_is_reported_as_such(tmp_path: Path):
    file = written(tmp_path, *GOOD[:3], json.dumps(document(15, 3))[:40])

    with pytest.raises(BadRecording) as refused:
        read_recording(file)
    rest = read_recording(file, skips_damage=True)

    assert refused.value.message == f"{file}:4: the line is cut off, as when the recorder is killed."
    assert (len(rest.changes), rest.end) == (2, None)


def test_last_line_without_a_newline_counts(tmp_path: Path):
    recording = read_recording(written(tmp_path, *GOOD[:2], json.dumps(document(10, 2))))

    assert len(recording.changes) == 2


def test_at_most_five_damaged_lines_are_named(tmp_path: Path):
    file = written(tmp_path, *GOOD, *["x\n"] * 8)

    with pytest.raises(BadRecording) as refused:
        read_recording(file)

    lines = refused.value.message.splitlines()
    assert [line.removeprefix(f"{file}:")[:1] for line in lines] == ["5", "6", "7", "8", "9", "a"]
    assert lines[-1] == "and 3 more"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"format": 0}, "its format is 0, and there is no such format"),
        ({"api_version": "banana"}, "there is no api-version banana"),
    ],
    ids=["format", "api-version"],
)
def test_impossible_header_is_damage(tmp_path: Path, more: dict[str, object], why: str):
    file = written(tmp_path, header(**more), *GOOD[1:])

    with pytest.raises(BadRecording) as refused:
        read_recording(file)

    assert refused.value.message == f"{file}:1: {why}."
    assert len(read_recording(file, skips_damage=True).changes) == 2


def test_deeply_nested_header_is_damage(tmp_path: Path):
    file = written(tmp_path, '{"forewarn": ' + "[" * 100_000 + "\n", *GOOD[1:])

    with pytest.raises(BadRecording) as refused:
        read_recording(file)

    assert refused.value.message == f"{file}:1: this is no header of a recording."


def test_byte_order_mark_is_no_damage(tmp_path: Path):
    file = written(tmp_path, *GOOD)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())

    assert len(read_recording(file).changes) == 2


def test_first_document_replaces_a_damaged_header(tmp_path: Path):
    file = written(tmp_path, "x\n", *GOOD[1:])

    with pytest.raises(BadRecording, match=r"life.jsonl:1: this is no header of a recording\."):
        read_recording(file)
    rest = read_recording(file, skips_damage=True)

    assert (rest.header.at, rest.header.api_version, rest.header.vm) == (START, "2020-07-01", "")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((), "life.jsonl holds no document, so there is nothing to play."),
        ((header(), error(0), end(1)), "life.jsonl holds no document, so there is nothing to play."),
        (
            (header(format=2, version="9.1"), document(0, 1)),
            "life.jsonl was recorded by forewarn 9.1, in a format that this version does not know.",
        ),
    ],
    ids=["empty", "only errors", "a later format"],
)
def test_unplayable_file_is_refused_even_if_damage_is_skipped(
    tmp_path: Path, lines: tuple[object, ...], message: str
):
    file = written(tmp_path, *lines)

    with pytest.raises(BadRecording) as refused:
        read_recording(file, skips_damage=True)

    assert refused.value.message == f"{tmp_path}/{message}"


def test_missing_file_is_reported(tmp_path: Path):
    with pytest.raises(BadRecording, match=r"no\.jsonl cannot be read: No such file or directory\."):
        read_recording(tmp_path / "no.jsonl")


# Recording.


class Scripted(RecordedEndpoint):
    """An endpoint that says what it is told to."""

    def __init__(self, *answers: bytes | EndpointFailure) -> None:
        super().__init__("http://192.0.2.1", "2020-07-01")
        self._answers = iter(answers)

    def get(self) -> bytes | EndpointFailure:
        return next(self._answers)

    def name(self) -> str:
        return "web-0"


EMPTY, FULL = b'{"DocumentIncarnation": 1, "Events": []}', b'{"DocumentIncarnation":2,"Events":[]}\n'
SILENT, BROKEN = EndpointFailure("timeout", "It took too long."), EndpointFailure("status 500", "oops", 500)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(START)


@pytest.fixture
def tape(tmp_path: Path) -> Iterator[RecordingFile]:
    with RecordingFile(tmp_path / "life.jsonl") as made:
        yield made


def test_each_change_and_each_gap_is_one_line(tmp_path: Path, tape: RecordingFile, clock: VirtualClock):
    answers = [EMPTY, EMPTY, SILENT, SILENT, BROKEN, EMPTY, EMPTY, FULL]
    recorder = Recorder(Scripted(*answers), tape, clock)

    recorder.begin()
    for _ in answers:
        recorder.poll()
        clock.move_to(clock.now() + timedelta(seconds=1))
    recorder.end()

    recording = read_recording(tmp_path / "life.jsonl")
    assert [(each.seconds, each.body) for each in recording.changes] == [(0, EMPTY), (5, EMPTY), (7, FULL)]
    assert [(each.seconds, each.error) for each in recording.gaps] == [(2, "timeout"), (4, "status 500")]
    assert [(gap.seconds, lasted) for gap, lasted in stretches(recording)] == [(2, 3)]
    assert (recorder.changes, recorder.gaps, recording.end) == (3, 2, 8)


def test_every_line_is_in_the_file_before_the_next_poll(tmp_path: Path, tape: RecordingFile, clock: VirtualClock):
    recorder = Recorder(Scripted(EMPTY, FULL), tape, clock)

    recorder.begin()
    recorder.poll()

    assert len((tmp_path / "life.jsonl").read_bytes().splitlines()) == 2


def test_recorder_stops_during_a_request(tmp_path: Path, tape: RecordingFile, clock: VirtualClock):
    class Stopping(Scripted):
        def get(self) -> bytes | EndpointFailure:
            recorder.stop()
            raise AssertionError("the question was not broken off")

    recorder = Recorder(Stopping(), tape, clock)

    recorder.run()

    assert (tmp_path / "life.jsonl").read_text().splitlines()[-1].endswith('"end":true}')


def test_recorder_stops_after_the_line_it_writes(tmp_path: Path, tape: RecordingFile, clock: VirtualClock):
    recorder = Recorder(Scripted(EMPTY, FULL), tape, clock, tell=lambda _: recorder.stop())

    recorder.run()

    recording = read_recording(tmp_path / "life.jsonl")
    assert ([each.body for each in recording.changes], recording.end) == ([EMPTY], 0)


RECORDS = """
import pathlib, signal
from forewarn.clock import SystemClock
from forewarn.recording.recorder import Recorder
from forewarn.recording.file import RecordingFile

class Quiet:
    endpoint, api_version, name = "http://127.0.0.1", "2020-07-01", str
    def get(self):
        return b'{"DocumentIncarnation": 1, "Events": []}'

file = pathlib.Path(__file__).with_name("life.jsonl")
with RecordingFile(file, overwrite=True) as tape:
    recorder = Recorder(Quiet(), tape, SystemClock(), every_seconds=0.01)
    signal.signal(signal.SIGTERM, recorder.stop)
    recorder.run()
assert file.read_text().endswith('"end":true}\\n')
"""


def test_recorder_stops_cleanly_at_every_line(tmp_path: Path):
    program = tmp_path / "records.py"
    program.write_text(RECORDS)

    ends = struck_at_every_line(program, signal.SIGTERM, 20)

    assert set(ends) == {0}, ends


def test_existing_file_is_overwritten_only_on_request(tmp_path: Path, tape: RecordingFile):
    file = tmp_path / "life.jsonl"

    with pytest.raises(BadRecording) as refused:
        RecordingFile(file)
    RecordingFile(file, overwrite=True).close()

    assert refused.value.message == f"{file} is there already, and nothing was recorded."
    assert refused.value.hint == "Name another, or say --overwrite."
