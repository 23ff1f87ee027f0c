"""`forewarn scenario`: maintenance played from a file, with what is expected of it."""

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
from forewarn.scenario import shelf
from forewarn.scenario.check import check
from forewarn.scenario.model import Scenario
from forewarn.scenario.player import Options, Player
from forewarn.scenario.stage import world_of
from forewarn.wire.choices import suggest

_METADATA = ("127.0.0.1", 8254)
_OPERATOR = ("127.0.0.1", 8255)
_ANY_PORT = ("127.0.0.1", 0)


def _complete(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in shelf.names() if name.startswith(beginning)]


_argument = click.argument("name", metavar="NAME_OR_FILE", shell_complete=_complete)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


@click.group()
def scenario() -> None:
    """Scenarios: list and show those that come with forewarn, play them or your own."""


@scenario.command("list")
@_json_option
def list_scenarios(as_json: bool) -> None:
    """The scenarios that come with forewarn."""
    found = [view(shelf.find(name).scenario) for name in shelf.names()]
    if as_json:
        show_json({"scenarios": found})
        return
    rows = [(each["name"], each["length"], each["description"]) for each in found]
    table(("name", "length", "what happens"), rows, "")


@scenario.command("show")
@_argument
@_json_option
def show(name: str, as_json: bool) -> None:
    """The file of a scenario: a beginning for one of your own (`show NAME > mine.toml`)."""
    if as_json:
        show_json(view(check(shelf.find(name))) | {"text": shelf.text_of(name)[0]})
    else:
        click.echo(shelf.text_of(name)[0], nl=False)


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
@click.option("--virtual", is_flag=True, help="At once: the clock is moved from one thing to the next. For CI.")
@click.option(
    "--rate",
    type=RATE,
    help="So many times as fast as real time (default 1).",
)
@click.option(
    "--metadata",
    metavar="HOST:PORT",
    type=_ADDRESS,
    help="Where your own clients are heard (default 127.0.0.1:8254; with --virtual any free port).",
)
@click.option(
    "--operator",
    metavar="HOST:PORT",
    type=_ADDRESS,
    help="REST and the stream (default 127.0.0.1:8255; with --virtual any free port).",
)
@click.option(
    "--guest", metavar="VM", help="Who a client from this machine is (default: who is outside, or nobody)."
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Of ids, and of faults that come by chance (default: the file's)."
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
    """Play a scenario: one of `list`, or a file.

    It is played in real time, so that a client of yours meets it as it would meet the real service; --rate makes
    it faster, and --virtual waits for nothing. It is checked first and refused whole, with file and line, if it
    cannot be. A line is printed for every thing that happens. The exit code is 0 if everything was as expected and
    1 if not. Ctrl-C stops it.
    """
    if virtual and rate is not None:
        raise UsageProblem("--virtual and --rate cannot both be given.", "Leave out one of them.")
    if operator is not None and not is_loopback(operator[0]):
        raise UsageProblem(
            "Nobody has to sign in to a scenario, so operators are heard on loopback only.",
            "Use 127.0.0.1:PORT with --operator.",
        )
    found = check(shelf.find(name))
    configure_logs("auto", logging.WARNING)
    options = Options(
        rate=None if virtual else rate or 1.0,
        seed=seed,
        metadata=metadata or (None if virtual else _METADATA),
        operator=operator or (_ANY_PORT if virtual else _OPERATOR),
        guest=_who_calls(found, guest, is_virtual=virtual),
    )
    screen = Screen(found, as_json=as_json)
    player = Player(found, screen.tell, options, screen.wait)
    return _play(player, screen, options.rate)


def _play(player: Player, screen: Screen, rate: float | None) -> int:
    try:
        player.play(lambda: screen.begin(player, rate))
    except KeyboardInterrupt:
        screen.end(player.outcome)
        raise click.Abort from None
    screen.end(player.outcome)
    return 1 if player.outcome.failures else 0


def _who_calls(found: Scenario, named: str | None, *, is_virtual: bool) -> str | None:
    """The VM that a client from this machine is; None: it is nobody, unless its address names a VM."""
    outside = [guest.vm for guest in found.guests if guest.outside]
    if is_virtual and outside:
        raise UsageProblem(
            f"{outside[0]} is spoken for by a client of yours, and --virtual waits for nobody.",
            "Play it with --rate, or give the guest a script.",
        )
    world = world_of(found.fleet)
    vms = [] if isinstance(world, list) else list(world.vms)
    if named is not None and named not in vms:
        raise UsageProblem(f"--guest names {named}, and there is no such VM.", suggest(named, vms))
    return named or next(iter(outside), None)
