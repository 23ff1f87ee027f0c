"""A case as JSON, for the journal, `/events` and the audit record, and back again.

Its policy is not part of it: options are nobody else's business. The journal keeps that in a table of its own.
Reading is strict where the journal is its own writer's, and lenient about members that a later version added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from forewarn.agent.case import Case, Consent, Direction, Ending, Outcome, Run
from forewarn.agent.events import Event
from forewarn.agent.policy import NO_POLICY, Policy

_NAMES: Mapping[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind) if field.name != "policy") for kind in (Case, Event, Run)
}
_INSTANTS = {field.name for kind in (Case, Event, Run) for field in fields(kind) if "datetime" in str(field.type)}


def write_case(case: Case) -> dict[str, Any]:
    """Return the case in words that JSON has."""
    shown = _shown(case)
    shown["event"] = _shown(case.event)
    shown["runs"] = [
        {"step": step, "direction": direction.value, **_shown(run)} for (step, direction), run in case.runs.items()
    ]
    return shown


def read_case(said: Mapping[str, Any], policy: Policy = NO_POLICY) -> Case:
    """Return the case that `write_case` wrote; `ValueError`, `KeyError` or `TypeError` for anything else."""
    known = _members(Case, said)
    known["event"] = Event(**_members(Event, {**said["event"], "resources": tuple(said["event"]["resources"])}))
    known["runs"] = {(each["step"], Direction(each["direction"])): _read_run(each) for each in said["runs"]}
    known["named_by"] = tuple(said.get("named_by", ()))
    known["consent"] = Consent(said["consent"])
    known["ending"] = Ending(said["ending"]) if said["ending"] else None
    return Case(**known, policy=policy)


def _read_run(said: Mapping[str, Any]) -> Run:
    return Run(**{**_members(Run, said), "outcome": Outcome(said["outcome"])})


def _members(kind: type, said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of the members that this version knows."""
    names = _NAMES[kind]
    return {
        name: datetime.fromisoformat(value) if name in _INSTANTS and value is not None else value
        for name, value in said.items()
        if name in names
    }


def _shown(said: Case | Event | Run) -> dict[str, Any]:
    """Its members. Not `asdict`, which copies every name of every event: there may be thousands."""
    shown = ((name, getattr(said, name)) for name in _NAMES[type(said)])
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in shown}
