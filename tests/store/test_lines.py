"""The history, line by line: in order, in pages, by every filter, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from forewarn.core.event import EVENTS_PER_COMMIT, Approval, Event
from forewarn.core.fleet import Vm
from forewarn.core.history import Approver, Figures
from forewarn.core.operation import Attempt, Operation, Outcome
from forewarn.core.phase import Phase
from forewarn.core.terms import Action, Kind, VmState
from forewarn.store.figures import list_figures
from forewarn.store.lines import Cursor, Filter, find_unknown, list_history
from forewarn.store.sql import SqlStore
from tests.store.samples import ATTEMPT, EVENT, MARK, NOW, OPERATION, SCOPE, VM, commit


def operation(number: int, phase: Phase, *vms: str, **more) -> Operation:
    made = f"0b7e8c1a-0000-4000-8000-{number:012d}"
    return replace(OPERATION, id=made, phase=phase, targets=vms, **({"ended_at": NOW} | more))


def event(number: int, of: Operation, phase: Phase, *vms: str, **more) -> Event:
    made = {
        "id": f"{number:08X}-DDE1-550B-8297-BDF189DF2712",
        "number": number * EVENTS_PER_COMMIT,
        "operation": of.id,
        "phase": phase,
        "resources": vms,
        "scope": "web",
        "ended_at": of.ended_at,
    }
    return replace(EVENT, **(made | more))


def attempt(of: Operation, vm: str, seconds: int, outcome: Outcome = Outcome.DONE, **more) -> Attempt:
    ended_at = ATTEMPT.recorded_at + timedelta(seconds=seconds)
    return replace(ATTEMPT, operation=of.id, vm=vm, outcome=outcome, ended_at=ended_at, **more)


def machine(name: str, set_name: str | None = None, **more) -> Vm:
    return replace(VM, name=name, set_name=set_name, instance=None, tags={}, **more)


def keep(store: SqlStore, *commits) -> None:
    for number, entities in enumerate(commits, 1):
        with store.transaction() as transaction:
            transaction.write(commit(number, *entities), MARK, 0)


def lines(store: SqlStore, **wanted) -> list[str]:
    """The lines that fit: the number of each event, or of the operation that made none."""
    with store.reading() as connection:
        found = list_history(connection, Filter(**wanted), limit=100)
    return [line.event.id[:8].lstrip("0") if line.event else f"op {line.operation.id[-1]}" for _, line in found]


def test_history_goes_back_from_the_newest_and_pages_meet_without_gap_or_overlap(store: SqlStore):
    silent = [operation(number, Phase.COMPLETED, "web-0") for number in (1, 2, 3)]
    loud = operation(4, Phase.FAILED, "web-1")
    is_open = operation(5, Phase.STARTED, "web-2")
    late = operation(6, Phase.COMPLETED, "web-0")
    keep(
        store,
        silent,
        (loud, event(4, loud, Phase.COMPLETED, "web-1"), event(5, loud, Phase.FAILED, "web-2"), late),
        (is_open, event(6, is_open, Phase.CANCELLED, "web-2"), event(7, is_open, Phase.STARTED, "web-3")),
    )

    pages, after = [], None
    for _ in range(10):
        with store.reading() as connection:
            found = list_history(connection, after=after, limit=2)
        if not found:
            break
        pages.append([(line.operation.id[-1], line.event.id[:8] if line.event else None) for _, line in found])
        after = Cursor.parse(str(found[-1][0]))

    assert pages == [
        [("5", "00000006"), ("4", "00000005")],
        [("4", "00000004"), ("6", None)],
        [("3", None), ("2", None)],
        [("1", None)],
    ]


def test_a_page_of_one_line_each_tells_all_of_it(store: SqlStore):
    loud = [operation(number, Phase.COMPLETED, "web-0") for number in (1, 2)]
    silent = [operation(number, Phase.COMPLETED, "web-0") for number in (3, 4)]
    keep(
        store,
        (loud[0], event(1, loud[0], Phase.COMPLETED, "web-0"), *silent),
        (loud[1], event(2, loud[1], Phase.FAILED)),
    )

    told, after = [], None
    with store.reading() as connection:
        while found := list_history(connection, after=after, limit=1):
            told.append(found[0][1].operation.id[-1])
            after = found[0][0]

    assert told == ["2", "1", "4", "3"]


@pytest.fixture
def told(store: SqlStore) -> SqlStore:
    """A history in which each filter finds something and leaves something out."""
    day = timedelta(days=1)
    restart = operation(1, Phase.COMPLETED, "web-1", asked_by="alice", kind=Kind.REBOOT, ended_at=NOW)
    freeze = operation(2, Phase.FAILED, "web-1", "web-10", asked_by="bob", ended_at=NOW + day)
    stop = operation(3, Phase.COMPLETED, "old", asked_by="alice", kind=None, ended_at=NOW + 2 * day)
    running = operation(4, Phase.STARTED, "web-1", ended_at=None)
    keep(
        store,
        (
            machine("web-1", "web", scope="web"),
            machine("web-10", "web", scope="web"),
            replace(machine("solo"), tags={"team": "blue", 'odd "key"': "a=b", "empty": ""}),
            replace(machine("old", "gone"), state=VmState.DELETED, tags={"team": "red"}),
            replace(SCOPE, id="web"),
        ),
        (restart, event(1, restart, Phase.COMPLETED, "web-1", kind=Kind.REBOOT)),
        (
            freeze,
            event(2, freeze, Phase.FAILED, "web-10"),
            event(3, freeze, Phase.CANCELLED, "solo", scope="solo"),
        ),
        (stop, running, event(4, running, Phase.STARTED, "web-1")),
    )
    return store


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["op 3", "3", "2", "1"]),
        ({"vm": "web-1"}, ["1"]),
        ({"vm": "web-10"}, ["2"]),
        ({"vm": "WEB-1"}, []),
        ({"vm": "web-_"}, []),
        ({"vm": "old"}, ["op 3"]),
        ({"set_name": "web"}, ["2", "1"]),
        ({"set_name": "gone"}, ["op 3"]),
        ({"set_name": "nonsense"}, []),
        ({"tag": ("team", None)}, ["op 3", "3"]),
        ({"tag": ("team", "blue")}, ["3"]),
        ({"tag": ("team", "red")}, ["op 3"]),
        ({"tag": ("team", "")}, []),
        ({"tag": ("empty", "")}, ["3"]),
        ({"tag": ('odd "key"', "a=b")}, ["3"]),
        ({"tag": ("tea", None)}, []),
        ({"kind": Kind.REBOOT}, ["1"]),
        ({"kind": Kind.FREEZE}, ["3", "2"]),
        ({"scope": "web"}, ["2", "1"]),
        ({"scope": "solo"}, ["3"]),
        ({"outcome": Phase.COMPLETED}, ["op 3", "1"]),
        ({"outcome": Phase.CANCELLED}, ["3"]),
        ({"asked_by": "alice"}, ["op 3", "1"]),
        ({"asked_by": "bob"}, ["3", "2"]),
        ({"since": NOW + timedelta(days=1)}, ["op 3", "3", "2"]),
        ({"until": NOW + timedelta(days=1)}, ["1"]),
        ({"since": NOW + timedelta(days=1), "until": NOW + timedelta(days=2)}, ["3", "2"]),
        ({"set_name": "web", "outcome": Phase.FAILED, "asked_by": "bob"}, ["2"]),
        ({"vm": "web-1", "tag": ("team", None)}, []),
        ({"vm": "solo", "tag": ("team", "blue"), "kind": Kind.FREEZE}, ["3"]),
    ],
    ids=str,
)  # fmt: skip
def test_a_filter_finds_what_fits_and_nothing_else(told: SqlStore, wanted, found: list[str]):
    assert lines(told, **wanted) == found


def test_a_filter_goes_on_where_the_page_before_ended(told: SqlStore):
    wanted = Filter(tag=("team", None))

    with told.reading() as connection:
        ((first, _),) = list_history(connection, wanted, limit=1)
        ((_, second),) = list_history(connection, wanted, after=first, limit=5)

    assert second.event is not None
    assert second.event.id.startswith("00000003")


def test_a_line_has_the_attempts_on_its_own_machines(store: SqlStore):
    of = operation(1, Phase.COMPLETED, "web-0", "web-1", "web-2")
    keep(
        store,
        (
            of,
            event(1, of, Phase.COMPLETED, "web-0", "web-1"),
            event(2, of, Phase.CANCELLED, "web-2"),
            attempt(of, "web-1", 12),
            attempt(of, "web-0", 9),
            attempt(of, "elsewhere", 99),
        ),
    )

    with store.reading() as connection:
        cancelled, completed = (line for _, line in list_history(connection, limit=9))

    assert [(each.vm, each.ended_at - each.recorded_at) for each in completed.attempts if each.ended_at] == [
        ("web-0", timedelta(seconds=9)),
        ("web-1", timedelta(seconds=12)),
    ]
    assert cancelled.attempts == ()


def test_an_approval_is_a_guests_where_a_machine_has_that_name_or_had(store: SqlStore):
    of = operation(1, Phase.COMPLETED, "web-0")
    approved = [
        event(number, of, Phase.COMPLETED, "web-0", approvals=(Approval(by, NOW), Approval("web-0", NOW)))
        for number, by in enumerate(("web-0", "old", "alice"), 1)
    ]
    keep(store, (machine("web-0"), machine("old", state=VmState.DELETED)), (of, *approved))

    with store.reading() as connection:
        found = [
            (line.event.approved_by, line.is_approved_by_guest) for _, line in list_history(connection, limit=9)
        ]

    assert found == [("alice", False), ("old", True), ("web-0", True)]


@pytest.mark.parametrize(
    ("wanted", "unknown"),
    [
        ({"vm": "web-1"}, None),
        ({"vm": "old"}, None),
        ({"vm": "web-9"}, ("VM", "web-9")),
        ({"vm": "web-1", "set_name": "wbe"}, ("set", "wbe")),
        ({"scope": "web"}, None),
        ({"scope": "wbe"}, ("scope", "wbe")),
        ({"tag": ("nobody", "has-it")}, None),
    ],
    ids=str,
)
def test_what_never_was_is_told_from_what_has_gone(told: SqlStore, wanted, unknown):
    with told.reading() as connection:
        assert find_unknown(connection, Filter(**wanted)) == unknown


def test_what_is_let_go_while_a_page_is_read_does_not_spoil_it(told: SqlStore):
    """All queries of a page see the same state, on both databases."""
    with told.reading() as connection:
        before = list_history(connection, limit=9)
        with told.transaction() as transaction:
            for table in ("events", "operations"):
                transaction.connection.exec_driver_sql(f"DELETE FROM {table}")
        after = list_history(connection, limit=9)

    assert before == after
    assert lines(told) == []


@pytest.mark.parametrize("wanted", [{}, {"asked_by": "bob"}, {"vm": "nonsense"}], ids=str)
def test_the_figures_of_lines_are_those_that_the_lines_themselves_give(told: SqlStore, wanted):
    """A summary reads figures, page by page, and not lines: both say the same."""
    found, after = [], None
    with told.reading() as connection:
        expected = [line.figures for _, line in list_history(connection, Filter(**wanted), limit=100)]
        for _ in range(10):
            page, after = list_figures(connection, Filter(**wanted), after=after, limit=2)
            found += page
            if after is None:
                break

    assert found == expected


def test_figures_tell_interruptions_notice_and_who_approved(store: SqlStore):
    of = operation(1, Phase.COMPLETED, "web-0", "web-1", "web-2")
    approved = event(1, of, Phase.COMPLETED, "web-0", "web-1", approvals=(Approval("web-1", NOW),))
    begun = replace(attempt(of, "web-2", 1), ended_at=None)
    keep(store, (machine("web-1"), of, approved, attempt(of, "web-0", 9), attempt(of, "web-1", -5), begun))

    with store.reading() as connection:
        ((figures,), after) = list_figures(connection, Filter(), after=None, limit=9)
        ((_, line),) = list_history(connection, limit=9)

    assert figures == Figures(Phase.COMPLETED, Approver.GUESTS, 900.0, 0.0, 9, [9.0, 0.0])
    assert line.figures == figures
    assert after is None


@pytest.mark.parametrize(
    ("outcomes", "interruptions"),
    [((Outcome.DONE, Outcome.DONE), [7209.0, 7203.0]), ((Outcome.DONE, Outcome.FAILED), [])],
    ids=["both are back", "one is not"],
)
def test_figures_count_from_the_failure_of_a_host_and_only_where_all_of_it_is_known(
    store: SqlStore, outcomes: tuple[Outcome, Outcome], interruptions: list[float]
):
    of = replace(operation(1, Phase.COMPLETED, "web-0", "web-1"), started_at=NOW - timedelta(hours=2))
    told = event(1, of, Phase.COMPLETED, "web-0", "web-1")
    first = attempt(of, "web-0", 9, outcomes[0], action=Action.RESTORE)
    second = attempt(of, "web-1", 3, outcomes[1], action=Action.RESTORE)
    keep(store, (of, told, first, second))

    with store.reading() as connection:
        ((figures,), _) = list_figures(connection, Filter(), after=None, limit=9)
        ((_, line),) = list_history(connection, limit=9)

    assert figures.interruptions == interruptions
    assert line.figures == figures
