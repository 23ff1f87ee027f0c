"""What a page of Markdown says: its links, its anchors, and the commands that it shows."""

from __future__ import annotations

import io
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import groupby

import click

from forewarn.agent.commands import PROGRAM
from forewarn.agent.commands.parser import build_parser
from tools.markdown import anchor
from tools.pages.cli import open_context

_FENCE = re.compile(r"^( *)(```+|~~~+)(\w*)[^\n]*\n(.*?)^\1\2[ ]*$", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SHELLS = {"console", "sh", "bash", "shell"}
_ENDS_A_COMMAND = set("();<>|&")


def links(text: str) -> list[str]:
    """Where the page leads, code left out."""
    prose = _INLINE_CODE.sub("``", _FENCE.sub("", text))
    return [first or second for first, second in _LINK.findall(prose)]


def anchors(text: str) -> set[str]:
    """What a link into the page may name; a heading that is there again is numbered."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        name = anchor(_MARKUP.sub(r"\1", heading))
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def commands(text: str) -> Iterator[list[str]]:
    """The calls of `forewarn` that the page shows, without what stands before and after them."""
    for _, _, language, body in _FENCE.findall(text):
        if language not in _SHELLS:
            continue
        for line in body.replace("\\\n", " ").splitlines():
            typed = line.strip()
            if language == "console":
                if not typed.startswith(("$ ", "# ")):
                    continue  # what the command printed
                typed = typed[2:]
            yield from _calls(typed)


def _calls(line: str) -> Iterator[list[str]]:
    if "forewarn" not in line:
        return
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    for is_end, words in groupby(lexer, key=lambda word: set(word) <= _ENDS_A_COMMAND):
        call = list(words)
        while call and ("=" in call[0] or call[0] == "sudo"):
            call.pop(0)
        if not is_end and call and call[0].rpartition("/")[2] == "forewarn":
            yield call


def find_wrong(call: list[str], command: click.Command) -> str:
    """The first word of a call that is no command and no option; nothing where all are known."""
    if call[1:2] == ["agent"]:
        return _find_wrong_for_agent(call[2:])
    context = open_context(command, "forewarn")
    words = iter(call[1:])
    for word in words:
        if word == "--":
            return ""
        if word.startswith("-") and word != "-":
            name, _, value = word.partition("=")
            options = [each for each in command.get_params(context) if name in (*each.opts, *each.secondary_opts)]
            if not options:
                return f"{context.command_path} has no option {name}"
            if isinstance(options[0], click.Option) and not options[0].is_flag and not value:
                next(words, None)
        elif isinstance(command, click.Group):
            below = command.get_command(context, word)
            if below is None:
                return f"{context.command_path} has no command {word}"
            command, context = below, open_context(below, word, context)
    return ""


def _find_wrong_for_agent(words: list[str]) -> str:
    """The same for the agent's commands, which have a parser of their own."""
    said = io.StringIO()
    try:
        with redirect_stderr(said), redirect_stdout(io.StringIO()):
            build_parser(PROGRAM).parse_args(words)
    except SystemExit as leaving:
        return said.getvalue().splitlines()[0] if leaving.code else ""
    return ""
