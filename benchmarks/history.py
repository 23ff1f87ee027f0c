"""How long a page of the history takes when much has happened, and what letting go of it costs.

    .venv/bin/python -m benchmarks.history                          200,000 events in SQLite
    .venv/bin/python -m benchmarks.history --events 50000 --store postgresql://...

Every page is asked for with a filter that few lines fit, which is the worst of it, and with one that many fit.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from forewarn.core.event import EVENTS_PER_COMMIT, Approval, Event
from forewarn.core.fleet import Vm
from forewarn.core.history import Summary, Summing
from forewarn.core.operation import Attempt, Operation, Outcome
from forewarn.core.phase import Phase
from forewarn.core.terms import Action, Cause, Kind, Source
from forewarn.core.world import AuditEntry, Changes, Entity
from forewarn.store.figures import list_figures
from forewarn.store.lines import EVERYTHING, Filter, list_history
from forewarn.store.retention import prune
from forewarn.store.sql import ClockMark, SqlStore

_START = datetime(2026, 1, 1, tzinfo=UTC)
_VMS = 20_000
_PER_SET = 20
_PER_COMMIT = 500
_SECONDS_APART = 150


def _vm(number: int) -> Vm:
    name, owner = f"vm-{number}", f"set-{number // _PER_SET}"
    tags = {"team": f"team-{number % 50}"} | ({"rare": "yes"} if number == 7 else {})
    return Vm(name, str(uuid.UUID(int=number)), "host-0", None, owner, set_name=owner, tags=tags)


def history_line(number: int) -> Iterator[Entity]:
    at, name = _START + timedelta(seconds=_SECONDS_APART * number), f"vm-{number * 7919 % _VMS}"
    kind = Kind.REBOOT if number % 10 else Kind.FREEZE
    operation = Operation(
        str(uuid.UUID(int=number, version=4)),
        Cause.RESTART,
        Action.REBOOT,
        Source.USER,
        kind,
        (name,),
        "rare" if number % 50_000 == 0 else "operator",
        at,
        Phase.FAILED if number % 20_000 == 1 else Phase.COMPLETED,
        duration_seconds=60,
        started_at=at,
        ended_at=at + timedelta(seconds=70),
    )
    yield operation
    yield Attempt(
        operation.id, name, Action.REBOOT, at, at, "host-0", outcome=Outcome.DONE, ended_at=operation.ended_at
    )
    if number % 50 == 0:  # and now and then guests were told nothing
        return
    event = Event(
        str(uuid.uuid5(uuid.UUID(operation.id), "x")).upper(), 0, operation.id, "set-0", 0, (name,), kind,
        Source.USER, "", 60, operation.phase, at, timedelta(minutes=15), at, at,
    )  # fmt: skip
    approvals = (Approval(name, at),) if number % 3 else ()
    yield replace(
        event,
        scope=f"set-{int(name[3:]) // _PER_SET}",
        approvals=approvals,
        started_at=at + timedelta(seconds=number % 900),
        ended_at=operation.ended_at,
    )


def _fill(store: SqlStore, events: int) -> None:
    mark = ClockMark("bench", timedelta(0), _START)

    def commit(number: int, entities: list[Entity]) -> None:
        numbered = [
            replace(each, number=number * EVENTS_PER_COMMIT + index) if isinstance(each, Event) else each
            for index, each in enumerate(entities, 1)
        ]
        stamped = tuple(replace(each, version=number) for each in numbered)
        operations = [each for each in stamped if isinstance(each, Operation)]
        deeds = tuple(
            AuditEntry(each.created_at, each.asked_by, each.cause, each.id) for each in operations for _ in "123"
        )
        with store.transaction() as transaction:
            transaction.write(Changes(number, stamped, (0,) * len(stamped), tuple(deeds * 3)), mark, 0)

    commit(1, [_vm(number) for number in range(_VMS)])
    for index, first in enumerate(range(0, events, _PER_COMMIT), 2):
        last = min(first + _PER_COMMIT, events)
        commit(index, [entity for number in range(first, last) for entity in history_line(number)])


def _measured(act: Callable[[], object], times: int = 5) -> str:
    """The least of some times, and the CPU that it took of this process."""
    taken = []
    for _ in range(times):
        began = time.perf_counter(), time.process_time()
        act()
        taken.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    elapsed, cpu = min(taken)
    return f"{elapsed * 1000:8.1f} ms, {cpu * 1000:8.1f} of CPU"


_PAGES = {
    "everything": EVERYTHING,
    "one VM": Filter(vm="vm-7919"),
    "one set": Filter(set_name="set-3"),
    "a common tag": Filter(tag=("team", None)),
    "a tag of few": Filter(tag=("rare", "yes")),
    "a rare actor": Filter(asked_by="rare"),
    "a common actor": Filter(asked_by="operator"),
    "a common outcome": Filter(outcome=Phase.COMPLETED),
    "the last days": Filter(since=_START + timedelta(days=340)),
    "a common outcome of one VM": Filter(outcome=Phase.COMPLETED, vm="vm-7919"),
    "a rare outcome": Filter(outcome=Phase.FAILED),
    "a common kind": Filter(kind=Kind.REBOOT),
    "one scope": Filter(scope="set-3"),
    "the first day": Filter(until=_START + timedelta(days=1)),
    "VM, kind, actor and time": Filter(
        vm="vm-7919", kind=Kind.REBOOT, asked_by="operator", since=_START, until=_START + timedelta(days=900)
    ),
    "what is not there": Filter(vm="vm-7919", outcome=Phase.CANCELLED),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Pages of a long history.")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--store", help="an empty one; without it SQLite in a directory of its own")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        store = SqlStore(given.store or f"sqlite:///{directory}/history.db")
        began = time.perf_counter()
        _fill(store, given.events)
        print(f"{given.events} operations and their events written in {time.perf_counter() - began:.1f} s")
        with store.reading() as connection:
            for what, wanted in _PAGES.items():
                page = list_history(connection, wanted, limit=101)
                taken = _measured(lambda wanted=wanted: list_history(connection, wanted, limit=101))
                print(f"{taken}  {what} ({len(page)} lines)")
            print(f"{_measured(lambda: list_history(connection, limit=1000))}  a page of 1000")
            print(f"{_measured(lambda: _sum_up(connection), 1)}  summing all of it up")
        _measure_pruning(store)
        store.close()


def _sum_up(connection: sa.Connection) -> Summary:
    summing, after = Summing(), None
    while True:
        figures, after = list_figures(connection, EVERYTHING, after=after, limit=1000)
        summing.add(figures)
        if after is None:
            return summing.summary()


def _measure_pruning(store: SqlStore) -> None:
    until = _START + timedelta(days=400)

    def batch() -> None:
        with store.transaction() as transaction:
            prune(transaction.connection, until)

    print(f"{_measured(batch, 20)}  one batch of what is let go")


if __name__ == "__main__":
    main()
