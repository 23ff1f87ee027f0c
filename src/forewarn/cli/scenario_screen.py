"""Show a play: a line for everything that happens, for people or for programs.

On a terminal the last line shows the progress. A closed pipe does not stop the play: its exit code still counts.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import click

from forewarn.cli.output import Reader, fields, fit, printable, show_json, suggest_next
from forewarn.config_values import show_address
from forewarn.scenario.file.model import Scenario, clock_of
from forewarn.scenario.play.expectations import FailedExpectation
from forewarn.scenario.play.player import Player, PlayProgress, PlayResult, PlayStep, in_a_sentence

_LONG_PLAY = timedelta(minutes=2)  # of real time
_REST_SECONDS = 0.1  # between two updates of the progress line
_CLEAR = "\r\x1b[K"  # clear the line


def view(found: Scenario) -> dict[str, Any]:
    """The contents of a scenario, for programs."""
    return {
        "name": found.head.name,
        "description": found.head.description,
        "length": clock_of(found.length),
        "length_seconds": found.length.total_seconds(),
        "seed": found.head.seed,
        "guests": [guest.title for guest in found.guests],
        "acts": len(found.actions),
        "expectations": len(found.expectations),
    }


class Screen:
    """Shows one play."""

    def __init__(self, found: Scenario, *, as_json: bool, now: Callable[[], float] = time.monotonic) -> None:
        self._found = found
        self._now = now
        self._wrote_at = now()
        self._as_json = as_json
        self._shows_waiting = sys.stderr.isatty() and not as_json
        self._waiting = ""  # the progress line to overwrite
        self._out, self._err = Reader(sys.stdout), Reader(sys.stderr)

    def begin(self, player: Player, rate: float | None) -> None:
        """Show what is played and where clients connect; suggest a quicker way before a long play."""
        if rate is not None and self._real_length(rate) >= _LONG_PLAY:
            self._err.tell(lambda: suggest_next(self._quicker(rate)))
        service, head = player.emulator.service, self._found.head
        address, guest = show_address(service.metadata[0]), service.settings.guest
        if self._as_json:
            about = {"metadata": f"http://{address}", "operator": service.operator_url, "guest": guest}
            self._show("begin", timedelta(0), {**view(self._found), "rate": rate, **about})
            return
        self._say(printable(f"{head.name}: {head.description}" if head.description else head.name))
        if rate is None:
            return
        who = f"clients on this machine are {guest}" if guest else "name the VM of your client with --guest"
        where = [
            ("takes", clock_of(self._real_length(rate))),
            ("guests", f"http://{address}/metadata/scheduledevents; {who}"),
            ("operators", service.operator_url),
        ]
        self._out.tell(lambda: fields(where))

    def _real_length(self, rate: float) -> timedelta:
        return timedelta(seconds=round(self._found.length.total_seconds() / rate))

    def _quicker(self, rate: float) -> str:
        takes = f"This play takes {clock_of(self._real_length(rate))}."
        if any(guest.outside for guest in self._found.guests):  # whose program --virtual does not wait for
            return f"{takes} A larger --rate is faster."
        return f"{takes} Check the scenario with --virtual first: that takes seconds."

    def tell(self, step: PlayStep) -> None:
        """Show one thing that happened."""
        if self._as_json:
            self._show(step.what, step.at, {"text": step.text, **step.details})
            return
        line = f"{clock_of(step.at):>9}  {printable(step.text)}"
        is_cut = step.what == "held" and sys.stdout.isatty()  # a failure is never cut
        self._say(fit(line, shutil.get_terminal_size().columns) if is_cut else line)

    def show_progress(self, progress: PlayProgress) -> None:
        """Show the progress; on a terminal only."""
        if not self._shows_waiting or self._now() - self._wrote_at < _REST_SECONDS:
            return
        at = timedelta(seconds=int(progress.at.total_seconds()))
        line = f"{clock_of(at):>9} of {clock_of(self._found.length)}"
        if progress.next_at is not None:
            line += f", next: {printable(progress.next_text)} at {clock_of(progress.next_at)}"
        line = fit(line, shutil.get_terminal_size().columns - 1)
        if line != self._waiting:
            self._waiting, self._wrote_at = line, self._now()
            self._err.tell(lambda: click.echo(f"{_CLEAR}{line}", err=True, nl=False))

    def end(self, result: PlayResult) -> None:
        """Show the result and every failure again; raise OSError if that could not be written."""
        self._clear()
        self._sum_up(result)
        if self._out.problem is not None:
            raise self._out.problem

    def _sum_up(self, result: PlayResult) -> None:
        if self._as_json:
            verdict = "failed" if result.failures else "passed"
            numbers = {"held": result.held, "failed": len(result.failures)}
            self._show("end", result.reached, {"result": verdict if result.is_over else "stopped", **numbers})
            return
        for failure in result.failures:
            self._err.tell(partial(_show_difference, failure))
        sentence = printable(in_a_sentence(result, self._found))
        if result.failures or not result.is_over:
            self._err.tell(lambda: click.echo(sentence, err=True))
        else:
            self._say(sentence)

    def _say(self, line: str) -> None:
        self._clear()
        self._out.tell(lambda: click.echo(line))

    def _show(self, what: str, at: timedelta, more: dict[str, Any]) -> None:
        line = {"what": what, "at": clock_of(at), "at_seconds": at.total_seconds(), **more}
        self._out.tell(lambda: show_json(line, on_one_line=True))

    def _clear(self) -> None:
        if self._waiting:
            self._waiting = ""
            self._err.tell(lambda: click.echo(_CLEAR, err=True, nl=False))


def _show_difference(failure: FailedExpectation) -> None:
    click.echo(
        f"\n{printable(str(failure.line))}: {printable(failure.subject)} at {clock_of(failure.at)}", err=True
    )
    width = max(len(each.key) for each in failure.differences)
    for each in failure.differences:
        click.echo(f"  {each.key:<{width}}  expected  {printable(each.expected)}", err=True)
        click.echo(f"  {'':<{width}}  seen      {printable(each.seen)}", err=True)
