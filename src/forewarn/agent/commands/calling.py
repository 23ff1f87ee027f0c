"""Talking to the agent that runs on this machine, at the address and with the token of its settings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from forewarn.agent.commands.output import UNREACHABLE, Failure
from forewarn.agent.config_values import show_address
from forewarn.agent.http1 import ExchangeFailed, Request, Response, exchange
from forewarn.agent.settings import Settings

_SECONDS = 10
_OK = range(200, 300)
_UNAUTHORIZED = {401, 403}


class RunningAgent:
    """The agent that runs."""

    def __init__(self, settings: Settings) -> None:
        if settings.listen is None:
            raise Failure(
                "The agent listens nowhere: listen = false, so that it cannot be talked to.",
                'Say listen = "127.0.0.1:8256", and start it anew.',
                UNREACHABLE,
            )
        self._address = settings.listen
        self._token_file = settings.state_dir / "token"

    def ask(self, path: str) -> Any:  # noqa: ANN401 - whatever it answers
        """What it says."""
        return self._read(self._call(Request("GET", path)))

    def tell(self, path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever it answers
        """What it says to an order, which takes the token."""
        headers = {"Authorization": f"Bearer {self._token()}", "Content-Type": "application/json"}
        return self._read(self._call(Request("POST", path, headers, json.dumps(body).encode())))

    def _call(self, request: Request) -> Response:
        try:
            return exchange(self._address, request, _SECONDS)
        except ExchangeFailed as problem:
            raise Failure(
                f"No agent answers at {show_address(self._address)}: {problem}",
                "Is it running? Name its address with --listen, or its file with --config.",
                UNREACHABLE,
            ) from None

    def _read(self, response: Response) -> Any:  # noqa: ANN401 - whatever it answers
        try:
            said = json.loads(response.body)
        except (ValueError, RecursionError):
            said = {"message": response.body[:200].decode("utf-8", "replace")}
        if response.status in _OK:
            return said
        message = said.get("message") or said.get("error") if isinstance(said, dict) else ""
        if response.status in _UNAUTHORIZED:
            raise Failure(message or "The agent does not take this token.", f"It is in {self._token_file}.")
        raise Failure(message or f"The agent at {show_address(self._address)} answered {response.status}.")

    def _token(self) -> str:
        return _read_token(self._token_file)


def _read_token(path: Path) -> str:
    try:
        # Following no link: the content is sent to whoever listens at the agent's address.
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(file, encoding="utf-8") as opened:
            return opened.read().strip()
    except OSError as problem:
        raise Failure(
            f"The agent's token in {path} cannot be read: {problem.strerror}.",
            "Run this as the user that the agent runs as, and name its directory with --state-dir. "
            "An agent in a dry run has none, and takes no orders.",
        ) from None
