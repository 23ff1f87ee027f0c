"""Secrets: a text, `{ file = "..." }` or `{ env = "..." }`. A file that everybody may read is none.

A reference says where a secret comes from without its text. For one that stands in the agent's file as a text it
is a checksum of that: too short to tell the secret, and enough to see whether the file still has it.

Each of these raises ValueError with the end of a sentence; the secret itself is in none of them.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path

_LARGEST = 64 * 1024
_FORM = 'write a text, { file = "..." } or { env = "..." }'


def read_secret(said: object, base: Path, environment: Mapping[str, str]) -> str:
    """The secret; a path that is not absolute begins at `base`, the directory of the file that names it."""
    secret = said if isinstance(said, str) else _from_elsewhere(said, base, environment)
    if not secret.strip():
        raise ValueError(f"it is empty; {_FORM}")
    return secret


def _from_elsewhere(said: object, base: Path, environment: Mapping[str, str]) -> str:
    ((source, name),) = said.items() if isinstance(said, Mapping) and len(said) == 1 else [("", "")]
    if source == "file" and isinstance(name, str):
        return _from_file(base / name)
    if source == "env" and isinstance(name, str):
        if name not in environment:
            raise ValueError(f"{name} is not in the environment; set it, or name a file")
        return environment[name]
    raise ValueError(f"it is no secret; {_FORM}")


def reference_to(said: object, secret: str, base: Path) -> dict[str, str]:
    """Return the reference to a secret that `read_secret` has read."""
    if not isinstance(said, Mapping):
        return {"literal": checksum_of(secret)}
    ((source, name),) = said.items()
    return {source: str(base / name) if source == "file" else str(name)}


def find_secret(reference: Mapping[str, str], environment: Mapping[str, str], literals: Mapping[str, str]) -> str:
    """Return the secret that a reference means; `literals` are those of the agent's file by their checksums."""
    if "literal" not in reference:
        return read_secret(reference, Path(), environment)
    if reference["literal"] not in literals:
        raise ValueError(
            "the agent's file does not have it any more; put it back, or keep it in a file of its own"
        )
    return literals[reference["literal"]]


def checksum_of(secret: str) -> str:
    """Return a checksum that many other texts have too."""
    return f"{zlib.crc32(secret.encode()):08x}"


def may_be_read_by_all(path: Path) -> bool:
    """Whether everybody on this machine may read the file."""
    return os.name == "posix" and bool(path.stat().st_mode & stat.S_IROTH)


def may_be_written_by_all(path: Path) -> bool:
    """Whether everybody on this machine may change the file."""
    return os.name == "posix" and bool(path.stat().st_mode & stat.S_IWOTH)


def _from_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        is_open = may_be_read_by_all(path)
    except OSError as problem:
        raise ValueError(f"{path} cannot be read ({problem.strerror}); mend that, or name another file") from None
    if is_open:
        raise ValueError(f"{path} may be read by everybody; run: chmod o-rwx {path}")
    if len(content) > _LARGEST:
        raise ValueError(f"{path} is too large for a secret; it can be {_LARGEST} bytes at most")
    try:
        return content.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; write it anew") from None
