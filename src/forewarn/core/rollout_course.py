"""What a rollout does next, and what it waits for: one look answers both.

`look` is a function of what is and of what time it is. The plane writes what it says into a draft (`move_on`),
operators read what it waits for: the same words for both, because they are the same look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from forewarn.core.availability import Shortfall, has_minimum, would_leave
from forewarn.core.draft import Draft
from forewarn.core.health import Answers, NotYet, no_answers
from forewarn.core.holds import WindowClosed, clock_time, holds
from forewarn.core.notice import Limits, notice_ends
from forewarn.core.phase import Phase
from forewarn.core.placement import Vacancies
from forewarn.core.requests.hosts import Maintenance, maintain
from forewarn.core.rollout import Rollout, RolloutState, Turn, TurnState
from forewarn.core.rollout_book import RolloutBook
from forewarn.core.rollout_plan import domains_on, first_start
from forewarn.core.steps import cancel
from forewarn.core.terms import Condition, VmState
from forewarn.core.underway import Underway
from forewarn.core.world import World

HEALTH_EVERY = timedelta(seconds=5)  # how often an unhealthy wave is looked at again
_MOST_NAMED = 3
_MOMENT = timedelta(seconds=1)
_WHILE_HELD = timedelta(minutes=1)  # how often work is looked at whose time has come and whose window is open


@dataclass(frozen=True, slots=True)
class RolloutWait:
    """Something that a rollout waits for, and until when if that is known."""

    words: str
    until: datetime | None = None


@dataclass(slots=True)
class Outlook:
    """What a look at a rollout finds."""

    pause_because: str = ""
    is_over: bool = False
    announce: list[tuple[Turn, datetime]] = field(default_factory=list)  # and when it may start
    skip: list[tuple[Turn, str]] = field(default_factory=list)
    withdraw: list[tuple[Turn, str]] = field(default_factory=list)
    waits: list[RolloutWait] = field(default_factory=list)
    looks: list[datetime] = field(default_factory=list)  # when else to look again
    checks: dict[str, datetime] = field(default_factory=dict)  # sets whose health matters, and since when
    waits_for_vms: bool = False  # it may go on as soon as a VM comes up

    @property
    def look_again(self) -> datetime | None:
        """When time alone may change what a look finds."""
        return min((*self.looks, *(wait.until for wait in self.waits if wait.until is not None)), default=None)


def look(world: World, rollout: Rollout, now: datetime, answers: Answers = no_answers) -> Outlook:
    """What is to be done about a rollout now, what it waits for, and which health checks that depends on."""
    found = Outlook()
    if rollout.state is not RolloutState.RUNNING:
        return found
    book = world.book_of(rollout.id)
    new_failures = book.failures()[rollout.forgiven :]
    if len(new_failures) > rollout.work.max_failures:
        found.pause_because = _too_many_failed(rollout, book, new_failures)
        return found
    wave = book.wave
    _look_at_open(world, rollout, now, found)
    if wave is None:
        found.is_over = not book.postponed
        return found
    _look_at_gate(world, rollout, wave, now, answers, found)
    if not found.waits and not found.pause_because and not found.withdraw:
        _look_at_turns(world, rollout, wave, now, found)
    return found


def _too_many_failed(rollout: Rollout, book: RolloutBook, failed: list[str]) -> str:
    named = "; ".join(f"{host}: {book.turns[host].reason}" for host in failed[:_MOST_NAMED])
    more = f"; and {len(failed) - _MOST_NAMED} more" if len(failed) > _MOST_NAMED else ""
    count = "1 host failed" if len(failed) == 1 else f"{len(failed)} hosts failed"
    return f"{count}, and {rollout.work.max_failures} may ({named}{more})"


# The gate before a wave: the one before it has to be well.


def _look_at_gate(
    world: World, rollout: Rollout, wave: int, now: datetime, answers: Answers, found: Outlook
) -> None:
    book, work = world.book_of(rollout.id), rollout.work
    if book.has_entered(wave) or book.last_end is None or rollout.waived_wave == wave:
        return
    soaked = book.last_end + work.soak
    if now < soaked:
        found.waits.append(RolloutWait(f"the soak of the last wave to end at {clock_time(soaked, now)}", soaked))
        return
    touched = book.last_touched(wave)
    ill = dict(_unhealthy(world, touched, book.last_end, answers, found))
    if not ill:
        return
    limit = max(soaked, rollout.resumed_at or soaked) + work.health_wait
    why = _named_reasons(ill)
    if now < limit:
        words = f"the last wave to be healthy, until {clock_time(limit, now)}: {why}"
        found.waits.append(RolloutWait(words, min(limit, now + HEALTH_EVERY)))
        return
    most = work.max_unhealthy_percent * len(touched) / 100
    certain = sum(1 for each in ill.values() if not isinstance(each, NotYet))
    if certain <= most < len(ill):  # who has not been asked yet is not unhealthy
        found.waits.append(RolloutWait(f"checks of the last wave to answer: {why}", now + HEALTH_EVERY))
    elif len(ill) > most:
        found.pause_because = (
            f"{len(ill)} of {len(touched)} VMs of the last wave are unhealthy, "
            f"and {work.max_unhealthy_percent} % may be ({why})"
        )


def _unhealthy(
    world: World, touched: list[str], since: datetime, answers: Answers, found: Outlook
) -> Iterator[tuple[str, str]]:
    """The VMs that are not well, and why: by the driver's word, then by the check of their set."""
    answered: dict[str, str | None] = {}
    for name in touched:
        vm = world.vms.get(name)
        if vm is None:
            continue
        if vm.state is VmState.DOWN:
            yield name, f"{name} is down"
            continue
        if vm.set_name is None:
            continue
        if vm.set_name not in answered:
            found.checks[vm.set_name] = since
            answered[vm.set_name] = answers(vm.set_name, since)
        if why := answered[vm.set_name]:
            yield name, why


def _named_reasons(ill: dict[str, str]) -> str:
    reasons = list(dict.fromkeys(ill.values()))
    more = f"; and {len(reasons) - _MOST_NAMED} more" if len(reasons) > _MOST_NAMED else ""
    return "; ".join(reasons[:_MOST_NAMED]) + more


# The turns of a wave, in their order: who comes behind a host that has to wait, waits too.


def _look_at_turns(world: World, rollout: Rollout, wave: int, now: datetime, found: Outlook) -> None:
    book = world.book_of(rollout.id)
    free = rollout.work.width - len(book.open)
    for turn in book.coming(wave):
        if turn.state is not TurnState.WAITING:
            continue
        if why := _cannot_come(world, turn):
            found.skip.append((turn, why))
            continue
        if free <= 0:
            return
        if (others := _waits_for_others(world, rollout, turn, now)) is not None:
            found.waits.append(others)  # that is not the trouble of those behind it
            found.waits_for_vms = True
            continue
        wait = _not_yet(world, rollout, turn, now, found)
        if isinstance(wait, RolloutWait):
            found.waits.append(wait)
            return
        found.announce.append((turn, wait))
        free -= 1
        if has_minimum(world, turn.host):  # what comes behind it is judged when this one counts
            return


def _look_at_open(world: World, rollout: Rollout, now: datetime, found: Outlook) -> None:
    """What is announced and can not start any more before the window closes is announced anew."""
    book, window = world.book_of(rollout.id), rollout.work.window_at(now)
    if window is None:
        return
    for host in (*book.open, *book.postponed):
        turn = book.turns[host]
        operation = world.operations.get(turn.operation or "")
        if operation is None or operation.phase is not Phase.SCHEDULED or not operation.targets:
            continue
        lapses = max((event.lapses_at for event in world.events_of(operation.id)), default=now)
        if now < lapses:
            found.looks.append(lapses + _MOMENT)
        elif window.is_open(now, rollout.work.expected):
            found.looks.append(now + _WHILE_HELD)
        else:
            found.withdraw.append((turn, "the window closed before it could start"))


def _cannot_come(world: World, turn: Turn) -> str:
    host = world.hosts.get(turn.host)
    if host is None:
        return f"{turn.host} is gone"
    return f"{turn.host} has failed" if host.condition is Condition.FAILED else ""


def _waits_for_others(world: World, rollout: Rollout, turn: Turn, now: datetime) -> RolloutWait | None:
    """What keeps a host from being announced that is none of its own rollout's doing."""
    for operation in world.operations_on_host(turn.host):
        if operation.rollout is not None:
            lapses = [event.lapses_at for event in world.events_of(operation.id) if event.phase is Phase.SCHEDULED]
            until = f" until {clock_time(max(lapses), now)}" if lapses else ""
            return RolloutWait(
                f"{turn.host}, which another rollout is at work on{until} ({operation.rollout[:8]})"
            )
    if rollout.work.starts_forced(now):
        return None
    for short in would_leave(world, [vm.name for vm in world.vms_on(turn.host)]):
        if not _is_at_work_on(world, rollout, short):
            return _waits_for_more(short, rollout, turn.host, now)
    return None


def _is_at_work_on(world: World, rollout: Rollout, short: Shortfall) -> bool:
    """Whether the rollout itself has something announced or at work for the set."""
    return any(each.rollout == rollout.id for each in world.operations_in_set(short.set_name))


def _waits_for_more(short: Shortfall, rollout: Rollout, host: str, now: datetime) -> RolloutWait:
    """The host waits for the set, though no longer than its notice can end at the force-by date."""
    anyway = rollout.work.announced_anyway_from
    words = f"{short.set_name} to have {short.needed} available (its minimum is {short.minimum}) for {host}"
    if anyway is None or anyway <= now:
        return RolloutWait(words)
    return RolloutWait(f"{words}, which is announced at {clock_time(anyway, now)} all the same", anyway)


def _not_yet(world: World, rollout: Rollout, turn: Turn, now: datetime, found: Outlook) -> RolloutWait | datetime:
    """When the host's work may start, if it is to be announced now; else what its announcement waits for."""
    if not any(vm.is_on_host for vm in world.vms_on(turn.host)):
        return now
    work = rollout.work
    if (short := _short(world, rollout, turn.host, now)) is not None:
        return _waits_for_more(short, rollout, turn.host, now)
    if work.by_live_migration and (vm := _nowhere_to_go(world, rollout, turn.host, found)) is not None:
        return RolloutWait(f"a host that may take {vm} from {turn.host}")
    earliest, why = _recovered(world, rollout, turn.host, now)
    start = first_start(work, earliest, work.expected)
    if start is None:
        return RolloutWait(f"a window that is open for {work.expected.total_seconds():.0f} s")
    if start > earliest:
        why = WindowClosed(start, work.is_forced(start)).in_words(now)
    if start > notice_ends(now, work.notice):  # not only because notice is given in whole seconds
        announce_at = start - work.notice
        return RolloutWait(f"{why} ({turn.host} is announced at {clock_time(announce_at, now)})", announce_at)
    return start


def _nowhere_to_go(world: World, rollout: Rollout, host: str, found: Outlook) -> str | None:
    """A VM that no host may take, for the time being: this rollout is at work on those that might."""
    announced = {turn.host for turn, _ in found.announce}
    if not announced and not world.book_of(rollout.id).open:
        return None  # nobody will be done: it is refused, and counts as a failure
    vacancies = Vacancies(world)
    vms = [vm for vm in world.vms_on(host) if vm.is_on_host]
    return next((vm.name for vm in vms if vacancies.choose(vm, elsewhere=True, but=announced) is None), None)


def _short(world: World, rollout: Rollout, host: str, now: datetime) -> Shortfall | None:
    """A set that would have too few VMs available, were all that is announced at work already.

    What starts at the force-by date or later waits only for the rollout's own work on the set.
    """
    underway = Underway()
    for operation in world.book_of(rollout.id).operations():
        if operation in world.operations:
            underway.add(world.operations[operation])
    is_forced = rollout.work.starts_forced(now)
    found = would_leave(world, [vm.name for vm in world.vms_on(host)], underway)
    return next((each for each in found if not is_forced or _is_at_work_on(world, rollout, each)), None)


def _recovered(world: World, rollout: Rollout, host: str, now: datetime) -> tuple[datetime, str]:
    """When the host may start at the earliest, by its notice and by what other update domains need; and why."""
    earliest, why = notice_ends(now, rollout.work.notice), ""
    for name, own in domains_on(world, host).items():
        for domain, ended in world.book_of(rollout.id).other_ends(name, own):
            recovered = notice_ends(ended + rollout.work.recovery, timedelta(0))
            if recovered > earliest:
                earliest = recovered
                why = f"update domain {domain} of {name} to recover until {clock_time(earliest, now)}"
    return earliest, why


def waiting_for(world: World, rollout: Rollout, now: datetime, answers: Answers = no_answers) -> list[str]:
    """What a rollout waits for, in words with names and times."""
    if rollout.state is RolloutState.PAUSED:
        return [f"somebody to resume it: {rollout.reason}"]
    if not rollout.state.is_open:
        return []
    words = [wait.words for wait in look(world, rollout, now, answers).waits]
    for each in world.book_of(rollout.id).operations():
        operation = world.operations.get(each)
        if operation is None:
            continue
        if operation.phase is Phase.SCHEDULED:
            words += [f"{operation.host}: {hold.in_words(now)}" for hold in holds(world, operation, now)]
        else:
            words.append(f"{operation.host}: the {operation.action} of its VMs to end")
    return list(dict.fromkeys(words))


# Writing.


def move_on(draft: Draft, rollout: Rollout, found: Outlook, limits: Limits, new_id: Callable[[], str]) -> None:
    """Write into the draft what a look has found."""
    if found.pause_because:
        stop_for_now(draft, rollout, found.pause_because)
    elif found.is_over:
        _end(draft, rollout)
    for turn, why in found.skip:
        draft.put(replace(turn, state=TurnState.SKIPPED, ended_at=draft.now, reason=why))
        draft.note("skip", subject=turn.host, detail=f"{rollout.title}: {why}")
    for turn, why in found.withdraw:
        _call_off(draft, turn, why)
    for turn, start in found.announce:
        _announce(draft, rollout, turn, start, limits, new_id())


def _announce(draft: Draft, rollout: Rollout, turn: Turn, start: datetime, limits: Limits, operation: str) -> None:
    work = rollout.work
    asked = Maintenance(
        kind=work.kind,
        by_live_migration=work.by_live_migration,
        duration_seconds=work.duration_seconds,
        notice=max(start - draft.now, work.notice),
        description=work.description or None,
        is_forced=work.is_forced(start),
    )
    if refusal := maintain(draft, turn.host, asked, operation, limits):
        why = refusal.message
        draft.put(replace(turn, state=TurnState.FAILED, ended_at=draft.now, reason=why))
        draft.note("fail", subject=turn.host, detail=f"{rollout.title}: {why}")
        return
    draft.put(replace(draft.operation(operation), rollout=rollout.id, asked_by=rollout.asked_by))
    draft.put(replace(turn, state=TurnState.OPEN, operation=operation, announced_at=draft.now))


def _end(draft: Draft, rollout: Rollout) -> None:
    failed = draft.world.book_of(rollout.id).failed
    state = RolloutState.FAILED if failed else RolloutState.COMPLETED
    reason = f"failed on {', '.join(failed)}" if failed else ""
    draft.put(replace(rollout, state=state, ended_at=draft.now, reason=reason))
    draft.note("end rollout", subject=rollout.id, detail=f"{state}: {reason}" if reason else str(state))


def stop_for_now(draft: Draft, rollout: Rollout, reason: str) -> None:
    """Pause: what is only announced is called off, so that nobody sits drained; what has started goes on."""
    draft.put(replace(rollout, state=RolloutState.PAUSED, reason=reason))
    draft.note("pause rollout", subject=rollout.id, detail=reason)
    call_off_all(draft, rollout, f"the rollout is paused: {reason}")


def call_off_all(draft: Draft, rollout: Rollout, reason: str) -> None:
    """Take back every announcement of the rollout that has not led to anything."""
    book = draft.world.book_of(rollout.id)
    for host in (*book.open, *book.postponed):
        _call_off(draft, book.turns[host], reason)


def _call_off(draft: Draft, turn: Turn, reason: str) -> None:
    operation = draft.operation(turn.operation) if turn.operation else None
    if operation is None or operation.phase is not Phase.SCHEDULED:
        return
    draft.put(replace(turn, state=TurnState.WAITING, operation=None, announced_at=None))
    cancel(draft, operation, reason)
