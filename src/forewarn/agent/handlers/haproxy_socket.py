"""HAProxy's runtime socket: one command, one answer, one connection."""

from __future__ import annotations

import csv
import socket

from forewarn.agent.compat import dataclass
from forewarn.agent.handlers.deadline import Deadline

_MOST_BYTES = 4 * 1024 * 1024
_LONGEST_ANSWER_SECONDS = 10
# Bits of srv_admin_state that an operator sets by `set server ... state`.
_MAINTENANCE, _DRAIN = 0x01, 0x08


class Unanswered(OSError):
    """The socket did not do what it was asked."""


class Unreachable(Unanswered):
    """Nobody is at the socket just now."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server of a backend, as HAProxy sees it."""

    is_draining: bool
    is_in_maintenance: bool

    @property
    def is_ready(self) -> bool:
        """Whether nobody has taken it out."""
        return not self.is_draining and not self.is_in_maintenance


class RuntimeSocket:
    """Asks an HAProxy, at a path or HOST:PORT."""

    def __init__(self, address: str, deadline: Deadline) -> None:
        self._address = address
        self._deadline = deadline

    def server(self, name: str) -> Server:
        """How a server, BACKEND/SERVER, is set."""
        backend, _, wanted = name.partition("/")
        answer = self.ask(f"show servers state {backend}")
        # A line with the version of the format, one with # and the names of the fields, and one for each server.
        lines = [line.removeprefix("# ").split() for line in answer.splitlines()[1:] if line.strip()]
        for line in lines[1:]:
            row = dict(zip(lines[0], line))
            if row.get("srv_name") == wanted:
                state = int(row.get("srv_admin_state", "0"))
                return Server(bool(state & _DRAIN), bool(state & _MAINTENANCE))
        raise Unanswered(f"HAProxy at {self._address} has no server {name}. It says: {_short(answer)}")

    def sessions(self, name: str) -> int:
        """The sessions of a server, those that run and those that wait in its queue."""
        lines = self.ask("show stat").removeprefix("# ").splitlines()
        for row in csv.DictReader(lines):
            if f"{row['pxname']}/{row['svname']}" == name:
                return int(row["scur"] or 0) + int(row["qcur"] or 0)
        raise Unanswered(f"HAProxy at {self._address} tells no figures of {name}.")

    def set_state(self, name: str, state: str) -> None:
        """Set a server to `drain` or `ready`. Whether it is, has to be read back."""
        if said := self.ask(f"set server {name} state {state}").strip():
            raise Unanswered(f"HAProxy at {self._address} did not set {name} to {state}: {_short(said)}")

    def ask(self, command: str) -> str:
        """The answer to one command."""
        deadline = self._deadline.within(_LONGEST_ANSWER_SECONDS)
        try:
            with self._connect(deadline) as connection:
                connection.settimeout(_left(deadline))
                connection.sendall(f"{command}\n".encode())
                pieces, size = [], 0
                while size < _MOST_BYTES:
                    connection.settimeout(_left(deadline))
                    piece = connection.recv(65536)
                    if not piece:
                        break
                    pieces.append(piece)
                    size += len(piece)
        except OSError as problem:
            raise Unreachable(f"HAProxy at {self._address} does not answer: {problem}") from problem
        return b"".join(pieces).decode("utf-8", "replace")

    def _connect(self, deadline: Deadline) -> socket.socket:
        host, colon, port = self._address.rpartition(":")
        if colon and port.isdigit() and "/" not in self._address:
            return socket.create_connection((host.strip("[]"), int(port)), _left(deadline))
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_left(deadline))
            connection.connect(self._address)
        except OSError:
            connection.close()
            raise
        return connection


def _left(deadline: Deadline) -> float:
    if deadline.is_over:
        raise TimeoutError(deadline.why())
    return deadline.left


def _short(answer: str) -> str:
    return " ".join(answer.split())[:120]
