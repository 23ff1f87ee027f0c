"""Directories that other users own or can write, and links planted in them."""

from __future__ import annotations

import grp
import os
import pwd
import sys
from pathlib import Path

import pytest

from forewarn.agent.audit import _append
from forewarn.agent.journal import Journal, JournalProblem, Lock
from forewarn.agent.ownership import Untrusted, _users_of_group, own_user, refuse_foreign_directory, resolve
from tests.agent.running_command import Outcome, agent, process

SOMEBODY = 54321  # no user of this machine


@pytest.fixture
def state(tmp_path: Path) -> Path:
    place = tmp_path / "state"
    place.mkdir(mode=0o700)
    return place


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file that nobody may touch through the agent."""
    file = tmp_path / "precious"
    file.write_text("as it was", encoding="utf-8")
    return file


def run(state: Path, *arguments: str) -> Outcome:
    """An agent that must not begin: it would not end."""
    command = (sys.executable, "-m", "forewarn.agent", "run", "--endpoint", "http://127.0.0.1:9")
    return process([*command, "--listen", "false", "--log-format", "plain", "--state-dir", str(state), *arguments])


def check(state: Path, *arguments: str) -> Outcome:
    return agent("check", "--state-dir", str(state), *arguments)


def given_away(place: Path) -> int:
    """A user to whom the place is foreign, as it belongs to another one than that and root."""
    if own_user() != 0:
        return own_user() + 1
    os.chown(place, SOMEBODY, -1, follow_symlinks=False)
    return 0


def test_a_directory_of_the_agents_own_user_is_used(state: Path):
    (state / "runs").mkdir()
    (state / "token").touch()

    refuse_foreign_directory(state, own_user())
    refuse_foreign_directory(state / "not" / "there", own_user())

    assert check(state).code == 0


def test_a_directory_that_another_user_owns_is_refused(state: Path):
    user = given_away(state)

    with pytest.raises(Untrusted, match="belongs to user"):
        refuse_foreign_directory(state, user)


def test_an_entry_that_another_user_owns_is_refused(state: Path):
    (state / "journal.db").touch()
    user = given_away(state / "journal.db")

    with pytest.raises(Untrusted, match="belongs to user"):
        refuse_foreign_directory(state, user)


@pytest.mark.parametrize("mode", [0o702, 0o1777], ids=oct)
def test_an_agent_refuses_a_directory_that_other_users_can_write(state: Path, mode: int):
    state.chmod(mode)

    refused, checked = run(state), check(state, "--json")

    assert refused.code == 1
    assert f"Other users can write {state}" in refused.err
    assert f"chmod go-w {state}" in refused.err
    assert list(state.iterdir()) == []
    assert checked.code == 1
    assert [each["place"] for each in checked.json["problems"]] == ["state_dir"]


def test_directory_that_a_group_can_write_is_refused_if_others_are_in_the_group(state: Path):
    if own_user() == 0:
        os.chown(state, -1, next(user.pw_gid for user in pwd.getpwall() if user.pw_uid != 0))
    group = state.stat().st_gid
    state.chmod(0o770)

    if _users_of_group(group) <= {0, own_user()}:
        refuse_foreign_directory(state, own_user())
    else:
        with pytest.raises(Untrusted):
            refuse_foreign_directory(state, own_user())


def test_users_of_a_group_are_its_members_and_those_whose_own_group_it_is():
    users = {user.pw_name: user for user in pwd.getpwall()}
    members = {(user.pw_uid, user.pw_gid) for user in users.values()}
    for group in grp.getgrall():
        members |= {(users[name].pw_uid, group.gr_gid) for name in group.gr_mem if name in users}

    assert all(user in _users_of_group(group) for user, group in members)
    assert _users_of_group(2**31 - 7) == set()


def test_a_directory_below_one_that_other_users_can_write_is_refused(state: Path):
    place = state / "below" / "it"
    place.mkdir(parents=True, mode=0o700)
    state.chmod(0o777)

    with pytest.raises(Untrusted, match=str(state)):
        refuse_foreign_directory(place, own_user())

    state.chmod(0o1777)  # others cannot rename what is ours
    refuse_foreign_directory(place, own_user())


@pytest.mark.parametrize("name", ["agent.lock", "journal.db", "journal.db-wal", "journal.begun", "token"])
def test_an_agent_follows_no_link_in_its_directory(name: str, state: Path, precious: Path):
    (state / name).symlink_to(precious)

    refused, checked = run(state), check(state)

    assert refused.code == 1
    assert f"{state / name} is a symbolic link" in refused.err
    assert precious.read_text(encoding="utf-8") == "as it was"
    assert (checked.code, checked.out) == (1, "")
    assert f"{state / name} is a symbolic link" in checked.err


def test_a_lock_or_a_journal_that_became_a_link_is_not_followed(state: Path, precious: Path):
    for name in ("agent.lock", "journal.db"):
        (state / name).symlink_to(precious)

    with pytest.raises(OSError, match=r"agent\.lock"):
        Lock(state)
    with pytest.raises(JournalProblem, match="symbolic link"):
        Journal(state)

    assert precious.read_text(encoding="utf-8") == "as it was"


def test_links_to_the_directory_are_followed_unless_another_user_made_them(state: Path, tmp_path: Path):
    link = tmp_path / "link"
    link.symlink_to("state/../state")

    refuse_foreign_directory(link, own_user())
    assert resolve(link / "audit.jsonl", own_user()) == state.resolve() / "audit.jsonl"

    user = given_away(link)
    with pytest.raises(Untrusted, match="belongs to user"):
        refuse_foreign_directory(link / "below", user)
    with pytest.raises(Untrusted, match="belongs to user"):
        resolve(link / "audit.jsonl", user)


def test_links_that_lead_in_a_circle_are_refused(tmp_path: Path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")

    with pytest.raises((Untrusted, OSError)):
        refuse_foreign_directory(tmp_path / "one", own_user())
    assert run(tmp_path / "one").code == 1


def test_the_audit_record_does_not_go_through_another_users_link(precious: Path, tmp_path: Path, monkeypatch):
    link = tmp_path / "audit.jsonl"
    link.symlink_to(precious)
    user = given_away(link)
    monkeypatch.setattr("forewarn.agent.audit.own_user", lambda: user)

    with pytest.raises(PermissionError, match="belongs to user"):
        _append(link, "{}", is_lasting=False)

    assert precious.read_text(encoding="utf-8") == "as it was"


def test_check_warns_of_an_audit_file_that_anybody_could_replace(state: Path, tmp_path: Path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)

    checked = check(state, "--audit-file", str(tmp_path / "open" / "audit.jsonl"), "--json")

    assert checked.code == 0
    assert [each.partition(":")[0] for each in checked.json["warnings"]] == ["audit_file"]


def test_check_fails_for_a_directory_that_belongs_to_another_user(state: Path, monkeypatch):
    user = given_away(state)
    monkeypatch.setattr("forewarn.agent.commands.check.own_user", lambda: user)

    checked = check(state, "--json")

    assert checked.code == 1
    assert [each["place"] for each in checked.json["problems"]] == ["state_dir"]


def test_the_token_is_not_read_through_a_link(state: Path, precious: Path):
    (state / "token").symlink_to(precious)

    refused = agent("approve", "4f", "--state-dir", str(state), "--listen", "127.0.0.1:9")

    assert refused.code == 1
    assert "cannot be read" in refused.err
