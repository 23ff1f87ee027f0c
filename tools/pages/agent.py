"""The agent: its commands, its file and its handlers, from the parsers and the tables that read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from enum import Enum
from pathlib import Path
from typing import Any

from forewarn.agent.commands import PROGRAM
from forewarn.agent.commands.parser import build_parser, subparsers
from forewarn.agent.config_keys import APPROVALS, OCCASIONS, PEERS, PROFILE, RULE, SETTINGS, STEP, TOGETHER, Key
from forewarn.agent.handlers import KINDS, find
from forewarn.agent.handlers.base import OPTION_TYPES, Option
from forewarn.agent.policy import Profile, Rule, Step
from forewarn.agent.settings import Peers, Settings
from tools.markdown import block, code, page, table

_WIDTH = 88
_HEAD = ("key", "what it is", "default", "what it means")

_INTRODUCTION = """\
The agent is the program in the guest. It asks the endpoint what is going to happen to this machine, prepares,
approves and recovers. It needs Python 3.9 and nothing else: `forewarn agent`, or one file that `make agent`
builds, `forewarn-agent.pyz`. A unit for systemd is in `packaging/`, a file with comments in
`examples/agent.toml`."""

_FILE = """\
TOML. It is the file that `--config` names, else the one in `FOREWARN_AGENT_CONFIG`, else
`/etc/forewarn/agent.toml` where there is one. Without a file the agent logs events, and approves nothing. A key
that is not known, a value of the wrong type, a name that leads nowhere and a secret that everybody may read are
refused, all at once, each with its line; `forewarn agent check` does only that. Seconds are a number, or a text
such as `"90s"`, `"5m"` or `"1h30m"`."""

_SETTINGS = """\
These stand at the top of the file. Each is also a flag of `run`, and a variable in the environment; a flag wins
over the environment, the environment over the file. Lists are separated by commas there."""

_RULES = """\
`[[rules]]`, in order: the first that fits decides. What a rule does not say, it does not ask for. Words fit in
any case. The profile `"log only"` is always there; it does nothing, and approves nothing. So does an event that
no rule fits."""

_PROFILES = "`[profiles.NAME]`: when to begin, when to be done, when to approve."

_STEPS = """\
`[[profiles.NAME.steps]]`: one thing to do, by one handler. The options of the handler stand beside these keys.
Steps of `prepare` are undone when the event is over, the last group first, if their handler has something to
undo."""

_PEERS = """\
`[peers]`, for profiles with `together = "leader"`: the agents of the VMs that one event names tell each other
when they are ready."""

_HANDLERS = """\
What a step may `use`. Secrets are read when the agent starts; a file that holds one must not be readable by
everybody, and a path that is not absolute begins at the directory of the agent's file. They are kept out of notes
and logs from 4 letters on; `check` warns of a shorter one."""


def write() -> str:
    """The page."""
    return page("The agent", _INTRODUCTION, *_commands(), *_file(), *_handlers())


def _commands() -> Iterable[str]:
    yield "## Commands"
    parser = build_parser(PROGRAM, _WIDTH)
    yield block("text", parser.format_help())
    for name, each in subparsers(parser).items():
        yield f"### {PROGRAM} {name}"
        yield block("text", each.format_help())


def _file() -> Iterable[str]:
    yield from ("## The file", _FILE, "### Settings", _SETTINGS)
    yield table(
        ("key", "in the environment", *_HEAD[1:]),
        ((code(key.name), code(key.variable), key.form, _default(key, Settings), key.help) for key in SETTINGS),
    )
    yield from ("### Rules", _RULES, _keys(RULE, Rule))
    yield from ("### Profiles", _PROFILES, _keys(PROFILE, Profile))
    yield from (_words("approval", APPROVALS), _words("together", TOGETHER))
    yield from ("### Steps", _STEPS, _keys(STEP, Step), _words("on", OCCASIONS))
    yield from ("### Peers", _PEERS, _keys(PEERS, Peers))


def _handlers() -> Iterable[str]:
    yield from ("## Handlers", _HANDLERS)
    for kind in KINDS:
        handler = find(kind)
        yield f"### {kind}"
        yield handler.help
        yield table(("option", *_HEAD[1:]), (_option(each) for each in handler.options))


def _keys(keys: Sequence[Key], kind: type[Any]) -> str:
    return table(_HEAD, ((code(key.name), key.form, _default(key, kind), key.help) for key in keys))


def _words(key: str, words: Mapping[Any, str]) -> str:
    return table((code(key), "what it means"), ((code(word), text) for word, text in words.items()))


def _option(option: Option) -> tuple[str, str, str, str]:
    default = "required" if option.is_required else _shown(option.default)
    return code(option.name), OPTION_TYPES[option.type], default, option.help


def _default(key: Key, kind: type[Any]) -> str:
    if key.is_required:
        return "required"
    found: Field[Any] = next(each for each in fields(kind) if each.name == key.target)
    return "" if found.default is MISSING else _shown(found.default)


def _shown(value: object) -> str:
    """A default as the file would write it; nothing where there is none."""
    match value:
        case None | "" | ():
            return ""
        case bool():
            return code(str(value).lower())
        case Enum():
            return code(f'"{value.value}"')
        case int() | float():
            return code(f"{value:g}")
        case (str() as host, int() as port):
            return code(f'"{host}:{port}"')
        case Path():
            return code(f'"{value.as_posix()}"')
        case tuple() | list():
            return ", ".join(_shown(each) for each in value)
        case _:
            return code(f'"{value}"')
