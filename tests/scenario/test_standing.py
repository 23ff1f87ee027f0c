"""Machines, scopes and answers that nothing in the file makes so: refused before anything is played."""

from __future__ import annotations

import pytest

from tests.scenario.refusing import (
    AFTER,
    DELETE,
    EXPECT_OF_GUEST,
    EXPECT_OF_RESTART,
    FLEET,
    GROW,
    RESTART,
    refusal_of,
)

ROWS = {
    "a status that nothing is answered with": (
        f"{EXPECT_OF_GUEST}status = 999\n",
        9,
        "app-0 is not answered with 999 until 0:16:00: nothing in this file does that.",
        "It can be 0 or 200, or what a fault answers with.",
    ),
    "an error, and no fault is put in": (
        f"{EXPECT_OF_GUEST}status = 500\n",
        9,
        "app-0 is not answered with 500 until 0:16:00: nothing in this file does that.",
        "or what a fault answers with.",
    ),
    "an error that is put in for another": (
        f'[[at]]\ntime = 0\ndo = "fault"\nfault = "status"\nvm = "spot-0"\n{EXPECT_OF_GUEST}status = 503\n',
        14,
        "app-0 is not answered with 503 until",
        "It can be 0 or 200",
    ),
    "an error that is put in later": (
        f'{EXPECT_OF_GUEST}status = 503\n[[at]]\ntime = "17m"\ndo = "fault"\nfault = "status"\n',
        9,
        "app-0 is not answered with 503 until",
        "It can be 0 or 200",
    ),
    "not found, and it is there": (
        f"{EXPECT_OF_GUEST}status = 404\n",
        9,
        "app-0 is not answered with 404 until",
        "It can be 0 or 200",
    ),
    "unchanged, of a guest that sends no condition": (
        f"{EXPECT_OF_GUEST}status = 304\n",
        9,
        "app-0 is never answered with 304: it sends no If-None-Match.",
        "Give the guest conditional = true.",
    ),
    "an answer before it asks": (
        '[[guests]]\nvm = "app-0"\nstarts = "1m"\n[[expect]]\ntime = "59s"\nguest = "app-0"\nstatus = 200\n',
        3,
        "app-0 has not asked at 0:00:59: it starts at 0:01:00.",
        "Expect it then, or later.",
    ),
    "stopped, and nothing stops it": (
        f'{EXPECT_OF_RESTART}state = "stopped"\n',
        7,
        "app-0 cannot be stopped at 0:02:00: nothing in this file stops it before.",
        'Add an [[at]] with do = "stop", or expect another state.',
    ),
    "deallocated, and nothing evicts it": (
        f'{EXPECT_OF_RESTART}state = "deallocated"\n',
        7,
        "app-0 cannot be deallocated at 0:02:00: nothing in this file evicts it before.",
        'Add an [[at]] with do = "evict"',
    ),
    "down, and nothing is done to it": (
        '[[expect]]\ntime = "2m"\nvm = "app-0"\nstate = "down"\n',
        3,
        "app-0 cannot be down at 0:02:00: nothing in this file takes it down before.",
        'Add an [[at]] with do = "fail"',
    ),
    "on another host, and nothing moves it": (
        f'{EXPECT_OF_RESTART}host = "spot-0-host"\n',
        7,
        "app-0 is on app-0-host at 0:02:00: nothing in this file moves it before.",
        'Expect app-0-host, or move it before (do = "redeploy", for example).',
    ),
    "on another host before it is moved": (
        f'[[expect]]\ntime = "59s"\nvm = "app-0"\nhost = "spot-0-host"\n{RESTART.replace("restart", "redeploy")}',
        3,
        "app-0 is on app-0-host at 0:00:59: nothing in this file moves it before.",
        "Expect app-0-host",
    ),
    "off within a day": (
        '[[expect]]\ntime = "23h"\nvm = "app-0"\non = false\n',
        3,
        "The scope of app-0 is on at 23:00:00: everybody has asked when the scenario begins, and that holds for",
        "Expect on = true.",
    ),
    "on, and nobody has asked": (
        '[scenario]\nenabled = false\n[[expect]]\ntime = "2m"\nvm = "app-0"\non = true\n',
        5,
        "The scope of app-0 is off at 0:02:00: nobody in it has asked before.",
        "Give it a guest, or say enabled = true.",
    ),
    "deleted, and nothing deletes it": (
        f'{EXPECT_OF_RESTART}state = "deleted"\n',
        7,
        "app-0 cannot be deleted at 0:02:00: nothing in this file deletes it before.",
        'Add an [[at]] with do = "delete", or expect another state.',
    ),
    "deleted before it is": (
        f'[[expect]]\ntime = "59s"\nvm = "gone-0"\nstate = "deleted"\n{DELETE}',
        3,
        "gone-0 cannot be deleted at 0:00:59: nothing in this file deletes it before.",
        "or expect another state.",
    ),
    "the document of who is deleted": (
        f'{DELETE}[[expect]]\ntime = "10m"\nvm = "gone-0"\nempty = true\n',
        7,
        f"gone-0 is no more at 0:10:00: it is deleted at 0:01:00 (line {AFTER}).",
        'Expect it before, or state = "deleted".',
    ),
    "who is deleted and runs": (
        f'{DELETE}[[expect]]\ntime = "10m"\nvm = "gone-0"\nstate = "running"\n',
        7,
        f"gone-0 is no more at 0:10:00: it is deleted at 0:01:00 (line {AFTER}).",
        'Expect it before, or state = "deleted".',
    ),
    "the document of who is not there yet": (
        f'{GROW}[[expect]]\ntime = "59s"\nvm = "pool_1"\nempty = true\n',
        10,
        f"pool_1 is not there at 0:00:59: pool gets it at 0:01:00 at the earliest (line {AFTER + 3}).",
        "Expect it then, or later.",
    ),
}


@pytest.mark.parametrize(("text", "line", "what", "remedy"), ROWS.values(), ids=ROWS)
def test_what_nothing_in_the_file_brings_about_is_refused_with_its_line(
    text: str, line: int, what: str, remedy: str
):
    (said,) = refusal_of(FLEET + text)

    assert said.startswith(f"bad.toml:{AFTER + line}: {what}")
    assert remedy in said
