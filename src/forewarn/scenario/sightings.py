"""What a scripted guest can have seen of the events that the acts make: what its version has, when it asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forewarn.core.fleet_check import Problem
from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.scenario.bounds import Bounds, last_poll
from forewarn.scenario.makers import Maker
from forewarn.scenario.model import GuestScript, clock_of
from forewarn.scenario.most import Case
from forewarn.wire.imds.versions import EVENTS_VERSIONS


def problems(bounds: Bounds, script: GuestScript, case: Case, makers: Sequence[Maker]) -> Iterator[Problem]:
    """What it has not seen until then, whatever happens."""
    if not (case.wanted.saw or case.wanted.ids):
        return
    key = "saw" if case.wanted.saw else "ids"
    known = [maker for maker in makers if maker.kind in EVENTS_VERSIONS[script.version].kinds]
    if not known:
        yield from unknown_kinds(script, case, [maker.kind for maker in makers])
        return
    asked = last_poll(script, case.time)
    if asked is None:
        return
    first = min(known, key=lambda maker: maker.act.time)
    last = f"{script.title} asks for the last time at {clock_of(asked)}"
    remedy = "Let it ask until then (every, stops), or expect it later."
    if asked < first.act.time:
        comes = f"{case.title_within} comes at {clock_of(first.act.time)} (line {first.line})"
        yield case.problem(key, f"{last}, and {comes}.", remedy)
        return
    starts = min(bounds.earliest_start(maker) for maker in known)
    if Phase.STARTED.value in (case.wanted.saw or []) and asked < starts:
        what = f"{last}, and {case.title_within} does not start before {clock_of(starts)}."
        yield case.problem(key, what, remedy)


def unknown_kinds(script: GuestScript, case: Case, kinds: Sequence[Kind]) -> Iterator[Problem]:
    """What it is to have seen, and its version has none of these kinds."""
    is_seen = bool(case.wanted.saw or case.wanted.ids)
    if is_seen and not any(kind in EVENTS_VERSIONS[script.version].kinds for kind in kinds):
        version = next(name for name, each in EVENTS_VERSIONS.items() if kinds[-1] in each.kinds)
        what = f"{script.title} asks with api-version {script.version}, which has no {kinds[-1]}."
        remedy = f'Give it version = "{version}" or a later one, or expect that it sees none.'
        yield case.problem("saw" if case.wanted.saw else "ids", what, remedy)
