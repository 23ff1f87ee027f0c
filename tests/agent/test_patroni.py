"""The Patroni handler, against a small imitation of Patroni's REST API that does what its pages say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from forewarn.agent.case import Direction
from forewarn.agent.handlers import find
from tests.agent.lone_agent import lone_agent
from tests.agent.receiver import Answer, Got, Receiver, receiving
from tests.agent.tasks import attempt
from tests.waiting import wait_until

PATRONI = find("patroni")


@dataclass
class Imitation:
    """A cluster of three, as pg-1's API tells of it."""

    receiver: Receiver
    leader: str = "pg-1"
    states: dict[str, str] = field(
        default_factory=lambda: {"pg-1": "running", "pg-2": "streaming", "pg-3": "streaming"}
    )
    slow_questions: int = 0  # so often the new leader is not running yet
    refusal: Answer | None = None
    credentials: str = ""
    tells_name: bool = True
    switchovers: list[dict] = field(default_factory=list)

    def answer(self, got: Got) -> Answer:
        if got.method == "POST" and self.credentials and got.headers.get("Authorization") != self.credentials:
            return 401, b"no auth header received"
        if got.path == "/patroni":
            told = {"scope": "demo", "version": "3.3.2"} | ({"name": "pg-1"} if self.tells_name else {})
            return 200, json.dumps({"state": "running", "role": "primary", "patroni": told}).encode()
        if got.path == "/cluster":
            return 200, json.dumps({"members": [self._member(name) for name in self.states]}).encode()
        assert (got.method, got.path) == ("POST", "/switchover"), got
        return self._switch_over(got.json)

    def _member(self, name: str) -> dict:
        if name != self.leader:
            return {"name": name, "role": "replica", "state": self.states[name], "lag": 0}
        state = "running" if self.slow_questions <= 0 else "starting"
        self.slow_questions -= 1
        return {"name": name, "role": "leader", "state": state}

    def _switch_over(self, wanted: dict) -> Answer:
        self.switchovers.append(wanted)
        if self.refusal is not None:
            return self.refusal
        if wanted["leader"] != self.leader:
            return 412, b"leader name does not match"
        candidate = wanted.get("candidate") or next(name for name in self.states if name != self.leader)
        if candidate not in self.states:
            return 412, b"candidate does not exist"
        self.states[self.leader], self.leader = "streaming", candidate
        return 200, f'Successfully switched over to "{candidate}"'.encode()


@contextmanager
def imitation(**more) -> Iterator[Imitation]:
    with receiving() as receiver:
        cluster = Imitation(receiver, **more)
        receiver.judge = cluster.answer
        yield cluster


def options(cluster: Imitation, **more) -> dict:
    return {"url": cluster.receiver.url, "poll_seconds": 0.05, **more}


def test_a_leader_hands_over_and_waits_until_another_member_runs(tmp_path):
    with imitation(slow_questions=4) as cluster:
        result = PATRONI.run(attempt(tmp_path, options(cluster)))

    assert (result.is_done, result.note) == (True, "pg-2 leads")
    assert cluster.switchovers == [{"leader": "pg-1"}]
    assert cluster.slow_questions <= 0


def test_the_candidate_is_the_one_that_is_named(tmp_path):
    with imitation() as cluster:
        result = PATRONI.run(attempt(tmp_path, options(cluster, candidate="pg-3")))

    assert (result.is_done, result.note) == (True, "pg-3 leads")


def test_a_member_that_does_not_lead_is_done_at_once(tmp_path):
    with imitation(leader="pg-2") as cluster:
        result = PATRONI.run(attempt(tmp_path, options(cluster)))

    assert (result.is_done, result.note) == (True, "pg-2 leads")
    assert cluster.switchovers == []


def test_an_api_with_a_password_gets_it_and_nobody_else_does(tmp_path):
    with imitation(credentials="Basic YWRtaW46czNjcmV0") as cluster:
        without = PATRONI.run(attempt(tmp_path, options(cluster)))
        with_it = PATRONI.run(attempt(tmp_path, options(cluster, username="admin", password="s3cret")))

    assert (without.is_done, with_it.is_done) == (False, True)
    assert without.note == "Patroni answered the switchover with 401, no auth header received"
    assert "s3cret" not in with_it.note


def test_a_refusal_is_a_failure_at_once_with_patronis_words(tmp_path):
    with imitation() as cluster:
        result = PATRONI.run(attempt(tmp_path, options(cluster, candidate="pg-9"), seconds=300))

    assert (result.is_done, result.note) == (
        False,
        "Patroni answered the switchover with 412, candidate does not exist",
    )


def test_a_switchover_that_failed_is_a_failure_with_patronis_words(tmp_path):
    with imitation(refusal=(503, b"Switchover failed")) as cluster:
        result = PATRONI.run(attempt(tmp_path, options(cluster), seconds=3))

    assert not result.is_done
    assert result.note.startswith("Patroni answered the switchover with 503, Switchover failed: ")


def test_a_new_leader_that_never_runs_is_a_failure_in_time(tmp_path):
    with imitation(slow_questions=1_000_000) as cluster:
        result = PATRONI.run(attempt(tmp_path, options(cluster), seconds=2))

    assert not result.is_done
    assert "its time of 2 s was up" in result.note


def test_a_member_whose_api_does_not_tell_its_name_has_to_be_named(tmp_path):
    with imitation(tells_name=False) as cluster:
        nameless = PATRONI.run(attempt(tmp_path, options(cluster)))
        named = PATRONI.run(attempt(tmp_path, options(cluster, member="pg-1")))

    assert "Say it: member" in nameless.note
    assert named.is_done


@pytest.mark.parametrize("answer", [(200, b"<html>"), (200, b"[]"), (200, b'{"members": null}'), (502, b"")])
def test_an_api_that_talks_nonsense_is_a_failure(tmp_path, answer):
    with receiving(answer) as receiver:
        result = PATRONI.run(attempt(tmp_path, {"url": receiver.url, "member": "pg-1"}))

    assert not result.is_done
    assert result.note.startswith("Patroni")


def test_an_api_that_does_not_answer_is_a_failure(tmp_path):
    result = PATRONI.run(attempt(tmp_path, {"url": "http://127.0.0.1:9", "member": "pg-1"}))

    assert not result.is_done
    assert "ConnectionRefusedError" in result.note


def test_the_lead_comes_back_where_that_is_asked_and_not_before_this_member_follows(tmp_path):
    with imitation() as cluster:
        said = options(cluster, fail_back=True)
        PATRONI.run(attempt(tmp_path, said))
        cluster.states["pg-1"] = "stopped"
        too_early = PATRONI.run(attempt(tmp_path, said, direction=Direction.UNDO, seconds=2))
        cluster.states["pg-1"] = "streaming"
        back = PATRONI.run(attempt(tmp_path, said, direction=Direction.UNDO, try_number=2))

    assert not too_early.is_done
    assert "its time of 2 s was up" in too_early.note
    assert (back.is_done, back.note) == (True, "pg-1 leads")
    assert cluster.switchovers[-1] == {"leader": "pg-2", "candidate": "pg-1"}


def test_a_member_that_did_not_lead_before_does_not_take_the_lead(tmp_path):
    with imitation(leader="pg-2") as cluster:
        said = options(cluster, fail_back=True)
        PATRONI.run(attempt(tmp_path, said))
        result = PATRONI.run(attempt(tmp_path, said, direction=Direction.UNDO))

    assert (result.is_done, result.note) == (True, "this member did not lead before")
    assert cluster.switchovers == []


def test_a_member_that_is_asked_twice_and_leads_the_second_time_takes_the_lead_back(tmp_path):
    with imitation(leader="pg-2") as cluster:
        said = options(cluster, fail_back=True)
        PATRONI.run(attempt(tmp_path, said))
        cluster.leader = "pg-1"
        PATRONI.run(attempt(tmp_path, said, try_number=2))
        PATRONI.run(attempt(tmp_path, said, try_number=3))
        undo = replace(attempt(tmp_path, said, direction=Direction.UNDO), was_done=True)
        back, again = PATRONI.run(undo), PATRONI.run(undo)

    assert (back.is_done, back.note) == (True, "pg-1 leads")
    assert (again.is_done, again.note) == (True, "this member did not lead before"), "it is undone once"


def test_a_lead_of_which_no_record_is_left_is_not_said_to_be_back(tmp_path):
    with imitation(leader="pg-2") as cluster:
        task = attempt(tmp_path, options(cluster, fail_back=True), direction=Direction.UNDO)
        result = PATRONI.run(replace(task, was_done=True))

    assert not result.is_done
    assert "not known any more" in result.note


def test_a_member_that_did_not_lead_has_nothing_to_take_back_and_that_is_known(tmp_path):
    with imitation(leader="pg-2") as cluster:
        said = options(cluster, fail_back=True)
        PATRONI.run(attempt(tmp_path, said))
        result = PATRONI.run(replace(attempt(tmp_path, said, direction=Direction.UNDO), was_done=True))

    assert (result.is_done, result.note) == (True, "this member did not lead before")


def test_an_agent_that_died_over_a_switchover_does_not_make_the_next_one_switch_again(tmp_path):
    with imitation(slow_questions=1_000_000) as cluster:
        said = options(cluster, fail_back=True)
        with lone_agent(tmp_path, "patroni", said) as agent:
            wait_until(lambda: bool(cluster.switchovers), "the switchover")
            agent.kill()
            agent.wait(60)
        cluster.slow_questions = 0
        task = attempt(tmp_path, said)

        assert PATRONI.take_over(task) is None
        again = PATRONI.run(task)
        back = PATRONI.run(replace(task, direction=Direction.UNDO, scratch=tmp_path / "undo"))

    assert again.note == "pg-2 leads"
    assert back.note == "pg-1 leads", "that this member led was noted before it gave the lead away"
    assert len(cluster.switchovers) == 2


def test_options_that_cannot_work_are_refused():
    assert PATRONI.check({}) == []
    assert "url is no address" in PATRONI.check({"url": "localhost:8008"})[0]
    assert "belong together" in PATRONI.check({"username": "x"})[0]
    assert "are the same" in PATRONI.check({"member": "a", "candidate": "a"})[0]
    assert PATRONI.undoes({"fail_back": True})
    assert not PATRONI.undoes({})
