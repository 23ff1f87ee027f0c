"""What the commands are called and what they take. The reference page is made from this too."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

from forewarn import __version__
from forewarn.agent.commands.output import USAGE, complain, write, write_error
from forewarn.agent.config_keys import SETTINGS, Key
from forewarn.agent.config_values import as_flag

_EPILOG = (
    "Exit codes: 0 done, 1 refused or failed, 2 usage, 3 agent or endpoint unreachable, "
    "128 and more: ended by a signal."
)
_CONFIG_HELP = "The file; else FOREWARN_AGENT_CONFIG, else /etc/forewarn/agent.toml where there is one."

# name, module, one line, what the help says
COMMANDS = (
    ("run", "run", "Watch, prepare, approve, recover: until told to stop.", "run [OPTIONS]"),
    ("check", "check", "Report every configuration error.", "check [OPTIONS]"),
    ("explain", "explain", "What would be done about an event, when, and why.", "explain [OPTIONS] [FILE]"),
    ("status", "status", "What the running agent sees, does and waits for.", "status [OPTIONS]"),
    ("approve", "tell", "Let an event begin, once it is prepared.", "approve [OPTIONS] EVENT"),
    ("hold", "tell", "Keep an event from being approved.", "hold [OPTIONS] EVENT"),
    ("release", "tell", "Take a hold back.", "release [OPTIONS] EVENT"),
    ("reset", "tell", "Apply the current configuration to an open event.", "reset [OPTIONS] EVENT"),
    ("retry", "tell", "Run failed steps of an event again, or one step.", "retry [OPTIONS] EVENT [STEP]"),
    (
        "test",
        "test",
        "Run a profile and its undo for an invented event; approve nothing.",
        "test [OPTIONS] PROFILE",
    ),
)


def build_parser(program: str, width: int | None = None, only: str = "") -> argparse.ArgumentParser:
    """The whole command; or with the options of only one subcommand, which is quicker and smaller."""
    parser = _parser(program, width, "[OPTIONS] COMMAND [ARGS]...")
    parser.description = "The program in the guest: watches, prepares, approves, recovers."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--version", action="version", version=f"forewarn agent {__version__}", help="Show the version and exit."
    )
    below = parser.add_subparsers(prog=program, dest="command", metavar="COMMAND", required=True, title="commands")
    for name, module, text, usage in COMMANDS:
        command = below.add_parser(name, help=text, add_help=False, allow_abbrev=False)
        _dress(command, f"{program} {usage}", text, width)
        command.set_defaults(module=module)
        if only in {"", name}:
            _ARGUMENTS[name](command)
    return parser


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands of a parser, by name."""
    actions = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))  # noqa: SLF001 - there is no other way
    return dict(next(actions).choices)


def overrides_in(given: SimpleNamespace) -> dict[str, str]:
    """What the flags say, by the names of the settings."""
    names = [key.name for key in SETTINGS]
    return {name: value for name, value in vars(given).items() if name in names and value is not None}


class _Parser(argparse.ArgumentParser):
    """A parser whose output fails as that of the other commands: argparse differs between patch versions there."""

    def error(self, message: str) -> NoReturn:
        """Report a usage error as every other error is reported."""
        what = f"{message[:1].upper()}{message[1:]}"
        complain(what if what.endswith(".") else f"{what}.", f"Usage: {self.usage}; see {self._named} --help")
        self.exit(USAGE)

    @property
    def _named(self) -> str:
        return (self.usage or self.prog).partition(" [")[0]

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ANN401 - as argparse has it
        (write if file is sys.stdout else write_error)(message)


def _parser(program: str, width: int | None, usage: str) -> argparse.ArgumentParser:
    parser = _Parser(prog=program, add_help=False, allow_abbrev=False)
    _dress(parser, f"{program} {usage}", "", width)
    return parser


def _dress(parser: argparse.ArgumentParser, usage: str, text: str, width: int | None) -> None:
    parser.usage = usage
    parser.description = text
    parser.formatter_class = _formatter(width)
    parser.add_argument("-h", "--help", action="help", help="Show this and exit.")


def _formatter(width: int | None) -> type[argparse.HelpFormatter]:
    """A formatter of that width; None: as wide as the terminal."""

    class Formatter(argparse.HelpFormatter):
        def __init__(self, prog: str) -> None:
            super().__init__(prog, max_help_position=30, width=width or _terminal_width())

    return Formatter


def _terminal_width() -> int:
    """As argparse would find out; but that takes `shutil`, and with it every kind of archive into memory."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns) - 2
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else -1).columns - 2
    except (OSError, ValueError):
        return 78


def _add_settings(parser: argparse.ArgumentParser, names: Sequence[str] | None = None) -> None:
    parser.add_argument("--config", metavar="FILE", help=_CONFIG_HELP)
    for key in SETTINGS:
        if names is None or key.name in names:
            _add_setting(parser, key)


def _add_setting(parser: argparse.ArgumentParser, key: Key) -> None:
    text = key.help.replace("%", "%%")
    if key.read is as_flag:
        form = "true|false"
        parser.add_argument(key.flag, dest=key.name, nargs="?", const="true", metavar=form, help=text)
    else:
        parser.add_argument(key.flag, dest=key.name, metavar=_metavar(key.form), help=text)


def _metavar(form: str) -> str:
    """What a flag takes, in one word: all choices where there are several, else the first form."""
    if "," in form:
        return form.replace(", ", "|").replace(" or ", "|")
    return form.partition(" ")[0].upper()


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", dest="is_json", help="For programs.")


def _add_event(parser: argparse.ArgumentParser) -> None:
    """What an invented event may be."""
    parser.add_argument("--type", metavar="TYPE", help="Freeze, Reboot, Redeploy, Preempt or Terminate.")
    parser.add_argument("--source", metavar="SOURCE", help="Platform (default) or User.")
    parser.add_argument("--duration", metavar="SECONDS", help="How long it lasts (default: -1, not known).")
    parser.add_argument("--notice", metavar="SECONDS", help="How long until its NotBefore (default: as on Azure).")
    parser.add_argument("--resources", metavar="NAMES", help="The VMs that it names (default: this one).")
    parser.add_argument("--description", metavar="TEXT", help="Its description.")


def _run(parser: argparse.ArgumentParser) -> None:
    _add_settings(parser)


def _check(parser: argparse.ArgumentParser) -> None:
    _add_settings(parser)
    _add_json(parser)


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "What would be done about an event, when, and why. The event comes from FILE (- is stdin), which is one "
        "event or a whole document; or from --type and the options beside it; else the endpoint is asked what is "
        "open now."
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="One event, or a document of them, as JSON.")
    _add_event(parser)
    parser.add_argument("--vm", metavar="NAME", help="The name of this VM (default: the hostname and `names`).")
    parser.add_argument("--at", metavar="INSTANT", help="As if it were seen then (default: now).")
    _add_settings(parser, ("endpoint", "names"))
    _add_json(parser)


def _status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", dest="is_all", help="Also events that are over.")
    _add_agent(parser)


def _add_agent(parser: argparse.ArgumentParser) -> None:
    """Where the running agent is."""
    _add_settings(parser, ("listen", "state_dir"))
    _add_json(parser)


def _tell(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("event", metavar="EVENT", help="Its id, or the beginning of it, in any case.")
    _add_agent(parser)


def _approve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--now", action="store_true", dest="is_urgent", help="Do not wait for its preparation.")
    _tell(parser)


def _reset(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Apply the configuration that the agent was started with to an open event. Without this, an event keeps "
        "the configuration with which it was first seen. Steps that were already run are undone as they were run."
    )
    _tell(parser)


def _retry(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run failed steps of an event again, or one step, as the configuration of the event has them. If the "
        "event is over, run their undo again."
    )
    _tell(parser)
    parser.add_argument("step", nargs="?", metavar="STEP", help="The step (default: all that failed).")


def _test(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "profile", metavar="PROFILE", help="The profile whose steps are run. They are run for real."
    )
    parser.add_argument(
        "--cancelled", action="store_true", dest="is_cancelled", help="It is cancelled, not started."
    )
    _add_event(parser)
    parser.add_argument("--vm", metavar="NAME", help="The name of this VM (default: the hostname).")
    parser.add_argument("--yes", action="store_true", dest="is_sure", help="Do not ask before calling others.")
    _add_settings(parser, ())
    _add_json(parser)


_ARGUMENTS = {
    "run": _run,
    "check": _check,
    "explain": _explain,
    "status": _status,
    "approve": _approve,
    "hold": _tell,
    "release": _tell,
    "reset": _reset,
    "retry": _retry,
    "test": _test,
}
