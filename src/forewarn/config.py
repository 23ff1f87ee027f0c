"""Settings: flags win, then FOREWARN_* in the environment, then the file, then the defaults.

One table says it all: the command line, the environment, the file and the reference page are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from forewarn.config_values import (
    Address,
    as_addresses,
    as_commands,
    as_count,
    as_days,
    as_failed_host_kind,
    as_host_names,
    as_instant,
    as_path,
    as_positive_count,
    as_simulated_seconds,
    as_text,
    as_uuid,
    as_yes_or_no,
    at_least,
    one_of,
    parse_address,
)
from forewarn.core.terms import Action, Kind
from forewarn.errors import ConfigError, UsageProblem
from forewarn.wire.choices import did_you_mean
from forewarn.wire.toml_lines import find_lines
from forewarn.wire.toml_text import BadToml, read_toml_text

ENVIRONMENT_PREFIX = "FOREWARN_"


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that may be set."""

    name: str
    parse: Callable[[Any], Any]
    metavar: str
    help: str
    repeats: bool = False
    is_switch: bool = False
    choices: tuple[str, ...] = ()  # for shell completion

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
        as_addresses,
        "HOST:PORT",
        "Guests' listener; may repeat (default 127.0.0.1:8254).",
        repeats=True,
    ),
    Setting(
        "metadata_host_names",
        as_host_names,
        "NAME",
        "Accept this name in the Host header on loopback addresses of the guests' listener; may repeat (default: "
        "only localhost, loopback addresses and 169.254.169.254).",
        repeats=True,
    ),
    Setting(
        "operator",
        parse_address,
        "HOST:PORT",
        "REST, /metrics and the stream for operators (default 127.0.0.1:8255).",
    ),
    Setting(
        "operator_connections",
        as_positive_count,
        "N",
        "Most operator connections at a time, streams included (default 256; at most a quarter of the open-file "
        "limit).",
    ),
    Setting(
        "tls_cert",
        as_path,
        "FILE",
        "Certificate of the operators' listener, in PEM: it speaks TLS then (forewarn tls init makes one).",
    ),
    Setting("tls_key", as_path, "FILE", "Key of that certificate, in PEM."),
    Setting(
        "store",
        as_text,
        "URL",
        "sqlite:///PATH (default sqlite:///forewarn.db), sqlite:// in memory, or postgresql://...",
    ),
    Setting(
        "fleet",
        as_path,
        "FILE",
        "Fleet file: applied when the store is empty, otherwise compared and the differences printed.",
    ),
    Setting(
        "clock",
        one_of("clock", "system", "virtual"),
        "system|virtual",
        "virtual: time stands still until the clock is advanced (default system).",
        choices=("system", "virtual"),
    ),
    Setting(
        "clock_start",
        as_instant,
        "INSTANT",
        "Where a virtual clock begins in an empty store (default: now).",
    ),
    Setting(
        "rate_limit",
        at_least(0),
        "N",
        "Requests a second per guest before 429 (default 5; 0 for none; off with the virtual clock unless given).",
    ),
    Setting(
        "first_call_delay",
        at_least(0),
        "SECONDS",
        "How long the call that turns a scope on takes (default 0; the real service: up to 120).",
    ),
    Setting(
        "user_operation_limit", as_count, "N", "Open user operations per scope (default 100; 0 for no limit)."
    ),
    Setting(
        "history_days",
        as_days,
        "N",
        "How many days what has ended is kept, and who did it (default 365; 0 for ever).",
    ),
    Setting(
        "guest",
        as_text,
        "NAME",
        "Who a loopback caller is when its address names no VM, nor one that was deleted since the service was "
        "started: for trying things on one machine.",
    ),
    Setting(
        "demo",
        as_yes_or_no,
        "",
        "A sample fleet with simulated guests that poll, prepare and approve.",
        is_switch=True,
    ),
    Setting(
        "watch_guests",
        as_yes_or_no,
        "",
        "Note what guests ask, for forewarn report (always with the virtual clock, unless the environment or the "
        "file says no). Costs some speed.",
        is_switch=True,
    ),
    Setting(
        "lead",
        at_least(2),
        "SECONDS",
        "How long Started is visible before a machine is touched (default 5, at least 2).",
    ),
    Setting(
        "reset_incarnation",
        as_yes_or_no,
        "",
        "Count from 1 again when a scope comes back on, as Azure does.",
        is_switch=True,
    ),
    Setting(
        "failed_host_kind",
        as_failed_host_kind,
        "KIND",
        "What guests of a failed host are told: Redeploy (default) or Reboot.",
        choices=("Redeploy", "Reboot"),
    ),
    Setting(
        "sick_host_percent",
        at_least(0),
        "PERCENT",
        "How many of the hosts may be called sick at once, and never fewer than 5 (default 10; 0 for any number).",
    ),
    Setting(
        "postpone_limit",
        at_least(0),
        "SECONDS",
        "How long after its first NotBefore an event can be postponed to (default 604800; 0 for not at all).",
    ),
    Setting(
        "action_limit",
        at_least(1),
        "SECONDS",
        "An action on a machine with no outcome after this has failed (default 1800).",
    ),
    Setting(
        "health_command",
        as_commands,
        "NAME=COMMAND",
        "A command that sets may name as their health_check; it has to end with 0. May repeat.",
        repeats=True,
    ),
    Setting(
        "webhook_tries",
        as_count,
        "N",
        "How often a delivery to a webhook is tried before it is given up (default 150: about a day).",
    ),
    Setting(
        "webhook_timeout",
        at_least(0.1),
        "SECONDS",
        "How long a webhook may take to answer one try (default 10).",
    ),
    Setting(
        "machines",
        as_path,
        "FILE",
        "Keep the simulated machines in this file (default: with the store, beside its file or in its database).",
    ),
    Setting(
        "simulated_seconds",
        as_simulated_seconds,
        "ACTION=SECONDS",
        "How long simulated actions take, e.g. reboot=60; may repeat. azure: as long as on Azure, where an event "
        "stays Started for 10 minutes, 5 for a live migration (default for a freeze: what it announces).",
        repeats=True,
    ),
    Setting("location", as_text, "NAME", "The location that guests and clients are told (default local)."),
    Setting("subscription", as_uuid, "UUID", "The subscription that guests and clients are told."),
    Setting("tenant", as_uuid, "UUID", "The tenant that clients are told."),
    Setting(
        "log_format",
        one_of("log format", "auto", "plain", "json"),
        "FORMAT",
        "auto (default: plain on a terminal, json elsewhere), plain or json.",
        choices=("auto", "plain", "json"),
    ),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a service is told before it starts."""

    metadata: tuple[Address, ...] = (("127.0.0.1", 8254),)
    metadata_host_names: tuple[str, ...] = ()
    operator: Address = ("127.0.0.1", 8255)
    operator_connections: int = 256
    tls_cert: Path | None = None
    tls_key: Path | None = None
    store: str = "sqlite:///forewarn.db"
    fleet: Path | None = None
    clock: str = "system"
    clock_start: datetime | None = None
    rate_limit: float | None = None
    first_call_delay: float = 0.0
    user_operation_limit: int = 100
    history_days: int = 365
    guest: str | None = None
    demo: bool = False
    watch_guests: bool | None = None
    lead: float = 5.0
    reset_incarnation: bool = False
    failed_host_kind: Kind = Kind.REDEPLOY
    sick_host_percent: float = 10.0
    postpone_limit: float = 604800.0
    action_limit: float = 1800.0
    health_command: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    webhook_tries: int = 150
    webhook_timeout: float = 10.0
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
    def is_watching(self) -> bool:
        """Whether what guests ask is noted."""
        return self.is_virtual if self.watch_guests is None else self.watch_guests

    @property
    def keep_history(self) -> timedelta | None:
        """How long what has ended is kept; None: for ever."""
        return timedelta(days=self.history_days) if self.history_days else None

    @property
    def requests_per_second(self) -> float:
        """The rate limit in force."""
        if self.rate_limit is not None:
            return self.rate_limit
        return 0.0 if self.is_virtual else 5.0


def load_settings(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None) -> Settings:
    """The settings from everywhere they may come from, or `ConfigError` with every problem."""
    values: dict[str, Any] = {}
    problems: list[ConfigError] = []

    def take(setting: Setting, raw: object, where: str, error: type[ConfigError] = ConfigError) -> None:
        try:
            values[setting.name] = setting.parse(raw)
        except ValueError as problem:
            problems.append(error(f"{where}: {problem}.", f"See forewarn serve --help for {setting.flag}."))

    for name, (where, value) in ({} if file is None else _read_file(file)).items():
        if name in _BY_NAME:
            take(_BY_NAME[name], value, f"{where}: {name}")
        else:
            hint = did_you_mean(name, _BY_NAME) or "See forewarn serve --help for what can be set."
            problems.append(ConfigError(f"{where}: there is no setting {name}.", hint))
    for setting in SETTINGS:
        if (raw := environment.get(setting.variable)) is not None:
            take(setting, raw, setting.variable)
    for name, raw in flags.items():
        if raw not in (None, ()) and raw is not False:
            take(_BY_NAME[name], raw, _BY_NAME[name].flag, UsageProblem)
    if problems:
        raise _joined(problems)
    return Settings(**values)


def _joined(problems: Sequence[ConfigError]) -> ConfigError:
    """Several problems as one; a wrong flag makes it a usage problem."""
    if len(problems) == 1:
        return problems[0]
    kind = UsageProblem if any(isinstance(each, UsageProblem) for each in problems) else ConfigError
    return kind("\n".join(each.message for each in problems), "See forewarn serve --help for what can be set.")


def refuse_idle_clock_start(settings: Settings, *, is_flag: bool) -> None:
    """Refuse a start time for the system clock, which has its own; `is_flag`: it came from the command line."""
    if settings.clock_start is not None and not settings.is_virtual:
        kind = UsageProblem if is_flag else ConfigError
        raise kind("--clock-start is for the virtual clock only.", "Add --clock virtual, or leave it out.")


def _read_file(file: Path) -> dict[str, tuple[str, Any]]:
    """The values in a settings file, each with its `FILE:LINE`; or `ConfigError`."""
    try:
        text = file.read_text(encoding="utf-8")
        raw = read_toml_text(text)
    except OSError as problem:
        raise ConfigError(f"{file} cannot be read: {problem.strerror}.", "Name another with --config.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8 text.", "Save it as UTF-8.") from None
    except BadToml as problem:
        raise ConfigError(f"{file}:{problem.line}: {problem.what}", problem.remedy) from None
    lines = find_lines(text)
    return {name: (f"{file}:{lines.line(name, 0)}", value) for name, value in raw.items()}
