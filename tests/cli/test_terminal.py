"""What a terminal gets: tables that fit, completion, and a reader that has seen enough."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from unittest.mock import patch

import pytest
from click.shell_completion import BashComplete

from forewarn.cli.main import forewarn as commands
from tests.cli.command import FOREWARN, CommandLine, environment, forewarn, forewarn_process
from tests.cli.conftest import command_line
from tests.rest.test_rest import restarted
from tests.running import free_port, running


def on_terminal(url: str, *arguments: str, columns: int = 200, **variables: str) -> list[str]:
    """The lines that a command shows on a terminal of that width; without colour, unless `NO_COLOR` says so."""
    ours, theirs = pty.openpty()
    variables = {"NO_COLOR": "1", "TERM": "xterm", "FOREWARN_URL": url, "COLUMNS": str(columns)} | variables
    process = subprocess.Popen([FOREWARN, *arguments], stdout=theirs, env=environment(**variables))
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 65536):
            shown += block
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(ours)
    assert process.wait(60) == 0
    return shown.decode().splitlines()


@pytest.fixture(scope="module")
def busy():
    """The command line of a service with something to show in every table."""
    fleet = {
        "hosts": [{"name": "host-with-a-rather-long-name-0"}, {"name": "host-1"}],
        "availability_sets": [{"name": "web-servers-of-the-shop"}],
        "vms": [
            {
                "name": "web-server-of-the-shop-0",
                "host": "host-with-a-rather-long-name-0",
                "availability_set": "web-servers-of-the-shop",
                "addresses": ["127.0.1.1"],
            },
            {"name": "solo", "host": "host-1", "addresses": ["127.0.2.1"]},
        ],
    }
    with running(fleet) as service:
        ended = restarted(service, "solo")
        service.guest("solo").approve(ended["id"])
        service.advance(minutes=2)
        restarted(service, "web-server-of-the-shop-0")
        service.post("/v1/hosts/host-1/degrade")
        yield command_line(service)


TABLES = [
    ["fleet", "show"],
    ["vm", "list"],
    ["host", "list"],
    ["scope", "list"],
    ["event", "list"],
    ["event", "history"],
]


@pytest.mark.parametrize("table", TABLES, ids=" ".join)
def test_a_table_fits_a_narrow_terminal(busy: CommandLine, table: list[str]):
    lines = on_terminal(busy.url, *table, columns=60)

    assert max(map(len, lines)) <= 60, "\n".join(lines)


def test_the_widest_columns_give_way_first(busy: CommandLine):
    assert on_terminal(busy.url, "host", "list", columns=80) == [
        "NAME            CONDITION  ZONE  TAKES VMS  OPERATIONS  VMS",
        "host-1          degraded         no         1           solo",
        "host-with-a-r…  up               yes        0           web-server-of-the-shop-0",
    ]


def test_a_row_with_too_many_columns_becomes_a_block_of_lines(busy: CommandLine):
    lines = on_terminal(busy.url, "event", "list", columns=60)

    assert lines[1:9] == [
        "  kind         Reboot",
        "  phase        Scheduled",
        "  scope        web-servers-of-the-shop",
        "  vms          web-server-of-the-shop-0",
        "  not before   12:17:00Z",
        "  waiting for  approval from web-server-of-the-shop-0 (scope",
        "               web-servers-of-the-shop) until 12:17:00Z",
        "",
    ]


def test_what_is_not_a_terminal_gets_whole_lines(busy: CommandLine):
    piped = forewarn_process("event", "list", FOREWARN_URL=busy.url, COLUMNS="60")

    assert piped.out == busy.says("event", "list")
    assert "approval from web-server-of-the-shop-0 (scope web-servers-of-the-shop) until" in piped.out


def test_a_reader_that_has_seen_enough_is_no_failure(busy: CommandLine):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [FOREWARN, "vm", "list"],
        stdout=write,
        stderr=subprocess.PIPE,
        env=environment(FOREWARN_URL=busy.url),
        check=False,
    )
    os.close(write)

    assert (done.returncode, done.stderr) == (0, b"")


# Colour.


def test_a_terminal_gets_states_in_colour(busy: CommandLine):
    lines = on_terminal(busy.url, "host", "list", NO_COLOR="")

    assert lines[0].startswith("\x1b[1mNAME ")
    assert "\x1b[33mdegraded\x1b[0m" in lines[1]
    assert re.sub(r"\x1b\[\d*m", "", "\n".join(lines)) == busy.says("host", "list").rstrip("\n")


@pytest.mark.parametrize(
    "variables", [{"NO_COLOR": "1"}, {"NO_COLOR": "", "TERM": "dumb"}], ids=["no color", "dumb"]
)
def test_a_terminal_that_is_to_have_no_colour_gets_none(busy: CommandLine, variables: dict[str, str]):
    assert "\x1b" not in "".join(on_terminal(busy.url, "host", "list", **variables))


def test_a_pipe_gets_no_colour(busy: CommandLine):
    piped = forewarn_process("vm", "show", "nobody", FOREWARN_URL=busy.url, NO_COLOR="", TERM="xterm")

    assert piped.err.startswith("error: ")
    assert "\x1b" not in forewarn_process("host", "list", FOREWARN_URL=busy.url, NO_COLOR="").out


# Completion.


def asked(url: str, words: tuple[str, ...]) -> dict[str, str]:
    """What bash puts into the environment to have the last of the words completed."""
    line = " ".join(["forewarn", *words])
    return {"COMP_WORDS": line, "COMP_CWORD": str(len(words)), "FOREWARN_URL": url}


def completed(url: str, *words: str) -> list[str]:
    """What bash is offered for the last of the words."""
    with patch.dict(os.environ, environment(**asked(url, words)), clear=True):
        offered = BashComplete(commands, {}, "forewarn", "_FOREWARN_COMPLETE").complete()
    return [line.removeprefix("plain,") for line in offered.split()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str):
    outcome = forewarn("completion", shell)

    assert (outcome.code, outcome.err) == (0, "")
    assert f"_FOREWARN_COMPLETE={shell}_complete" in outcome.out


def test_bash_takes_the_script():
    script = forewarn("completion", "bash").out

    checked = subprocess.run(
        ["bash", "-c", f"{script}\ncomplete -p forewarn"], capture_output=True, text=True, check=False
    )

    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.endswith(" forewarn\n")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["c"], ["clock", "completion"]),
        (["event", "ap"], ["approve"]),
        (["vm", "restart", "so"], ["solo"]),
        (["host", "maintain", "host-w"], ["host-with-a-rather-long-name-0"]),
        (["scope", "show", "w"], ["web-servers-of-the-shop"]),
        (["agent", "ch"], ["check"]),
        (["agent", "check", "--conf"], ["--config"]),
        (["agent", "check", "--config", "x"], ["file,x"]),
        (["agent", "explain", "x"], ["file,x"]),
        (["agent", "hold", "x"], []),
        (["fault", "add", "st"], ["status", "stale"]),
        (["fault", "add", "status", "--vm", "so"], ["solo"]),
        (["rollout", "start", "--host", "host-w"], ["host-with-a-rather-long-name-0"]),
        (["rollout", "list", "--state", "P"], ["Paused"]),
        (["serve", "--clock", ""], ["system", "virtual"]),
        (["serve", "--fleet", "x"], ["file,x"]),
        (["vm", "list", "--host", "host-w"], ["host-with-a-rather-long-name-0"]),
        (["event", "list", "--phase", "C"], ["Completed", "Cancelled"]),
    ],
    ids=" ".join,
)
def test_commands_and_names_are_completed(busy: CommandLine, words: list[str], offered: list[str]):
    assert completed(busy.url, *words) == offered


@pytest.mark.parametrize("verb", ["show", "watch", "approve", "cancel"])
def test_events_are_completed_by_the_beginnings_of_their_ids(busy: CommandLine, verb: str):
    ids = [event["id"][:8].lower() for event in busy.json("event", "list")["events"]]

    assert completed(busy.url, "event", verb, "") == ids
    assert completed(busy.url, "event", verb, ids[0][:4]) == ids[:1]


def test_bash_asks_a_process_of_the_command(busy: CommandLine):
    offered = forewarn_process(_FOREWARN_COMPLETE="bash_complete", **asked(busy.url, ("vm", "restart", "so")))

    assert offered == (0, "plain,solo\n", "")


def test_nothing_is_offered_when_no_service_answers():
    assert completed(f"http://127.0.0.1:{free_port()}", "vm", "restart", "") == []
