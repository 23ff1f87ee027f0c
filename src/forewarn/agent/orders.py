"""What operators say about an event: approve, hold, release, reset, retry.

Pure: a case and an order in, the case or a refusal out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import count

from forewarn.agent.case import Case, Consent, Direction, Outcome, Run, is_underway
from forewarn.agent.compat import StrEnum, dataclass
from forewarn.agent.policy import NO_POLICY, Policy, Profile, Together
from forewarn.agent.sightings import choose_by_rules

_APPROVES_NOTHING = "This agent was started so that it approves nothing. Start it without that, and ask again."


class Verb(StrEnum):
    """What may be said."""

    APPROVE = "approve"
    HOLD = "hold"
    RELEASE = "release"
    RESET = "reset"  # take the file as it is now
    RETRY = "retry"  # run a step again, as the event's policy has it


_PARTICIPLES = {Verb.APPROVE: "approved or held", Verb.HOLD: "approved or held", Verb.RESET: "reset"}


@dataclass(frozen=True, slots=True)
class Order:
    """A word of an operator."""

    verb: Verb
    event: str  # its id, or how it begins
    by: str
    is_urgent: bool = False  # approve without waiting for the preparation and for the others
    step: str = ""  # to retry; empty: all that failed


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not."""

    status: int  # of the HTTP answer
    message: str


def find(cases: Iterable[Case], event: str) -> Case | Refusal:
    """The case that is meant: by its event's id, or the one open case whose event's id begins so."""
    wanted = event.lower()
    listed = list(cases)
    fitting = [case for case in listed if case.id.lower() == wanted]
    fitting = fitting or [
        case for case in listed if wanted and case.is_open and case.id.lower().startswith(wanted)
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        return Refusal(409, f"Several events begin with {event}: {', '.join(case.id for case in fitting)}.")
    return Refusal(404, f"There is no event {event}. See: forewarn agent status.")


def give(
    case: Case,
    order: Order,
    profile: Profile,
    *,
    approves: bool,
    failures: Sequence[str] = (),
    policy: Policy = NO_POLICY,
) -> tuple[Case, str] | Refusal:
    """Return the case after the order, and what to answer.

    `failures` are why it will not be prepared; `policy` is what the file says now.
    """
    if order.verb is Verb.RETRY:
        return _retry(case, order.step, profile)
    if not case.is_open:
        return Refusal(409, f"Event {case.id} is over: it was {case.ending}.")
    if order.verb is Verb.RELEASE:
        if not case.held_by:
            return Refusal(409, f"Event {case.id} is not held.")
        return replace(case, held_by=""), _words_of_release(case)
    if case.event.has_started or case.started_at is not None:
        return Refusal(409, f"Event {case.id} has started: it can no longer be {_PARTICIPLES[order.verb]}.")
    if case.consent is Consent.GIVEN and not _is_sent_again(case, order):
        return Refusal(409, _words_of_given(case, order))
    if order.verb is Verb.RESET:
        return _reset(case, policy)
    if order.verb is Verb.HOLD:
        return replace(case, held_by=order.by), _words_of_hold(case)
    return _approve(case, order, profile, failures) if approves else Refusal(409, _APPROVES_NOTHING)


def _reset(case: Case, policy: Policy) -> tuple[Case, str] | Refusal:
    """Meet the event by the file as it is now. What was done stays known by the policy that it was done by."""
    if case.policy.covers(policy):
        return Refusal(
            409,
            f"Event {case.id} has the configuration that the agent was started with. "
            "After an edit, restart the agent first.",
        )
    retired: dict[str, Profile] = {}
    runs = {}
    for key, run in case.runs.items():
        name = run.profile or case.profile
        old = case.policy.profile(name)
        if old != policy.profile(name):
            taken = {*policy.profiles, *case.policy.profiles}
            kept_as = _retired_name(name, taken) if name in policy.profiles else name
            retired[kept_as] = replace(old, name=kept_as)
            runs[key] = replace(run, profile=kept_as)
        else:
            runs[key] = replace(run, profile=name)
    with_retired = Policy(policy.rules, {**policy.profiles, **retired})
    profile, why = choose_by_rules(replace(case.event, not_before=case.not_before), case.vm, with_retired)
    told = replace(case, policy=with_retired, profile=profile, why=why, runs=runs, prepared_at=None)
    return told, f"Event {case.id} uses the current configuration: profile {profile}, as {why}."


def _retired_name(name: str, taken: Collection[str]) -> str:
    return next(each for number in count(1) if (each := f"{name} (earlier {number})") not in taken)


def _retry(case: Case, name: str, profile: Profile) -> tuple[Case, str] | Refusal:
    """Have steps run again as if they had never been tried. What they did is still undone in the end."""
    way = Direction.DO if case.is_open else Direction.UNDO
    what = "step" if case.is_open else "the undo of step"
    if name:
        run = case.run(name, way)
        if run is None or profile.step(name) is None:
            return Refusal(
                404, f"Event {case.id} has not run {what} {name}. It has run: {_run_so_far(case, way)}."
            )
        if is_underway(run):
            return Refusal(409, f"Event {case.id} is running {what} {name}.")
        names = [name]
    else:
        known = {step.name for step in (*profile.superseded, *profile.steps)}
        failed = [each for (each, direction), run in case.runs.items() if direction is way and _has_failed(run)]
        names = [each for each in failed if each in known]
        if not names:
            return Refusal(409, f"Event {case.id} has no failed step to retry. Name the step to run it again.")
    missing = {each: step.missing for each in names if (step := profile.step(each)) and step.missing}
    if missing:
        why = "; ".join(f"step {each} cannot run: {words}" for each, words in missing.items())
        return Refusal(409, f"Event {case.id}: {why}. Restore it, restart the agent, and retry.")
    runs = dict(case.runs)
    for each in names:
        run = runs[each, way]
        if run.outcome is Outcome.SKIPPED:
            del runs[each, way]
        else:
            runs[each, way] = replace(run, outcome=Outcome.FAILED, tries=0, tries_before=0, is_uncertain=False)
    told = replace(
        case, runs=runs, closed_at=None, prepared_at=case.prepared_at if way is Direction.UNDO else None
    )
    return told, f"Event {case.id} retries {what} {', '.join(names)}."


def _has_failed(run: Run) -> bool:
    return run.outcome in {Outcome.FAILED, Outcome.LOST}


def _run_so_far(case: Case, way: Direction) -> str:
    return ", ".join(name for name, direction in case.runs if direction is way) or "none"


def _approve(case: Case, order: Order, profile: Profile, failures: Sequence[str]) -> tuple[Case, str] | Refusal:
    if case.held_by:
        return Refusal(409, f"Event {case.id} is held by {case.held_by}. First: forewarn agent release {case.id}")
    if not case.event.is_scheduled:
        said = case.event.status or "not said"
        return Refusal(409, f"Event {case.id} can be approved only while Scheduled, and its status is {said}.")
    if failures and not order.is_urgent and not case.is_urgent:
        return Refusal(
            409,
            f"Event {case.id} is not prepared: {'; '.join(failures)}. "
            f"To approve it all the same: forewarn agent approve --now {case.id}",
        )
    told = replace(case, told_to_approve_by=order.by, is_urgent=case.is_urgent or order.is_urgent)
    if case.consent is Consent.GIVEN:
        again = replace(told, consent=Consent.ASKED, unconfirmed_at=None)
        return again, f"Event {case.id} was approved by {case.consent_by} and has not started: that is sent again."
    words = _words_of_approval(told, profile)
    return words if isinstance(words, Refusal) else (told, words)


def _is_sent_again(case: Case, order: Order) -> bool:
    """Whether an approval that the endpoint has taken, and that has led to nothing, is to be sent once more."""
    return case.unconfirmed_at is not None and order.verb is Verb.APPROVE and order.is_urgent


def _words_of_given(case: Case, order: Order) -> str:
    words = f"Event {case.id} has been approved by {case.consent_by}"
    if case.unconfirmed_at is None or order.verb is not Verb.APPROVE:
        return f"{words}; that cannot be taken back."
    return f"{words} and has not started. To send that again: forewarn agent approve --now {case.id}"


def _words_of_release(case: Case) -> str:
    words = f"Event {case.id} is held no longer."
    if not case.told_to_approve_by or case.consent is Consent.GIVEN:
        return words
    when = "now, prepared or not" if case.is_urgent else "as soon as it is prepared"
    return f"{words} It is approved {when}, as {case.told_to_approve_by} has said before."


def _words_of_hold(case: Case) -> str:
    if case.consent is Consent.NONE:
        return f"Event {case.id} is held: it is not approved until it is released."
    return (
        f"Event {case.id} is held from now on, but an approval has been sent before: "
        "if the endpoint has taken that, the event starts all the same."
    )


def _words_of_approval(case: Case, profile: Profile) -> str | Refusal:
    """What becomes of it; as the course has it, where the event names several VMs."""
    if case.is_urgent:
        return f"Event {case.id} is approved without waiting for its preparation."
    soon = f"Event {case.id} is approved as soon as it is prepared"
    names = case.event.resources
    if len(names) <= 1 or profile.together is Together.EACH:
        return f"{soon}."
    if profile.together is Together.REFUSE or not case.is_mine:
        return Refusal(
            409,
            f"Event {case.id} names several VMs ({', '.join(names)}), and this agent does not speak for all. "
            f"If all are ready: forewarn agent approve --now {case.id}",
        )
    if case.vm == names[0]:
        return f"{soon} and {', '.join(names[1:])} {'is' if len(names) == 2 else 'are'} ready too."  # noqa: PLR2004 - one other
    return f"{names[0]} is told that {case.vm} is ready as soon as it is, and approves event {case.id} for all."
