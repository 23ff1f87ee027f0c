"""`forewarn replay`: serve a recording again.

Whoever reads what it prints may leave: it plays on.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forewarn.cli.options import RATE, FiniteRange
from forewarn.cli.output import Reader, counted, fields, instant, printable, short
from forewarn.cli.serve import configure_logs, loop_factory, stop_on_signals
from forewarn.config import Settings
from forewarn.config_values import Address, as_addresses, parse_address, show_address
from forewarn.core.notice import in_words
from forewarn.descriptors import raise_limit
from forewarn.errors import UsageProblem

if TYPE_CHECKING:
    from forewarn.recording.file import Recording
    from forewarn.recording.playback import Scene
    from forewarn.recording.replay import NotedApproval, Replay, ReplayOptions


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--metadata", metavar="HOST:PORT", multiple=True, help="Guests' listener; may repeat (default 127.0.0.1:8254)."
)
@click.option("--operator", metavar="HOST:PORT", help="Where its clock can be moved (default 127.0.0.1:8255).")
@click.option("--rate", type=RATE, help="So many times as fast as it was (default 1).")
@click.option("--virtual", "is_virtual", is_flag=True, help="Time stands still until forewarn clock moves it.")
@click.option(
    "--as-recorded", is_flag=True, help="Times as they were recorded, not moved to today; so with --virtual."
)
@click.option("--skip-damaged", is_flag=True, help="Play what can be read of a damaged file.")
@click.option(
    "--rate-limit",
    metavar="N",
    type=FiniteRange(min=0),
    help="Requests a second before 429 (default 5; none with --virtual; 0 for none).",
)
def replay(
    file: Path,
    metadata: tuple[str, ...],
    operator: str | None,
    rate: float | None,
    is_virtual: bool,
    as_recorded: bool,
    skip_damaged: bool,
    rate_limit: float | None,
) -> int:
    """Serve a recording of forewarn record again.

    Guests are told the same documents, after the same time; every caller is the VM that was recorded. Times are
    moved so that they lie as far ahead as they did, by the clock of the replay, which begins now. What guests
    approve is noted and changes nothing. forewarn clock shows, moves, speeds up and stops the replay.
    """
    from forewarn.clock import SystemClock  # noqa: PLC0415 - only a replay needs all this
    from forewarn.recording.file import read_recording  # noqa: PLC0415 - the same
    from forewarn.recording.replay import ReplayOptions  # noqa: PLC0415 - the same

    if rate is not None and is_virtual:
        raise UsageProblem(
            "--rate and --virtual exclude each other.", "With --virtual, forewarn clock play sets a rate."
        )
    addresses = _addresses(metadata, operator)
    configure_logs("auto")
    recording = read_recording(file, skips_damage=skip_damaged)
    for line in recording.damage:
        Reader(sys.stderr).tell(partial(click.echo, f"warning: {printable(line)} It is skipped.", err=True))
    is_recorded = as_recorded or is_virtual
    if rate_limit is None:
        rate_limit = 0.0 if is_virtual else 5.0
    manner = ReplayOptions(
        recording.changes[0].at if is_recorded else SystemClock().now(),
        shifts=not is_recorded,
        rate=0.0 if is_virtual else rate or 1.0,
        requests_per_second=rate_limit,
    )
    raise_limit()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_replay(file, recording, manner, addresses))


def _addresses(metadata: tuple[str, ...], operator: str | None) -> tuple[tuple[Address, ...], Address]:
    usual = Settings()
    try:
        return (
            as_addresses(metadata) if metadata else usual.metadata,
            parse_address(operator) if operator else usual.operator,
        )
    except ValueError as problem:
        raise UsageProblem(f"{problem}.", "Write it like 127.0.0.1:8254.") from None


async def _replay(
    file: Path, recording: Recording, manner: ReplayOptions, addresses: tuple[tuple[Address, ...], Address]
) -> int:
    from forewarn.recording.replay import Replay  # noqa: PLC0415 - only a replay needs all this

    teller = _Teller()
    played = Replay(recording, manner, on_scene=teller.tell_scene, on_approval=teller.tell_approval)
    stopping = asyncio.Event()
    stop_on_signals(stopping)
    await played.start(*addresses)
    try:
        teller.begin(file, played)
        await stopping.wait()
    finally:
        Reader(sys.stderr).tell(lambda: click.echo("stopping", err=True))
        await played.stop()
    return 0


class _Teller:
    """Tells what happens, once it has been told where."""

    def __init__(self) -> None:
        self._early: list[Scene] = []
        self._replay: Replay | None = None
        self._reader = Reader(sys.stdout)

    def begin(self, file: Path, replay: Replay) -> None:
        """Tell where it is, and what has been shown meanwhile."""
        self._reader.tell(lambda: _tell_where(file, replay))
        self._replay = replay
        for scene in self._early:
            self.tell_scene(scene)

    def tell_scene(self, scene: Scene) -> None:
        """A document is shown from now on."""
        from forewarn.cli.document import in_a_line  # noqa: PLC0415 - only a replay needs all this

        if self._replay is None:
            self._early.append(scene)
            return
        self._say(f"{instant(scene.at)}  {in_a_line(scene.page.change.document)}")
        if self._replay.playback.is_last(scene):
            self._say("The recording is over; its last document stays.")

    def tell_approval(self, approval: NotedApproval) -> None:
        """A guest has approved something."""
        self._say(f"{instant(approval.at)}  {short(approval.event)} approved; the recording goes on as it was")

    def _say(self, line: str) -> None:
        self._reader.tell(lambda: click.echo(printable(line)))


def _tell_where(file: Path, replay: Replay) -> None:
    recording, header = replay.recording, replay.recording.header
    length = in_words(timedelta(seconds=round(recording.seconds - recording.changes[0].seconds)))
    click.echo(f"{printable(str(file))}: {counted(replay.playback.count, 'document')} in {length}")
    fields(
        [
            ("recorded", f"{instant(header.at)}, api-version {header.api_version}, {header.endpoint}"),
            ("guests", [f"http://{show_address(each)}/metadata/scheduledevents" for each in replay.metadata]),
            ("operators", f"http://{show_address(replay.operator)}"),
            ("clock", f"{instant(replay.playback.now())}, {_pace(replay.playback.rate)}"),
        ]
    )
    click.echo(f"Every caller is {printable(replay.vm)}. What it approves is noted, and changes nothing.")
    for note in _notes(recording):
        click.echo(note)
    click.echo("Ctrl-C stops it.")


def _pace(rate: float) -> str:
    if not rate:
        return "standing still until forewarn clock moves it"
    return "as fast as it was" if rate == 1 else f"{rate:g} times as fast as it was"


def _notes(recording: Recording) -> list[str]:
    """What a reader should know about the file."""
    from forewarn.recording.file import stretches  # noqa: PLC0415 - only a replay needs all this

    notes = []
    if gaps := list(stretches(recording)):
        lasted = in_words(timedelta(seconds=sum(seconds for _, seconds in gaps)))
        notes.append(
            f"There was no answer {counted(len(gaps), 'time')}, for {lasted} in all: the document before stays."
        )
    if recording.end is None:
        notes.append("The recording was broken off, so it has no end.")
    return notes
