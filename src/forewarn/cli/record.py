"""`forewarn record`: write down what an endpoint says, change by change.

Whoever reads what it prints may leave: it records on, and the exit code says whether there is a recording.
"""

from __future__ import annotations

import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forewarn.cli.options import DURATION, FiniteRange
from forewarn.cli.output import Reader, counted, instant, printable
from forewarn.core.notice import in_words
from forewarn.wire.imds.versions import NEWEST_EVENTS_VERSIONS

if TYPE_CHECKING:
    from forewarn.recording.file import RecordingLine

_AZURE = "http://169.254.169.254"
_LEAST_SECONDS = 0.2  # between two questions: five a second is what Azure allows


@click.command()
@click.option("--endpoint", metavar="URL", default=_AZURE, show_default=True, help="Where to ask.")
@click.option(
    "--out",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write; one that is there is left alone.",
)
@click.option(
    "--api-version",
    metavar="VERSION",
    default=NEWEST_EVENTS_VERSIONS[0],
    show_default=True,
    help="In which version to ask.",
)
@click.option(
    "--every",
    metavar="SECONDS",
    type=FiniteRange(min=_LEAST_SECONDS),
    default=1.0,
    show_default=True,
    help="How often to ask.",
)
@click.option("--for", "limit", metavar="DURATION", type=DURATION, help="How long (default: until Ctrl-C).")
@click.option("--overwrite", is_flag=True, help="Write over a file that is there.")
def record(
    endpoint: str, out: Path, api_version: str, every: float, limit: timedelta | None, overwrite: bool
) -> int:
    """Write down what an endpoint says, change by change, until Ctrl-C.

    It only asks, and never approves; but being asked turns the feature on for the VM's whole scope, as any client
    does. What is no answer is written down too, so that gaps can be seen. Play it with forewarn replay.
    """
    from forewarn.clock import SystemClock  # noqa: PLC0415 - only a recorder needs all this
    from forewarn.recording.endpoint import RecordedEndpoint  # noqa: PLC0415 - the same
    from forewarn.recording.file import RecordingFile  # noqa: PLC0415 - the same
    from forewarn.recording.recorder import Recorder  # noqa: PLC0415 - the same

    reader = Reader(sys.stderr)

    def tell(said: RecordingLine | str) -> None:
        reader.tell(lambda: click.echo(said if isinstance(said, str) else _told(said), err=True))

    source = RecordedEndpoint(endpoint, api_version)
    with RecordingFile(out, overwrite=overwrite) as tape:
        recorder = Recorder(source, tape, SystemClock(), every_seconds=every, limit=limit, tell=tell)
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, recorder.stop)
        tell(f"Recording {source.endpoint} into {out}. Ctrl-C ends it.")
        try:
            recorder.run()
        finally:
            source.close()
    length = in_words(timedelta(seconds=round(recorder.seconds)))
    gaps = f", {counted(recorder.gaps, 'time')} without an answer" if recorder.gaps else ""
    summary = f"Recorded {counted(recorder.changes, 'document')} in {length}{gaps}: {out}"
    Reader(sys.stdout).tell(lambda: click.echo(summary))
    return 0 if recorder.changes else 1


def _told(line: RecordingLine) -> str:
    """A line of the recording, for people."""
    from forewarn.agent.events import read_document  # noqa: PLC0415 - only a recorder needs all this
    from forewarn.cli.document import in_a_line  # noqa: PLC0415 - the same

    said = (
        f"no answer ({line.error}): {line.message}"
        if line.document is None
        else in_a_line(read_document(line.document.encode()))
    )
    return f"{instant(line.at)}  {printable(said)}"
