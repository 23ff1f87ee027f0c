"""Hand the lead of a Patroni cluster to another member."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from forewarn.agent.case import Direction
from forewarn.agent.handlers.base import Option, Result, Task, with_defaults
from forewarn.agent.handlers.calls import (
    Call,
    CallFailed,
    Reply,
    call,
    marks_of,
    trust_problems,
    trusted,
    url_problems,
)
from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.records import Before, settled, settled_result
from forewarn.agent.secrecy import concealing

_LONGEST_QUESTION_SECONDS = 10
_SECOND_LOOK_SECONDS = 10  # after "failed" or "unknown": a round of Patroni's own loop
_LEADERS = {"leader", "standby_leader", "master"}
_FOLLOWS = {"running", "streaming"}  # the states of a member that could lead


class Patroni:
    """Switches over, if this member leads."""

    help = "Hands the lead of a Patroni cluster to another member, if this one has it, and waits until it runs."
    is_for_all_events = True
    options = (
        Option("url", "text", "This member's REST API.", default="http://127.0.0.1:8008"),
        Option("member", "text", "This member's name. Without it: what its API says."),
        Option("candidate", "text", "Who is to lead. Without it: whom Patroni chooses."),
        Option("username", "text", "For an API with basic authentication."),
        Option("password", "secret", "The same."),
        Option("fail_back", "flag", "Whether the undo gives the lead back to this member.", default=False),
        Option("poll_seconds", "seconds", "How often the cluster is asked.", default=0.5),
        Option("ca_file", "path", "The certificates to trust, instead of the system's."),
        Option("verify_tls", "flag", "Whether the API's certificate is verified.", default=True),
    )

    def check(self, options: Mapping[str, Any]) -> list[str]:
        """What is wrong with the options."""
        said = with_defaults(self.options, options)
        problems = [*url_problems(said["url"], "url"), *trust_problems(said)]
        if bool(said["username"]) != bool(said["password"]):
            problems.append("username and password belong together. Say both, or neither.")
        if said["candidate"] and said["candidate"] == said["member"]:
            problems.append("candidate and member are the same. Name another member, or take candidate out.")
        if said["poll_seconds"] <= 0:
            problems.append("poll_seconds has to be above 0.")
        return problems

    def undoes(self, options: Mapping[str, Any]) -> bool:
        """Only where the lead is to come back."""
        return bool(options.get("fail_back"))

    def run(self, task: Task) -> Result:
        """Give the lead away, or take it back."""
        said = with_defaults(self.options, task.options)
        cluster = _Cluster(said, task)
        act = cluster.give_lead_away if task.direction is Direction.DO else cluster.take_lead_back
        return settled(task, lambda: _told(act, cluster.hide))

    def take_over(self, task: Task) -> Result | None:
        """To begin again asks first who leads: a switchover that was made is not made again."""
        return settled_result(task)


def _told(act: Callable[[], Result], hide: Callable[[str], str]) -> Result:
    try:
        result = act()
    except (CallFailed, _Puzzled) as problem:
        result = Result(is_done=False, note=str(problem))
    return replace(result, note=hide(result.note))


class _Puzzled(Exception):
    """The API says something that cannot be read, or refuses."""


class _Cluster:
    """The cluster as this member's API tells of it, for one attempt."""

    def __init__(self, said: Mapping[str, Any], task: Task) -> None:
        self._said = said
        self._deadline = Deadline(task.seconds, task.stop)
        self._before = Before(task)
        self._word = _word_of(said)
        self._marks = marks_of(task)
        self.hide = concealing([said["password"] or "", self._word])

    def give_lead_away(self) -> Result:
        me = self._me()
        leader = self._leader(self._members())
        if leader is None or leader["name"] != me:
            self._before.keep({})
            return self._wait_for(lambda name: name != me, f"{me} does not lead, but nobody else does either")
        self._before.keep({"led": me})
        wanted = {"leader": me, "candidate": self._said["candidate"]}
        outlook = self._switch_over({name: value for name, value in wanted.items() if value})
        return self._wait_for(lambda name: name != me, *outlook)

    def take_lead_back(self) -> Result:
        was = self._before.recall()
        me = (was or {}).get("led")
        if not me:
            words = "this member did not lead before"
            if was is None:
                return self._before.nothing_to_undo(words)
            self._before.forget()
            return Result(is_done=True, note=words)
        outlook = (f"{me} does not lead", self._deadline)
        while True:
            members = self._members()
            leader = self._leader(members)
            if leader is not None and leader["name"] == me:
                break
            # It has to follow before it can lead: after a reboot that takes a while.
            follows = any(each["name"] == me and each.get("state") in _FOLLOWS for each in members)
            if leader is not None and follows:
                outlook = self._switch_over({"leader": leader["name"], "candidate": me})
                break
            if not self._deadline.pause(self._said["poll_seconds"]):
                return Result(is_done=False, note=f"{me} does not follow yet: {self._deadline.why()}")
        result = self._wait_for(lambda name: name == me, *outlook)
        if result.is_done:
            self._before.forget()
        return result

    def _wait_for(
        self, is_right: Callable[[str], bool], otherwise: str, deadline: Deadline | None = None
    ) -> Result:
        """Wait until the right member leads and runs."""
        deadline = deadline or self._deadline
        while True:
            try:
                leader = self._leader(self._members())
            except CallFailed:  # the member's own server may be restarted meanwhile
                leader = None
            if leader is not None and is_right(leader["name"]) and leader.get("state") == "running":
                return Result(is_done=True, note=f"{leader['name']} leads")
            if not deadline.pause(self._said["poll_seconds"]):
                return Result(is_done=False, note=f"{otherwise}: {deadline.why()}")

    def _switch_over(self, wanted: Mapping[str, str]) -> tuple[str, Deadline]:
        """Ask for it. A refusal is final; where the answer leaves it open, what to say, and how long to look."""
        try:
            reply = self._ask("POST", "/switchover", json.dumps(wanted).encode(), self._deadline)
        except CallFailed:
            if self._deadline.is_over:
                raise
            return "Patroni did not answer, and nobody else leads", self._deadline
        words = f"Patroni answered the switchover with {reply.status}, {reply.excerpt(self.hide)}"
        if HTTPStatus.BAD_REQUEST <= reply.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise _Puzzled(words)
        if reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return words, self._deadline.within(_SECOND_LOOK_SECONDS)
        return words, self._deadline

    def _me(self) -> str:
        if self._said["member"]:
            return str(self._said["member"])
        said = self._told("/patroni").get("patroni")
        name = said.get("name") if isinstance(said, dict) else None
        if not name:
            raise _Puzzled("Patroni does not tell this member's name. Say it: member = '...'.")
        return str(name)

    def _members(self) -> list[dict[str, Any]]:
        members = self._told("/cluster").get("members")
        if not isinstance(members, list):
            raise _Puzzled("Patroni tells no members of the cluster.")
        return [each for each in members if isinstance(each, dict) and each.get("name")]

    def _leader(self, members: list[dict[str, Any]]) -> dict[str, Any] | None:
        return next((each for each in members if each.get("role") in _LEADERS), None)

    def _told(self, path: str) -> dict[str, Any]:
        reply = self._ask("GET", path, None, self._deadline.within(_LONGEST_QUESTION_SECONDS))
        try:
            said = json.loads(reply.body)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise _Puzzled(
                f"Patroni's {path} is no JSON object (status {reply.status}): {reply.excerpt(self.hide)}"
            )
        return said

    def _ask(self, method: str, path: str, body: bytes | None, deadline: Deadline) -> Reply:
        headers = {"Content-Type": "application/json", **self._marks}
        if self._word:
            headers["Authorization"] = f"Basic {self._word}"
        url = self._said["url"].rstrip("/") + path
        return call(Call(method, url, headers, body, **trusted(self._said)), deadline)


def _word_of(said: Mapping[str, Any]) -> str:
    """By what it signs in; empty where it does not."""
    if not said["username"]:
        return ""
    from base64 import b64encode  # noqa: PLC0415 - only for those who sign in

    return b64encode(f"{said['username']}:{said['password']}".encode()).decode()


HANDLER = Patroni()
