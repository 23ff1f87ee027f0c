"""`forewarn serve`: the service in one process."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

import click
import structlog

from forewarn import __version__
from forewarn.cli.options import complete_choices, complete_file
from forewarn.cli.output import Reader, counted, fields
from forewarn.config import SETTINGS, Setting, Settings, load_settings, refuse_idle_clock_start
from forewarn.config_values import show_address
from forewarn.core.fleet_warnings import warnings
from forewarn.descriptors import raise_limit
from forewarn.logs import get_logger
from forewarn.wire.times import iso

log = get_logger()

_SWITCH_SECONDS = 0.0005  # how long guests may wait for another thread to yield; Python's default is 0.005
_STOP_SECONDS = 9.0


def with_settings(settings: Sequence[Setting]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option for every one of these settings."""

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed(settings):
            if setting.is_switch:
                command = click.option(setting.flag, is_flag=True, help=setting.help)(command)
            else:
                command = click.option(
                    setting.flag,
                    metavar=setting.metavar,
                    multiple=setting.repeats,
                    help=setting.help,
                    shell_complete=complete_file
                    if setting.metavar == "FILE"
                    else complete_choices(*setting.choices),
                )(command)
        return command

    return with_options


@click.command()
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="TOML file; every setting also as FOREWARN_* in the environment. Flags win, then environment, then file.",
)
@with_settings(SETTINGS)
def serve(config: Path | None, **flags: Any) -> int:  # noqa: ANN401 - settings are of any type
    """Announce maintenance to guests, wait for approvals, and carry it out."""
    settings = load_settings(flags, os.environ, config)
    refuse_idle_clock_start(settings, is_flag=flags["clock_start"] is not None)
    configure_logs(
        settings.log_format, logging.WARNING if settings.demo else logging.INFO
    )  # a demo tells it itself
    raise_limit()
    sys.setswitchinterval(_SWITCH_SECONDS)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_serve(settings))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """The fastest event loop there is here."""
    try:
        import uvloop  # noqa: PLC0415 - where it exists
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _serve(settings: Settings) -> int:
    from forewarn.cli.demo import Demo, demo_settings  # noqa: PLC0415 - only a server needs all this
    from forewarn.service import Service  # noqa: PLC0415 - the same

    if settings.demo:
        settings = demo_settings(settings)
    service = Service(settings)
    stopping = asyncio.Event()
    stop_on_signals(stopping, _end_at_the_latest)
    await service.start()
    gc.freeze()  # the fleet is here to stay: no collection has to walk it
    try:
        _tell_where(service)
        demo = Demo(service) if settings.demo else None
        if demo is not None:
            demo.start()
        await stopping.wait()
        if demo is not None:
            await demo.stop()
    finally:
        Reader(sys.stderr).tell(lambda: click.echo("stopping", err=True))
        await service.stop()
    return 0


def stop_on_signals(stopping: asyncio.Event, begin: Callable[[], None] | None = None) -> None:
    """The first signal stops cleanly, the second at once; `begin` is called at the first."""

    def stop() -> None:
        if stopping.is_set():
            os._exit(130)
        stopping.set()
        if begin is not None:
            begin()

    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop)


def _end_at_the_latest() -> None:
    """End the process when stopping cleanly takes too long, whatever a database or a thread waits for."""

    def end() -> None:
        log.error(
            "shutdown timed out", seconds=_STOP_SECONDS, hint="Requests that were answered are in the store."
        )
        os._exit(1)

    timer = threading.Timer(_STOP_SECONDS, end)
    timer.daemon = True
    timer.start()


def _tell_where(service: Any) -> None:  # noqa: ANN401 - a Service, which is imported late
    settings, world = service.settings, service.plane.world
    clock = "virtual, " + iso(service.clock.now()) if settings.is_virtual else "system"
    guest = f"; a loopback caller is {settings.guest}" if settings.guest else ""
    click.echo(f"forewarn {__version__}")
    fields(
        [
            ("guests", [f"http://{show_address(each)}/metadata/scheduledevents" for each in service.metadata]),
            ("operators", service.operator_url),
            ("store", service.store.address),
            ("clock", clock),
            ("fleet", f"{counted(len(world.hosts), 'host')}, {counted(len(world.vms), 'VM')}{guest}"),
        ]
    )
    if service.is_networked and service.operator_url.startswith("http:"):
        click.echo(
            f"warning: {service.operator_url} has no TLS, so tokens cross the network as they are; "
            "forewarn tls init makes what --tls-cert and --tls-key want.",
            err=True,
        )
    if service.fleet_differences:
        click.echo(
            f"The fleet differs from {settings.fleet} (forewarn fleet apply changes it on purpose):", err=True
        )
        for line in service.fleet_differences:
            click.echo(f"  {line}", err=True)
    for line in warnings(world):
        click.echo(f"Warning: {line}", err=True)
    click.echo("Ctrl-C stops it.")
    sys.stdout.flush()


def configure_logs(log_format: str, least: int = logging.INFO) -> None:
    """Logs to stderr: an event name and fields. That nobody reads them stops nothing."""
    is_plain = log_format == "plain" or (log_format == "auto" and sys.stderr.isatty())
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty() and not os.environ.get("NO_COLOR"))
        if is_plain
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, Reader(sys.stderr))),
    )
