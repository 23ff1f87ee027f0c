"""A journal that is broken, or of which a part cannot be read: said, kept, and never taken for nothing."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.agent.journal import Journal
from tests.agent.little_world import an_event
from tests.agent.test_journal import FULL, FULL_OF_OTHERS


def test_an_entry_that_cannot_be_read_is_said_and_costs_no_other(journal: Journal):
    journal.save(FULL)
    journal._rows.execute("INSERT INTO cases (id, body) VALUES ('E9', '{\"event\": 1}')")

    assert journal.load() == [FULL]
    assert "E9" in journal.oddities[0]
    assert journal.unreadable == {"E9"}


def test_an_entry_that_cannot_be_read_is_not_written_over(journal: Journal):
    journal._rows.execute("INSERT INTO cases (id, body) VALUES (?, '{\"event\": 1}')", (FULL.id,))
    journal.load()

    journal.save(FULL)

    bodies = [body for (body,) in journal._rows.execute("SELECT body FROM cases ORDER BY number")]
    assert bodies[0] == '{"event": 1}'
    assert journal.load() == [FULL]


def test_an_entry_that_cannot_be_read_is_told_of_at_every_start_until_something_is_known_again(tmp_path: Path):
    with closing(Journal(tmp_path)) as journal:
        journal._rows.execute("INSERT INTO cases (id, body) VALUES (?, '{\"event\": 1}')", (FULL.id,))

    told = []
    for _ in range(3):
        with closing(Journal(tmp_path)) as journal:
            journal.load()
            told.append((journal.unreadable, len(journal.oddities)))
    with closing(Journal(tmp_path)) as journal:
        journal.load()
        journal.save(FULL)
    with closing(Journal(tmp_path)) as journal:
        known = journal.load()

    assert told == [({FULL.id}, 1)] * 3
    assert (known, journal.unreadable) == ([FULL], set())


def test_an_entry_that_a_later_agent_can_read_comes_back(tmp_path: Path):
    with closing(Journal(tmp_path)) as journal:
        journal.save(FULL, FULL_OF_OTHERS)
        body = journal._rows.execute("SELECT body FROM cases WHERE id = ?", (FULL.id,)).fetchone()
        journal._rows.execute("UPDATE cases SET body = '[]' WHERE id = ?", (FULL.id,))
        without = journal.load()
        journal._rows.execute("UPDATE cases SET body = ? WHERE body = '[]'", body)

    with closing(Journal(tmp_path)) as journal:
        known = journal.load()
    with closing(Journal(tmp_path)) as journal:
        again = journal.load()

    assert without == [FULL_OF_OTHERS]
    assert known == again == [FULL, FULL_OF_OTHERS]


def test_an_entry_that_is_no_text_costs_no_other(tmp_path: Path):
    with closing(Journal(tmp_path)) as journal:
        journal.save(FULL, FULL_OF_OTHERS)
        journal._rows.execute("UPDATE cases SET body = CAST(x'7bff7d' AS TEXT) WHERE id = ?", (FULL.id,))

    with closing(Journal(tmp_path)) as journal:
        assert journal.load() == [FULL_OF_OTHERS]
        assert journal.unreadable == {FULL.id}


def a_file_of(cases: int, place: Path) -> tuple[Path, bytes]:
    """A journal that is not open, whole in its one file."""
    with closing(Journal(place)) as journal:
        journal.save(*(replace(FULL, event=an_event(f"E{number}")) for number in range(cases)))
        journal._rows.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = place / "journal.db"
    return path, path.read_bytes()


def torn(content: bytes, page: int) -> bytes:
    return content[: page * 4096] + bytes(0x5A for _ in range(4096)) + content[(page + 1) * 4096 :]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: b"this is no database" * 100,
        lambda content: content[:100] + os.urandom(len(content) - 100),
        lambda content: torn(content, 1),
        lambda content: torn(content, 4),
        lambda content: torn(content, len(content) // 4096 - 1),
    ],
    ids=["another file", "torn pages", "the second page", "one in the middle", "the last page"],
)
def test_a_broken_journal_is_set_aside_and_said(tmp_path: Path, spoil):
    path, content = a_file_of(60, tmp_path)
    path.write_bytes(spoil(content))

    with closing(Journal(tmp_path)) as journal:
        known = journal.load()
        journal.save(FULL)
        assert journal.load() == [FULL]

    assert known == []
    assert (tmp_path / "journal.db.broken-1").exists()
    assert "was set aside" in journal.oddities[0]


def test_a_journal_that_turns_out_to_be_broken_when_it_is_read_is_set_aside_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, content = a_file_of(60, tmp_path)
    path.write_bytes(torn(content, 6))
    monkeypatch.setattr("forewarn.agent.journal._refuse_spoilt", lambda _: None)  # as if it had broken since

    with closing(Journal(tmp_path)) as journal:
        assert journal.load() == []
        journal.save(FULL)
        assert journal.load() == [FULL]

    assert (tmp_path / "journal.db.broken-1").exists()


def test_a_journal_that_begins_beside_a_broken_one_knows_until_it_is_told_that_somebody_has_looked(tmp_path: Path):
    with closing(Journal(tmp_path)) as journal:
        first = journal.is_after_a_loss
    (tmp_path / "journal.db").write_bytes(b"this is no database" * 100)
    with closing(Journal(tmp_path)) as journal:
        broken = journal.is_after_a_loss
    with closing(Journal(tmp_path)) as journal:
        restarted = journal.is_after_a_loss
        journal.forget_loss()
    with closing(Journal(tmp_path)) as journal:
        looked = journal.is_after_a_loss

    assert (first, broken, restarted, looked) == (False, True, True, False)


@pytest.mark.parametrize("loss", ["set aside", "taken away", "empty", "without its table"])
def test_a_journal_that_begins_empty_where_there_was_one_says_that_it_is_lost(tmp_path: Path, loss: str):
    path, _ = a_file_of(3, tmp_path)
    if loss == "set aside":  # by one who got no further
        path.rename(tmp_path / "journal.db.broken-1")
    elif loss == "taken away":
        path.unlink()
    elif loss == "empty":
        path.write_bytes(b"")
    elif loss == "without its table":
        with closing(sqlite3.connect(path)) as rows:
            rows.execute("DROP TABLE cases")

    with closing(Journal(tmp_path)) as journal:
        assert journal.is_after_a_loss
        assert "are held until they are released" in journal.oddities[0]


def test_a_directory_without_anything_of_an_agent_has_lost_nothing(tmp_path: Path):
    with closing(Journal(tmp_path)) as journal:
        assert not journal.is_after_a_loss
        assert journal.oddities == []


def test_a_broken_journal_is_set_aside_with_the_log_that_sqlite_has_left_beside_it(tmp_path: Path):
    journal = Journal(tmp_path)
    journal.close()
    (tmp_path / "journal.db-wal").write_bytes(b"what was written last")

    journal._set_aside(tmp_path)

    assert (tmp_path / "journal.db.broken-1-wal").read_bytes() == b"what was written last"
    assert sorted(each.name for each in tmp_path.glob("*.db*")) == [
        "journal.db.broken-1",
        "journal.db.broken-1-wal",
    ]


def test_a_broken_journal_whose_setting_aside_was_interrupted_comes_to_its_log(tmp_path: Path):
    (tmp_path / "journal.db").write_bytes(b"this is no database" * 100)
    (tmp_path / "journal.db.broken-1-wal").write_bytes(b"what was written last")

    with closing(Journal(tmp_path)) as journal:
        journal.save(FULL)

    assert (tmp_path / "journal.db.broken-1").exists()
    assert (tmp_path / "journal.db.broken-1-wal").read_bytes() == b"what was written last"
