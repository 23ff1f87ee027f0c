"""`kill -9` in the middle of fifty operations, twenty times over, real processes.

Nothing answered is lost, nothing is acted on twice (counted in the machines' own ledger), every event ends.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from forewarn.core.phase import Phase
from forewarn.drivers.machines import Machines
from forewarn.store import history
from forewarn.store.sql import SqlStore
from tests.crash.crowd import Crowd
from tests.crash.process import ServiceProcess
from tests.running import wait_until
from tests.store.databases import fresh_database

KILLS = 20
MOST_KILLS = 40
OPERATIONS = 50
VMS = 56
Figures = Callable[[str], None]
PHASES = ("Scheduled", "approved and held", "Started, in the lead", "attempt recorded", "machine at work", "ended")


def write_fleet(directory: Path) -> tuple[Path, dict[str, str]]:
    """Standalone VMs and sets of seven, on shared hosts; every guest has a loopback address of its own."""
    lines = [f'[[hosts]]\nname = "host-{n}"' for n in range(14)]
    lines += [f'[[availability_sets]]\nname = "set-{n}"\nupdate_domains = 7' for n in range(4)]
    guests = {}
    for n in range(VMS):
        name, address = f"vm-{n:02d}", f"127.9.0.{n + 1}"
        guests[name] = address
        member = f'availability_set = "set-{n % 4}"\nupdate_domain = {n // 4 % 7}\n' if n < VMS // 2 else ""
        lines.append(f'[[vms]]\nname = "{name}"\nhost = "host-{n // 4 % 14}"\n{member}addresses = ["{address}"]')
    file = directory / "fleet.toml"
    file.write_text("\n".join(lines))
    return file, guests


class Onlooker:
    """Reads the store and the machines' ledger from outside, without taking the store's lock."""

    def __init__(self, address: str, machines: Machines) -> None:
        url = sa.make_url(address)
        driver = "postgresql+psycopg" if url.drivername == "postgresql" else "sqlite"
        self._engine = sa.create_engine(url.set(drivername=driver))
        self._machines = machines

    def where_it_stands(self) -> Counter[str]:
        """How many operations are in each phase of their life."""
        with self._engine.connect() as connection:
            rows = connection.execute(sa.text(_OPERATIONS)).all()
        acted = {(effect.operation, effect.vm) for effect in self._machines.ledger()}
        return Counter(self._phase(row, acted) for row in rows)

    def _phase(self, row: sa.Row, acted: set[tuple[str, str]]) -> str:
        operation, phase, approvals, vm, outcome = row
        if phase == Phase.SCHEDULED:
            return "approved and held" if approvals not in (None, "[]") else "Scheduled"
        if phase == Phase.STARTED and vm is None:
            return "Started, in the lead"
        if phase == Phase.STARTED and outcome is None:
            return "machine at work" if (operation, vm) in acted else "attempt recorded"
        return "ended"

    def is_about_to_act(self) -> bool:
        """Whether attempts are recorded of which the machines know nothing yet."""
        with self._engine.connect() as connection:
            under_way = connection.execute(sa.text(_UNDER_WAY)).all()
        acted = {(effect.operation, effect.vm) for effect in self._machines.ledger()}
        return any((row.operation, row.vm) not in acted for row in under_way)

    def close(self) -> None:
        self._engine.dispose()


_OPERATIONS = (
    "SELECT o.id, o.phase, e.approvals, a.vm, a.outcome FROM operations o "
    "LEFT JOIN events e ON e.operation = o.id LEFT JOIN attempts a ON a.operation = o.id"
)
_UNDER_WAY = "SELECT operation, vm FROM attempts WHERE outcome IS NULL"


def kill_twenty_times(directory: Path, address: str, figures: Figures) -> None:
    fleet, guests = write_fleet(directory)
    ledger = directory / "machines.db"
    service = ServiceProcess(
        directory,
        f"--store={address}",
        f"--fleet={fleet}",
        f"--machines={ledger}",
        "--lead=2",
        "--rate-limit=0",
        "--simulated-seconds=reboot=0.7",
        "--simulated-seconds=redeploy=0.9",
    )
    service.start()
    crowd = Crowd(service, guests, OPERATIONS)
    crowd.start()
    dice = random.Random(20260302)
    found: Counter[str] = Counter()
    machines = Machines.open(ledger)
    onlooker = Onlooker(address, machines)
    try:
        for kill in range(MOST_KILLS):
            if kill >= KILLS and crowd.answered.cut_off and all(found[phase] for phase in PHASES):
                break  # at least twenty, and more where luck has not hit everything yet
            until = time.monotonic() + dice.choice([0.4, 1.2, 2.4, 2.8]) * dice.uniform(0.8, 1.2)
            wait_until(lambda until=until: time.monotonic() > until, "the next kill", 30)
            if kill % 2:  # aim at the moment between the commit and the machine
                wait_until(onlooker.is_about_to_act, "an attempt to be recorded", 30)
            service.kill()
            found += onlooker.where_it_stands() + Counter(kills=1)
            service.start()
        crowd.is_asking.clear()
        wait_until(lambda: service.call("GET", "/v1/events")[1]["events"] == [], "every event to end", 120)
        crowd.stop()
        assert service.stop() == 0
        judge(address, machines, crowd, found, figures)
    finally:
        crowd.stop()
        onlooker.close()
        machines.close()


def judge(address: str, machines: Machines, crowd: Crowd, found: Counter[str], figures: Figures) -> None:
    answered = crowd.answered
    effects = Counter((effect.operation, effect.vm) for effect in machines.ledger())
    store = SqlStore(address)
    with store.transaction() as transaction:
        kept = {
            operation: history.find_operation(transaction.connection, operation)
            for operation in answered.operations
        }
        approvals = {
            (event, by): history.find_events(transaction.connection, event) for event, by in answered.approvals
        }
        still_open = transaction.connection.execute(
            sa.text("SELECT count(*) FROM events WHERE phase IN ('Scheduled', 'Started')")
        ).scalar()
        outcomes = Counter(transaction.connection.execute(sa.text("SELECT phase FROM operations")).scalars().all())
        scopes_off = transaction.connection.execute(
            sa.text("SELECT count(*) FROM scopes WHERE NOT is_on")
        ).scalar()
    store.close()
    figures(
        f"{found['kills']} kills; operations found in each phase, summed over the kills:\n"
        + "".join(f"{found[phase]:8d}  {phase}\n" for phase in PHASES)
        + f"{len(answered.cut_off):8d}  POSTs cut off by a kill\n"
        f"{len(answered.operations):8d}  requests and {len(answered.approvals)} approvals answered\n"
        f"{sum(effects.values()):8d}  effects in the machines' ledger; operations ended {dict(outcomes)}"
    )

    lost = [operation for operation, operation_found in kept.items() if operation_found is None]
    assert not lost, f"accepted and lost: {lost}"
    forgotten = [
        (event, by)
        for (event, by), events in approvals.items()
        if len(events) != 1 or (not events[0].started_at and by not in {each.by for each in events[0].approvals})
    ]
    assert not forgotten, f"approved and forgotten: {forgotten}"
    twice = [key for key, count in effects.items() if count > 1]
    assert not twice, f"acted on twice: {twice}"
    assert still_open == 0
    assert scopes_off == 0, "a poll was answered and its scope is off"
    assert outcomes[Phase.COMPLETED] >= OPERATIONS
    assert set(outcomes) <= {Phase.COMPLETED, Phase.CANCELLED, Phase.FAILED}
    unfelt = [
        each.title
        for operation, each in kept.items()
        if each.phase is Phase.COMPLETED
        and each.targets
        and not any((operation, vm) in effects for vm in each.targets)
    ]
    assert not unfelt, f"said to be completed, and never felt: {unfelt}"
    for phase in PHASES:
        assert found[phase] > 0, f"no kill found an operation {phase}"
    assert answered.cut_off, "no kill cut off a POST"


def test_nothing_answered_is_lost_and_nothing_done_twice_on_sqlite(tmp_path: Path, figures):
    kill_twenty_times(tmp_path, fresh_database("sqlite", tmp_path), figures)


@pytest.mark.long
def test_nothing_answered_is_lost_and_nothing_done_twice_on_postgresql(tmp_path: Path, figures):
    kill_twenty_times(tmp_path, fresh_database("postgresql", tmp_path), figures)
