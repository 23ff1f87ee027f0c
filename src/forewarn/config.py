"""Settings: flags win, then FOREWARN_* in the environment, then the file, then the defaults.

One table says it all: the command line, the environment, the file and the reference page are made from it.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from forewarn.core.terms import Action, Kind
from forewarn.errors import ConfigError
from forewarn.wire.times import parse_instant

ENVIRONMENT_PREFIX = "FOREWARN_"

Address = tuple[str, int]


def parse_address(text: str) -> Address:
    """`HOST:PORT`, `[V6]:PORT` or `:PORT`. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - TCP's own limit
        raise ValueError(f"{text!r} is no address; write it like 127.0.0.1:8254")
    return host.strip("[]") or "127.0.0.1", int(port)


def _parse_addresses(value: str | Iterable[str]) -> tuple[Address, ...]:
    texts = value.split(",") if isinstance(value, str) else value
    return tuple(parse_address(text.strip()) for text in texts)


def _parse_clock(text: str) -> str:
    if text not in {"system", "virtual"}:
        raise ValueError(f"{text!r} is no clock; it can be system or virtual")
    return text


def _parse_log_format(text: str) -> str:
    if text not in {"auto", "plain", "json"}:
        raise ValueError(f"{text!r} is no log format; it can be auto, plain or json")
    return text


def _parse_bool(value: str | bool) -> bool:  # noqa: FBT001 - a converter
    if isinstance(value, bool):
        return value
    if value.lower() in {"1", "true", "yes", "on"}:
        return True
    if value.lower() in {"", "0", "false", "no", "off"}:
        return False
    raise ValueError(f"{value!r} is neither true nor false")


def _not_below(least: float) -> Callable[[str | float], float]:
    def parse(value: str | float) -> float:
        number = float(value)
        if not number >= least:
            raise ValueError(f"{value} is too small; it can be {least:g} or more")
        return number

    return parse


def _count(value: str | int) -> int:
    number = int(value)
    if number < 0:
        raise ValueError(f"{value} is negative; it can be 0 or more")
    return number


def _failed_host_kind(text: str) -> Kind:
    if text not in {Kind.REDEPLOY, Kind.REBOOT}:
        raise ValueError(f"{text!r} is not told of a failed host; it can be Redeploy or Reboot")
    return Kind(text)


def _simulated_seconds(value: str | Iterable[str] | Mapping[str, float]) -> dict[Action, float]:
    """`reboot=60,redeploy=120`, the same as a list, or a table."""
    if isinstance(value, Mapping):
        pairs = [(name, str(seconds)) for name, seconds in value.items()]
    else:
        texts = value.split(",") if isinstance(value, str) else value
        pairs = [(name.strip(), seconds) for name, _, seconds in (text.partition("=") for text in texts)]
    known = {action.value for action in Action}
    parse = _not_below(0)
    for name, _ in pairs:
        if name not in known:
            raise ValueError(f"{name!r} is no action; known are {', '.join(sorted(known))}")
    return {Action(name): parse(seconds) for name, seconds in pairs}


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
        _parse_addresses,
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
        "store",
        str,
        "URL",
        "sqlite:///PATH (default sqlite:///forewarn.db), sqlite:// in memory, or postgresql://...",
    ),
    Setting(
        "fleet",
        Path,
        "FILE",
        "Fleet file: applied when the store is empty, otherwise compared and the differences printed.",
    ),
    Setting(
        "clock",
        _parse_clock,
        "system|virtual",
        "virtual: time stands still until the clock is advanced (default system).",
    ),
    Setting(
        "clock_start",
        parse_instant,
        "INSTANT",
        "Where a virtual clock begins in an empty store (default: now).",
    ),
    Setting(
        "rate_limit",
        _not_below(0),
        "N",
        "Requests a second per guest before 429 (default 5; 0 for none; off with the virtual clock unless given).",
    ),
    Setting(
        "first_call_delay",
        _not_below(0),
        "SECONDS",
        "How long the call that turns a scope on takes (default 0; the real service: up to 120).",
    ),
    Setting("user_operation_limit", _count, "N", "Open user operations per scope (default 100; 0 for no limit)."),
    Setting(
        "guest",
        str,
        "NAME",
        "Who a loopback caller is when its address names no VM: for trying things on one machine.",
    ),
    Setting(
        "demo",
        _parse_bool,
        "",
        "A sample fleet with simulated guests that poll, prepare and approve.",
        is_switch=True,
    ),
    Setting(
        "lead",
        _not_below(2),
        "SECONDS",
        "How long Started is visible before a machine is touched (default 5, at least 2).",
    ),
    Setting(
        "reset_incarnation",
        _parse_bool,
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
        _not_below(1),
        "SECONDS",
        "An action on a machine with no outcome after this has failed (default 1800).",
    ),
    Setting(
        "machines",
        Path,
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
    Setting("location", str, "NAME", "The location that guests and clients are told (default local)."),
    Setting("subscription", str, "UUID", "The subscription that guests and clients are told."),
    Setting("tenant", str, "UUID", "The tenant that clients are told."),
    Setting(
        "log_format",
        _parse_log_format,
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
    values: dict[str, Any] = {}
    if file is not None:
        for name, raw in _read_file(file).items():
            values[name] = _parse(_BY_NAME[name], raw, f"{file}: {name}")
    for setting in SETTINGS:
        if (raw := environment.get(setting.variable)) is not None:
            values[setting.name] = _parse(setting, raw, setting.variable)
    for name, raw in flags.items():
        if raw not in (None, ()) and raw is not False:
            values[name] = _parse(_BY_NAME[name], raw, _BY_NAME[name].flag)
    return Settings(**values)


def _parse(setting: Setting, raw: Any, where: str) -> Any:  # noqa: ANN401 - settings are of any type
    try:
        return setting.parse(raw)
    except (ValueError, TypeError) as problem:
        raise ConfigError(f"{where}: {problem}.", f"See forewarn serve --help for {setting.flag}.") from None


def _read_file(file: Path) -> dict[str, Any]:
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ConfigError(f"{file} cannot be read: {problem.strerror}.", "Name another with --config.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{file}: {problem}.", "Mend the TOML syntax.") from None
    for name in raw:
        if name not in _BY_NAME:
            close = difflib.get_close_matches(name, _BY_NAME, n=1)
            hint = f"Did you mean {close[0]}?" if close else "See forewarn serve --help for what can be set."
            raise ConfigError(f"{file}: there is no setting {name}.", hint)
    return raw
