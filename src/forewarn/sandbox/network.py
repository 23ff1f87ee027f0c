"""A network of this process's own: a loopback interface, and on it the address that guests know.

No other program is needed, and no name is given to anything: when the last process in the network ends, the kernel
takes it all away. Needs root, or a user namespace, which is made where there is no root.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

METADATA = ("169.254.169.254", 80)
OPERATORS = ("127.0.0.1", 8255)

_NEW_UTS, _NEW_USER, _NEW_NET = 0x04000000, 0x10000000, 0x40000000  # CLONE_NEW...
_ADDRESS, _NETMASK, _GET_FLAGS, _SET_FLAGS = 0x8916, 0x891C, 0x8913, 0x8914  # SIOC...
_UP = 1
_PARENT_DEATH, _SUBREAPER = 1, 36  # PR_SET_...
_BACKLOG = 128
_libc = ctypes.CDLL(None, use_errno=True)


class Step(Exception):
    """What could not be done on the way into the network; its cause is the system's own error."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(f"{name}: {os.strerror(number)}")
        self.name = name
        self.number = number


def enter() -> None:
    """Go into a network without anything in it, and under a host name that may be changed; or `Step`."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0 and _unshare(_NEW_NET | _NEW_UTS) == 0:
        return
    # Nobody who may do that. In a user namespace anybody may, and stays who he is.
    if number := _unshare(_NEW_USER | _NEW_NET | _NEW_UTS):
        raise Step("namespace", number)
    try:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    except OSError as problem:
        raise Step("identity", problem.errno or 0) from problem


def open_sockets() -> tuple[socket.socket, socket.socket]:
    """Sockets that listen in this network, for guests and for operators; or `Step`."""
    try:
        _bring_up()
    except OSError as problem:
        raise Step("address", problem.errno or 0) from problem
    try:
        return _listen(METADATA), _listen(OPERATORS)
    except OSError as problem:
        raise Step("listen", problem.errno or 0) from problem


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send this process a signal when the thread that made it ends."""
    _control(_PARENT_DEATH, signal_number)


def adopt_orphans() -> None:
    """Become the parent of whatever below loses its own: nothing slips away."""
    _control(_SUBREAPER, 1)


def _control(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _unshare(what: int) -> int:
    """0, or the number of the system's error."""
    return 0 if _libc.unshare(what) == 0 else ctypes.get_errno()


def _bring_up() -> None:
    """Loopback up, and the address added beside its own: under an alias, and for itself alone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        flags = struct.unpack_from("h", _ask(control, _GET_FLAGS, "lo", b""), 16)[0]
        _ask(control, _SET_FLAGS, "lo", struct.pack("h", flags | _UP))
        _ask(control, _ADDRESS, "lo:0", _place(METADATA[0]))
        _ask(control, _NETMASK, "lo:0", _place("255.255.255.255"))


def _ask(control: socket.socket, request: int, interface: str, value: bytes) -> bytes:
    return fcntl.ioctl(control, request, struct.pack("16s24s", interface.encode("ascii"), value))


def _place(address: str) -> bytes:
    return struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(address))


def _listen(address: tuple[str, int]) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(address)
    listening.listen(_BACKLOG)
    listening.setblocking(False)  # noqa: FBT003 - the standard library's own signature
    return listening
