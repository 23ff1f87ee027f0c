"""A refusal names every line with a mistake, and no line that is wrong only because of another."""

from __future__ import annotations

import pytest

from tests.scenario.refusing import AFTER, FLEET, RESTART, refused_lines

POOL = '[[scale_sets]]\nname = "pool"\ncapacity = 1\n'
EVERYTHING = {
    "values of every section that do not fit": (
        (
            '[scenario]\nname = 5\nseed = "x"\nenabled = "yes"\n[settings]\nlead = "soon"\n'
            '[[guests]]\nvm = ["app-0"]\nevery = true\n[[at]]\ntime = []\ndo = 3\n'
            '[[expect]]\nvm = "app-0"\nevents = "1"\n'
        ),
        [1, 2, 3, 5, 7, 8, 10, 11, 14],
    ),
    "names beside values that do not fit": (
        (
            '[[at]]\ntime = "1m"\ndo = "restart"\nvm = "app-7"\n'
            '[[at]]\ntime = "2m"\ndo = "restrat"\nvm = "app-8"\n'
            '[[expect]]\nvm = "app-9"\nphase = "Startet"\n'
        ),
        [3, 6, 7, 9, 10],
    ),
    "names of every kind in entries that are wrong": (
        (
            '[[guests]]\nvm = "app-9"\nevery = "often"\n'
            '[[at]]\ntime = 0\ndo = "fial"\nhost = "h"\nhosts = ["i"]\nscale_set = "s"\nfault = "f"\n'
            '[[expect]]\nguest = "g"\nresources = ["r"]\nids = "1"\n'
        ),
        [1, 2, 5, 6, 7, 8, 9, 11, 12, 13],
    ),
    "an entry after one that is wrong": (
        (
            f'[[at]]\ntime = 0\ndo = "restrat"\nvm = "app-0"\n{RESTART}notice = "1h"\n[[guests]]\nevery = 0\n'
            '[[guests]]\nvm = "app-0"\nevery = 0\n'
        ),
        [2, 8, 9, 13],
    ),
    "times beside values that do not fit": (
        (
            '[[at]]\ntime = "2m"\ndo = "restrat"\nvm = "app-0"\n'
            '[[at]]\ntime = "soon"\ndo = "restart"\nvm = "app-0"\n'
            '[[at]]\ntime = "1m"\ndo = "restart"\nvm = "app-0"\n'
        ),
        [2, 5, 9],
    ),
    "values of the fleet": (
        (
            '[[vms]]\nname = 5\npriority = "spot"\n[[hosts]]\nname = "h"\nzone = 1\n'
            '[[scale_sets]]\nname = "p"\ncapacity = "1"\n'
        ),
        [1, 2, 5, 8],
    ),
    "an unknown key that is meant for the one which is missing": ('[[at]]\nwhen = "1m"\ndo = "restart"\n', [1]),
}


@pytest.mark.parametrize(("text", "lines"), EVERYTHING.values(), ids=EVERYTHING)
def test_refusal_names_every_line_with_a_mistake(text: str, lines: list[int]):
    assert [line - AFTER for line in refused_lines(FLEET + text)] == lines


FOLLOWS = {
    "a mark of a fault that is put in wrongly": (
        '[[at]]\ntime = 0\ndo = "fault"\nfault = "early_start"\noptions = 5\n'
        f'{RESTART}[[expect]]\ntime = "5m"\nvm = "app-0"\nfault = "early_start"\n'
    ),
    "what only a fault shows that is put in wrongly": (
        '[[guests]]\nvm = "app-0"\n[[at]]\ntime = 0\ndo = "fault"\nfault = "stale"\noptions = 5\n'
        f'{RESTART}[[expect]]\ntime = "30m"\nguest = "app-0"\nsaw = ["Started", "Scheduled"]\n'
    ),
    "an instance that a scale set gets by an act that is wrong": (
        f'{POOL}[[at]]\ntime = 0\ndo = "scale"\nscale_set = "pool"\nto = "2"\n'
        '[[expect]]\nvm = "pool_1"\nstate = "running"\n'
    ),
    "what is expected of a guest that is wrong": (
        '[[guests]]\nvm = "app-0"\nevery = "often"\n[[expect]]\ntime = "1m"\nguest = "app-0"\nids = 0\n'
    ),
    "work that takes as long as a setting which is wrong": (
        '[settings]\naction_limit = "2h or so"\n'
        '[[at]]\ntime = 0\ndo = "maintain"\nvm = "app-0"\nduration_seconds = 3600\n'
    ),
    "a VM of a fleet that is wrong": f'{RESTART.replace("app-0", "app-1")}[[vms]]\nname = "app-1"\npriority = 5\n',
    "what comes of an act that is wrong": (
        f'{RESTART.replace("restart", "restrat")}[[expect]]\ntime = "20m"\nvm = "app-0"\nphase = "Completed"\n'
    ),
}


@pytest.mark.parametrize("text", FOLLOWS.values(), ids=FOLLOWS)
def test_consequence_of_a_mistake_is_not_reported(text: str):
    assert len(refused_lines(FLEET + text)) == 1
