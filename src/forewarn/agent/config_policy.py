"""The rules and profiles of the file, as values. What one of them says about another is in `config_checks.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from forewarn.agent.config_keys import PROFILE, RULE, STEP
from forewarn.agent.config_options import read_options
from forewarn.agent.config_reading import Reading, sentence
from forewarn.agent.config_values import closest
from forewarn.agent.handlers.base import Doubt, Handler
from forewarn.agent.policy import Occasion, Profile, Rule, SecretOption, Step
from forewarn.agent.toml_places import Path as TomlPath


class Handlers(Protocol):
    """The kinds of handlers that there are: the package `handlers`, or a test's own."""

    @property
    def KINDS(self) -> Sequence[str]:  # noqa: N802 - a constant of the package
        """Their names."""

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
            reading.rule_paths.append(path)
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
        else:
            reading.step_paths[str(profile[-1]), step.name] = path
            steps[step.name] = step
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
    options = read_options(reading, path, said, handler, f"{what} ({kind})")
    has_undo = False
    if len(reading.problems) == problems_before:
        for problem in handler.check(options):
            key = problem.partition(" ")[0]
            tell = reading.warn if isinstance(problem, Doubt) else reading.refuse
            tell((*path, key) if key in said else path, sentence(f"{what} ({kind}): {problem}"))
        is_undone = values.get("on", Occasion.PREPARE) is Occasion.PREPARE
        has_undo = is_undone and len(reading.problems) == problems_before and handler.undoes(options)
    return Step(
        values.pop("name", kind),
        **values,
        options=options,
        has_undo=has_undo,
        secrets=tuple(
            SecretOption(tuple(map(str, place[len(path) :])), secret.reference)
            for place, secret in reading.secrets.items()
            if place[: len(path)] == path
        ),
        is_for_all_events=handler.is_for_all_events,
    )
