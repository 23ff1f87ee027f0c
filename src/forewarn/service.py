"""The one place that joins the parts: store, clock, driver, board, plane and listeners, in one process."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from forewarn.board.board import Board
from forewarn.clock import Clock, SystemClock, VirtualClock
from forewarn.config import Settings
from forewarn.config_values import Address, show_address
from forewarn.control.commands.faults import mark_fault
from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.guests import approve_as_guest, first_poll
from forewarn.control.commit import refusal_of
from forewarn.control.health import HealthChecks
from forewarn.control.plane import ControlPlane
from forewarn.control.push import webhooks
from forewarn.control.push.courier import Courier, Means
from forewarn.control.push.delivery_queue import RetryPolicy
from forewarn.control.push.outbox import Outbox
from forewarn.control.push.sending import HttpSender
from forewarn.control.push.webhooks import Webhooks
from forewarn.control.runner import Runner
from forewarn.control.timekeeper import Timekeeper
from forewarn.core.fault import Fault
from forewarn.core.fleet_check import Problem
from forewarn.core.fleet_plan import plan_fleet
from forewarn.core.notice import Limits
from forewarn.core.refusal import Refusal
from forewarn.core.world import Changes
from forewarn.descriptors import open_limit, share
from forewarn.drivers.machines import Machines
from forewarn.drivers.simulated import SECONDS, SimulatedDriver
from forewarn.edge.context import EdgeContext
from forewarn.edge.limits import MOST_CONNECTIONS, GuestLimits
from forewarn.edge.listener import GuestListener, ListenAddress
from forewarn.errors import ConfigError, StoreError
from forewarn.ids import random_id
from forewarn.logs import get_logger
from forewarn.operator.app import make_app
from forewarn.operator.connection import OperatorLimits
from forewarn.operator.endpoint import OperatorContext
from forewarn.operator.guard import is_loopback
from forewarn.operator.readers import ReaderPool
from forewarn.operator.server import OperatorServer, bind
from forewarn.operator.sign_in.checking import SignIn
from forewarn.operator.sign_in.register import Register
from forewarn.operator.tls import server_context
from forewarn.report.observer import GuestObserver
from forewarn.store import credentials
from forewarn.store.sql import ClockMark, SqlStore
from forewarn.wire.fleet_file import BadFleet, FleetText, read_toml
from forewarn.wire.imds.instance import Site

log = get_logger()

R = TypeVar("R")

_NO_SEED = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class OpenSockets:
    """Sockets that somebody else has opened, for a service that is to open none; it closes them when it stops.

    Whoever calls on the guests' one is the guest that the settings name, unless its address names a VM.
    """

    guests: socket.socket
    operators: socket.socket


class Service:
    """Everything that `forewarn serve` runs; start and stop it on one event loop."""

    def __init__(
        self, settings: Settings, new_id: Callable[[], str] = random_id, opened: OpenSockets | None = None
    ) -> None:
        self.settings = settings
        self._new_id = new_id
        self._opened = opened
        self.metadata: list[Address] = []  # where guests are heard, once started
        self.operator: Address = settings.operator
        self.fleet_differences: list[str] = []
        self._operator_server: OperatorServer | None = None
        self._tls = server_context(settings.tls_cert, settings.tls_key)
        fleet = _read_fleet(settings.fleet) if settings.fleet else None
        with ExitStack() as on_failure:
            self.store = SqlStore(settings.store)
            on_failure.callback(self.store.close)
            self._read_credentials()
            self._refuse_open_address()
            self.machines = self._open_machines()
            on_failure.callback(self.machines.close)
            self._assemble()
            if fleet is not None:
                self._take_fleet(fleet)
            on_failure.pop_all()

    def _read_credentials(self) -> None:
        self.sign_in = SignIn(self.settings.tenant, SystemClock().now, write_uses=self._write_uses_soon)
        self.register = Register(self.store, self.sign_in.keyring, self.sign_in.now, self._audit_now)
        with self.store.loading():
            self.register.load()

    def _audit_now(self) -> datetime:
        return self.clock.now()

    def _refuse_open_address(self) -> None:
        """On the network everybody has to sign in, so somebody has to be able to."""
        if self.is_networked and self.sign_in.is_open:
            address, store = show_address(self.settings.operator), self.store.address
            is_kept = store != "sqlite://"
            raise ConfigError(
                f"Operators would be heard on {address} without having to sign in.",
                f"First: forewarn token create --store {store} --role admin --name NAME"
                if is_kept
                else "Name a store that is kept, with --store, and make a token in it; or use 127.0.0.1:PORT.",
            )

    @property
    def is_networked(self) -> bool:
        """Whether operators may call from other machines."""
        return not is_loopback(self.settings.operator[0])

    @property
    def operator_url(self) -> str:
        """Where operators are heard."""
        return f"{'http' if self._tls is None else 'https'}://{show_address(self.operator)}"

    def _health_check_of(self, set_name: str) -> str | None:
        found = self.plane.world.sets.get(set_name)
        return None if found is None else found.health_check

    def _look_at_rollouts(self) -> None:
        """Have the plane look at once; a virtual clock has waited for the answers already."""
        if not self.settings.is_virtual:
            self.runner.submit(self.plane.look_at_rollouts)

    def _assemble(self) -> None:
        settings = self.settings
        with self.store.loading(), self.store.transaction() as transaction:
            mark = transaction.mark()
        self.clock = _make_clock(settings, mark)
        limits = Limits(
            lead=timedelta(seconds=settings.lead),
            user_operation_limit=settings.user_operation_limit,
            resets_incarnation=settings.reset_incarnation,
            failed_host_kind=settings.failed_host_kind,
            sick_host_percent=settings.sick_host_percent,
            postpone_limit=timedelta(seconds=settings.postpone_limit),
            action_limit=timedelta(seconds=settings.action_limit),
        )
        self.driver = SimulatedDriver(self.machines, self.clock, {**SECONDS, **settings.simulated_seconds})
        self.board = Board()
        self.board.keeps_previous = settings.is_virtual
        health = HealthChecks(
            self._health_check_of,
            self.clock.now,
            settings.health_command,
            waits_for_answers=settings.is_virtual,
            all_answered=self._look_at_rollouts,
        )
        site = Site(settings.location, settings.subscription, settings.tenant)
        outbox = Outbox(site)
        with self.store.loading():
            webhooks.load(self.store, outbox)
        self.plane = ControlPlane(
            store=self.store,
            driver=self.driver,
            board=self.board,
            clock=self.clock,
            limits=limits,
            health=health,
            keep_history=settings.keep_history,
            outbox=outbox,
            new_id=self._new_id,
        )
        with self.store.loading():
            self.plane.open()
        self.webhooks = Webhooks(self.plane, outbox, Courier(_means_of_delivery(settings)))
        self.timekeeper = Timekeeper(self.plane, self.clock) if isinstance(self.clock, VirtualClock) else None
        self.runner = Runner(self.plane, self.timekeeper)
        self.readers = ReaderPool()
        self._shares = share(MOST_CONNECTIONS, settings.operator_connections, open_limit())
        self.conduct = self._look_on() if settings.is_watching else None
        self.edge = self._make_desk(site)
        is_anybody = self._opened is not None
        self._listener = GuestListener(self.edge, self.clock, settings.guest, is_anybody=is_anybody)
        if isinstance(self.clock, VirtualClock):
            self.clock.moved.subscribe(self._listener.tell_date)

    def _make_desk(self, site: Site) -> EdgeContext:
        settings = self.settings
        return EdgeContext(
            self.board,
            approve=self._approve,
            first_poll=self._first_poll,
            limits=GuestLimits(requests_per_second=settings.requests_per_second, connections=self._shares.guests),
            site=site,
            first_call_delay=settings.first_call_delay,
            host_names=settings.metadata_host_names,
            witness=self.conduct,
            faults=self.plane.faults,
            mark=self._mark,
        )

    def _open_machines(self) -> Machines:
        """The simulated machines, which last as long as the store that speaks of them."""
        if self.settings.machines is None and self.store.is_on_server:
            return Machines.on_server(self.store.connect_apart)
        return Machines.open(_machines_file(self.settings))

    def _look_on(self) -> GuestObserver:
        """Note what guests ask from now on, and what becomes of the events that they are told of."""
        conduct = GuestObserver(self.clock, time.monotonic)
        world = self.plane.world
        conduct.learn(Changes(world.number, (*world.events.values(), *world.attempts.values())))
        conduct.mark_time()
        self.plane.committed.subscribe(conduct.learn)
        self.plane.ticked.subscribe(conduct.mark_time)
        return conduct

    async def _approve(self, vm: str, events: tuple[str, ...]) -> Refusal | None:
        return refusal_of(await self.runner.call(approve_as_guest, self.plane, vm, events))

    async def _first_poll(self, vm: str) -> Refusal | None:
        return refusal_of(await self.runner.call(first_poll, self.plane, vm))

    async def _mark(self, vm: str, events: tuple[str, ...], fault: Fault) -> None:
        await self.runner.call(mark_fault, self.plane, vm, events, fault)

    def _take_fleet(self, text: FleetText) -> None:
        """Apply the fleet to an empty store; to any other, only compare."""
        if self.plane.world.number:
            self.fleet_differences = plan_fleet(self.plane.world, text.spec, _NO_SEED).differences
            return
        problems = [each for each in apply_fleet(self.plane, text.spec, "fleet file") if isinstance(each, Problem)]
        if problems:
            raise ConfigError(str(text.refusal(problems)))

    def name_guest(self, vm: str) -> None:
        """Say who a caller is whose address names no VM; before the start."""
        self.settings = replace(self.settings, guest=vm)
        self._listener.default_guest = vm

    async def start(self) -> None:
        """Hear guests and operators; returns when both may call."""
        if self.settings.guest is not None and self.settings.guest not in self.plane.world.vms:
            self.let_go()
            known = ", ".join(sorted(self.plane.world.vms)[:5])
            raise ConfigError(
                f"--guest names {self.settings.guest}, and there is no such VM.",
                f"The fleet has {known}, for example." if known else "Give a fleet with --fleet.",
            )
        self.runner.start()
        try:
            await _see_through(asyncio.to_thread(self.webhooks.start, self.runner.submit))
            if self._opened is None:
                self.metadata = await self._listener.open(self.settings.metadata)
            else:
                self.metadata = await self._listener.open((), [self._opened.guests])
            await self._open_operator()
        except BaseException:
            await self.stop()
            raise

    async def hear_new_guests(self) -> dict[ListenAddress, str]:
        """Returns when those may call that the fleet has by now; where nobody can, and why."""
        return await self._listener.catch_up()

    async def _open_operator(self) -> None:
        context = OperatorContext(
            self.plane,
            self.runner,
            self.edge.tally,
            self.sign_in,
            self.register,
            self.webhooks,
            self.timekeeper,
            self.edge.site,
            readers=self.readers,
            conduct=self.conduct,
        )
        app = make_app(context)
        bound = bind(self.settings.operator) if self._opened is None else self._opened.operators
        self.operator = (self.settings.operator[0], bound.getsockname()[1])
        self._stream = app.state.stream
        limits = OperatorLimits(connections=self._shares.operators)
        self._operator_server = OperatorServer(app, bound, self._tls, limits)
        await self._operator_server.start()

    async def stop(self) -> None:
        """Answer who waits, finish what was asked, write down what is only in memory."""
        await self._listener.close()
        await _on_own_thread(self.readers.close)
        if self._operator_server is not None:
            self._stream.close()
            await self._operator_server.stop()
        await _on_own_thread(self.webhooks.stop)
        if not await _on_own_thread(self.runner.stop):
            log.error("shutdown incomplete", problem="the plane still waits for the store, which stays open")
            return
        if self.runner.problem is None:
            self._write_uses(self.sign_in.uses.take())
        self.let_go()

    def _write_uses_soon(self, uses: Mapping[str, datetime]) -> None:
        self.runner.submit(self._write_uses, uses)

    def _write_uses(self, uses: Mapping[str, datetime]) -> None:
        """When credentials were last used; roughly, so that what cannot be written is let go."""
        if uses:
            try:
                with self.store.transaction() as transaction:
                    credentials.note_uses(transaction, uses)
            except StoreError as problem:
                log.warning("uses not written", problem=str(problem))

    def let_go(self) -> None:
        """Close what was opened by making it: of a service that is never started, all there is."""
        self.driver.close()
        self.store.close()


async def _on_own_thread(act: Callable[[], R]) -> R:
    """Run it on a new thread, so that it never queues behind other work."""
    done: Future[R] = Future()

    def run() -> None:
        try:
            done.set_result(act())
        except BaseException as problem:  # noqa: BLE001 - it belongs to whoever waits
            done.set_exception(problem)

    thread = threading.Thread(target=run, name="stopping", daemon=True)
    thread.start()
    try:
        return await asyncio.wrap_future(done)
    finally:
        if done.done():  # the thread is about to end; do not leave it behind
            thread.join()


async def _see_through(act: Coroutine[Any, Any, None]) -> None:
    """Do it to its end, also when cancelled: what is half done on another thread cannot be cleaned up."""
    doing = asyncio.ensure_future(act)
    try:
        await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait({doing})
        raise


def _make_clock(settings: Settings, mark: ClockMark | None) -> Clock:
    was_virtual = mark is not None and mark.epoch == VirtualClock.epoch
    if mark is not None and was_virtual != settings.is_virtual:
        kept = "a virtual clock" if was_virtual else "the system clock"
        raise ConfigError(
            f"The store {settings.store} was kept by {kept}.",
            f"Serve with --clock {'virtual' if was_virtual else 'system'}, or name another store with --store.",
        )
    if not settings.is_virtual:
        return SystemClock()
    return VirtualClock(mark.now if mark else settings.clock_start or SystemClock().now().replace(microsecond=0))


def _means_of_delivery(settings: Settings) -> Means:
    return Means(
        RetryPolicy(tries=settings.webhook_tries), make_sender=lambda: HttpSender(settings.webhook_timeout)
    )


def _machines_file(settings: Settings) -> Path | None:
    """Simulated machines last as long as the store that speaks of them."""
    if settings.machines is not None:
        return settings.machines
    path = settings.store.removeprefix("sqlite:///")
    if settings.store.startswith("sqlite:///") and path and path != ":memory:":
        return Path(f"{path}.machines")
    return None


def _read_fleet(file: Path) -> FleetText:
    try:
        return read_toml(file.read_text(encoding="utf-8"), str(file))
    except OSError as problem:
        raise ConfigError(f"{file} cannot be read: {problem.strerror}.", "Name another with --fleet.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8 text.", "Save it as UTF-8.") from None
    except BadFleet as problem:
        raise ConfigError(str(problem)) from None
