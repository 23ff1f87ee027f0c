"""Whether the times of a scenario go on, and end before anybody tires of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise

from forewarn.core.fleet_check import Place, Problem
from forewarn.core.notice import in_words
from forewarn.emulator import LAST_START
from forewarn.scenario.file import ScenarioText
from forewarn.scenario.model import END, Act, Expectation, Scenario, clock_of
from forewarn.wire.times import iso

LONGEST = timedelta(days=400)


def problems(text: ScenarioText) -> Iterator[Problem]:
    """What is wrong with them, also with those of entries that are wrong otherwise."""
    yield from _head(text.scenario)
    yield from _order(text, "at", text.scenario.acts)
    yield from _order(text, "expect", text.scenario.expectations)


def _head(scenario: Scenario) -> Iterator[Problem]:
    where = Place("scenario", 0, "length")
    if scenario.head.seed < 0:
        yield Problem(Place("scenario", 0, "seed"), f"seed is {scenario.head.seed}.", "It can be 0 or more.")
    if scenario.head.start > LAST_START:
        what = f"start is {iso(scenario.head.start)}, and there would be no dates left to announce."
        yield Problem(Place("scenario", 0, "start"), what, f"It can be up to {iso(LAST_START)}.")
    if scenario.length < scenario.last_time:
        last = clock_of(scenario.last_time)
        what = f"length is {clock_of(scenario.length)}, and the last time that is named is {last}."
        yield Problem(where, what, "Make it longer, or leave it out.")
    if scenario.length > LONGEST:
        what = f"The scenario takes {clock_of(scenario.length)}."
        yield Problem(where, what, f"It can take up to {in_words(LONGEST)}.")


def _order(text: ScenarioText, section: str, entries: Sequence[Act | Expectation]) -> Iterator[Problem]:
    times = {index: entry.time for index, entry in text.numbered(section, entries)}
    left = [each for each in text.fragments if each.section == section and "time" in each.values]
    times |= {each.index: each.values["time"] for each in left}
    for (_, before), (index, time) in pairwise(sorted(times.items())):
        if time < before:
            earlier = "the end" if before == END else clock_of(before)
            what = f"Time goes back: {clock_of(time)} comes after {earlier}."
            remedy = f"Put the [[{section}]] in the order of their times."
            yield Problem(Place(section, index, "time"), what, remedy)
