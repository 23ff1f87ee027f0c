"""Expectations that cannot hold, whatever the engine does: refused before anything is played."""

from __future__ import annotations

import pytest

from tests.scenario.refusing import (
    AFTER,
    APPROVING,
    DELETE,
    EXPECT_OF_GUEST,
    EXPECT_OF_RESTART,
    FLEET,
    LATE,
    MAINTAIN,
    RESTART,
    TOLD,
    UNAPPROVED,
    refusal_of,
)

ROWS = {
    "nothing expected": ('[[expect]]\nvm = "app-0"\n', 0, "Nothing is expected here.", "Say what: phase, "),
    "expected of nobody": (
        '[[expect]]\nphase = "Started"\n',
        1,
        "This is about no vm and no guest, and phase can be expected of a vm.",
        "Say which vm.",
    ),
    "expected of somebody else": (
        '[[guests]]\nvm = "app-0"\n[[expect]]\nguest = "app-0"\nempty = true\n',
        4,
        "This is about a guest, and empty can be expected of a vm.",
        "Make two of it.",
    ),
    "expected of two": (
        '[[guests]]\nvm = "app-0"\n[[expect]]\nguest = "app-0"\nvm = "app-0"\nempty = true\n',
        2,
        "An expectation is about a vm or about a guest.",
        "Make two of it.",
    ),
    "an unknown guest": (
        '[[guests]]\nvm = "app-0"\n[[expect]]\nguest = "app"\nids = 0\n',
        3,
        "There is no scripted guest app.",
        "Did you mean app-0?",
    ),
    "what no guest ever sees": (
        '[[guests]]\nvm = "app-0"\n[[expect]]\nguest = "app-0"\nsaw = ["Completed"]\n',
        4,
        "No guest ever sees Completed.",
        "It sees Scheduled, Started or gone.",
    ),
    "a phase that is none": (
        '[[expect]]\nvm = "app-0"\nphase = "Done"\n',
        2,
        "phase cannot be used: invalid enum value 'Done'.",
        "It can be Scheduled, Started, Completed, Cancelled, Failed or none.",
    ),
    "an event that nothing makes": (
        f'{RESTART}[[expect]]\nvm = "app-0"\nkind = "Preempt"\nphase = "Scheduled"\n',
        6,
        "A Preempt of app-0 cannot be: nothing in this file makes one.",
        f'Add an [[at]] with do = "evict". Line {AFTER} makes a Reboot of it.',
    ),
    "an event before it is made": (
        f'{RESTART}[[expect]]\ntime = "59s"\nvm = "app-0"\nphase = "Scheduled"\n',
        5,
        f"An event of app-0 cannot be at 0:00:59: it comes at 0:01:00 (line {AFTER}).",
        "Expect it then, or later.",
    ),
    "Started before NotBefore, and nobody approves": (
        f'[[guests]]\nvm = "app-0"\n{RESTART}[[expect]]\ntime = "5m"\nvm = "app-0"\nphase = "Started"\n',
        9,
        f"An event of app-0 cannot be Started at 0:05:00: {TOLD} {AFTER + 2}) with {UNAPPROVED}",
        "Expect it from 0:16:00 on, or let a guest approve it before (approve_after).",
    ),
    "Started before it can be approved": (
        f'{APPROVING}{RESTART}[[expect]]\ntime = 179\nvm = "app-0"\nphase = "Started"\n',
        10,
        f"An event of app-0 cannot be Started at 0:02:59: {TOLD} {AFTER + 3}) with {LATE}.",
        "Expect it from 0:03:00 on, or let a guest approve it before (approve_after).",
    ),
    "approved by who never does": (
        f'[[guests]]\nvm = "app-0"\n{RESTART}[[expect]]\ntime = "20m"\nvm = "app-0"\napproved_by = "app-0"\n',
        9,
        "app-0 approves nothing in this file.",
        "Let a guest of app-0 approve (approve_after), or an [[at]].",
    ),
    "Cancelled, and nothing calls it off": (
        f'{RESTART}[[expect]]\ntime = "2m"\nvm = "app-0"\nphase = "Cancelled"\n',
        7,
        "An event of app-0 cannot be Cancelled: nothing before 0:02:00 calls it off.",
        'Add an [[at]] with do = "cancel".',
    ),
    "a notice that no event gets": (
        f'{RESTART}[[expect]]\ntime = "2m"\nvm = "app-0"\nnotice = "5m"\n',
        7,
        "A Reboot gets at least 15 min of notice; 5 min is expected.",
        "Expect 15 min or more.",
    ),
    "a resource that is no VM": (
        f'{EXPECT_OF_RESTART}resources = ["app-0", "ap-1"]\n',
        7,
        "There is no VM ap-1.",
        "Did you mean app-0?",
    ),
    "a resource of another document": (
        f'{EXPECT_OF_RESTART}resources = ["app-0", "spot-0"]\n',
        7,
        "spot-0 does not share a document with app-0, so no event names both.",
        "Leave out spot-0, or expect it of spot-0.",
    ),
    "more events than there are acts": (
        f"{EXPECT_OF_RESTART}count = 7\n",
        7,
        f"count is 7, and until 0:02:00 this file makes at most 1 (line {AFTER}).",
        "Expect 1 or fewer, or add an [[at]].",
    ),
    "more events in a document than there are acts": (
        f"{EXPECT_OF_RESTART}events = 2\n",
        7,
        f"events is 2, and until 0:02:00 this file makes at most 1 (line {AFTER}).",
        "Expect 1 or fewer, or add an [[at]].",
    ),
    "events in a document for which nothing is done": (
        '[[expect]]\ntime = "2m"\nvm = "app-0"\nevents = 1\n',
        3,
        "events is 1, and until 0:02:00 this file makes at most 0.",
        "or add an [[at]].",
    ),
    "more open events than there are acts": (
        f'{RESTART}[[expect]]\ntime = "2m"\nopen = 2\n',
        6,
        f"open is 2, and until 0:02:00 this file makes at most 1 (line {AFTER}).",
        "Expect 1 or fewer, or add an [[at]].",
    ),
    "more ids than there are acts": (
        f"{EXPECT_OF_GUEST}ids = 2\n",
        9,
        f"ids is 2, and until 0:16:00 this file makes at most 1 (line {AFTER + 2}).",
        "Expect 1 or fewer, or add an [[at]].",
    ),
    "a count below 0": (f"{EXPECT_OF_RESTART}count = -1\n", 7, "count is -1.", "It can be 0 or more."),
    "open below 0": ('[[expect]]\ntime = "2m"\nopen = -1\n', 2, "open is -1.", "It can be 0 or more."),
    "events below 0": (f"{EXPECT_OF_RESTART}events = -1\n", 7, "events is -1.", "It can be 0 or more."),
    "ids below 0": (f"{EXPECT_OF_GUEST}ids = -1\n", 9, "ids is -1.", "It can be 0 or more."),
    "an incarnation below 1": (
        f"{EXPECT_OF_RESTART}incarnation = -4\n",
        7,
        "incarnation is -4.",
        "It can be 1 or more.",
    ),
    "a document with events for which nothing is done": (
        '[[expect]]\ntime = "2m"\nvm = "app-0"\nempty = false\n',
        3,
        "empty is false, and until 0:02:00 this file makes no event that app-0 is told of.",
        "Expect empty = true, or add an [[at]].",
    ),
    "an incarnation that no document comes to": (
        f"{EXPECT_OF_RESTART}incarnation = 99\n",
        7,
        f"incarnation is 99, and until 0:02:00 it is at most 5 (line {AFTER}).",
        "Expect 5 or less, or add an [[at]].",
    ),
    "an event that goes back": (
        f'{EXPECT_OF_GUEST}saw = ["Started", "Scheduled"]\n',
        9,
        "An event never goes back: Scheduled is not seen after Started.",
        "The order is Scheduled, Started, gone, each once at most.",
    ),
    "an event that comes back": (
        f'{EXPECT_OF_GUEST}saw = ["Scheduled", "gone", "Scheduled"]\n',
        9,
        "An event never goes back: Scheduled is not seen after gone.",
        "each once at most.",
    ),
    "gone, and never seen": (
        f'{EXPECT_OF_GUEST}saw = ["gone"]\n',
        9,
        "A guest cannot see that an event is gone that it has never seen.",
        'like ["Scheduled", "gone"].',
    ),
    "seen, and nothing makes it": (
        '[[guests]]\nvm = "app-0"\n[[expect]]\ntime = "1m"\nguest = "app-0"\nsaw = ["Scheduled"]\n',
        2,
        "An event of app-0 cannot be: nothing in this file makes one.",
        "Add an [[at]] that does something to it.",
    ),
    "seen Started before it can start": (
        f'{EXPECT_OF_GUEST.replace("16m", "10m")}saw = ["Scheduled", "Started"]\n',
        9,
        f"An event of app-0 cannot be Started at 0:10:00: {TOLD} {AFTER + 2}) with {UNAPPROVED}",
        "Expect it from 0:16:00 on",
    ),
    "more notice than a restart gets": (
        f'{EXPECT_OF_RESTART}notice = "3h"\n',
        7,
        f"An event of app-0 gets 15 min of notice (line {AFTER}); 3 h is expected.",
        "Expect 15 min.",
    ),
    "more notice than maintenance was asked for": (
        f'{MAINTAIN}[[expect]]\ntime = "2m"\nvm = "app-0"\nnotice = "3h"\n',
        8,
        f"An event of app-0 gets 2 h of notice (line {AFTER}); 3 h is expected.",
        f"Expect 2 h, or ask for more in line {AFTER}.",
    ),
    "NotBefore too far ahead": (
        f'{EXPECT_OF_RESTART}not_before_in = "1h"\n',
        7,
        f"NotBefore of app-0 is at most 0:14:00 ahead at 0:02:00 (line {AFTER}); 1:00:00 is expected.",
        "Expect 0:14:00 or less.",
    ),
    "NotBefore of what has started": (
        f'{EXPECT_OF_RESTART.replace("2m", "16m")}phase = "Started"\nnot_before_in = "1m"\n',
        8,
        "phase is Started, and NotBefore is ahead only while an event is Scheduled.",
        "Leave out not_before_in.",
    ),
    "no event, and its source": (
        '[[expect]]\nvm = "app-0"\nphase = "none"\nsource = "User"\n',
        3,
        'phase is "none", and an event that there has not been has no source.',
        "Leave out source.",
    ),
    "no event, counted": (
        f'{EXPECT_OF_RESTART}phase = "none"\ncount = 1\n',
        8,
        'phase is "none", and count is 1.',
        "Leave out one of them.",
    ),
    "a count of 0, and a phase": (
        f'{EXPECT_OF_RESTART}count = 0\nphase = "Scheduled"\n',
        8,
        "count is 0, and an event that there has not been has no phase.",
        "Leave out phase.",
    ),
    "an empty document with events": (
        f"{EXPECT_OF_RESTART}empty = true\nevents = 1\n",
        8,
        "empty is true, and events is 1.",
        "Leave out one of them.",
    ),
    "deleted, and on": (
        f'{DELETE}[[expect]]\ntime = "10m"\nvm = "gone-0"\nstate = "deleted"\non = true\n',
        8,
        "state is deleted, and a VM that is no more has no on.",
        "Leave out on.",
    ),
    "the platform's restart": (
        f'{EXPECT_OF_RESTART}source = "Platform"\n',
        7,
        f"An event of app-0 comes of restart (line {AFTER}), and its source is User.",
        "Expect User.",
    ),
    "the owner's maintenance": (
        f'{MAINTAIN}[[expect]]\ntime = "2m"\nvm = "app-0"\nsource = "User"\n',
        8,
        f"An event of app-0 comes of maintain (line {AFTER}), and its source is Platform.",
        "Expect Platform.",
    ),
    "how long a restart takes": (
        f"{EXPECT_OF_RESTART}duration_seconds = 9\n",
        7,
        f"An event of app-0 comes of restart (line {AFTER}), and its duration_seconds is -1.",
        "Expect -1.",
    ),
    "other words than a restart's": (
        f'{EXPECT_OF_RESTART}description = "bla"\n',
        7,
        f'An event of app-0 comes of restart (line {AFTER}), and its description is "Virtual machine is going to',
        'Expect "Virtual machine is going to be restarted as requested by authorized user.".',
    ),
    "other words than those that were asked for": (
        f'{MAINTAIN}description = "Because."\n[[expect]]\ntime = "2m"\nvm = "app-0"\ndescription = "Why?"\n',
        9,
        f'An event of app-0 comes of maintain (line {AFTER}), and its description is "Because.".',
        'Expect "Because.".',
    ),
    "a mark that no event bears": (
        f'{EXPECT_OF_RESTART}fault = "delay"\n',
        7,
        "No event is marked with delay.",
        "The marks are null_events, ",
    ),
    "a mark of a fault that is not put in": (
        f'{EXPECT_OF_RESTART}fault = "early_start"\n',
        7,
        "Nothing in this file puts early_start in.",
        'Add an [[at]] with do = "fault" and fault = "early_start".',
    ),
    "an event in a scope that nobody has turned on": (
        f'[scenario]\nenabled = false\n{RESTART}[[expect]]\nvm = "app-0"\nphase = "Scheduled"\n',
        6,
        "An event of app-0 cannot be: nothing in this file makes one.",
        f"Line {AFTER + 2} is done at once, as nobody has asked for the document: give it a guest, or",
    ),
}


@pytest.mark.parametrize(("text", "line", "what", "remedy"), ROWS.values(), ids=ROWS)
def test_an_expectation_that_cannot_hold_is_refused_with_its_line(text: str, line: int, what: str, remedy: str):
    (said,) = refusal_of(FLEET + text)

    assert said.startswith(f"bad.toml:{AFTER + line}: {what}")
    assert remedy in said
