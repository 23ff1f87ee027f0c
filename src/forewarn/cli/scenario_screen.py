"""What is shown of a play: a line for every thing that happens, for people or for programs.

On a terminal a last line says how far it is, and is written anew, though not too often, until the next thing
happens. A reader who has seen enough does not stop the play: the exit code is its verdict.
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
from forewarn.scenario.looking import Failure
from forewarn.scenario.model import Scenario, clock_of
from forewarn.scenario.player import Happening, Outcome, Player, Waiting, in_a_sentence

_LONG_PLAY = timedelta(minutes=2)  # of real time
_REST_SECONDS = 0.1  # in which the last line stays as it is
_CLEAR = "\r\x1b[K"  # back to the beginning of the line, and nothing on it


def view(found: Scenario) -> dict[str, Any]:
    """What there is in a scenario, for programs."""
    return {
        "name": found.head.name,
        "description": found.head.description,
        "length": clock_of(found.length),
        "length_seconds": found.length.total_seconds(),
        "seed": found.head.seed,
        "guests": [guest.title for guest in found.guests],
        "acts": len(found.acts),
        "expectations": len(found.expectations),
    }


class Screen:
    """Tells of one play."""

    def __init__(self, found: Scenario, *, as_json: bool, now: Callable[[], float] = time.monotonic) -> None:
        self._found = found
        self._now = now
        self._wrote_at = now()
        self._as_json = as_json
        self._shows_waiting = sys.stderr.isatty() and not as_json
        self._waiting = ""  # the line that is to be written over
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
        who = f"a client from here is {guest}" if guest else "--guest VM says who a client from here is"
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

    def tell(self, happening: Happening) -> None:
        """One thing that happened."""
        if self._as_json:
            self._show(happening.what, happening.at, {"text": happening.text, **happening.details})
            return
        line = f"{clock_of(happening.at):>9}  {printable(happening.text)}"
        is_cut = happening.what == "held" and sys.stdout.isatty()  # what failed is told whole
        self._say(fit(line, shutil.get_terminal_size().columns) if is_cut else line)

    def wait(self, waiting: Waiting) -> None:
        """How far it is, while nothing happens; for a terminal only."""
        if not self._shows_waiting or self._now() - self._wrote_at < _REST_SECONDS:
            return
        at = timedelta(seconds=int(waiting.at.total_seconds()))
        line = f"{clock_of(at):>9} of {clock_of(self._found.length)}"
        if waiting.next_at is not None:
            line += f", next: {printable(waiting.next_text)} at {clock_of(waiting.next_at)}"
        line = fit(line, shutil.get_terminal_size().columns - 1)
        if line != self._waiting:
            self._waiting, self._wrote_at = line, self._now()
            self._err.tell(lambda: click.echo(f"{_CLEAR}{line}", err=True, nl=False))

    def end(self, outcome: Outcome) -> None:
        """How it ended, and every difference once more; OSError, if that could not be written."""
        self._clear()
        self._sum_up(outcome)
        if self._out.problem is not None:
            raise self._out.problem

    def _sum_up(self, outcome: Outcome) -> None:
        if self._as_json:
            result = "failed" if outcome.failures else "passed"
            numbers = {"held": outcome.held, "failed": len(outcome.failures)}
            self._show("end", outcome.reached, {"result": result if outcome.is_over else "stopped", **numbers})
            return
        for failure in outcome.failures:
            self._err.tell(partial(_show_difference, failure))
        sentence = printable(in_a_sentence(outcome, self._found))
        if outcome.failures or not outcome.is_over:
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


def _show_difference(failure: Failure) -> None:
    click.echo(
        f"\n{printable(str(failure.line))}: {printable(failure.subject)} at {clock_of(failure.at)}", err=True
    )
    width = max(len(each.key) for each in failure.differences)
    for each in failure.differences:
        click.echo(f"  {each.key:<{width}}  expected  {printable(each.expected)}", err=True)
        click.echo(f"  {'':<{width}}  seen      {printable(each.seen)}", err=True)
