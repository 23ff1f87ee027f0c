"""The output of a play: on a terminal, into a closed pipe, and on a full disk."""

from __future__ import annotations

import io
import itertools
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.cli.scenario_screen import Screen
from forewarn.scenario.play.player import Player, PlayOptions, PlayProgress
from tests.cli.command import FOREWARN, environment, forewarn
from tests.cli.test_scenario import SCENE
from tests.scenario.stage import read


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(SCENE)
    return path


def test_control_characters_of_a_file_do_not_reach_the_terminal(file: Path):
    head = 'name = "mine\\u001b]0;owned\\u0007"\ndescription = "\\u001b[2J\\u0007a restart"'
    file.write_text(SCENE.replace('description = "a restart"', head).replace("incarnation = 3", "incarnation = 4"))

    outcome = forewarn("scenario", "play", str(file), "--virtual")

    assert outcome.out.startswith("mine\\x1b]0;owned\\x07: \\x1b[2J\\x07a restart\n")
    assert "mine\\x1b]0;owned\\x07: 1 not as expected" in outcome.err
    assert all(each.isprintable() or each == "\n" for each in outcome.out + outcome.err)


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["for people", "for programs"])
def test_closed_pipe_does_not_change_the_exit_code(file: Path, form: tuple[str, ...]):
    file.write_text(SCENE.replace("incarnation = 3", "incarnation = 4"))
    process = subprocess.Popen(
        [FOREWARN, "scenario", "play", str(file), "--virtual", *form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None

    process.stdout.close()
    process.stderr.close()

    assert process.wait(60) == 1


def test_play_that_cannot_write_exits_with_an_error(file: Path):
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [FOREWARN, "scenario", "play", str(file), "--virtual"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            text=True,
            check=False,
        )

    assert process.returncode == 1
    assert process.stderr.startswith("error: Cannot write the result: No space left on device.")


@pytest.mark.parametrize(
    ("every", "arguments"),
    [
        ('"30s"', ("--rate", "600", "--metadata", "127.0.0.1:0", "--operator", "127.0.0.1:0")),
        ("0.5", ("--virtual",)),
    ],
    ids=["faster than real time", "at once"],
)
def test_terminal_shows_progress_and_what_comes_next(file: Path, every: str, arguments: tuple[str, ...]):
    file.write_text(SCENE.replace('"30s"', every))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [FOREWARN, "scenario", "play", str(file), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment(COLUMNS="100"),
    )
    os.close(theirs)

    told = b""
    with suppress(OSError), os.fdopen(ours, "rb", buffering=0) as terminal:
        while block := terminal.read(65536):
            told += block

    assert process.wait(60) == 0
    assert re.search(rb"\r\x1b\[K  0:0\d:\d\d of 0:10:00, next: whether the fleet is as expected at 0:10:00", told)
    assert told.endswith(b"\r\x1b[K")


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


def test_progress_line_is_updated_at_most_ten_times_a_second(monkeypatch: pytest.MonkeyPatch):
    terminal, hundredths = Terminal(), itertools.count()
    monkeypatch.setattr(sys, "stderr", terminal)
    screen = Screen(read(SCENE), as_json=False, now=lambda: next(hundredths) / 100)

    for second in range(100):
        screen.show_progress(PlayProgress(timedelta(seconds=second)))

    assert 8 <= terminal.getvalue().count(" of 0:10:00") <= 11


@pytest.mark.parametrize(
    ("length", "guest", "rate", "named"),
    [
        ("2m", "", 1, {"0:02:00", "--virtual"}),
        ("2h", "", 60, {"0:02:00", "--virtual"}),
        ("2h", "outside = true\n", 60, {"0:02:00", "--rate"}),
        ("119s", "", 1, set()),
        ("2h", "", 600, set()),
        ("2h", "", None, set()),
    ],
    ids=["long", "long though faster", "long with a client", "short", "fast", "virtual"],
)
@pytest.mark.parametrize("as_json", [False, True], ids=["for people", "for programs"])
def test_long_play_begins_with_a_hint_at_a_quicker_one(length, guest, rate, named, as_json, capfd):
    found = read(f'[scenario]\nlength = "{length}"\n[[vms]]\nname = "a"\n[[guests]]\nvm = "a"\n{guest}')
    options = PlayOptions(rate=rate)
    player = Player(found, lambda _: None, options)

    with player.emulator:
        Screen(found, as_json=as_json).begin(player, rate)

    hint = capfd.readouterr().err
    assert {word for word in ("0:02:00", "--virtual", "--rate") if word in hint} == named
