"""Why this system cannot make a sandbox, and what to do about it."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

from forewarn.errors import ForewarnError

Read = Callable[[str], str | None]

_AS_ROOT = "or run the sandbox as root"


class NoSandbox(ForewarnError):
    """The system cannot make a sandbox."""


class NotRun(ForewarnError):
    """The program cannot be started; the exit code is that of a shell."""

    def __init__(self, message: str, hint: str, code: int) -> None:
        super().__init__(message, hint)
        self.code = code


def check_platform(platform: str = sys.platform) -> None:
    """Refuse any system but Linux."""
    if platform != "linux":
        raise NoSandbox(
            f"The sandbox is made of Linux's network namespaces, and this is {platform}.",
            "Use forewarn serve, and tell the program its address; or run it in a Linux VM or container.",
        )


def read_setting(name: str) -> str | None:
    """The kernel setting at /proc/sys/NAME; None if there is none."""
    try:
        return Path("/proc/sys", name).read_text(encoding="ascii").strip()
    except OSError:
        return None


def explain(step: str, number: int, read: Read = read_setting) -> NoSandbox:
    """The error for a failed step."""
    said = os.strerror(number)
    if step in {"namespace", "identity", "address"}:
        for setting, stopper, remedy in _SETTINGS:
            if read(setting) == stopper:
                name = setting.replace("/", ".")
                return NoSandbox(f"This system lets nobody make a sandbox: {name} is {stopper}.", remedy)
    if step == "namespace" and number == errno.ENOSPC:
        return NoSandbox(
            "There are as many user or network namespaces as this system allows.",
            "Raise user.max_user_namespaces and user.max_net_namespaces with sysctl, or end what holds them.",
        )
    if number in {errno.EPERM, errno.EACCES}:
        return NoSandbox(
            f"A network of its own is needed for the sandbox, and the system forbids it ({step}: {said}).",
            "In a container, allow unshare (its seccomp profile stands in the way) or give it CAP_SYS_ADMIN; "
            f"elsewhere look for AppArmor or SELinux in the kernel's log, {_AS_ROOT}.",
        )
    if number in {errno.EINVAL, errno.ENOSYS}:
        return NoSandbox(
            f"This kernel has no user or network namespaces ({step}: {said}).", f"Use another kernel, {_AS_ROOT}."
        )
    return NoSandbox(f"The sandbox's network could not be made ({step}: {said}).", "See the kernel's log.")


_SETTINGS = (
    (
        "kernel/unprivileged_userns_clone",
        "0",
        f"sysctl -w kernel.unprivileged_userns_clone=1, {_AS_ROOT}.",
    ),
    ("user/max_user_namespaces", "0", f"sysctl -w user.max_user_namespaces=10000, {_AS_ROOT}."),
    ("user/max_net_namespaces", "0", "sysctl -w user.max_net_namespaces=10000"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        f"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, {_AS_ROOT}.",
    ),
)


def unstarted(command: str, number: int) -> NotRun:
    """The error for a program that did not start."""
    if number == errno.ENOENT:
        return NotRun(f"There is no command {command}.", "Check its spelling and PATH, or give its path.", 127)
    return NotRun(
        f"{command} cannot be run: {os.strerror(number)}.",
        "It has to be an executable file, or a script with #!.",
        126,
    )
