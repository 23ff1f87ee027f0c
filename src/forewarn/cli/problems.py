"""What commands print when they fail: a sentence that says what failed, and a hint that fits the cause."""

from __future__ import annotations

import errno
import re

import click

from forewarn.errors import ForewarnError, StoreError
from forewarn.wire.choices import did_you_mean

_NO_COMMAND = re.compile(r"No such command '(.*?)'")
_CLICK_WORDS = (  # what click says of a value, and what we say
    (r"is not a valid (integer|float)( range)?", "is not a number"),
    (r"is not in the range x>=(\S+)\.", r"is too small; it can be \1 or more."),
    (r"is not in the range (\S+)<=x<=(\S+)\.", r"is out of range; it can be \1 to \2."),
    (r"is not in the range (\S+)<x<=(\S+)\.", r"is out of range; it can be more than \1, up to \2."),
    (r"does not match the format '%Y-%m-%d'", "is no date; write it like 2026-12-24"),
)
_FULL = {errno.ENOSPC, errno.EDQUOT}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}

_ROOM = "Free some space (df -h shows how much there is), or keep the store elsewhere with --store."
_ACCESS = "Let this user (see id) read and write the file and its directory, or name another store with --store."
_SQLITE_HINTS = {  # by the first words of SQLite's name for the error
    "SQLITE_FULL": _ROOM,
    "SQLITE_CANTOPEN": f"The path has to be a file in a directory that exists. {_ACCESS}",
    "SQLITE_READONLY": _ACCESS,
    "SQLITE_PERM": _ACCESS,
}
_POSTGRESQL_HINTS = (  # libpq reports failed connections as text alone
    (r'database "(.+?)" does not exist', "Create it first: createdb {}"),
    (r'role "(.+?)" does not exist', "Create the user first: createuser {}"),
    (r"password authentication failed|no password supplied", "Correct the password in --store or in ~/.pgpass."),
    (r"no pg_hba.conf entry", "Allow this user and machine in PostgreSQL's pg_hba.conf."),
    (r"Connection refused|No such file", "Start PostgreSQL, or correct the host and the port in --store."),
    (r"could not translate host name|failed to resolve host", "Correct the host name in --store."),
)


def usage_problem(problem: click.ClickException) -> tuple[str, str]:
    """What click found wrong with the arguments, and where the right ones are described."""
    message = " ".join(problem.format_message().split())
    for theirs, ours in _CLICK_WORDS:
        message = re.sub(theirs, ours, message)
    message = message if message.endswith((".", "?", ")")) else f"{message}."
    context = problem.ctx if isinstance(problem, click.UsageError) else None
    if context is None:
        return message, ""
    question = ""
    if (unknown := _NO_COMMAND.match(message)) and isinstance(context.command, click.Group):
        message = f"{unknown[0]}."
        question = did_you_mean(unknown[1], context.command.list_commands(context))
    usage = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
    return message, f"{question} Usage: {usage}; see {context.command_path} --help".lstrip()


def file_problem(problem: OSError) -> tuple[str, str] | None:
    """What the system said about a file or an output; None where it is about neither."""
    why = problem.strerror or str(problem)
    if problem.errno in {*_FULL, errno.EIO} and problem.filename is None:
        return f"Cannot write the result: {why}.", "Write it somewhere else."
    if problem.filename is None:
        return None
    what = f"Cannot use {problem.filename}: {why}."
    if problem.errno in _FULL:
        return what, "Free some space (df -h shows how much there is), or name another place."
    if problem.errno in _DENIED:
        return what, "Let this user (see id) read and write it, or name another place."
    return what, "Name another file."


def hint_for(problem: ForewarnError) -> str:
    """The hint of an error; for a store that cannot be used, one that fits the cause."""
    if not isinstance(problem, StoreError):
        return problem.hint
    cause = problem.__cause__
    original = getattr(cause, "orig", cause)  # SQLAlchemy wraps the database's own error
    if isinstance(original, OSError):
        if original.errno in _FULL:
            return _ROOM
        if original.errno in {errno.EISDIR, errno.ENOTDIR, errno.ENOENT}:
            return f"The path has to be a file in a directory that exists. {_ACCESS}"
        return _ACCESS if original.errno in _DENIED else problem.hint
    name = getattr(original, "sqlite_errorname", None)
    if name is not None:
        hints = (hint for start, hint in _SQLITE_HINTS.items() if name.startswith(start))
        return next(hints, problem.hint)
    for pattern, hint in _POSTGRESQL_HINTS:
        if found := re.search(pattern, str(original)):
            return hint.format(*found.groups())
    return problem.hint
