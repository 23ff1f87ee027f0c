"""`forewarn-agent.pyz`: the agent as one file that Python runs.

    python3 tools/agent_file.py dist/forewarn-agent.pyz

It runs on Python 3.9 and later. For those without a TOML parser of their own it contains tomli, as the Python that
builds has it installed. The same sources and the same tomli make the same bytes. Beside each module of ours stands
its bytecode for the Python that builds: that one starts without compiling, and every other compiles what it finds.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import stat
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
_SHEBANG = b"#!/usr/bin/env python3\n"
# Any Python has to be able to read this much, to say that it is too old.
_BEGINNING = """\
import sys

if sys.version_info < (3, 9):
    sys.stderr.write(
        "error: forewarn-agent needs Python 3.9 or later, and this is %d.%d. "
        "Start it with a later one, such as: python3.11 %s\\n" % (sys.version_info[:2] + (sys.argv[0],))
    )
    sys.exit(2)

from forewarn.agent.__main__ import main

main()
"""
_PARSER = "tomli"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first date that a zip file knows
_UNCHECKED_HASH = (0b01).to_bytes(4, "little")  # nothing is compared with the source: it cannot change in there


class ParserMissing(Exception):
    """The Python that builds has no tomli."""


def modules(source: Path = SOURCE) -> Iterator[tuple[str, str]]:
    """The names and texts of our modules, in order."""
    yield "__main__.py", _BEGINNING
    files = [source / "forewarn" / "__init__.py", *sorted((source / "forewarn" / "agent").rglob("*.py"))]
    for file in files:
        yield file.relative_to(source).as_posix(), file.read_text(encoding="utf-8")


def parser_files() -> Iterator[tuple[str, bytes]]:
    """The names and contents of tomli's Python files, in order, and its licence."""
    try:
        files = distribution(_PARSER).files or []
    except PackageNotFoundError:
        raise ParserMissing from None
    for file in sorted(files):
        if file.parent.name == _PARSER and file.suffix == ".py":
            yield file.as_posix(), file.read_binary()
        elif file.name == "LICENSE":
            yield f"{_PARSER}/LICENSE", file.read_binary()


def bytecode(name: str, text: str) -> bytes:
    """The module as this Python would keep it, without a word about where it was compiled."""
    code = compile(text, name, "exec", dont_inherit=True, optimize=0)
    head = importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH + importlib.util.source_hash(text.encode())
    return head + marshal.dumps(code)


def build(target: Path, source: Path = SOURCE) -> None:
    """Write the file, all of it or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    begun = target.with_name(f"{target.name}.{os.getpid()}")
    with begun.open("wb") as file:
        file.write(_SHEBANG)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, text in modules(source):
                _add(archive, name, text.encode())
                if name != "__main__.py":  # Python itself reads this one, and wants its source
                    _add(archive, f"{name}c", bytecode(name, text))
            for name, content in parser_files():
                _add(archive, name, content)
    begun.chmod(begun.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    begun.replace(target)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, wherever it is built
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)


def main(arguments: list[str]) -> int:
    """Build the file that is named."""
    if len(arguments) != 1:
        print("Name the file to write: python3 tools/agent_file.py dist/forewarn-agent.pyz", file=sys.stderr)
        return 2
    target = Path(arguments[0])
    try:
        build(target)
    except ParserMissing:
        print(f"{sys.executable} has no tomli, which goes into the file. Run: make agent", file=sys.stderr)
        return 1
    print(f"{target}: {target.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
