"""A listener that cannot bind its address: what failed, why, and what to do about it."""

from __future__ import annotations

import errno
import socket

from forewarn.errors import ConfigError

_FIRST_FREE_PORT = 1024  # those below need a privilege


def bind_failure(listener: str, address: str, port: int, flag: str, problem: OSError) -> ConfigError:
    """The error to raise; `flag` is the option that names the address."""
    what = f"Cannot bind {listener} on {address}: {problem.strerror}."
    return ConfigError(what, _hint(port, flag, problem))


def _hint(port: int, flag: str, problem: OSError) -> str:
    if isinstance(problem, socket.gaierror):
        return f"Write an IP address of this machine, like {flag} 127.0.0.1:{port}."
    if problem.errno == errno.EACCES and port < _FIRST_FREE_PORT:
        return (
            f"Ports below {_FIRST_FREE_PORT} need a privilege. Run forewarn as root, or allow the port with: "
            f"sysctl -w net.ipv4.ip_unprivileged_port_start={port} (in a systemd unit: "
            f"AmbientCapabilities=CAP_NET_BIND_SERVICE), or choose a higher port with {flag}."
        )
    if problem.errno == errno.EADDRNOTAVAIL:
        return f"This machine does not have that address. List its addresses with ip address, and use {flag}."
    if problem.errno == errno.EADDRINUSE:
        return f"Choose another address with {flag}, or stop the program that listens there: ss -ltnp"
    return f"Choose another address with {flag}."
