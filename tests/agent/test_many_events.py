"""Thousands of events that are none of this VM's business do not hold up the one that is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from forewarn.agent.book import Book
from forewarn.agent.case import Consent, Outcome
from forewarn.agent.journal import Journal
from forewarn.agent.metrics import Metrics
from tests.agent.azure import Azure, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import DO, UNDO, a_case, a_profile, a_run, a_step, an_event
from tests.agent.test_journal import loaded
from tests.waiting import wait_until

MANY = 500
OTHERS = [event(f"X{number}", Resources=[f"db-{number}"]) for number in range(MANY)]


class Counting:
    """A journal's rows, and how often they had to be on the disk before anything went on."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self.flushes: list[str] = []

    def execute(self, statement: str, *values: Any) -> Any:
        if statement == "COMMIT" or (statement.startswith("INSERT") and not self._rows.in_transaction):
            self.flushes.append(values[0][0] if values else statement)
        return self._rows.execute(statement, *values)

    def executemany(self, statement: str, values: Any) -> Any:
        return self._rows.executemany(statement, values)

    def close(self) -> None:
        self._rows.close()


def test_many_events_of_others_are_noted_and_closed_in_a_few_transactions(azure: Azure, tmp_path: Path):
    with kept(azure.url, tmp_path, Stage(), a_profile(a_step())) as agent:
        rows = agent.journal._rows = Counting(agent.journal._rows)
        azure.show(*OTHERS, event("E1"))
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")
        azure.show()
        agent.wait_until_closed()
        wait_until(lambda: not agent.keeper.standing.unclosed(), "the others to be closed")

    of_others = [each for each in rows.flushes if each.startswith("X")]
    assert of_others == []
    assert len(rows.flushes) < 40
    assert len(loaded(tmp_path)) == MANY + 1


def test_an_event_of_others_with_no_profile_is_not_called_prepared(azure: Azure, tmp_path: Path, caplog):
    caplog.set_level("INFO", "forewarn.agent")
    with kept(azure.url, tmp_path, Stage(), a_profile(a_step())) as agent:
        azure.show(event("X1", Resources=["db-1"]))
        agent.wait_for(lambda _: True, "the event", "X1")
        azure.wait_for_polls(3)
        other = agent.case("X1")

    assert other is not None
    assert other.prepared_at is None
    assert "event prepared" not in caplog.messages


def test_own_events_come_before_those_of_others_and_open_ones_before_the_rest(journal: Journal):
    book = Book(journal, Metrics())
    for number in range(3):
        book.note(a_case(an_event(f"X{number}"), vm=""))
    book.note(a_case())

    assert [case.id for case in book.unclosed()] == ["E1", "X0", "X1", "X2"]


def test_only_cases_with_attempts_are_looked_at_for_shared_effects(journal: Journal):
    book = Book(journal, Metrics())
    book.note(a_case(an_event("X1"), vm=""))
    book.note(a_case(runs={("drain", DO): a_run()}))
    first = [case.id for case in book.acted_on()]
    book.note(a_case(runs={("drain", DO): a_run()}, closed_at=a_case().first_seen_at))

    assert (first, book.acted_on()) == (["E1"], [])


def test_what_is_only_noted_is_on_the_disk_when_the_round_is_over(journal: Journal):
    book = Book(journal, Metrics())
    book.note(a_case(an_event("X1"), vm=""))
    book.note_new(a_case())
    before = [case.id for case in journal.load()]

    book.save_noted()

    assert (before, {case.id for case in journal.load()}) == ([], {"E1", "X1"})


def test_many_events_that_are_over_and_wait_for_another_are_all_looked_at_and_keep_nobody_busy(
    azure: Azure, tmp_path: Path
):
    drain = a_profile(a_step())
    others = OTHERS[:60]
    with kept(azure.url, tmp_path, Stage(), drain) as agent:
        azure.show(event("E1"), *others)
        wait_until(lambda: len(agent.keeper.standing.cases) == 61, "all of them")
    run = a_run(of_type="Reboot", profile="drain")
    journal = Journal(tmp_path)
    journal.save(*(replace(case, runs={("drain", DO): run}) for case in journal.load()))
    journal.close()

    with kept(azure.url, tmp_path, Stage(), drain) as agent:
        azure.wait_for_polls(2)
        azure.show(event("E1"))
        put_off = ("the undo of step drain, put off until event E1 is over",)
        wait_until(lambda: list(agent.keeper.standing.waiting_for.values()).count(put_off) == 60, "all to wait")
        wait_until(lambda: agent.keeper._seconds_to_next_round() > 0.5, "the keeper to come to rest")
        azure.show()
        wait_until(lambda: not agent.keeper.standing.unclosed(), "all to be closed", seconds=60)

    assert all(case.run("drain", UNDO).outcome is Outcome.DONE for case in loaded(tmp_path))
