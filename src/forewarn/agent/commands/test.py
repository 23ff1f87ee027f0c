"""`test`: a profile and its undo, run for an event that nobody announced. Nothing is approved."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

from forewarn.agent.case import Direction, Outcome
from forewarn.agent.clock import Clock
from forewarn.agent.commands.output import FAILED, Failure, complain, say, show_json, span
from forewarn.agent.commands.reading import invent, names_of, settings_of
from forewarn.agent.config_values import closest
from forewarn.agent.handlers import find
from forewarn.agent.policy import Profile
from forewarn.agent.settings import Settings
from forewarn.agent.trial import Trial, Tried

_INTERRUPTED = 130


def run(given: SimpleNamespace) -> int:
    """Run the steps, then the undo; whether all of it succeeded."""
    settings = settings_of(given)
    profile = _profile(settings, given.profile)
    clock = Clock()
    names = names_of(settings, given.vm)
    event = invent(given, names, clock.now())
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
        with _breaking_off(trial):
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
    if trial.is_broken_off:
        return _INTERRUPTED
    return 0 if is_fine else FAILED


@contextmanager
def _breaking_off(trial: Trial) -> Iterator[None]:
    """The first Ctrl-C ends the event, so that all is undone; a second one ends the command."""
    before = signal.getsignal(signal.SIGINT)

    def break_off(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        complain("Interrupted: what was begun is given up and undone. Once more ends it at once.")
        trial.break_off()

    try:
        signal.signal(signal.SIGINT, break_off)
    except ValueError:  # not on the main thread: then somebody else heeds it
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
    say(
        f"{name}: {words.get(tried.outcome, str(tried.outcome))}{time}"
        + (f" ({tried.note})" if tried.note else "")
    )


def _summary(profile: Profile, trial: Trial, *, is_fine: bool) -> str:
    if not trial.tried:
        return f"Profile {profile.name} has no steps to run."
    if trial.is_broken_off:
        return f"Profile {profile.name} was interrupted; what was begun was undone as said. Nothing was approved."
    if is_fine:
        return f"Profile {profile.name} succeeded. Nothing was approved."
    return f"Profile {profile.name} did not succeed: an event would have been held. Nothing was approved."
