"""Cases of a journal in its first form, which had no policies: with each attempt it noted how that is undone.

Such a case gets the policy of the agent that first reads it, and a profile of its own for what that does not have.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from forewarn.agent.case import Case, Direction
from forewarn.agent.case_form import read_case
from forewarn.agent.policy import Occasion, Policy, Profile, Step
from forewarn.agent.policy_form import as_it_was

_AS_DONE = "as done before the upgrade"
_NOT_KNOWN = "how it was done is not in the journal, nor in the agent's file"


def upgrade_case(said: Mapping[str, Any], policy: Policy) -> Case:
    """Return the case that a first-form entry tells of, with a policy."""
    case = read_case(said)
    recipes = {each["step"]: each.get("recipe") for each in said["runs"] if each["direction"] == Direction.DO}
    runs = dict(case.runs)
    kept: list[Step] = []
    for (name, direction), run in case.runs.items():
        if direction is Direction.UNDO:
            continue
        recipe = _complete(recipes[name], case) if recipes[name] else None
        found = next((each for each in (run.profile, case.profile) if _has(policy, each, name, recipe)), None)
        if found is None:
            kept.append(_step_of(name, recipe, policy))
            runs[name, direction] = replace(run, profile=_AS_DONE, of_type=_type_of(recipe) or run.of_type)
        else:
            runs[name, direction] = replace(run, profile=found, of_type=_type_of(recipe) or run.of_type)
    if kept:
        policy = replace(policy, profiles={**policy.profiles, _AS_DONE: Profile(_AS_DONE, tuple(kept))})
    return replace(case, runs=runs, policy=policy)


def _complete(recipe: Mapping[str, Any], case: Case) -> Mapping[str, Any] | None:
    """An early version did not note the occasion, nor the type; and what has no undo is not known then."""
    if "on" not in recipe and not recipe["has_undo"]:
        return None
    return {
        "on": "prepare",
        "of_type": "" if recipe["is_for_all_events"] else case.event.type,
        "retries": 0,
        **recipe,
    }


def _type_of(recipe: Mapping[str, Any] | None) -> str:
    return str(recipe["of_type"]) if recipe else ""


def _has(policy: Policy, profile: str, name: str, recipe: Mapping[str, Any] | None) -> bool:
    """Whether a profile's step of that name is the one that was done."""
    step = policy.profile(profile).step(name)
    return step is not None and (recipe is None or (_is_same(step, recipe) and step.on == recipe["on"]))


def _is_same(step: Step, recipe: Mapping[str, Any]) -> bool:
    text = json.dumps(step.options, sort_keys=True, default=str)
    return (step.uses, f"{zlib.crc32(text.encode()):08x}") == (recipe["uses"], recipe["likeness"])


def _step_of(name: str, recipe: Mapping[str, Any] | None, policy: Policy) -> Step:
    """The step as it was noted. Options that may have held secrets were not: then the file has them, or nobody."""
    if recipe is None:
        return Step(name, "", has_undo=True, missing=_NOT_KNOWN)
    step = Step(
        name,
        recipe["uses"],
        on=Occasion(recipe["on"]),
        group=recipe["group"],
        timeout_seconds=recipe["timeout_seconds"],
        retry_pause_seconds=recipe["retry_pause_seconds"],
        retries=recipe["retries"],
        has_undo=recipe["has_undo"],
        is_for_all_events=recipe["is_for_all_events"],
    )
    if recipe["options"] is not None:
        return replace(step, options=as_it_was(recipe["options"]))
    same = next((each for each in _steps(policy) if _is_same(each, recipe)), None)
    return (
        replace(step, missing=_NOT_KNOWN)
        if same is None
        else replace(step, options=same.options, secrets=same.secrets)
    )


def _steps(policy: Policy) -> Iterator[Step]:
    return (step for profile in policy.profiles.values() for step in profile.steps)
