"""What operators say about an event: approve, hold, release. Pure: a case and a word in, the case or a no out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from forewarn.agent.case import Case, Consent
from forewarn.agent.compat import StrEnum, dataclass
from forewarn.agent.policy import Profile, Together

_APPROVES_NOTHING = "This agent was started so that it approves nothing. Start it without that, and ask again."


class Verb(StrEnum):
    """What may be said."""

    APPROVE = "approve"
    HOLD = "hold"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Order:
    """A word of an operator."""

    verb: Verb
    event: str  # its id, or how it begins
    by: str
    is_urgent: bool = False  # approve without waiting for the preparation and for the others


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
    case: Case, order: Order, profile: Profile, *, approves: bool, failures: Sequence[str] = ()
) -> tuple[Case, str] | Refusal:
    """The case after the word, and what to answer. `failures` are why it will not be prepared."""
    if not case.is_open:
        return Refusal(409, f"Event {case.id} is over: it was {case.ending}.")
    if order.verb is Verb.RELEASE:
        if not case.held_by:
            return Refusal(409, f"Event {case.id} is not held.")
        return replace(case, held_by=""), _words_of_release(case)
    if case.event.has_started or case.started_at is not None:
        return Refusal(409, f"Event {case.id} has started: it can no longer be approved or held.")
    if case.consent is Consent.GIVEN and not _is_sent_again(case, order):
        return Refusal(409, _words_of_given(case, order))
    if order.verb is Verb.HOLD:
        return replace(case, held_by=order.by), _words_of_hold(case)
    return _approve(case, order, profile, failures) if approves else Refusal(409, _APPROVES_NOTHING)


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
