"""The settings of an agent: flags win, then FOREWARN_AGENT_* in the environment, then the file, then the defaults.

Everything that is wrong is told at once. Without a file the agent logs, and approves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from forewarn.agent import handlers as built_in
from forewarn.agent import toml_reader
from forewarn.agent.config_checks import check_audit_file, check_listeners, check_profile, check_rules
from forewarn.agent.config_keys import ENVIRONMENT_PREFIX, PEERS, SETTINGS, Key
from forewarn.agent.config_options import read_secret_at
from forewarn.agent.config_policy import Handlers, read_profiles, read_rules
from forewarn.agent.config_problems import ConfigProblems, Problem
from forewarn.agent.config_reading import WRONG, Reading, sentence
from forewarn.agent.config_secrets import may_be_written_by_all
from forewarn.agent.config_values import as_address, closest, show_address
from forewarn.agent.endpoints import VARIABLE, told_by
from forewarn.agent.settings import DISCOVER, Peers, Settings
from forewarn.agent.toml_places import find_places, is_too_deep, syntax_problem

CONFIG_VARIABLE = f"{ENVIRONMENT_PREFIX}CONFIG"
_TABLES = ("rules", "profiles", "peers")


def default_file() -> Path:
    """Where the file is looked for when nobody names one."""
    if os.name == "nt":
        return Path(os.environ.get("PROGRAMDATA", "C:/ProgramData"), "forewarn", "agent.toml")
    return Path("/etc/forewarn/agent.toml")


def read_settings(
    path: Path | None = None,
    environment: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    handlers: Handlers = built_in,
) -> Settings:
    """The settings from everywhere they may come from, or `ConfigProblems`.

    `path` is what a flag says. Without it the environment may name a file; else the default one is read, if it is
    there. `overrides` are flags by the names of their keys; None says nothing.
    """
    environment = os.environ if environment is None else environment
    reading = Reading(environment=environment)
    said = _read_file(reading, _find_file(path, environment))
    values = _top_level(reading, said)
    values |= _from_texts(reading, {key: environment.get(key.variable) for key in SETTINGS}, "variable")
    values |= _from_texts(reading, {key: (overrides or {}).get(key.name) for key in SETTINGS}, "flag")
    _doubt_variables(reading, environment)
    settings = Settings(**values, source=reading.file)
    if DISCOVER in settings.endpoints:
        _check_discovery(reading, environment)
    check_audit_file(reading, settings)
    settings = _read_tables(reading, said, settings, handlers)
    problems, warnings = _in_order(reading.problems), _in_order(reading.warnings)
    if problems:
        raise ConfigProblems(problems, warnings)
    return replace(settings, warnings=tuple(map(str, warnings)))


def _in_order(problems: list[Problem]) -> tuple[Problem, ...]:
    """By line; what stands in no file comes last."""
    return tuple(sorted(problems, key=lambda each: (not each.line, each.line)))


def _find_file(path: Path | None, environment: Mapping[str, str]) -> Path | None:
    if path is not None:
        return path
    if named := environment.get(CONFIG_VARIABLE):
        return Path(named)
    return default_file() if default_file().exists() else None


def _read_file(reading: Reading, path: Path | None) -> dict[str, Any]:
    """What the file says; what cannot be read at all is the one problem that hides others."""
    if path is None:
        return {}
    reading.file = str(path)
    try:
        text = path.read_text(encoding="utf-8")
        said = toml_reader.loads(text)
        if may_be_written_by_all(path):
            reading.refuse(
                (), "Everybody may change it, and with it what the agent runs.", f"Run: chmod o-w {path}"
            )
    except OSError as problem:
        raise _hopeless(
            path, 0, f"It cannot be read: {problem.strerror}.", "Name another with --config."
        ) from None
    except UnicodeDecodeError:
        raise _hopeless(path, 0, "It is not UTF-8 text.", "Save it as UTF-8.") from None
    except toml_reader.TOMLDecodeError as problem:
        line, what = syntax_problem(text, problem)
        raise _hopeless(path, line, f"{what}.", "Mend the TOML syntax.") from None
    except RecursionError:
        raise _too_deep(path) from None
    if is_too_deep(said):
        raise _too_deep(path)
    reading.places = find_places(text)
    return said


def _too_deep(path: Path) -> ConfigProblems:
    return _hopeless(path, 0, "It is nested too deeply.", "Write it flatter.")


def _hopeless(path: Path, line: int, message: str, advice: str) -> ConfigProblems:
    return ConfigProblems((Problem(str(path), line, message, advice),))


def _top_level(reading: Reading, said: Mapping[str, Any]) -> dict[str, Any]:
    known = [*(key.name for key in SETTINGS), *_TABLES]
    reading.unknown((), said, known, "The file")
    return reading.keys((), said, SETTINGS, "The file")


def _from_texts(reading: Reading, texts: Mapping[Key, Any], source: str) -> dict[str, Any]:
    """What the environment or flags say; their texts become what a file would say."""
    values = {}
    for key, said in texts.items():
        if said is None:
            continue
        place = reading.said_by[key.name] = key.variable if source == "variable" else key.flag
        try:
            values[key.target] = key.read(key.from_text(said) if isinstance(said, str) else said)
        except ValueError as problem:
            reading.problems.append(Problem(place, 0, sentence(str(problem)), sentence(key.help)))
    return values


def _doubt_variables(reading: Reading, environment: Mapping[str, str]) -> None:
    """A variable that looks like one of ours and is none was meant to say something."""
    known = ["CONFIG", *(key.name.upper() for key in SETTINGS)]
    for name in environment:
        end = name.removeprefix(ENVIRONMENT_PREFIX)
        if end not in {name, *known}:
            close = closest(end, known)
            advice = f"Did you mean {ENVIRONMENT_PREFIX}{close}?" if close else "Take it out."
            reading.warnings.append(Problem(name, 0, "There is no such setting.", advice))


def _check_discovery(reading: Reading, environment: Mapping[str, str]) -> None:
    """Passed over, it would have another endpoint asked than is meant."""
    try:
        told_by(environment)
    except ValueError as problem:
        advice = "Put it right, or take it out: then DHCP and Azure's address are what is left."
        reading.problems.append(Problem(VARIABLE, 0, str(problem), advice))


def _read_tables(reading: Reading, said: Mapping[str, Any], settings: Settings, handlers: Handlers) -> Settings:
    profiles = read_profiles(reading, said.get("profiles", {}), handlers)
    rules = read_rules(reading, said.get("rules", []))
    peers = _read_peers(reading, said["peers"]) if "peers" in said else None
    for profile in profiles.values():
        check_profile(reading, profile, has_peers="peers" in said)
    check_rules(reading, rules, profiles)
    literals = {
        each.reference["literal"]: each.text for each in reading.secrets.values() if "literal" in each.reference
    }
    settings = replace(settings, rules=rules, profiles=profiles, peers=peers, literals=literals)
    check_listeners(reading, settings)
    return settings


def _read_peers(reading: Reading, said: object) -> Peers | None:
    table = reading.table(("peers",), said, "[peers]")
    if table is None:
        return None
    reading.unknown(("peers",), table, [key.name for key in PEERS], "[peers]")
    values = reading.keys(("peers",), table, PEERS, "[peers]")
    secret = read_secret_at(reading, ("peers", "secret"), table["secret"]) if "secret" in table else WRONG
    members = {}
    for name, where in values.pop("members", {}).items():
        address = reading.value(("peers", "members", name), as_address, where)
        if address is not WRONG:
            members[name] = show_address(address)
    if secret is WRONG or "listen" not in values:
        return None
    return Peers(**values | {"secret": secret}, members=members)
