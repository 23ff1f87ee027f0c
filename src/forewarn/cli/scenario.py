"""`forewarn scenario`: play maintenance from a file, and check its expectations."""

from __future__ import annotations

import logging

import click
from click.shell_completion import CompletionItem

from forewarn.cli.options import RATE
from forewarn.cli.output import show_json, table
from forewarn.cli.scenario_screen import Screen, view
from forewarn.cli.serve import configure_logs
from forewarn.config_values import Address, parse_address
from forewarn.errors import UsageProblem
from forewarn.operator.guard import is_loopback
from forewarn.scenario.file import library
from forewarn.scenario.file.checks import check
from forewarn.scenario.file.fleet import world_of
from forewarn.scenario.file.model import Scenario
from forewarn.scenario.play.player import Player, PlayOptions
from forewarn.wire.choices import suggest

_METADATA = ("127.0.0.1", 8254)
_OPERATOR = ("127.0.0.1", 8255)
_ANY_PORT = ("127.0.0.1", 0)


def _complete(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in library.names() if name.startswith(beginning)]


_argument = click.argument("name", metavar="NAME_OR_FILE", shell_complete=_complete)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


@click.group()
def scenario() -> None:
    """List, show and play scenarios: those that come with forewarn, or your own."""


@scenario.command("list")
@_json_option
def list_scenarios(as_json: bool) -> None:
    """List the scenarios that come with forewarn."""
    found = [view(library.find(name).scenario) for name in library.names()]
    if as_json:
        show_json({"scenarios": found})
        return
    rows = [(each["name"], each["length"], each["description"]) for each in found]
    table(("name", "length", "what happens"), rows, "")


@scenario.command("show")
@_argument
@_json_option
def show(name: str, as_json: bool) -> None:
    """Print the file of a scenario, to start your own from (`show NAME > mine.toml`)."""
    if as_json:
        show_json(view(check(library.find(name))) | {"text": library.text_of(name)[0]})
    else:
        click.echo(library.text_of(name)[0], nl=False)


class _AddressType(click.ParamType):  # type: ignore[type-arg] # generic in some versions of click only
    """`127.0.0.1:8254`."""

    name = "address"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        try:
            return value if isinstance(value, tuple) else parse_address(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


_ADDRESS = _AddressType()


@scenario.command("play")
@_argument
@click.option("--virtual", is_flag=True, help="Finish at once by moving the clock. For CI.")
@click.option(
    "--rate",
    type=RATE,
    help="Speed, as a multiple of real time (default 1).",
)
@click.option(
    "--metadata",
    metavar="HOST:PORT",
    type=_ADDRESS,
    help="Listen here for your own clients (default 127.0.0.1:8254; with --virtual any free port).",
)
@click.option(
    "--operator",
    metavar="HOST:PORT",
    type=_ADDRESS,
    help="Listen here for REST and the stream (default 127.0.0.1:8255; with --virtual any free port).",
)
@click.option(
    "--guest",
    metavar="VM",
    help="Treat clients on this machine as this VM (default: the VM whose guest is outside).",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of event ids and of faults by chance (default: the file's)."
)
@_json_option
def play(
    name: str,
    virtual: bool,
    rate: float | None,
    metadata: Address | None,
    operator: Address | None,
    guest: str | None,
    seed: int | None,
    as_json: bool,
) -> int:
    """Play a scenario of `list`, or a file.

    The play runs in real time, so that your client sees what the real service would show; --rate makes it faster,
    and --virtual waits for nothing. forewarn checks the file first and reports every mistake with its line. Then
    it prints a line for everything that happens. It exits with 0 if everything was as expected, and with 1 if not.
    Ctrl-C stops the play.
    """
    if virtual and rate is not None:
        raise UsageProblem("--virtual and --rate exclude each other.", "Leave out one of them.")
    if operator is not None and not is_loopback(operator[0]):
        raise UsageProblem(
            "A scenario has no authentication, so its operator API listens on loopback only.",
            "Use 127.0.0.1:PORT with --operator.",
        )
    found = check(library.find(name))
    configure_logs("auto", logging.WARNING)
    options = PlayOptions(
        rate=None if virtual else rate or 1.0,
        seed=seed,
        metadata=metadata or (None if virtual else _METADATA),
        operator=operator or (_ANY_PORT if virtual else _OPERATOR),
        guest=_who_calls(found, guest, is_virtual=virtual),
    )
    screen = Screen(found, as_json=as_json)
    player = Player(found, screen.tell, options, screen.show_progress)
    return _play(player, screen, options.rate)


def _play(player: Player, screen: Screen, rate: float | None) -> int:
    try:
        player.play(lambda: screen.begin(player, rate))
    except KeyboardInterrupt:
        screen.end(player.result)
        raise click.Abort from None
    screen.end(player.result)
    return 1 if player.result.failures else 0


def _who_calls(found: Scenario, named: str | None, *, is_virtual: bool) -> str | None:
    """The VM of clients on this machine; None: only a client's address says which VM it is."""
    outside = [guest.vm for guest in found.guests if guest.outside]
    if is_virtual and outside:
        raise UsageProblem(
            f"The guest of {outside[0]} is outside, and --virtual does not wait for your client.",
            "Play it with --rate, or give the guest a script.",
        )
    world = world_of(found.fleet)
    vms = [] if isinstance(world, list) else list(world.vms)
    if named is not None and named not in vms:
        raise UsageProblem(f"There is no VM {named}, which --guest names.", suggest(named, vms))
    return named or next(iter(outside), None)
