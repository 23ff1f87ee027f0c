"""Whether other users could put something into the agent's files, or in their place.

The one rule: nobody but root and the agent's own user may be able to write the state directory, its entries, or a
directory above it. Otherwise a link planted there makes an agent that runs as root write to any file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

_ROOT = 0
_MOST_LINKS = 40  # as in the kernel
_IS_POSIX = os.name == "posix"


class Untrusted(Exception):
    """Another user could redirect what the agent writes. What is wrong, and what to do: a sentence each."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(f"{message} {advice}")
        self.message = message
        self.advice = advice


def own_user() -> int:
    """The user that this process acts as."""
    return os.geteuid() if _IS_POSIX else _ROOT


def refuse_foreign_directory(place: Path, user: int) -> None:
    """Raise `Untrusted` if anybody but root and this user owns or can write the directory or what leads to it.

    A directory that does not exist yet is fine if nobody else could make it.
    """
    if not _IS_POSIX:
        return
    trusted = {_ROOT, user}
    outside = _owners_outside_namespace()
    above = list(_way_to(place))
    own = [above.pop()] if place.exists() else []
    for path, found in above:
        _refuse_owner(path, found, trusted | outside)
        # In a sticky directory others can add entries, but cannot replace ours.
        if stat.S_ISDIR(found.st_mode) and not found.st_mode & stat.S_ISVTX:
            _refuse_writable(path, found, trusted)
    for path, found in own:
        _refuse_owner(path, found, trusted)
        _refuse_writable(path, found, trusted)
        with os.scandir(path) as entries:
            for entry in entries:
                _refuse_entry(Path(entry.path), entry.stat(follow_symlinks=False), trusted)


def resolve(path: Path, user: int) -> Path:
    """The path without links; `Untrusted` if a link on the way belongs to another user than root and this one."""
    if not _IS_POSIX:
        return path
    for way, found in _way_to(path):
        if stat.S_ISLNK(found.st_mode):
            _refuse_owner(way, found, {_ROOT, user} | _owners_outside_namespace())
    return Path(os.path.realpath(path))


def _way_to(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every directory and link that leads to a path, and at the end what it names, as far as they exist."""
    root, *names = path.absolute().parts
    at, left, links = Path(root), names[::-1], 0
    yield at, at.lstat()
    while left:
        at = Path(os.path.normpath(at / left.pop()))
        try:
            found = at.lstat()
        except FileNotFoundError:
            return
        yield at, found
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise Untrusted(f"{path} leads through too many symbolic links.", "Name the directory itself.")
            target = at.readlink()
            left += [name for name in reversed(target.parts) if name != root]
            at = Path(root) if target.is_absolute() else at.parent


def _refuse_owner(path: Path, found: os.stat_result, trusted: set[int]) -> None:
    if found.st_uid not in trusted:
        raise Untrusted(
            f"{path} belongs to {name_of(found.st_uid)}, who could redirect what the agent writes.",
            "Name another place, or give this to root or to the agent's user with chown.",
        )


def _refuse_writable(path: Path, found: os.stat_result, trusted: set[int]) -> None:
    by_group = found.st_mode & stat.S_IWGRP and not _users_of_group(found.st_gid) <= trusted
    if by_group or found.st_mode & stat.S_IWOTH:
        raise Untrusted(
            f"Other users can write {path} (mode {stat.S_IMODE(found.st_mode):04o}) "
            "and could redirect what the agent writes.",
            f"Name another place, or run: chmod go-w {path}",
        )


def _refuse_entry(path: Path, found: os.stat_result, trusted: set[int]) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise Untrusted(f"{path} is a symbolic link; the agent follows none in its state_dir.", "Remove it.")
    _refuse_owner(path, found, trusted)
    # The state directory keeps others out of files; a directory in it that everybody can write may be reached.
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_IWOTH:
        _refuse_writable(path, found, trusted)


def _users_of_group(group: int) -> set[int]:
    """The users of a group. Many systems give each user a group of its own, which may write the user's files."""
    import grp  # noqa: PLC0415 - only where a group may write; there is none on Windows
    import pwd  # noqa: PLC0415 - the same

    try:
        named = set(grp.getgrgid(group).gr_mem)
    except KeyError:
        named = set()
    return {user.pw_uid for user in pwd.getpwall() if user.pw_gid == group or user.pw_name in named}


def _owners_outside_namespace() -> set[int]:
    """The number that stands for owners unknown in this user namespace, such as the host's root in a sandbox."""
    try:
        mapped = Path("/proc/self/uid_map").read_text(encoding="ascii").split()
        if mapped[:2] == ["0", "0"] and int(mapped[2]) >= 2**32 - 1:
            return set()
        return {int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii"))}
    except (OSError, ValueError, IndexError):
        return set()


def name_of(user: int) -> str:
    """A user for people."""
    import pwd  # noqa: PLC0415 - only where something is wrong; there is none on Windows

    try:
        return f"user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"user {user}"
