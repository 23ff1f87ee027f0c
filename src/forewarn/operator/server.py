"""Uvicorn, serving the operators' app inside a process that has an owner already.

It leaves signals alone, and it starts and stops as fast as it can: a test that needs a service should not have to
wait for it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.applications import Starlette

from forewarn.binding import bind_failure
from forewarn.config_values import Address, show_address

_DATE_SECONDS = 1.0
_GOODBYE_SECONDS = 2.0
_LOOK_SECONDS = 0.005


class OperatorServer(uvicorn.Server):
    """Serves one app on one bound socket until it is stopped."""

    def __init__(self, app: Starlette, bound: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        config = uvicorn.Config(
            app,
            log_config=None,
            lifespan="off",
            access_log=False,
            ws="none",
            server_header=False,
            proxy_headers=False,  # who guesses is told apart by the address that called, not by one that it claims
        )
        config.load()
        config.ssl = tls
        super().__init__(config)
        self._bound = bound
        self._is_up = asyncio.Event()
        self._is_stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Serve; returns when operators may call."""
        self._task = asyncio.create_task(self.serve(sockets=[self._bound]))
        up = asyncio.create_task(self._is_up.wait())
        await asyncio.wait({self._task, up}, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            up.cancel()
            await self._task

    async def stop(self) -> None:
        """Finish what is being answered, then end."""
        self._is_stopping.set()
        if self._task is not None:
            await self._task

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the process, not to one of its listeners."""
        yield

    async def main_loop(self) -> None:
        """Keep the date in the headers right until it is time to stop."""
        self._is_up.set()
        while not self._is_stopping.is_set():
            await self.on_tick(0)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_stopping.wait(), _DATE_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Hear nobody new; let those who are being answered finish, for a while."""
        for server in self.servers:
            server.close()
        for bound in sockets or []:
            bound.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        for _ in range(int(_GOODBYE_SECONDS / _LOOK_SECONDS)):
            if not state.connections and not state.tasks:
                return
            await asyncio.sleep(_LOOK_SECONDS)
        for task in state.tasks:
            task.cancel()


def bind(address: Address) -> socket.socket:
    """A bound socket, or a sentence about why there is none."""
    host, port = address
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as problem:
        bound.close()
        raise bind_failure("operator listener", show_address(address), port, "--operator", problem) from problem
    return bound
