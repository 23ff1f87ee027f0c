"""The demo: a small fleet whose guests poll, prepare and approve over real sockets, always busy."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shlex
import shutil
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from forewarn.cli.client import DEFAULT_URL
from forewarn.config import Settings
from forewarn.config_values import show_address
from forewarn.control.commands.hosts import maintain_host
from forewarn.control.commands.vms import act_on_vm, evict_vm
from forewarn.control.commit import Accepted
from forewarn.core.event import Event
from forewarn.core.phase import Phase
from forewarn.core.refusal import Refusal
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.terms import Cause, Kind, VmState
from forewarn.core.world import Changes
from forewarn.errors import UsageProblem
from forewarn.service import Service
from forewarn.wire.imds.versions import NEWEST_EVENTS_VERSIONS

YOU = "web-0"
_TARGET = f"/metadata/scheduledevents?api-version={NEWEST_EVENTS_VERSIONS[0]}"
_PREPARE_SECONDS = (4, 12)
_FIRST_PAUSE_SECONDS = (2, 4)
_PAUSE_SECONDS = (12, 25)
_RETRY_SECONDS = 2.0
_SOURCE = "demo"


def demo_settings(settings: Settings) -> Settings:
    """The demo's own fleet, in memory unless a store was named; whoever calls from here is web-0."""
    if settings.fleet is not None:
        raise UsageProblem("--demo brings a fleet of its own.", "Leave out --fleet, or leave out --demo.")
    defaults = Settings()
    return replace(
        settings,
        fleet=Path(__file__).with_name("demo_fleet.toml"),
        store="sqlite://" if settings.store == defaults.store else settings.store,
        guest=settings.guest or YOU,
    )


def typed_command() -> str:
    """The command as it can be typed here: by its name where the shell finds it, else by its path."""
    path = sys.argv[0]
    found = shutil.which("forewarn")
    is_found = found is not None and Path(path).exists() and Path(found).samefile(path)
    return "forewarn" if is_found or not os.access(path, os.X_OK) else shlex.quote(path)


class Demo:
    """Simulated guests and an operator who keeps them busy."""

    def __init__(self, service: Service, pace: float = 1.0) -> None:
        self._service = service
        self._pace = pace  # how many times as fast as people are
        self._dice = random.Random()  # noqa: S311 - a demo
        self._tasks: list[asyncio.Task[None]] = []
        self._said: dict[str, Phase] = {}

    def start(self) -> None:
        """Let them begin."""
        self._tell_what_to_try()
        loop = asyncio.get_running_loop()

        def observe(changes: Changes) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._tell, changes)

        self._service.plane.committed.subscribe(observe)
        guests = [vm for vm in self._service.plane.world.vms.values() if vm.addresses]
        self._tasks = [loop.create_task(self._guest(vm.name, vm.addresses[0])) for vm in guests]
        self._tasks.append(loop.create_task(self._keep_busy()))

    async def stop(self) -> None:
        """Let them end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pause(self, seconds: tuple[float, float]) -> None:
        await asyncio.sleep(self._dice.uniform(*seconds) / self._pace)

    def _tell_what_to_try(self) -> None:
        metadata, operator = show_address(self._service.metadata[0]), self._service.operator_url
        url = "" if operator == DEFAULT_URL else f" --url {operator}"
        command = typed_command()
        click.echo(
            f"""
You are {YOU}, one of three web servers; the other guests look after themselves. Try, in another terminal:
  curl -H Metadata:true "http://{metadata}{_TARGET}"
  {command} event list{url}
  {command} vm restart {YOU}{url}
"""
        )

    def _tell(self, changes: Changes) -> None:
        """A line for every event that comes, starts or ends."""
        for event in changes.entities:
            if isinstance(event, Event) and self._said.get(event.id) is not event.phase:
                self._said[event.id] = event.phase
                names, clock = " ".join(event.resources), self._service.clock.now()
                what = f"{event.kind} of {names} {event.phase}"
                more = f", not before {event.not_before:%H:%M:%SZ}" if event.phase is Phase.SCHEDULED else ""
                click.echo(f"{clock:%H:%M:%SZ}  {event.short_id}  {what}{more}")

    # The operator.

    async def _keep_busy(self) -> None:
        acts = (self._restart, self._freeze, self._evict, self._redeploy)
        turn = 0
        while True:
            await self._pause(_PAUSE_SECONDS if turn else _FIRST_PAUSE_SECONDS)
            await self._start_what_is_stopped()
            outcome = await acts[turn % len(acts)]()
            turn += 1
            if isinstance(outcome, Refusal):
                click.echo(f"           {outcome.message}")

    async def _ask(self, act: Callable[[], Accepted | Refusal]) -> Accepted | Refusal:
        return await self._service.runner.call(act)

    async def _restart(self) -> Accepted | Refusal:
        name = self._dice.choice(["web-1", "web-2", "cache-0", "cache-1", "report"])
        return await self._ask(lambda: act_on_vm(self._service.plane, Cause.RESTART, name, _SOURCE))

    async def _redeploy(self) -> Accepted | Refusal:
        name = self._dice.choice(["web-1", "web-2", "cache-0", "cache-1"])
        return await self._ask(lambda: act_on_vm(self._service.plane, Cause.REDEPLOY, name, _SOURCE))

    async def _freeze(self) -> Accepted | Refusal:
        host = self._dice.choice(["host-1", "host-2", "host-3", "host-4"])
        return await self._ask(lambda: maintain_host(self._service.plane, host, Maintenance(Kind.FREEZE), _SOURCE))

    async def _evict(self) -> Accepted | Refusal:
        name = self._dice.choice(["batch_0", "batch_1", "batch_2"])
        return await self._ask(lambda: evict_vm(self._service.plane, name, _SOURCE))

    async def _start_what_is_stopped(self) -> None:
        plane = self._service.plane
        for vm in list(plane.world.vms.values()):
            if vm.state is VmState.DEALLOCATED:
                await self._ask(lambda name=vm.name: act_on_vm(plane, Cause.START, name, _SOURCE))  # type: ignore[misc]

    # The guests.

    async def _guest(self, name: str, address: str) -> None:
        """Poll with a long wait, and answer every notice that names this guest."""
        tag, planned = "none", set[str]()
        while True:
            try:
                status, headers, body = await self._call(
                    address, "GET", f"If-None-Match: {tag}\r\nPrefer: wait=30\r\n"
                )
            except (OSError, asyncio.IncompleteReadError, ValueError):
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            if status != 200:
                await asyncio.sleep(0 if status == 304 else _RETRY_SECONDS)
                continue
            tag = headers.get("etag", "none")
            for event in json.loads(body)["Events"]:
                is_mine = event["EventStatus"] == "Scheduled" and name in event["Resources"]
                if is_mine and event["EventId"] not in planned:
                    planned.add(event["EventId"])
                    self._soon(self._prepare(name, address, event["EventId"]))

    def _soon(self, act: Coroutine[None, None, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(act))
        self._tasks = [task for task in self._tasks if not task.done()]

    async def _prepare(self, name: str, address: str, event: str) -> None:
        await self._pause(_PREPARE_SECONDS)
        body = json.dumps({"StartRequests": [{"EventId": event}]})
        now = self._service.clock.now()
        click.echo(f"{now:%H:%M:%SZ}  {event[:8].lower()}  {name} is ready and approves")
        with suppress(OSError, asyncio.IncompleteReadError, ValueError):
            await self._call(address, "POST", "", body)

    async def _call(
        self, address: str, method: str, headers: str, body: str = ""
    ) -> tuple[int, dict[str, str], bytes]:
        """One request over a connection of its own, from the guest's address."""
        host, port = self._service.metadata[0]
        reader, writer = await asyncio.open_connection(host, port, local_addr=(address, 0))
        try:
            writer.write(
                f"{method} {_TARGET} HTTP/1.1\r\nHost: {host}\r\nMetadata: true\r\nConnection: close\r\n"
                f"Content-Length: {len(body)}\r\n{headers}\r\n{body}".encode()
            )
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            found = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
            return int(head[0].split()[1]), found, await reader.read()
        finally:
            writer.close()
