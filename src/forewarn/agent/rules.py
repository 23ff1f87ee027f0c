"""Which profile an event is met with: the first rule that fits. Pure; the zone of the machine may be handed in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from fnmatch import fnmatchcase

from forewarn.agent.compat import dataclass
from forewarn.agent.events import Event
from forewarn.agent.policy import LOG_ONLY, Profile, Rule, Whose

NO_RULES = "there are no rules"
NO_RULE_FITS = "no rule fits"


@dataclass(frozen=True, slots=True)
class Choice:
    """The profile for an event, and why."""

    profile: Profile
    why: str
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule says of an event."""

    rule: Rule
    name: str
    objection: str  # empty: it fits


def choose(
    event: Event, vm: str, rules: Sequence[Rule], profiles: Mapping[str, Profile], zone: tzinfo | None = None
) -> Choice:
    """The profile of the first rule that fits; where none does, one that only logs.

    `vm` is the name by which the event means this machine, empty where it does not.
    """
    for number, rule in enumerate(rules, 1):
        if not _objection(rule, event, vm, zone):
            return Choice(profiles.get(rule.profile, LOG_ONLY), f"{name_of(rule, number)} fits", rule)
    return Choice(LOG_ONLY, NO_RULE_FITS if rules else NO_RULES)


def judge(event: Event, vm: str, rules: Sequence[Rule], zone: tzinfo | None = None) -> Iterator[Verdict]:
    """What each rule says, up to the first that fits."""
    for number, rule in enumerate(rules, 1):
        verdict = Verdict(rule, name_of(rule, number), _objection(rule, event, vm, zone))
        yield verdict
        if not verdict.objection:
            return


def explain(
    event: Event, vm: str, rules: Sequence[Rule], profiles: Mapping[str, Profile], zone: tzinfo | None = None
) -> list[str]:
    """Why an event is met as it is, rule by rule, in sentences."""
    verdicts = list(judge(event, vm, rules, zone))
    lines = [
        f"{each.name}: no, {each.objection}."
        if each.objection
        else f"{each.name}: yes. It leads to profile {each.rule.profile}."
        for each in verdicts
    ]
    left = len(rules) - len(verdicts)
    if left:
        lines.append(
            f"{left} more {'rule is' if left == 1 else 'rules are'} not asked: the first that fits counts."
        )
    choice = choose(event, vm, rules, profiles, zone)
    if choice.rule is None:
        lines.append(f"{choice.why.capitalize()}: the event is logged, and nothing is done about it.")
    return lines


def name_of(rule: Rule, number: int) -> str:
    """What a rule is called, and where it stands."""
    name = f"rule {rule.name}" if rule.name else f"rule {number}"
    return f"{name} (line {rule.line})" if rule.line else name


def _objection(rule: Rule, event: Event, vm: str, zone: tzinfo | None) -> str:
    """Why a rule does not fit; empty where it does."""
    return next(filter(None, _objections(rule, event, vm, zone)), "")


def _objections(rule: Rule, event: Event, vm: str, zone: tzinfo | None) -> Iterator[str]:
    if rule.whose is Whose.MINE and not vm:
        yield "it is for events that name this VM, and this one does not"
    if rule.whose is Whose.OTHERS and vm:
        yield "it is for events of other VMs, and this one names this VM"
    yield _word("types", rule.types, event.type)
    yield _word("sources", rule.sources, event.source)
    yield _duration(rule, event.duration_seconds)
    yield _count(rule, len(event.resources))
    if rule.resources and not _has_resource(rule, event):
        yield f"no VM that it names fits {_either(rule.resources)}"
    if rule.description and not re.search(rule.description, event.description, re.IGNORECASE):
        yield f"its description has no {rule.description!r}"
    yield _time_of_day(rule, event, zone)


def _word(key: str, wanted: Sequence[str], said: str) -> str:
    if not wanted or said.lower() in {each.lower() for each in wanted}:
        return ""
    what = {"types": "its type", "sources": "its source"}[key]
    return f"{what} is {said or 'not said'}, not {_either(wanted)}"


def _duration(rule: Rule, said: int | None) -> str:
    """A duration that is not known counts as long: what is for short events only must not take it."""
    is_known = said is not None and said >= 0
    words = f"{said} s" if is_known else "not known, which counts as long"
    least, most = rule.min_duration_seconds, rule.max_duration_seconds
    if most is not None and not (is_known and said is not None and said <= most):
        return f"its duration is {words}, not {most} s or less"
    if least is not None and is_known and said is not None and said < least:
        return f"its duration is {words}, not {least} s or more"
    return ""


def _count(rule: Rule, count: int) -> str:
    if rule.min_resources is not None and count < rule.min_resources:
        return f"it names {count} VMs, not {rule.min_resources} or more"
    if rule.max_resources is not None and count > rule.max_resources:
        return f"it names {count} VMs, not {rule.max_resources} or fewer"
    return ""


def _has_resource(rule: Rule, event: Event) -> bool:
    return any(fnmatchcase(name.lower(), each.lower()) for name in event.resources for each in rule.resources)


def _time_of_day(rule: Rule, event: Event, zone: tzinfo | None) -> str:
    if rule.between is None:
        return ""
    first, last = rule.between
    window = f"between {first:%H:%M} and {last:%H:%M}"
    if event.not_before is None:
        return f"it has no NotBefore that could lie {window}"
    at = event.not_before.astimezone(zone).time()
    is_within = first <= at < last if first < last else at >= first or at < last
    return "" if is_within else f"its NotBefore is at {at:%H:%M} here, not {window}"


def _either(words: Sequence[str]) -> str:
    return " or ".join(words)
