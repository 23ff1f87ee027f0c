"""`test`: a profile and its undo, run for an event that nobody announced. Nothing is approved."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

from forewarn.agent.case import Direction, Outcome
from forewarn.agent.clock import Clock
from forewarn.agent.commands.output import FAILED, Failure, complain, say, show_json, span
from forewarn.agent.commands.reading import invent, names_of, settings_of
from forewarn.agent.config_values import closest
from forewarn.agent.handlers import find
from forewarn.agent.handlers.event_words import TEST_MARK
from forewarn.agent.handlers.proc import see_how_children_end
from forewarn.agent.policy import Profile
from forewarn.agent.settings import Settings
from forewarn.agent.streams import lose
from forewarn.agent.trial import Trial, Tried

_LOCAL = {"readiness", "signal", "systemd"}  # handlers that act on this machine alone
_SIGNALLED = 128  # and the number of the signal
_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def run(given: SimpleNamespace) -> int:
    """Run the steps, then the undo; whether all of it succeeded."""
    settings = settings_of(given)
    profile = _profile(settings, given.profile)
    clock = Clock()
    names = names_of(settings, given.vm)
    event = invent(given, names, clock.now())
    event = replace(event, description=f"{TEST_MARK}{event.description or 'an invented event'}")
    if not given.is_sure and not _is_agreed(profile):
        complain("Nothing was run.")
        return FAILED
    scratch = _scratch()
    trial = Trial(
        profile,
        event,
        names.which(event.resources),
        clock=clock,
        find=find,
        scratch=scratch,
        tell=(lambda _tried: None) if given.is_json else _tell,
    )
    try:
        with _breaking_off(trial) as signals:
            is_fine = trial.run(is_cancelled=given.is_cancelled)
    except KeyboardInterrupt:
        trial.stop()
        complain(f"Ended in the middle of the undo. How things were before is kept in {scratch}.")
        raise
    shutil.rmtree(scratch, ignore_errors=True)
    if given.is_json:
        show_json({"profile": profile.name, "is_fine": is_fine, "tried": [asdict(each) for each in trial.tried]})
    else:
        say(_summary(profile, trial, is_fine=is_fine))
    if signals:
        return _SIGNALLED + signals[0]
    return 0 if is_fine else FAILED


def _is_agreed(profile: Profile) -> bool:
    """Whether the person at the terminal agrees that others are called. Without a terminal nobody is asked."""
    outward = [f"{step.name} ({step.uses})" for step in profile.steps if step.uses not in _LOCAL]
    if not outward or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    print(
        f"This runs all {len(profile.steps)} steps of profile {profile.name} for real. "
        f"These may call other systems, marked as a test: {', '.join(outward)}.",
        file=sys.stderr,
    )
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


@contextmanager
def _breaking_off(trial: Trial) -> Iterator[list[int]]:
    """The first signal ends the event, so that all is undone; after it a Ctrl-C ends the command. Those that came.

    Only that: a terminal that goes away may send more than one of the others.
    """
    came: list[int] = []

    def break_off(number: int, _: object) -> None:
        came.append(number)
        if len(came) == 1:
            complain("Interrupted: what was begun is given up and undone. Ctrl-C ends it at once.")
            trial.break_off()
        elif number == signal.SIGINT:
            raise KeyboardInterrupt

    before = {each: signal.getsignal(each) for each in _ENDING}
    try:
        see_how_children_end()
        for each, way in before.items():
            if way is not signal.SIG_IGN:  # as with nohup
                signal.signal(each, break_off)
    except ValueError:  # not on the main thread: then somebody else heeds them
        yield came
        return
    try:
        yield came
    finally:
        for each, way in before.items():
            signal.signal(each, way)


def _profile(settings: Settings, name: str) -> Profile:
    if name in settings.profiles:
        return settings.profiles[name]
    close = closest(name, settings.profiles)
    known = f"There are {', '.join(settings.profiles)}." if settings.profiles else "The file has none."
    raise Failure(f"There is no profile {name}.", f"Did you mean {close}?" if close else known)


def _scratch() -> Path:
    import tempfile  # noqa: PLC0415 - an agent that runs does without

    return Path(tempfile.mkdtemp(prefix="forewarn-agent-test-"))


def _tell(tried: Tried) -> None:
    name = f"undo of {tried.step}" if tried.direction is Direction.UNDO else tried.step
    words = {Outcome.DONE: "done", Outcome.FAILED: "FAILED", Outcome.SKIPPED: "left out"}
    time = f" after {span(tried.seconds)}" if tried.outcome is not Outcome.SKIPPED else ""
    note = f" ({tried.note})" if tried.note else ""
    try:
        say(f"{name}: {words.get(tried.outcome, str(tried.outcome))}{time}{note}")
    except (Failure, BrokenPipeError):  # nobody looks any more; what was done is undone all the same
        lose(sys.stdout)


def _summary(profile: Profile, trial: Trial, *, is_fine: bool) -> str:
    if not trial.tried:
        return f"Profile {profile.name} has no steps to run."
    if trial.is_broken_off:
        return f"Profile {profile.name} was interrupted; what was begun was undone as said. Nothing was approved."
    if is_fine:
        return f"Profile {profile.name} succeeded. Nothing was approved."
    return f"Profile {profile.name} did not succeed: an event would have been held. Nothing was approved."
