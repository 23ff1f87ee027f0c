"""Where there can be no sandbox, a sentence says what stands in the way and what to do."""

from __future__ import annotations

import errno
import os
import subprocess

import pytest

from forewarn.sandbox.obstacles import NoSandbox, check_platform, explain
from forewarn.sandbox.processes import below, end_all
from forewarn.sandbox.run import environment_of
from tests.cli.command import forewarn

_NOT_EXECUTABLE = (
    "error: /etc/passwd cannot be run: Permission denied.\n"
    "hint:  It has to be an executable file, or a script with #!.\n"
)


@pytest.mark.parametrize(
    ("setting", "value", "step", "message", "hint"),
    [
        (
            "kernel/unprivileged_userns_clone",
            "0",
            "namespace",
            "This system lets nobody make a sandbox: kernel.unprivileged_userns_clone is 0.",
            "sysctl -w kernel.unprivileged_userns_clone=1, or run the sandbox as root.",
        ),
        (
            "user/max_user_namespaces",
            "0",
            "namespace",
            "This system lets nobody make a sandbox: user.max_user_namespaces is 0.",
            "sysctl -w user.max_user_namespaces=10000, or run the sandbox as root.",
        ),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "identity",
            "This system lets nobody make a sandbox: kernel.apparmor_restrict_unprivileged_userns is 1.",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or run the sandbox as root.",
        ),
    ],
    ids=["Debian's switch", "none allowed", "AppArmor"],
)
def test_error_names_the_setting_that_prevents_the_sandbox(
    setting: str, value: str, step: str, message: str, hint: str
):
    problem = explain(step, errno.EPERM, {setting: value}.get)

    assert (problem.message, problem.hint) == (message, hint)


@pytest.mark.parametrize(
    ("step", "number", "beginning"),
    [
        ("namespace", errno.EPERM, "A network of its own is needed for the sandbox, and the system forbids it"),
        ("namespace", errno.ENOSPC, "There are as many user or network namespaces as this system allows."),
        ("namespace", errno.EINVAL, "This kernel has no user or network namespaces"),
        ("listen", errno.EADDRINUSE, "The sandbox's network could not be made (listen: Address already in use)."),
    ],
)
def test_error_without_such_a_setting_names_the_step(step: str, number: int, beginning: str):
    problem = explain(step, number, lambda _: None)

    assert problem.message.startswith(beginning)
    assert problem.hint


def test_other_systems_get_an_alternative():
    with pytest.raises(NoSandbox, match=r"Linux's network namespaces, and this is darwin\.") as refused:
        check_platform("darwin")

    assert refused.value.hint.startswith("Use forewarn serve")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "error: There is no command to run.\nhint:  forewarn sandbox -- COMMAND ARGS\n"),
        (
            ("--", "no-such-command", "-x"),
            127,
            "error: There is no command no-such-command.\nhint:  Check its spelling and PATH, or give its path.\n",
        ),
        (
            ("--", "/etc/passwd"),
            126,
            _NOT_EXECUTABLE,
        ),
        (
            ("--", "/etc"),
            126,
            _NOT_EXECUTABLE.replace("/etc/passwd", "/etc").replace("Permission denied", "Is a directory"),
        ),
        (("--clock", "broken", "--", "true"), 2, None),
        (("--colour", "--", "true"), 2, None),
    ],
    ids=["none", "not there", "not executable", "a folder", "bad setting", "no such option"],
)
def test_unusable_command_is_refused_before_the_network_is_made(
    arguments: tuple[str, ...], code: int, said: str | None
):
    ran = forewarn("sandbox", *arguments)

    assert (ran.code, ran.out) == (code, "")
    assert said is None or ran.err == said


@pytest.mark.parametrize(
    ("given", "made"),
    [("", "169.254.169.254,127.0.0.1"), ("a.example", "a.example,169.254.169.254,127.0.0.1"), ("*", "*")],
)
def test_proxy_is_not_used_for_addresses_of_the_sandbox(given: str, made: str):
    environment = environment_of({"HOME": "x", "no_proxy": given, "FOREWARN_URL": "http://elsewhere"})

    assert environment["no_proxy"] == made
    assert (environment["HOME"], environment["FOREWARN_URL"]) == ("x", "http://127.0.0.1:8255")


def test_process_that_ignores_sigterm_is_killed():
    stubborn = subprocess.Popen(
        ["bash", "-c", "trap '' TERM; echo up; while :; do wait; read -r _; done"],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    assert stubborn.stdout is not None
    assert stubborn.stdout.readline() == "up\n"

    def find() -> dict[int, str]:
        return {each: name for each, name in below(os.getpid()).items() if each == stubborn.pid}

    def wait(seconds: float) -> None:
        try:
            stubborn.wait(seconds)
        except subprocess.TimeoutExpired:
            return

    ended = end_all(find, wait, gently=True)

    assert ended == {stubborn.pid: "bash"}
    assert stubborn.returncode == -9
    stubborn.communicate()
