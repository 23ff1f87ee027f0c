"""A network namespace with a loopback interface that has the address of the metadata endpoint.

It needs no other program. The kernel removes it when its last process ends. Without root, it also creates a user
namespace.
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


class SetupError(Exception):
    """A step of the network setup failed, with this system error."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(f"{name}: {os.strerror(number)}")
        self.name = name
        self.number = number


def enter() -> None:
    """Enter an empty network namespace, and a namespace for the host name; raise `SetupError`."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0 and _unshare(_NEW_NET | _NEW_UTS) == 0:
        return
    # Not permitted. In a user namespace it is, and the user stays the same.
    if number := _unshare(_NEW_USER | _NEW_NET | _NEW_UTS):
        raise SetupError("namespace", number)
    try:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    except OSError as problem:
        raise SetupError("identity", problem.errno or 0) from problem


def open_sockets() -> tuple[socket.socket, socket.socket]:
    """Listening sockets in this network, for guests and operators; raise `SetupError`."""
    try:
        _bring_up()
    except OSError as problem:
        raise SetupError("address", problem.errno or 0) from problem
    try:
        return _listen(METADATA), _listen(OPERATORS)
    except OSError as problem:
        raise SetupError("listen", problem.errno or 0) from problem


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send this process a signal when its parent thread ends."""
    _control(_PARENT_DEATH, signal_number)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants."""
    _control(_SUBREAPER, 1)


def _control(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _unshare(what: int) -> int:
    """0, or the error number."""
    return 0 if _libc.unshare(what) == 0 else ctypes.get_errno()


def _bring_up() -> None:
    """Bring loopback up, and add the address under an alias with a host netmask."""
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
