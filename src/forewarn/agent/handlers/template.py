"""Texts with placeholders: `${event.id}` stands for a part of the event, `${secret.NAME}` for a secret.

What an event says is never taken for more than a text: each place has its own quoting. `$${` is a plain `${`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from forewarn.agent.handlers.event_words import PLACEHOLDERS

_HOLE = re.compile(r"\$(?P<plain>\$\{)|\$\{(?P<name>[^{}]*)\}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_QUOTE = re.compile(r'\\.|"', re.DOTALL)


def problems(text: str, where: str, secrets: Collection[str] = ()) -> list[str]:
    """Placeholders of a text that stand for nothing."""
    known = list(_everything(secrets, ""))
    unknown = sorted({name for _, name in _pieces(text) if name is not None and name not in known})
    return [f"{where} has ${{{name}}}, which stands for nothing. {_instead(name, known)}" for name in unknown]


def json_problems(text: str, where: str, secrets: Collection[str] = ()) -> list[str]:
    """The same for a text that is to be JSON, and whether it is."""
    if found := problems(text, where, secrets):
        return found
    try:
        json.loads(in_json(text, _everything(secrets, 'a "quote", a\nline, \\ and <tags> & more')))
    except ValueError as problem:
        return [f"{where} is no JSON once its placeholders are filled in: {problem}. Mend its commas and quotes."]
    return []


def url_problems(text: str, where: str, secrets: Collection[str] = ()) -> list[str]:
    """The same for a text that is to be an address, and whether it is."""
    from forewarn.agent.handlers.calls import url_problems as judge  # noqa: PLC0415 - only who calls needs it

    return problems(text, where, secrets) or judge(in_url(text, _everything(secrets, "x")), where)


def header_problems(headers: Mapping[str, str], where: str, secrets: Collection[str] = ()) -> list[str]:
    """The same for headers, and whether their names can be such."""
    found = [
        f"{where} has {name!r}, which is no name of a header. Use letters, digits and -."
        for name in headers
        if not _HEADER.fullmatch(name)
    ]
    return found + [each for name, text in headers.items() for each in problems(text, f"{where}.{name}", secrets)]


def plainly(text: str, values: Mapping[str, Any]) -> str:
    """The text with what its placeholders stand for, as it is."""
    return "".join(before if name is None else _as_text(values[name]) for before, name in _pieces(text))


def in_json(text: str, values: Mapping[str, Any]) -> str:
    """A text that stays JSON: inside quotes a placeholder is quoted, outside it becomes a whole value."""
    is_inside = False
    filled = []
    for piece, name in _pieces(text):
        if name is None:
            filled.append(piece)
            is_inside ^= sum(mark == '"' for mark in _QUOTE.findall(piece)) % 2 == 1
        elif is_inside:
            filled.append(json.dumps(_as_text(values[name]))[1:-1])
        else:
            filled.append(json.dumps(values[name]))
    return "".join(filled)


def in_url(text: str, values: Mapping[str, Any]) -> str:
    """An address in which what a placeholder stands for is one part, whatever characters it has."""
    from urllib.parse import quote  # noqa: PLC0415 - only who calls needs it

    return "".join(
        piece if name is None else quote(_as_text(values[name]).encode("utf-8", "replace"), safe="")
        for piece, name in _pieces(text)
    )


def in_header(text: str, values: Mapping[str, Any]) -> str:
    """A header's value, of one line."""
    filled = plainly(text, values)
    return "".join(letter if letter.isprintable() else " " for letter in filled).strip()


def _everything(secrets: Collection[str], value: str) -> dict[str, Any]:
    return dict.fromkeys([*PLACEHOLDERS, *(f"secret.{name}" for name in secrets)], value)


def _pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """The text in pieces: as it is, or the name of a placeholder."""
    at = 0
    for hole in _HOLE.finditer(text):
        if before := text[at : hole.start()]:
            yield before, None
        at = hole.end()
        yield ("${", None) if hole["plain"] else ("", hole["name"])
    if rest := text[at:]:
        yield rest, None


def _as_text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _instead(name: str, known: list[str]) -> str:
    import difflib  # noqa: PLC0415 - only where something is wrong

    close = difflib.get_close_matches(name, known, 1)
    return f"Did you mean ${{{close[0]}}}?" if close else f"There are: {', '.join(known)}."
