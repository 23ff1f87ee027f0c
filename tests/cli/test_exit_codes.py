"""0 done, 1 refused or failed, 2 usage, 3 service unreachable; and where the service is looked for."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from forewarn import __version__
from tests.cli.command import FOREWARN, CommandLine, Outcome, environment, forewarn, forewarn_process, shown
from tests.running import free_port

GROUPS = ["fleet", "vm", "host", "scope", "event", "clock", "token", "principal"]
COMMANDS = [
    "fleet apply FILE", "fleet show", "fleet export",
    "vm list", "vm show solo", "vm restart solo", "vm redeploy solo", "vm evict solo", "vm delete solo",
    "vm stop solo", "vm start solo",
    "host list", "host show host-0", "host maintain host-0", "host degrade host-0", "host fail host-0",
    "host recover host-0", "host reclaim host-0 --vms 1",
    "scope list", "scope show web",
    "event list", "event show 4f1c9a02", "event watch", "event watch 4f1c9a02", "event approve 4f1c9a02",
    "event postpone 4f1c9a02 --by 2h", "event cancel 4f1c9a02", "event history",
    "clock show", "clock advance 1m", "clock next", "clock play", "clock pause",
    "token create --role viewer --name x", "token list", "token revoke x",
    "principal create --role viewer --name x", "principal list", "principal revoke x",
]  # fmt: skip


@contextmanager
def another_program(status: int, body: bytes, headers: dict[str, str] | None = None) -> Iterator[str]:
    """Something that speaks HTTP and is no forewarn service; its address."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


# Unreachable.


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_reaches_no_service_says_where_it_looked_and_ends_with_exit_3(command: str, tmp_path):
    (tmp_path / "fleet.toml").touch()
    url = f"http://127.0.0.1:{free_port()}"

    outcome = forewarn(*command.replace("FILE", str(tmp_path / "fleet.toml")).split(), "--url", url)

    assert outcome == Outcome(
        3,
        "",
        shown(
            f"error: No service answers at {url}: Connection refused.",
            "hint:  Start one with forewarn serve, or name another with --url or FOREWARN_URL.",
        ),
    )


@pytest.mark.parametrize(
    ("status", "body", "headers", "why"),
    [
        (200, b"<h1>It works!</h1>", {}, "its answer is not JSON"),
        (200, b"", {}, "its answer is not JSON"),
        (404, b"<h1>Not Found</h1>", {}, "status 404"),
        (401, b'{"error": "who are you?"}', {}, "status 401"),
        (302, b"", {"Location": "https://example.com/"}, "status 302"),
    ],
    ids=["a page", "nothing", "no page", "another kind of error", "elsewhere"],
)
def test_what_answers_and_is_no_forewarn_service_counts_as_unreachable(
    status: int, body: bytes, headers: dict[str, str], why: str
):
    with another_program(status, body, headers) as url:
        outcome = forewarn("vm", "list", "--url", url)

    assert outcome == Outcome(
        3,
        "",
        shown(
            f"error: What answers at {url} is no forewarn service: {why}.",
            "hint:  Check --url and FOREWARN_URL.",
        ),
    )


def test_a_host_name_that_cannot_be_one_counts_as_unreachable():
    outcome = forewarn("vm", "list", "--url", f"http://{'a' * 64}.example/")

    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith("error: No service answers at http://aaaa")


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8255",
        "ftp://127.0.0.1",
        "http://",
        "http://127.0.0.1:port",
        "http://127.0.0.1:99999",
        "http://[::1",
    ],
)
def test_an_address_that_is_none_is_refused_with_an_example(url: str):
    assert forewarn("vm", "list", "--url", url) == Outcome(
        1,
        "",
        shown(f"error: {url!r} is no address of a service.", "hint:  Write it like http://127.0.0.1:8255."),
    )


@pytest.mark.parametrize("place", ["localhost:8255", "localhost:[1", "localhost:port"])
def test_an_address_with_a_password_in_it_is_refused_and_not_repeated(place: str):
    assert forewarn("vm", "list", FOREWARN_URL=f"http://u:hunter2@{place}") == Outcome(
        1,
        "",
        shown(
            "error: The address of the service holds a user's name.",
            "hint:  Sign in with FOREWARN_TOKEN or --token-file.",
        ),
    )


# Where the service is looked for.


def test_the_environment_says_where_the_service_is_unless_a_flag_does(still: CommandLine):
    nowhere = f"http://127.0.0.1:{free_port()}"

    by_environment = forewarn_process("scope", "list", FOREWARN_URL=still.url + "/")
    by_flag = forewarn_process("scope", "list", "--url", still.url, FOREWARN_URL=nowhere)

    assert by_environment == by_flag == still("scope", "list")
    assert by_flag.code == 0


# Usage.


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "No such command 'nonsense'."),
        (["vm", "nonsense"], "No such command 'nonsense'."),
        (["vm", "list", "--nonsense"], "No such option '--nonsense'."),
        (["vm", "restart"], "Missing argument 'VM'."),
        (["vm", "restart", ""], "Invalid value for 'VM': a name is needed, and this one is empty"),
        (["event", "show", ""], "Invalid value for 'EVENT': a name is needed, and this one is empty"),
        (["event", "watch", ""], "Invalid value for '[EVENT]': a name is needed, and this one is empty"),
        (["vm", "restart", "solo", "twin"], "Got unexpected extra argument (twin)"),
        (
            ["clock", "advance", "soon"],
            "Invalid value for 'DURATION': 'soon' is no duration; write it like 15m, 1h30m, 45s or PT15M",
        ),
        (["clock", "advance", ""], "'' is no duration; write it like 15m, 1h30m, 45s or PT15M"),
        (["clock", "advance", "15 m"], "'15 m' is no duration; write it like 15m, 1h30m, 45s or PT15M"),
        (["clock", "advance", "5y"], "'5y' is no duration; write it like 15m, 1h30m, 45s or PT15M"),
        (["clock", "advance", "PT"], "'PT' is no duration; write it like 15m, 1h30m, 45s or PT15M"),
        (["clock", "advance", "9999999999d"], "'9999999999d' is too long"),
        (["clock", "advance", "-5m"], "No such option '-5'."),
        (
            ["clock", "play", "--rate", "0"],
            "Invalid value for '--rate': 0.0 is out of range; it can be more than 0",
        ),
        (["host", "maintain", "host-0", "--notice", "1w"], "Invalid value for '--notice': '1w' is no duration"),
        (
            ["host", "maintain", "host-0", "--kind", "Preempt"],
            "Invalid value for '--kind': 'Preempt' is not one of",
        ),
        (
            ["host", "maintain", "host-0", "--seconds", "x"],
            "Invalid value for '--seconds': 'x' is not a number",
        ),
        (
            ["event", "history", "--limit", "1001"],
            "Invalid value for '--limit': 1001 is out of range; it can be 1 to 1000.",
        ),
        (["fleet", "apply", "."], "Invalid value for 'FILE': File '.' is a directory."),
        (["host", "reclaim", "host-0", "--vms", "0"], "'--vms': 0 is too small; it can be 1 or more."),
        (["rollout", "preview", "--blackout", "x"], "'--blackout': 'x' is no date; write it like 2026-12-24."),
        (["completion", "tcsh"], "Invalid value for '{bash|zsh|fish}': 'tcsh' is not one of"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_that_is_written_wrong_says_what_is_wrong_and_ends_with_exit_2(
    arguments: list[str], sentence: str
):
    outcome = forewarn(*arguments)

    assert (outcome.code, outcome.out) == (2, "")
    error, hint = outcome.err.splitlines()
    assert error.startswith("error: ")
    assert sentence in error
    assert hint.startswith("hint:  ")
    assert "Usage: forewarn " in hint
    assert hint.endswith(" --help")


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_a_command_lists_its_commands_and_ends_with_exit_2(group: str):
    outcome = forewarn(group)

    assert (outcome.code, outcome.out) == (2, "")
    assert "Commands:" in outcome.err


@pytest.mark.parametrize("command", [[], *([group] for group in GROUPS), ["serve"], ["vm", "restart"]])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_a_result(command: list[str], flag: str):
    outcome = forewarn(*command, flag)

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(" ".join(["Usage: forewarn", *command]))


def test_the_version_is_a_result():
    assert forewarn("--version") == Outcome(0, f"forewarn, version {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--version"], 0), (["vm", "show", "nobody"], 1), (["vm", "nonsense"], 2), (["vm", "list"], 3)],
    ids=["done", "refused", "usage", "unreachable"],
)
def test_the_process_leaves_with_the_exit_code_of_its_command(still: CommandLine, arguments: list[str], code: int):
    url = f"http://127.0.0.1:{free_port()}" if code == 3 else still.url

    outcome = forewarn_process(*arguments, FOREWARN_URL=url)

    assert outcome.code == code
    assert "Traceback" not in outcome.err


# Names that are no names.


@pytest.mark.parametrize("name", ["a/b", "..", "?x=1", "#", "%2e", " ", "ünï", "\udcff"], ids=ascii)
def test_a_name_with_odd_characters_is_just_unknown(still: CommandLine, name: str):
    code, complaint = still.complains("vm", "show", name)

    assert code == 1
    assert complaint.startswith("error: There is no ")


def test_a_filter_by_a_vm_that_there_is_not_is_a_slip_and_no_empty_list(still: CommandLine):
    said = still.complains("event", "list", "--vm", "web & ?")

    assert said == (1, shown("error: There is no VM web & ?.", "hint:  forewarn vm list"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [("no-such-command", 2), ("vm restart", 2), ("vm list --url http://127.0.0.1:1", 3)],
    ids=["unknown command", "missing argument", "unreachable service"],
)
@pytest.mark.parametrize("how", ["2>/dev/full", ">/dev/full 2>&1"], ids=["stderr", "both"])
def test_full_stderr_keeps_the_exit_code(arguments: str, code: int, how: str):
    command = ["/bin/sh", "-c", f"exec {FOREWARN} {arguments} {how}"]
    ended = subprocess.run(command, capture_output=True, env=environment(), check=False, timeout=60)

    assert (ended.returncode, ended.stdout) == (code, b"")
