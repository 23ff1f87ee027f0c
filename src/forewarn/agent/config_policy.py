"""The rules and profiles of the file, as values. What one of them says about another is in `config_checks.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from forewarn.agent.config_keys import PROFILE, RULE, STEP
from forewarn.agent.config_reading import WRONG, Reading, sentence
from forewarn.agent.config_secrets import may_be_read_by_all, read_secret
from forewarn.agent.config_values import (
    as_flag,
    as_full_text,
    as_number,
    as_table,
    as_text,
    as_texts,
    closest,
    seconds,
)
from forewarn.agent.handlers.base import Handler, Option
from forewarn.agent.policy import Occasion, Profile, Rule, Step
from forewarn.agent.toml_places import Path as TomlPath

# What an option of a handler may be, by the word that its table has for it.
_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "text": as_text,
    "texts": as_texts,
    "number": as_number,
    "seconds": seconds(),
    "flag": as_flag,
    "table": as_table,
    "path": as_full_text,
}


class Handlers(Protocol):
    """The kinds of handlers that there are: the package `handlers`, or a test's own."""

    KINDS: Sequence[str]

    def find(self, kind: str) -> Handler:
        """The handler of a kind."""


def read_rules(reading: Reading, said: object) -> tuple[Rule, ...]:
    """The rules, in order; those with a problem are left out."""
    rules = []
    for index, table in enumerate(reading.tables(("rules",), said, "[[rules]]")):
        path: TomlPath = ("rules", index)
        reading.unknown(path, table, [key.name for key in RULE], f"Rule {index + 1}")
        values = reading.keys(path, table, RULE, f"Rule {index + 1}")
        if "profile" in values:
            rules.append(Rule(**values, line=reading.places.line(path)))
    return tuple(rules)


def read_profiles(reading: Reading, said: object, handlers: Handlers) -> dict[str, Profile]:
    """The profiles by name; those with a problem may lack what is wrong."""
    profiles = {}
    for name, each in (reading.table(("profiles",), said, "[profiles.NAME]") or {}).items():
        path: TomlPath = ("profiles", name)
        table = reading.table(path, each, f"[profiles.{name}]")
        if table is None:
            continue
        known = [*(key.name for key in PROFILE), "steps"]
        reading.unknown(path, table, known, f"Profile {name}")
        values = reading.keys(path, table, PROFILE, f"Profile {name}")
        profiles[name] = Profile(name, _read_steps(reading, path, table.get("steps", []), handlers), **values)
    return profiles


def _read_steps(reading: Reading, profile: TomlPath, said: object, handlers: Handlers) -> tuple[Step, ...]:
    steps: dict[str, Step] = {}
    form = f"[[profiles.{profile[-1]}.steps]]"
    for index, table in enumerate(reading.tables((*profile, "steps"), said, form)):
        path: TomlPath = (*profile, "steps", index)
        step = _read_step(reading, path, table, handlers)
        if step is None:
            continue
        if step.name in steps:
            where = (*path, "name") if "name" in table else path
            reading.refuse(where, f"There is already a step {step.name}.", "Give each step a name of its own.")
        steps.setdefault(step.name, step)
    return tuple(steps.values())


def _read_step(reading: Reading, path: TomlPath, table: Mapping[str, Any], handlers: Handlers) -> Step | None:
    what = f"Step {table.get('name', int(path[-1]) + 1)}"
    values = reading.keys(path, table, STEP, what)
    kind = values.get("uses")
    if kind is None:
        return None
    if kind not in handlers.KINDS:
        close = closest(kind, handlers.KINDS)
        advice = f"Did you mean {close}?" if close else f"There are {', '.join(handlers.KINDS)}."
        reading.refuse((*path, "uses"), f"There is no kind of handler {kind}.", advice)
        return Step(values.pop("name", kind), **values)
    handler = handlers.find(kind)
    own = [key.name for key in STEP]
    reading.unknown(path, table, [*own, *(option.name for option in handler.options)], f"{what} ({kind})")
    said = {name: value for name, value in table.items() if name not in own}
    problems_before = len(reading.problems)
    options = _read_options(reading, path, said, handler, f"{what} ({kind})")
    has_undo = False
    if len(reading.problems) == problems_before:
        for problem in handler.check(options):
            reading.refuse(path, sentence(f"{what} ({kind}): {problem}"))
        is_undone = values.get("on", Occasion.PREPARE) is Occasion.PREPARE
        has_undo = is_undone and len(reading.problems) == problems_before and handler.undoes(options)
    return Step(values.pop("name", kind), **values, options=options, has_undo=has_undo)


def _read_options(
    reading: Reading, path: TomlPath, said: Mapping[str, Any], handler: Handler, what: str
) -> dict[str, Any]:
    """The options of a step that its handler knows."""
    options = {}
    for option in handler.options:
        place = (*path, option.name)
        if option.name in said:
            value = _read_option(reading, place, option, said[option.name])
            if value is not WRONG:
                options[option.name] = value
        elif option.is_required:
            reading.refuse(path, f"{what} says no {option.name}.", sentence(f"Add {option.name}: {option.help}"))
    return options


def _read_option(reading: Reading, path: TomlPath, option: Option, said: object) -> Any:  # noqa: ANN401 - of any type
    if option.type != "secret":
        return reading.value(path, _FORMS[option.type], said)
    return secret_value(reading, path, said)


def secret_value(reading: Reading, path: TomlPath, said: object) -> Any:  # noqa: ANN401 - a text, or WRONG
    """The secret itself. One that stands in a file that everybody may read gets a word about it."""
    value = reading.value(path, lambda it: read_secret(it, reading.directory, reading.environment), said)
    if isinstance(said, str) and value is not WRONG and may_be_read_by_all(reading.directory / reading.file):
        reading.warn(
            path,
            f"{path[-1]} is a secret in a file that everybody may read.",
            f'Run chmod o-rwx {reading.file}, or keep it elsewhere: {path[-1]} = {{ file = "..." }}.',
        )
    return value
