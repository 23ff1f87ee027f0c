"""`forewarn sandbox`: what the program sees and is sent, how it ends, and that nothing is left."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import wait_until
from tests.system.sandboxes import (
    WHO,
    Sandboxes,
    at_a_terminal,
    bare_environment,
    has_pending,
    in_network,
    is_empty,
    parent_of,
    readable_folder,
)

pytestmark = pytest.mark.system

ASK = "curl -s -H Metadata:true http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"
NETWORK = "readlink /proc/self/ns/net"
# Waits in the shell itself: a signal is heard at once.
WAIT = "sleep 1000 & while :; do wait; done"


@pytest.fixture(params=WHO.values(), ids=WHO.keys())
def sandboxes(request: pytest.FixtureRequest) -> Iterator[Sandboxes]:
    with readable_folder() as folder:
        yield Sandboxes(request.param, folder)


@pytest.fixture
def roots() -> Iterator[Sandboxes]:
    with readable_folder() as folder:
        yield Sandboxes((), folder)


# What the program sees.


def test_without_a_fleet_the_program_is_one_vm_with_the_name_of_this_machine(sandboxes: Sandboxes):
    ran = sandboxes.run("--", "bash", "-c", f"{ASK}; echo; forewarn vm list --json; hostname; id -u")

    document, *vms, hostname, user = ran.stdout.splitlines()
    assert document == '{"DocumentIncarnation":1,"Events":[]}'
    assert [each["name"] for each in json.loads("".join(vms))["vms"]] == [socket.gethostname()]
    assert hostname == socket.gethostname()
    assert user == ("0" if sandboxes.is_root else "65534")


def test_the_program_is_reported_on(roots: Sandboxes):
    ran = roots.run("--guest", "db-7", "--", "bash", "-c", f"{ASK}; echo; forewarn report --json")

    document, *report = ran.stdout.splitlines()
    (guest,) = json.loads("".join(report))["guests"]
    assert document == '{"DocumentIncarnation":1,"Events":[]}'
    assert (guest["vm"], guest["polls"]["count"]) == ("db-7", 1)


def test_the_program_bears_the_name_of_its_vm_and_the_machine_keeps_its_own(sandboxes: Sandboxes):
    before = socket.gethostname()

    ran = sandboxes.run("--guest", "db-7", "--", "hostname")

    assert (ran.stdout, ran.stderr) == ("db-7\n", "")
    assert socket.gethostname() == before


def test_nothing_else_is_in_its_network(sandboxes: Sandboxes):
    with socket.create_server(("127.0.0.1", 0)) as outside:
        reach = f"echo > /dev/tcp/127.0.0.1/{outside.getsockname()[1]}"

        ran = sandboxes.run("--", "bash", "-c", reach)

    assert ran.returncode == 1
    assert "Connection refused" in ran.stderr


def test_a_proxy_of_the_environment_is_not_asked_for_the_real_address(roots: Sandboxes):
    ran = roots.run("--", "bash", "-c", ASK, http_proxy="http://127.0.0.1:9", no_proxy="example.org")

    assert ran.stdout == '{"DocumentIncarnation":1,"Events":[]}'


def test_output_and_input_are_the_programs_own(roots: Sandboxes):
    ran = subprocess.run(
        roots.command("--", "tr", "a-z", "A-Z"),
        input="hello\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=bare_environment(),
    )

    assert (ran.stdout, ran.stderr) == ("HELLO\n", "")


# How it ends.


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
)
def test_it_ends_with_the_programs_code(sandboxes: Sandboxes, script: str, code: int):
    ran = sandboxes.run("--", "bash", "-c", script)

    assert (ran.returncode, ran.stderr) == (code, "")


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "USR1"])
def test_a_signal_reaches_the_program_once_and_the_program_decides(roots: Sandboxes, name: str):
    script = f"n=0; trap 'n=$((n+1)); echo heard $n' {name}; trap 'exit 5' USR2; {NETWORK}; {WAIT}"
    with roots.started("--", "bash", "-c", script) as sandbox:
        assert sandbox.stdout is not None
        network = sandbox.stdout.readline().strip()

        os.killpg(sandbox.pid, signal.Signals[f"SIG{name}"])
        heard = sandbox.stdout.readline()
        sandbox.send_signal(signal.SIGUSR2)
        rest = sandbox.stdout.read()

        assert (heard, rest, sandbox.wait(60)) == ("heard 1\n", "", 5)
    is_empty(network)


@pytest.mark.parametrize("name", ["INT", "HUP"])  # bash ignores SIGQUIT
def test_a_signal_that_keys_send_reaches_also_what_the_programs_shell_waits_for(sandboxes: Sandboxes, name: str):
    script = f"{NETWORK}; sh -c 'echo begun; exec sleep 300'; echo after"
    with sandboxes.started("--", "bash", "-c", script) as sandbox:
        assert sandbox.stdout is not None
        network, begun = sandbox.stdout.readline().strip(), sandbox.stdout.readline()

        os.killpg(sandbox.pid, signal.Signals[f"SIG{name}"])

        assert (begun, sandbox.stdout.read(), sandbox.wait(60)) == (
            "begun\n",
            "",
            128 + signal.Signals[f"SIG{name}"],
        )
    is_empty(network)


def test_ctrl_c_at_a_terminal_is_heard_once_by_the_program_and_not_by_the_sandbox(roots: Sandboxes):
    script = f"n=0; trap 'n=$((n+1)); echo heard $n' INT; trap 'exit $((40+n))' USR1; echo ready; {WAIT}"
    with at_a_terminal(roots.command("--", "bash", "-c", script)) as terminal:
        seen = terminal.read_until("ready")
        terminal.press("\x03")
        terminal.read_until("heard 1")
        os.kill(terminal.process, signal.SIGUSR1)

        assert terminal.wait() == 41
    assert "169.254.169.254 is forewarn" in seen


def test_a_terminal_that_goes_away_ends_the_program_too(roots: Sandboxes):
    with at_a_terminal(roots.command("--", "bash", "-c", f"{NETWORK}; {WAIT}")) as terminal:
        network = terminal.read_until("]").split()[-1]
        terminal.hang_up()

        assert terminal.wait() != 0
    is_empty(network)


def test_ctrl_c_while_the_sandbox_starts_ends_it_and_no_program_is_started(roots: Sandboxes):
    fleet, trace = roots.folder / "fleet", roots.folder / "trace"
    os.mkfifo(fleet)
    command = roots.command("--fleet", str(fleet), "--guest", "db-7", "--", "touch", str(trace))
    with at_a_terminal(command) as terminal:
        with fleet.open("w") as late:  # when it is being read, the sandbox starts
            terminal.press("\x03")
            wait_until(lambda: has_pending(terminal.process, signal.SIGINT), "the key to have arrived")
            late.write('[[vms]]\nname = "db-7"\n')

        assert terminal.wait() == 130
    assert not trace.exists()


def test_a_program_that_is_stopped_at_a_terminal_goes_on_when_it_is_told_to(roots: Sandboxes):
    script = f"trap 'echo on again' CONT; n=0; trap 'n=$((n+1)); echo heard $n; exit 41' INT; echo ready; {WAIT}"
    with at_a_terminal(["bash", "--norc", "-i"]) as shell:
        shell.press(f"PS1=; {shlex.join(roots.command('--', 'bash', '-c', script))}\n")
        shell.read_until("\nready")

        shell.press("\x1a")
        shell.read_until("Stopped")
        shell.press("fg\n")
        shell.read_until("\non again")
        shell.press("\x03")
        shell.read_until("heard 1")
        shell.press("exit $?\n")

        assert shell.wait() == 41


def test_a_second_signal_while_what_is_left_is_being_ended_changes_nothing(sandboxes: Sandboxes):
    stubborn = "trap '' TERM; echo up; while :; do sleep 0.1; done"
    script = f'{NETWORK}; echo $$; setsid --fork bash -c "{stubborn}"; exec sleep 1000'
    with sandboxes.started("--", "bash", "-c", script) as sandbox:
        assert sandbox.stdout is not None
        assert sandbox.stderr is not None
        network, program, _ = (sandbox.stdout.readline().strip() for _ in range(3))

        sandbox.terminate()
        wait_until(lambda: not Path("/proc", program).exists(), "the program to have ended")
        sandbox.terminate()

        assert sandbox.wait(60) == 143
        assert sandbox.stderr.read().startswith("sandbox: the command had left these running, and they were ended")
    is_empty(network)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_that_are_closed_are_closed_for_the_program_too(roots: Sandboxes, closed: str):
    count = "for each in 0 1 2; do [ -e /proc/$$/fd/$each ] && n=$((n+1)); done; exit $((40+n))"
    command = roots.command("--", "bash", "-c", count)

    ran = subprocess.run(
        ["bash", "-c", f'exec "$@" {closed}', "bash", *command],
        timeout=60,
        check=False,
        env=bare_environment(),
        stdin=subprocess.DEVNULL,
    )

    assert ran.returncode == 43 - len(closed.split())


# Nothing is left.


def test_what_the_program_leaves_running_is_ended_and_named(sandboxes: Sandboxes):
    ran = sandboxes.run("--", "bash", "-c", f"{NETWORK}; sleep 1000 & (sleep 1000 &) & exit 3")

    assert ran.returncode == 3
    assert ran.stderr.startswith("sandbox: the command had left these running, and they were ended: ")
    assert "sleep (" in ran.stderr
    assert in_network(ran.stdout.strip()) == []


def test_a_sandbox_that_is_killed_takes_all_its_processes_along(sandboxes: Sandboxes):
    script = f"trap '' TERM; {NETWORK}; sleep 1000 & setsid --fork sleep 1000; echo up; wait"
    with sandboxes.started("--", "bash", "-c", script) as sandbox:
        assert sandbox.stdout is not None
        network = sandbox.stdout.readline().strip()
        assert sandbox.stdout.readline() == "up\n"
        wait_until(lambda: len(in_network(network)) == 4, "the keeper, the shell and two sleeps")

        sandbox.kill()
        sandbox.wait(60)

        is_empty(network)


def test_a_process_group_that_is_killed_takes_all_the_sandboxs_processes_along(sandboxes: Sandboxes):
    script = f"{NETWORK}; sleep 1000 & setsid --fork sleep 1000; echo up; wait"
    with sandboxes.started("--", "bash", "-c", script) as sandbox:
        assert sandbox.stdout is not None
        network = sandbox.stdout.readline().strip()
        assert sandbox.stdout.readline() == "up\n"
        wait_until(lambda: len(in_network(network)) == 4, "the keeper, the shell and two sleeps")

        os.killpg(sandbox.pid, signal.SIGKILL)
        sandbox.wait(60)

        is_empty(network)


def test_a_terminals_process_group_that_is_killed_takes_all_the_sandboxs_processes_along(roots: Sandboxes):
    script = f"{NETWORK}; sleep 1000 & setsid --fork sleep 1000; echo up; wait"
    with at_a_terminal(roots.command("--", "bash", "-c", script)) as terminal:
        seen = terminal.read_until("up")
        network = next(line for line in seen.splitlines() if line.startswith("net:"))

        os.killpg(terminal.process, signal.SIGKILL)

        assert terminal.wait() == -signal.SIGKILL
        is_empty(network)


def test_a_keeper_that_is_killed_ends_the_sandbox_with_a_sentence(sandboxes: Sandboxes):
    with sandboxes.started("--", "bash", "-c", f"{NETWORK}; sleep 1000 & echo $PPID; wait") as sandbox:
        assert sandbox.stdout is not None
        assert sandbox.stderr is not None
        network, keeper = sandbox.stdout.readline().strip(), int(sandbox.stdout.readline())
        assert parent_of(keeper) == sandbox.pid

        os.kill(keeper, signal.SIGKILL)

        assert sandbox.wait(60) == 1
        assert sandbox.stderr.read().startswith("error: The process that kept the sandbox was killed")
    is_empty(network)


# There can be none.


def test_a_fleet_that_does_not_say_who_the_program_is_is_refused(roots: Sandboxes):
    (roots.folder / "fleet.toml").write_text('[[vms]]\nname = "a"\n[[vms]]\nname = "b"\n')

    ran = roots.run("--fleet", "fleet.toml", "--", "true")

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        "error: The fleet has 2 VMs, and it is not said which of them the program is.\n"
        "hint:  Name it with --guest; there are a, b, for example.\n"
    )


def test_a_guest_that_is_not_in_the_fleet_is_refused(roots: Sandboxes):
    (roots.folder / "fleet.toml").write_text('[[vms]]\nname = "a"\n')

    ran = roots.run("--fleet", "fleet.toml", "--guest", "x", "--", "true")

    assert ran.returncode == 1
    assert "error: --guest names x, and there is no such VM." in ran.stderr


def test_where_namespaces_are_forbidden_the_setting_is_named():
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_net_namespaces"
    inner = f'{forbid}; exec "$@"'
    with readable_folder() as folder:
        # The settings of a user namespace of its own: nobody else's are touched.
        sandboxes = Sandboxes(("unshare", "--user", "--map-root-user", "bash", "-c", inner, "bash"), folder)

        ran = sandboxes.run("--", "true")

    assert ran.returncode == 1
    assert ran.stderr == (
        "error: This system lets nobody make a sandbox: user.max_user_namespaces is 0.\n"
        "hint:  sysctl -w user.max_user_namespaces=10000, or run the sandbox as root.\n"
    )


def test_a_script_that_does_not_say_what_runs_it_cannot_be_run(roots: Sandboxes, tmp_path: Path):
    script = tmp_path / "no-shebang"
    script.write_text("echo hello\n")
    script.chmod(0o755)

    ran = roots.run("--", str(script))

    assert ran.returncode == 126
    assert ran.stderr.startswith(f"error: {script} cannot be run: Exec format error.")
