"""Settings: flags win, then FOREWARN_* in the environment, then the file, then the defaults.

One table says it all: the command line, the environment, the file and the reference page are made from it.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from forewarn.core.terms import Action, Kind
from forewarn.errors import ConfigError, UsageProblem
from forewarn.wire.times import parse_instant
from forewarn.wire.toml_lines import find_lines, syntax_problem

ENVIRONMENT_PREFIX = "FOREWARN_"
_MOST = 1_000_000_000  # in seconds, some thirty years

Address = tuple[str, int]


def parse_address(value: object) -> Address:
    """`HOST:PORT`, `[V6]:PORT` or `:PORT`. Raises ValueError."""
    host, colon, port = _text(value).rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - TCP's own limit
        raise ValueError(f"{value!r} is no address; write it like 127.0.0.1:8254")
    return host.strip("[]") or "127.0.0.1", int(port)


def show_address(address: Address) -> str:
    """An address as `parse_address` reads it."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


# What a value may be: text where it comes from a flag or the environment, whatever TOML knows where it comes from
# the file. Each raises ValueError with a sentence.


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text; write it in quotes")  # noqa: TRY004 - told like all the others
    return value


def _texts(value: object) -> list[str]:
    """The texts of a list, or those between the commas of one."""
    if isinstance(value, str):
        return [text.strip() for text in value.split(",")]
    if isinstance(value, (list, tuple)):
        return [_text(each).strip() for each in value]
    raise ValueError(f"{value!r} is neither text nor a list of texts")


def _path(value: object) -> Path:
    return Path(_text(value))


def _addresses(value: object) -> tuple[Address, ...]:
    return tuple(map(parse_address, _texts(value)))


def _instant(value: object) -> datetime:
    text = value.isoformat() if isinstance(value, date) else _text(value)  # TOML has instants of its own
    try:
        return parse_instant(text)
    except ValueError:
        raise ValueError(f"{text!r} is no instant; write it like 2026-03-02T12:00:00Z") from None


def _one_of(what: str, *known: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is no {what}; it can be {', '.join(known[:-1])} or {known[-1]}")
        return _text(value)

    return parse


def _failed_host_kind(value: object) -> Kind:
    if value not in (Kind.REDEPLOY, Kind.REBOOT):
        raise ValueError(f"{value!r} is not told of a failed host; it can be Redeploy or Reboot")
    return Kind(_text(value))


def _yes_or_no(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = _text(value).lower()
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"", "0", "false", "no", "off"}:
        return False
    raise ValueError(f"{value!r} is neither true nor false")


def _number(least: float) -> Callable[[object], float]:
    def parse(value: object) -> float:
        try:
            number = float("" if isinstance(value, bool) else value)  # type: ignore[arg-type] # what else it is, raises
        except (TypeError, ValueError):
            raise ValueError(f"{value!r} is no number") from None
        if not number >= least:
            raise ValueError(f"{value} is too small; it can be {least:g} or more")
        if number > _MOST:
            raise ValueError(f"{value} is too large; it can be {_MOST} at most")
        return number

    return parse


def _count(value: object) -> int:
    number = _number(0)(value)
    if not number.is_integer():
        raise ValueError(f"{value} is no whole number")
    return int(number)


def _simulated_seconds(value: object) -> dict[Action, float]:
    """`reboot=60,redeploy=120`, the same as a list, or a table."""
    if isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        pairs = [(name.strip(), seconds) for name, _, seconds in (text.partition("=") for text in _texts(value))]
    known = {action.value for action in Action}
    for name, seconds in pairs:
        if name not in known:
            raise ValueError(f"{name!r} is no action; known are {', '.join(sorted(known))}")
        if seconds == "":
            raise ValueError(f"{name} has no seconds; write it like {name}=60")
    return {Action(name): _number(0)(seconds) for name, seconds in pairs}


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that may be set."""

    name: str
    parse: Callable[[Any], Any]
    metavar: str
    help: str
    repeats: bool = False
    is_switch: bool = False

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return ENVIRONMENT_PREFIX + self.name.upper()


SETTINGS = (
    Setting(
        "metadata",
        _addresses,
        "HOST:PORT",
        "Guests' listener; may repeat (default 127.0.0.1:8254).",
        repeats=True,
    ),
    Setting(
        "operator",
        parse_address,
        "HOST:PORT",
        "REST, /metrics and the stream for operators (default 127.0.0.1:8255).",
    ),
    Setting(
        "tls_cert",
        _path,
        "FILE",
        "Certificate of the operators' listener, in PEM: it speaks TLS then (forewarn tls init makes one).",
    ),
    Setting("tls_key", _path, "FILE", "Key of that certificate, in PEM."),
    Setting(
        "store",
        _text,
        "URL",
        "sqlite:///PATH (default sqlite:///forewarn.db), sqlite:// in memory, or postgresql://...",
    ),
    Setting(
        "fleet",
        _path,
        "FILE",
        "Fleet file: applied when the store is empty, otherwise compared and the differences printed.",
    ),
    Setting(
        "clock",
        _one_of("clock", "system", "virtual"),
        "system|virtual",
        "virtual: time stands still until the clock is advanced (default system).",
    ),
    Setting(
        "clock_start",
        _instant,
        "INSTANT",
        "Where a virtual clock begins in an empty store (default: now).",
    ),
    Setting(
        "rate_limit",
        _number(0),
        "N",
        "Requests a second per guest before 429 (default 5; 0 for none; off with the virtual clock unless given).",
    ),
    Setting(
        "first_call_delay",
        _number(0),
        "SECONDS",
        "How long the call that turns a scope on takes (default 0; the real service: up to 120).",
    ),
    Setting("user_operation_limit", _count, "N", "Open user operations per scope (default 100; 0 for no limit)."),
    Setting(
        "guest",
        _text,
        "NAME",
        "Who a loopback caller is when its address names no VM: for trying things on one machine.",
    ),
    Setting(
        "demo",
        _yes_or_no,
        "",
        "A sample fleet with simulated guests that poll, prepare and approve.",
        is_switch=True,
    ),
    Setting(
        "lead",
        _number(2),
        "SECONDS",
        "How long Started is visible before a machine is touched (default 5, at least 2).",
    ),
    Setting(
        "reset_incarnation",
        _yes_or_no,
        "",
        "Count from 1 again when a scope comes back on, as Azure does.",
        is_switch=True,
    ),
    Setting(
        "failed_host_kind",
        _failed_host_kind,
        "KIND",
        "What guests of a failed host are told: Redeploy (default) or Reboot.",
    ),
    Setting(
        "action_limit",
        _number(1),
        "SECONDS",
        "An action on a machine with no outcome after this has failed (default 1800).",
    ),
    Setting(
        "machines",
        _path,
        "FILE",
        "Where the simulated machines are kept (default: beside a SQLite store, else in memory).",
    ),
    Setting(
        "simulated_seconds",
        _simulated_seconds,
        "ACTION=SECONDS",
        "How long simulated actions take, e.g. reboot=60; may repeat.",
        repeats=True,
    ),
    Setting("location", _text, "NAME", "The location that guests and clients are told (default local)."),
    Setting("subscription", _text, "UUID", "The subscription that guests and clients are told."),
    Setting("tenant", _text, "UUID", "The tenant that clients are told."),
    Setting(
        "log_format",
        _one_of("log format", "auto", "plain", "json"),
        "FORMAT",
        "auto (default: plain on a terminal, json elsewhere), plain or json.",
    ),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a service is told before it starts."""

    metadata: tuple[Address, ...] = (("127.0.0.1", 8254),)
    operator: Address = ("127.0.0.1", 8255)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    store: str = "sqlite:///forewarn.db"
    fleet: Path | None = None
    clock: str = "system"
    clock_start: datetime | None = None
    rate_limit: float | None = None
    first_call_delay: float = 0.0
    user_operation_limit: int = 100
    guest: str | None = None
    demo: bool = False
    lead: float = 5.0
    reset_incarnation: bool = False
    failed_host_kind: Kind = Kind.REDEPLOY
    action_limit: float = 1800.0
    machines: Path | None = None
    simulated_seconds: Mapping[Action, float] = field(default_factory=dict)
    location: str = "local"
    subscription: str = "00000000-0000-4000-8000-000000000001"
    tenant: str = "00000000-0000-4000-8000-000000000002"
    log_format: str = "auto"

    @property
    def is_virtual(self) -> bool:
        """Whether time stands still until it is moved."""
        return self.clock == "virtual"

    @property
    def requests_per_second(self) -> float:
        """The rate limit in force."""
        if self.rate_limit is not None:
            return self.rate_limit
        return 0.0 if self.is_virtual else 5.0


def load_settings(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None) -> Settings:
    """The settings from everywhere they may come from, or `ConfigError`."""
    values = {} if file is None else _read_file(file)
    for setting in SETTINGS:
        if (raw := environment.get(setting.variable)) is not None:
            values[setting.name] = _parse(setting, raw, setting.variable)
    for name, raw in flags.items():
        if raw not in (None, ()) and raw is not False:
            values[name] = _parse(_BY_NAME[name], raw, _BY_NAME[name].flag, UsageProblem)
    return Settings(**values)


def _parse(setting: Setting, raw: object, where: str, error: type[ConfigError] = ConfigError) -> Any:  # noqa: ANN401 - settings are of any type
    try:
        return setting.parse(raw)
    except ValueError as problem:
        raise error(f"{where}: {problem}.", f"See forewarn serve --help for {setting.flag}.") from None


def _read_file(file: Path) -> dict[str, Any]:
    """The settings in a file, or `ConfigError` with the line of what is wrong."""
    try:
        text = file.read_text(encoding="utf-8")
        raw = tomllib.loads(text)
    except OSError as problem:
        raise ConfigError(f"{file} cannot be read: {problem.strerror}.", "Name another with --config.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8 text.", "Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as problem:
        line, what = syntax_problem(text, problem)
        raise ConfigError(f"{file}:{line}: {what}.", "Mend the TOML syntax.") from None
    lines = find_lines(text)
    values = {}
    for name, value in raw.items():
        where = f"{file}:{lines.line(name, 0)}"
        if name not in _BY_NAME:
            close = difflib.get_close_matches(name, _BY_NAME, n=1)
            hint = f"Did you mean {close[0]}?" if close else "See forewarn serve --help for what can be set."
            raise ConfigError(f"{where}: there is no setting {name}.", hint)
        values[name] = _parse(_BY_NAME[name], value, f"{where}: {name}")
    return values
