from __future__ import annotations

import json
import shlex
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.agent.azure import Azure, event
from tests.agent.running_command import AGENT, agent, process
from tests.waiting import free_port

FINE = """
names = ["web-1"]
uses_hostname = false
[[rules]]
types = ["Freeze"]
max_duration_seconds = 9
profile = "log only"
[[rules]]
name = "usual"
profile = "drain"
[profiles.drain]
lead_seconds = "5m"
approval = "after_success"
[[profiles.drain.steps]]
name = "one"
uses = "command"
command = ["/bin/sh", "-c", "echo do $EVENT_TYPE >> {notes}"]
undo = ["/bin/sh", "-c", "echo undo >> {notes}"]
timeout_seconds = 60
[[profiles.drain.steps]]
name = "two"
uses = "command"
group = 2
command = ["/bin/sh", "-c", "{last}"]
timeout_seconds = 30
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in which everything is fine."""
    return written(tmp_path)


def written(tmp_path: Path, last: str = "true") -> Path:
    file = tmp_path / "agent.toml"
    file.write_text(FINE.replace("{notes}", str(tmp_path / "notes")).replace("{last}", last), encoding="utf-8")
    return file


# check


def test_check_says_what_a_file_has(file: Path):
    done = agent("check", "--config", str(file))

    assert done == (0, f"{file} is fine: 2 rules, 1 profile, 2 steps.\n", "")


def test_check_without_a_file_says_what_that_means():
    done = agent("check", FOREWARN_AGENT_CONFIG="")

    assert (done.code, done.err) == (0, "")
    assert "the agent logs events, and approves nothing" in done.out


def test_check_tells_every_problem_with_its_line_and_exits_1(tmp_path: Path):
    file = tmp_path / "agent.toml"
    file.write_text("pol_seconds = 1\n[[rules]]\nprofile = 'x'\n", encoding="utf-8")

    plain = agent("check", "--config", str(file))
    for_programs = agent("check", "--config", str(file), "--json")

    assert (plain.code, plain.out) == (1, "")
    assert (
        plain.err.splitlines()[0]
        == f"error: {file}:1: The file has no key pol_seconds. Did you mean poll_seconds?"
    )
    assert for_programs.code == 1
    assert [(each["line"], each["message"]) for each in for_programs.json["problems"]] == [
        (1, "The file has no key pol_seconds."),
        (3, "There is no profile x."),
    ]


def test_check_does_not_call_a_file_fine_that_it_warns_of(tmp_path: Path):
    file = tmp_path / "agent.toml"
    step = "uses = 'command'\ncommand = ['no-such-program-anywhere']"
    file.write_text(f"[[rules]]\nprofile = 'x'\n[profiles.x]\n[[profiles.x.steps]]\n{step}\n", encoding="utf-8")

    done = agent("check", "--config", str(file))

    assert done.code == 0
    assert done.err.startswith("warning: ")
    assert done.out == f"{file} can be run, with the warnings above: 1 rule, 1 profile, 1 step.\n"


@pytest.mark.parametrize("command", ["run", "explain --type Freeze", "test drain", "status", "approve 4f"])
def test_every_command_refuses_a_wrong_file_as_check_does(command: str, tmp_path: Path):
    file = tmp_path / "agent.toml"
    file.write_text("pol_seconds = 1\n", encoding="utf-8")

    done = agent(*command.split(), "--config", str(file))

    assert (done.code, done.out) == (1, "")
    assert "agent.toml:1: The file has no key pol_seconds. Did you mean poll_seconds?" in done.err


# explain


def test_explain_says_rule_by_rule_and_minute_by_minute_what_would_happen(file: Path):
    done = agent("explain", "--config", str(file), "--type", "reboot", "--at", "2026-03-02T12:00:00Z")

    assert done.err == ""
    assert done.out.splitlines() == [
        "Reboot of web-1: Scheduled, not before 12:15:00Z (in 15 min), by Platform",
        "  whose     this VM's, as web-1",
        "  rules     rule 1 (line 4): no, its type is Reboot, not Freeze.",
        "            rule usual (line 8): yes. It leads to profile drain.",
        "  profile   drain",
        "  steps     12:10:00Z  one (command), for up to 1 min",
        "            then       two (command), by 12:11:00Z at the latest, for up to 30 s",
        "  approval  It is approved between 12:10:00Z and 12:11:30Z, if every step succeeds.",
        "  later     Undone when it is over, and no other event needs it: one.",
    ]


@pytest.mark.parametrize(
    ("kind", "seconds"),
    [("Freeze", 900), ("Reboot", 900), ("redeploy", 600), ("Preempt", 30), ("Terminate", 300), ("Unheard", 900)],
)
def test_explain_assumes_the_notice_that_azure_gives(kind: str, seconds: int, file: Path):
    shown = agent("explain", "--config", str(file), "--type", kind, "--at", "2026-03-02T12:00:00Z", "--json")

    not_before = datetime.fromisoformat(shown.json[0]["not_before"])
    assert not_before - datetime(2026, 3, 2, 12, tzinfo=timezone.utc) == timedelta(seconds=seconds)


def test_explain_shows_groups_of_steps_one_after_the_other(file: Path):
    def begins(*arguments: str) -> list[tuple[str, int, str, str | None]]:
        shown = agent("explain", "--config", str(file), "--at", "2026-03-02T12:00:00Z", "--json", *arguments)
        return [(each["step"], each["group"], each["at"], each["latest_at"]) for each in shown.json[0]["steps"]]

    at = "2026-03-02T{}+00:00".format
    assert begins("--type", "Reboot") == [
        ("one", 1, at("12:10:00"), at("12:10:00")),
        ("two", 2, at("12:10:00"), at("12:11:00")),
    ]
    # After the first has used all its time, there is none left for the second.
    assert begins("--type", "Preempt") == [
        ("one", 1, at("12:00:00"), at("12:00:00")),
        ("two", 2, at("12:00:00"), None),
    ]


def test_explain_takes_an_event_a_document_and_standard_input(file: Path, tmp_path: Path):
    said = event("A", EventType="Freeze", Resources=["web-1"], DurationInSeconds=5)
    one, many = tmp_path / "one.json", tmp_path / "many.json"
    one.write_text(json.dumps(said), encoding="utf-8")
    many.write_text(
        json.dumps({"DocumentIncarnation": 1, "Events": [said, said | {"EventId": "B"}]}), encoding="utf-8"
    )

    from_one = agent("explain", "--config", str(file), "--json", str(one)).json
    from_many = agent("explain", "--config", str(file), "--json", str(many)).json
    piped = process([*AGENT, "explain", "--config", str(file), "--json", "-"], json.dumps(said)).json

    assert [each["profile"] for each in from_one] == ["log only"]
    assert [each["event"] for each in from_many] == ["A", "B"]
    assert [each["why"] for each in piped] == ["rule 1 (line 4) fits"]


def test_explain_says_that_an_event_does_not_tell_whether_it_has_started(file: Path, tmp_path: Path):
    (tmp_path / "one.json").write_text('{"EventType": "Reboot", "Resources": ["web-1"]}', encoding="utf-8")

    shown = agent("explain", "--config", str(file), str(tmp_path / "one.json"))

    assert shown.out.splitlines()[0] == "Reboot of web-1: it is not said whether it has started"


@pytest.mark.parametrize("are_all", [False, True], ids=["some", "all"])
def test_explain_does_not_take_what_it_cannot_read_for_no_events(file: Path, tmp_path: Path, *, are_all: bool):
    document = {"Events": [None, {}] if are_all else [None, {}, event("A")]}
    (tmp_path / "many.json").write_text(json.dumps(document), encoding="utf-8")

    shown = agent("explain", "--config", str(file), "--json", str(tmp_path / "many.json"))

    assert f"warning: {tmp_path}/many.json has an event without an EventId: 'null'." in shown.err
    assert ("has events, and none that can be read." in shown.err) is are_all
    assert shown.code == (1 if are_all else 0)
    assert (shown.out == "") is are_all


def test_explain_asks_the_endpoint_what_is_open_and_who_this_vm_is(file: Path, azure: Azure):
    azure.show(event("A", Resources=["web-0"]))

    done = agent("explain", "--config", str(file), "--endpoint", azure.url, "--json")

    assert done.code == 0, done.err
    assert [(each["event"], each["vm"], each["profile"]) for each in done.json] == [("A", "web-0", "drain")]


def test_explain_without_an_endpoint_that_answers_exits_3(file: Path):
    done = agent("explain", "--config", str(file), "--endpoint", f"http://127.0.0.1:{free_port()}")

    assert (done.code, done.out) == (3, "")
    assert "error: The endpoint was asked for its events, and did not say:" in done.err
    assert "hint:  Name another with --endpoint" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere.json"], 1, "nowhere.json cannot be read: No such file or directory."),
        (["x.json", "--type", "Freeze"], 2, "not from both"),
        (["--type", "Freeze", "--at", "soon"], 2, "'soon' is no instant"),
        (["--type", "Freeze", "--duration", "x"], 2, "--duration: 'x' is no length of time"),
    ],
)
def test_explain_refuses_what_it_cannot_read(arguments: list[str], code: int, words: str, file: Path):
    done = agent("explain", "--config", str(file), *arguments)

    assert (done.code, done.out) == (code, "")
    assert words in done.err


# test


def test_a_profile_is_run_and_undone_for_an_invented_event_and_nothing_is_approved(file: Path, tmp_path: Path):
    done = agent("test", "--config", str(file), "drain", "--type", "Redeploy")

    assert done.code == 0, done.err
    assert (tmp_path / "notes").read_text(encoding="utf-8") == "do Redeploy\nundo\n"
    assert done.out.splitlines()[-1] == "Profile drain succeeded. Nothing was approved."


def test_a_profile_that_fails_is_undone_and_exits_1(tmp_path: Path):
    done = agent("test", "--config", str(written(tmp_path, last="exit 3")), "drain", "--json")

    assert done.code == 1
    assert (tmp_path / "notes").read_text(encoding="utf-8") == "do Reboot\nundo\n"
    assert [(each["step"], each["direction"], each["outcome"]) for each in done.json["tried"]] == [
        ("one", "do", "done"),
        ("two", "do", "failed"),
        ("one", "undo", "done"),
    ]


def test_a_profile_that_is_not_there_is_told_with_the_one_that_was_meant(file: Path):
    done = agent("test", "--config", str(file), "drian")

    assert (done.code, done.err) == (1, "error: There is no profile drian.\nhint:  Did you mean drain?\n")


# The command itself.


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["run", "--nonsense"], ["approve"], ["check", "--poll-seconds"], ["run", "--conf"]],
)
def test_a_command_that_is_not_understood_exits_2(arguments: list[str]):
    done = agent(*arguments)

    assert (done.code, done.out) == (2, "")
    assert "Usage: forewarn agent" in done.err


def test_a_value_that_a_flag_cannot_have_is_refused():
    done = agent("check", "--poll-seconds", "never", FOREWARN_AGENT_CONFIG="")

    assert done.code == 1
    assert "error: --poll-seconds: 'never' is no length of time" in done.err


def test_a_reader_that_has_seen_enough_is_no_failure(file: Path):
    done = process(["/bin/sh", "-c", f"{shlex.join(AGENT)} explain --config {file} --type Freeze | true; exit 0"])

    assert "Traceback" not in done.err


def test_the_help_of_a_flag_with_choices_names_them_all():
    done = agent("run", "--help")

    assert "--log-format auto|plain|json" in done.out
    assert "--listen HOST:PORT " in done.out
