"""`forewarn clock`: the time that maintenance goes by."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from forewarn.cli.client import Client
from forewarn.cli.options import DURATION, RATE, service_options
from forewarn.cli.output import show_json


@click.group()
def clock() -> None:
    """The clock: show it, and move a virtual one."""


def _tell(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(found)
        return
    click.echo(f"{found['now']}  ({found['mode']} clock{_rate(found)})")
    if found["next"] is not None:
        click.echo(f"something is due at {found['next']}")


def _rate(found: dict[str, Any]) -> str:
    if found["mode"] == "system":
        return ""
    times = "" if found["rate"] == 1 else f"{found['rate']:g} times "
    return f", running {times}as fast as real time" if found["rate"] else ", standing still"


@clock.command("show")
@service_options
def show(client: Client, as_json: bool) -> None:
    """What time it is, and when something is due."""
    _tell(client.get("/v1/clock"), as_json=as_json)


@clock.command("advance")
@click.argument("duration", type=DURATION)
@service_options
def advance(duration: timedelta, client: Client, as_json: bool) -> None:
    """Let time pass (15m, 1h30m, 45s); returns when all that was due has been done."""
    body = {"advance_seconds": duration.total_seconds()}
    _tell(client.post("/v1/clock", body), as_json=as_json)


@clock.command("next")
@service_options
def to_next(client: Client, as_json: bool) -> None:
    """Let time pass until something happens."""
    _tell(client.post("/v1/clock", {"until": "next"}), as_json=as_json)


@clock.command("play")
@click.option("--rate", type=RATE, default=1.0, show_default=True, help="How fast.")
@service_options
def play(rate: float, client: Client, as_json: bool) -> None:
    """Let the clock run by itself."""
    _tell(client.post("/v1/clock", {"rate": rate}), as_json=as_json)


@clock.command("pause")
@service_options
def pause(client: Client, as_json: bool) -> None:
    """Let the clock stand still."""
    _tell(client.post("/v1/clock", {"rate": 0}), as_json=as_json)
