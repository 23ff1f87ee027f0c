"""Texts without the secrets in them, in whatever form these stand there: plain, or quoted for JSON, URLs or HTML.

Whoever is sent a secret may repeat it as it was sent, and put that into quotes once more. So secret and text are
both unquoted before they are compared. What somebody makes of a secret, as half of it or its base64, is not found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

SHORTEST = 4  # a shorter one would blot out half of every line
MOST_GROWTH = 6  # how many times longer than its UTF-8 it may stand there, as \u0022 and &quot; do
_CONCEALED = "[secret]"
_MOST_TIMES = 4  # that something is quoted
_NAMED = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">"}
_NAMES = "|".join(_NAMED)
_CONTROLS = {"a": "\a", "b": "\b", "f": "\f", "v": "\v"}
# Quoted again, a mark doubles. All is bounded, so that no text takes long.
_BYTE, _UNIT = r"(?:%(?:25){0,3}|\\{1,8}x)([0-9a-fA-F]{2})", r"\\{1,8}u([0-9a-fA-F]{4})"
_QUOTED = re.compile(
    rf"""(?P<bytes>(?:{_BYTE})+)
    | (?P<units>(?:{_UNIT})+)
    | &(?:amp;){{0,3}}(?:\#(?P<number>[0-9]{{1,7}})|\#[xX](?P<hex>[0-9a-fA-F]{{1,6}})|(?P<name>{_NAMES}));
    | (?P<blank>(?:[\s+]|\\{{1,8}}[nrt])+)
    | \\{{1,8}}(?:(?P<control>[abfv])|(?P<octal>0?[0-7]{{1,3}}))  # as some shells' echo reads them
    | \\{{1,8}}""",
    re.VERBOSE,
)

_STRAY = re.compile("[\udc80-\udcff]")  # a byte that is no UTF-8, by "surrogateescape"; it is taken for Latin-1


def concealing(secrets: Iterable[str]) -> Callable[[str], str]:
    """What takes the secrets out of a text; of one with several lines, each of them too."""
    parts = {part.strip() for each in secrets for part in (each, *each.splitlines())}
    plain = {each for each in parts if len(each) >= SHORTEST}
    bare = {each for each in (_Bare(part).text.strip() for part in plain) if len(each) >= SHORTEST}
    return (lambda text: _without(plain, bare, text)) if plain else str


def without(secrets: Iterable[str], text: str) -> str:
    """The text without the secrets."""
    return concealing(secrets)(text)


def _without(plain: Iterable[str], bare: Iterable[str], text: str) -> str:
    unquoted = _Bare(text)
    found = [(at, at + len(each)) for each in plain for at in _places(each, text)]
    found += [unquoted.place(at, at + len(each)) for each in bare for at in _places(each, unquoted.text)]
    kept, done = [], 0
    for begin, end in sorted(found):
        if begin >= done:
            kept += [text[done:begin], _CONCEALED]
        done = max(done, end)
    return "".join([*kept, text[done:]])


def _places(part: str, text: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


class _Bare:
    """A text without quoting, each blank a single one; it knows where every letter has come from."""

    def __init__(self, text: str) -> None:
        from array import array  # noqa: PLC0415 - for those who have secrets

        self.text = text
        self._begins, self._ends = array("I", range(len(text))), array("I", range(1, len(text) + 1))
        for _ in range(_MOST_TIMES):
            if not self._unquote():
                break

    def place(self, begin: int, end: int) -> tuple[int, int]:
        """Where in the original a part of it stands."""
        return self._begins[begin], self._ends[end - 1]

    def _unquote(self) -> bool:
        """Do it once; whether anything has changed."""
        pieces, begins, ends, done = [], self._begins[:0], self._ends[:0], 0
        for mark in [*_QUOTED.finditer(self.text), None]:
            begin, end = mark.span() if mark else (len(self.text), len(self.text))
            pieces.append(self.text[done:begin])
            begins += self._begins[done:begin]
            ends += self._ends[done:begin]
            if mark and (meant := _meaning(mark)):
                pieces.append(meant)
                begins += self._begins[begin : begin + 1] * len(meant)
                ends += self._ends[end - 1 : end] * len(meant)
            done = end
        before, self.text = self.text, "".join(pieces)
        self._begins, self._ends = begins, ends
        return self.text != before


def _meaning(mark: re.Match[str]) -> str:
    if said := mark["bytes"]:
        text = bytes.fromhex("".join(re.findall(_BYTE, said))).decode("utf-8", "surrogateescape")
        return _STRAY.sub(lambda stray: chr(ord(stray[0]) - 0xDC00), text)
    if said := mark["units"]:
        return bytes.fromhex("".join(re.findall(_UNIT, said))).decode("utf-16-be", "replace")
    if mark["name"]:
        return _NAMED[mark["name"]]
    if mark["number"] or mark["hex"]:
        number = int(mark["number"]) if mark["number"] else int(mark["hex"], 16)
        return chr(number) if number <= 0x10FFFF else ""  # noqa: PLR2004 - the last letter of all
    if mark["octal"]:
        return chr(int(mark["octal"], 8))
    return " " if mark["blank"] else _CONTROLS.get(mark["control"], "")
