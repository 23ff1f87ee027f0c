"""Refusals in the words of the command line: `--soak` for `soak_seconds`, `--from` for `window.from`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

import click

from forewarn.cli.client import Refused
from forewarn.core.notice import in_words

_BODY = "The body cannot be used: "
_BOUND = re.compile(r"\b(more than|less than|at most|at least) (\d+)\b")
_OTHER_NAMES = {  # members whose option is called something else, by the name of that option's parameter
    "seconds": ["duration_seconds"],
    "duration": ["advance_seconds"],
    "opens": ["window.from"],
    "closes": ["window.to"],
}


def in_flags(problem: Refused, options: Sequence[click.Parameter]) -> Refused:
    """The refusal with the options of a command in place of the members and parameters of REST."""
    is_body = problem.message.startswith(_BODY)
    message, hint = problem.message.removeprefix(_BODY), problem.hint
    for option in options:
        flag = option.opts[0] if isinstance(option, click.Option) else (option.name or "").upper()
        for name in _names_of(option):
            said = _said(message, name, flag)
            if said != message and name.endswith("_seconds") and flag != "--seconds":
                said, hint = (_BOUND.sub(_in_words, text) for text in (said, hint))
            message, hint = said, _said(hint, name, flag)
    return Refused(f"{message[:1].upper()}{message[1:]}" if is_body else message, hint)


def _names_of(option: click.Parameter) -> list[str]:
    name = option.name or ""
    return [*_OTHER_NAMES.get(name, ()), f"window.{name}", f"{name}_seconds", name]


def _said(text: str, name: str, flag: str) -> str:
    """The text with the flag for the name; a name that is an ordinary word only where it is clearly meant."""
    whole = rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
    if "_" in name or "." in name:
        return re.sub(whole, flag, text)
    text = re.sub(rf'{whole} "(\w+)"', rf"{flag} \1", text)
    text = re.sub(rf"^(\w+: )?{whole}(?= (?:is|has|cannot) )", rf"\g<1>{flag}", text)
    return re.sub(rf"(?<=leave ){name}(?= out)", flag, text)


def _in_words(found: re.Match[str]) -> str:
    return f"{found[1]} {in_words(timedelta(seconds=int(found[2])))}"
