"""`kill -9` in the middle of fifty operations, many times over, real processes.

Nothing answered is lost, nothing is acted on twice (counted in the machines' own ledger), every event ends.
"""

from __future__ import annotations

import random
import statistics
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
from tests.crash.onlooker import PHASES, Onlooker
from tests.crash.process import ServiceProcess
from tests.running import wait_until
from tests.store.databases import fresh_database

SOME_KILLS = 3
MANY_KILLS = 20
MOST_KILLS = 40
OPERATIONS = 50  # under way at every kill
WANTED = 64  # some end while the kill is being aimed
VMS = 112
SLEEPERS = MOST_KILLS  # one for each kill: it has never polled before
Figures = Callable[[str], None]


def write_fleet(directory: Path) -> tuple[Path, dict[str, str], dict[str, str]]:
    """Standalone VMs and sets of seven, on shared hosts, and elsewhere sleepers that nobody ever acts on.

    Every guest has a loopback address of its own.
    """
    lines = [f'[[hosts]]\nname = "{name}"' for name in (*(f"host-{n}" for n in range(14)), "dormitory")]
    lines += [f'[[availability_sets]]\nname = "set-{n}"\nupdate_domains = 7' for n in range(4)]
    guests = {}
    for n in range(VMS):
        name, address = f"vm-{n:03d}", f"127.9.0.{n + 1}"
        guests[name] = address
        member = f'availability_set = "set-{n % 4}"\nupdate_domain = {n // 4 % 7}\n' if n < VMS // 4 else ""
        lines.append(f'[[vms]]\nname = "{name}"\nhost = "host-{n // 4 % 14}"\n{member}addresses = ["{address}"]')
    sleepers = {f"sleeper-{n:02d}": f"127.9.1.{n + 1}" for n in range(SLEEPERS)}
    lines += [
        f'[[vms]]\nname = "{name}"\nhost = "dormitory"\naddresses = ["{address}"]'
        for name, address in sleepers.items()
    ]
    file = directory / "fleet.toml"
    file.write_text("\n".join(lines))
    return file, guests, sleepers


def kill_often(directory: Path, address: str, figures: Figures, kills: int) -> None:
    fleet, guests, sleepers = write_fleet(directory)
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
    crowd = Crowd(service, guests, WANTED)
    crowd.start()
    dice = random.Random(20260302)
    found: Counter[str] = Counter()
    machines = Machines.open(ledger)
    onlooker = Onlooker(address, machines)
    judged: Counter[str] = Counter()
    amid: list[int] = []
    try:
        for kill, (sleeper, there) in enumerate(sleepers.items()):
            if kill >= kills and crowd.answered.cut_off and judged["approvals"] and all(map(found.get, PHASES)):
                break  # at least so many, and more where luck has not hit everything yet
            until = time.monotonic() + dice.choice([0.4, 1.2, 2.4, 2.8]) * dice.uniform(0.8, 1.2)
            wait_until(lambda until=until: time.monotonic() > until, "the next kill", 30)
            wait_until(lambda: onlooker.is_amid(OPERATIONS), f"{OPERATIONS} operations to be under way", 300)
            if kill % 2:  # aim at the moment between the commit and the machine
                is_time = lambda: onlooker.is_about_to_act() and onlooker.is_amid(OPERATIONS)  # noqa: E731 - one line
                wait_until(is_time, "an attempt to be recorded", 300)
            else:  # or at the moment after a first poll was answered
                crowd.poll(sleeper, there)
            service.kill()
            judged += onlooker.judge(crowd.answered)
            stands = onlooker.where_it_stands()
            amid.append(stands.total() - stands["ended"])
            found += stands + Counter(kills=1)
            service.start()
        crowd.is_asking.clear()
        wait_until(lambda: service.call("GET", "/v1/events")[1]["events"] == [], "every event to end", 120)
        crowd.stop()
        assert service.stop() == 0
        onlooker.judge(crowd.answered)
        figures(f"operations under way when it was killed: {amid}")
        assert statistics.median(amid) >= OPERATIONS
        judge_the_end(address, machines, crowd, found + judged, figures)
    finally:
        crowd.stop()
        onlooker.close()
        machines.close()


def judge_the_end(address: str, machines: Machines, crowd: Crowd, found: Counter[str], figures: Figures) -> None:
    answered = crowd.answered
    effects = Counter((effect.operation, effect.vm) for effect in machines.ledger())
    store = SqlStore(address)
    with store.transaction() as transaction:
        kept = {
            operation: history.find_operation(transaction.connection, operation)
            for operation in answered.operations
        }
        still_open = transaction.connection.execute(
            sa.text("SELECT count(*) FROM events WHERE phase IN ('Scheduled', 'Started')")
        ).scalar()
        outcomes = Counter(transaction.connection.execute(sa.text("SELECT phase FROM operations")).scalars().all())
    store.close()
    figures(
        f"{found['kills']} kills; operations found in each phase, summed over the kills:\n"
        + "".join(f"{found[phase]:8d}  {phase}\n" for phase in PHASES)
        + f"{found['approvals']:8d}  answered approvals found of what was still Scheduled\n"
        f"{found['polls']:8d}  answered polls found\n"
        f"{len(answered.cut_off):8d}  POSTs cut off by a kill\n"
        f"{len(answered.operations):8d}  requests and {len(answered.approvals)} approvals answered\n"
        f"{sum(effects.values()):8d}  effects in the machines' ledger; operations ended {dict(outcomes)}"
    )

    twice = [key for key, count in effects.items() if count > 1]
    assert not twice, f"acted on twice: {twice}"
    assert still_open == 0
    assert outcomes[Phase.COMPLETED] >= OPERATIONS
    assert set(outcomes) <= {Phase.COMPLETED, Phase.CANCELLED, Phase.FAILED}
    unfelt = [
        each.title
        for operation, each in kept.items()
        if each.phase is Phase.COMPLETED and any((operation, vm) not in effects for vm in each.targets)
    ]
    assert not unfelt, f"said to be completed, and never felt: {unfelt}"
    for phase in PHASES:
        assert found[phase] > 0, f"no kill found an operation {phase}"
    assert found["approvals"] > 0, "no kill found an answered approval that could have been lost"
    assert answered.cut_off, "no kill cut off a POST"


def test_nothing_answered_is_lost_and_nothing_done_twice(tmp_path: Path, figures):
    kill_often(tmp_path, fresh_database("sqlite", tmp_path), figures, SOME_KILLS)


@pytest.mark.long
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_nothing_answered_is_lost_and_nothing_done_twice_over_many_kills(database: str, tmp_path: Path, figures):
    kill_often(tmp_path, fresh_database(database, tmp_path), figures, MANY_KILLS)


def test_an_event_that_guests_have_read_keeps_its_not_before_however_the_service_ends(tmp_path: Path):
    fleet, guests, _ = write_fleet(tmp_path)
    address, ledger = fresh_database("sqlite", tmp_path), tmp_path / "machines.db"
    service = ServiceProcess(tmp_path, f"--store={address}", f"--fleet={fleet}", f"--machines={ledger}")
    service.start()
    machines = Machines.open(ledger)
    onlooker = Onlooker(address, machines)
    crowd = Crowd(service, guests, 0)
    crowd.poll("vm-000", guests["vm-000"])
    event = service.call("POST", "/v1/vms/vm-000/restart")[1]["event"]

    wait_until(onlooker.knows_what_was_shown, "the service to write down what it has shown")
    service.kill()
    service.start()
    _, after = service.call("GET", f"/v1/events/{event['id']}")
    service.stop()
    onlooker.close()
    machines.close()

    assert after["not_before"] == event["not_before"]
