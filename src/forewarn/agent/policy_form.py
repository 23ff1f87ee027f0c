"""A policy as text for the journal, and back again. Secrets are written as references, never as their text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import time
from typing import Any

from forewarn.agent.policy import (
    Approval,
    Occasion,
    OnFailure,
    Policy,
    Profile,
    Rule,
    SecretOption,
    Step,
    Together,
    Whose,
    referring_options,
    with_option,
)

FindSecret = Callable[[Mapping[str, str]], str]  # from a reference to the text; ValueError says why there is none
_OF_KIND: Mapping[type, Mapping[str, Callable[[Any], Any]]] = {
    Step: {"on": Occasion, "on_failure": OnFailure},
    Profile: {"approval": Approval, "together": Together},
    Rule: {"whose": Whose},
}
_NAMES: Mapping[type, tuple[str, ...]] = {
    kind: tuple(each.name for each in fields(kind)) for kind in (Step, Profile, Rule)
}
_NOT_KEPT = {"superseded", "missing", "line"}


def write_policy(policy: Policy) -> str:
    """Return the policy as text; equal policies give the same."""
    said = {
        "rules": [_written(rule) for rule in policy.rules],
        "profiles": [_write_profile(policy.profiles[name]) for name in sorted(policy.profiles)],
    }
    return json.dumps(said, sort_keys=True, default=_as_text)


def read_policy(text: str, find_secret: FindSecret) -> Policy:
    """Return the policy that was written. A step whose secret is not to be had says so in `missing`."""
    said = json.loads(text)
    profiles = (_read_profile(each, find_secret) for each in said["profiles"])
    return Policy(tuple(_read_rule(each) for each in said["rules"]), {each.name: each for each in profiles})


def refuse_all(_: Mapping[str, str]) -> str:
    """Find no secret, where nobody needs one."""
    raise ValueError("secrets are not looked up here")


def _write_profile(profile: Profile) -> dict[str, Any]:
    return {**_written(profile), "steps": [_write_step(step) for step in profile.steps]}


def _write_step(step: Step) -> dict[str, Any]:
    secrets = [{"path": list(each.path), "reference": dict(each.reference)} for each in step.secrets]
    return {**_written(step), "options": referring_options(step), "secrets": secrets}


def _written(said: Step | Profile | Rule) -> dict[str, Any]:
    return {name: getattr(said, name) for name in _NAMES[type(said)] if name not in _NOT_KEPT}


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, time) else str(value)


def _read_profile(said: Mapping[str, Any], find_secret: FindSecret) -> Profile:
    return Profile(
        **{**_members(Profile, said), "steps": tuple(_read_step(each, find_secret) for each in said["steps"])}
    )


def _read_step(said: Mapping[str, Any], find_secret: FindSecret) -> Step:
    secrets = tuple(SecretOption(tuple(each["path"]), each["reference"]) for each in said["secrets"])
    return resolved(Step(**{**_members(Step, said), "secrets": secrets}), find_secret)


def resolved(step: Step, find_secret: FindSecret) -> Step:
    """Return the step with its secrets in place of their references."""
    options: Mapping[str, Any] = step.options
    missing = ""
    for secret in step.secrets:
        try:
            options = with_option(options, secret.path, find_secret(secret.reference))
        except ValueError as problem:  # noqa: PERF203 - there are few
            missing = missing or f"{'.'.join(secret.path)}: {problem}"
    return replace(step, options=options, missing=missing)


def _read_rule(said: Mapping[str, Any]) -> Rule:
    known = _members(Rule, said)
    if known.get("between"):
        first, last = map(time.fromisoformat, known["between"])
        known["between"] = (first, last)
    return Rule(**known)


def _members(kind: type, said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of the members that this version knows, each as it was."""
    as_what = _OF_KIND[kind]
    known = {
        name: as_it_was(value) for name, value in said.items() if name in _NAMES[kind] and name not in _NOT_KEPT
    }
    return {name: as_what[name](value) if name in as_what else value for name, value in known.items()}


def as_it_was(value: Any) -> Any:  # noqa: ANN401 - whatever an option may be
    """Return a value of JSON as an option was: JSON has no tuples, and options no lists."""
    if isinstance(value, Mapping):
        return {name: as_it_was(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(as_it_was(each) for each in value)
    return value
