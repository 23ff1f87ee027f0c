"""Whether a set is well by its owner's own check: an address that answers 2xx, or a command that ends with 0.

Checks run on threads of their own, so many at once; the others wait for a thread. Asking and reading answers are
separate. Only under a virtual clock does asking wait for the answers, because time would have passed before
anybody could answer. How a check is run is in health_probes.py.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from forewarn.control.health_probes import ProbeTimeouts, ask_address, run_command
from forewarn.core.health import NotYet, no_answers
from forewarn.logs import get_logger

log = get_logger()

_MOST_AT_ONCE = 64
_QUICK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Answer:
    begun_at: datetime
    trouble: str | None  # None: it is well
    good_until: float  # monotonic: a check that took its time is not asked again for as long as it took


class HealthSource(Protocol):
    """The health checks of sets, as rollouts need them."""

    def ask(self, wanted: Mapping[str, datetime]) -> None:
        """Ask the checks of these sets, unless they have answered well since then."""

    def answer(self, set_name: str, since: datetime) -> str | None:
        """What the check has answered since then: None if all is well or there is no check, else why not."""


class NoHealthChecks:
    """No set has a check of its own."""

    def ask(self, wanted: Mapping[str, datetime]) -> None:
        """There is nobody to ask."""

    def answer(self, set_name: str, since: datetime) -> str | None:
        """All is well."""
        return no_answers(set_name, since)


class HealthChecks:
    """Asks, remembers what was answered, and tells it when it is recent enough."""

    def __init__(
        self,
        check_of: Callable[[str], str | None],
        now: Callable[[], datetime],
        commands: Mapping[str, Sequence[str]] | None = None,
        *,
        waits_for_answers: bool = False,
        all_answered: Callable[[], object] = lambda: None,
        patience: ProbeTimeouts | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._check_of = check_of  # by the name of a set
        self._now = now
        self._commands = commands or {}
        self._waits_for_answers = waits_for_answers
        self._all_answered = all_answered  # called on a check's thread, when the last one that was asked is well
        self._patience = patience or ProbeTimeouts()
        self._monotonic = monotonic
        self._answers: dict[str, _Answer] = {}
        self._asking: dict[str, datetime | None] = {}  # since when; None: there is no thread for it yet
        self._line: deque[tuple[str, str]] = deque()  # sets that wait for a thread, and their checks
        self._threads = 0
        self._gate = threading.Condition()

    def answer(self, set_name: str, since: datetime) -> str | None:
        """What the check has answered since then: None if all is well or there is no check, else why not."""
        if self._check_of(set_name) is None:
            return None
        answer = self._answers.get(set_name)
        if answer is None or answer.begun_at < since:
            words = f"the health check of {set_name} has not answered yet"
            return NotYet(words) if self._may_still_answer(set_name) else words
        return None if answer.trouble is None else f"the health check of {set_name} {answer.trouble}"

    def ask(self, wanted: Mapping[str, datetime]) -> None:
        """Ask the checks of these sets, all at once, unless they have answered well since then.

        Where answers are waited for, that is for all of them together, and for a bounded time.
        """
        asked = [set_name for set_name, since in wanted.items() if self._ask(set_name, since)]
        if not self._waits_for_answers:
            return
        with self._gate:
            self._gate.wait_for(
                lambda: not any(each in self._asking for each in asked), self._patience.longest_seconds
            )

    def _may_still_answer(self, set_name: str) -> bool:
        """Whether it is to be asked, or was asked so lately that it need not have answered."""
        with self._gate:
            if set_name not in self._asking:
                return False
            begun_at = self._asking[set_name]
        return begun_at is None or self._now() - begun_at < timedelta(seconds=self._patience.longest_seconds)

    def _ask(self, set_name: str, since: datetime) -> bool:
        """Have it asked, unless its answer is good enough; whether it is being asked now."""
        check, answer = self._check_of(set_name), self._answers.get(set_name)
        if check is None:
            return False
        if answer is not None and answer.begun_at >= since and not self._is_worth_asking(answer):
            return False
        with self._gate:
            if set_name in self._asking:
                return True
            self._asking[set_name] = None
            self._line.append((set_name, check))
            if self._threads >= _MOST_AT_ONCE:
                return True
            self._threads += 1
        return self._start_thread()

    def _is_worth_asking(self, answer: _Answer) -> bool:
        return answer.trouble is not None and self._monotonic() >= answer.good_until

    def _start_thread(self) -> bool:
        """One more thread for those in line; False: there can be none, and they are asked at the next look."""
        try:
            threading.Thread(target=self._work, name="health check", daemon=True).start()
        except RuntimeError as problem:
            with self._gate:
                self._threads -= 1
                if self._threads:  # the others come to it
                    return True
                log.warning("health checks not asked", problem=str(problem), sets=len(self._line))
                for set_name, _ in self._line:
                    del self._asking[set_name]
                self._line.clear()
                self._gate.notify_all()
            return False
        return True

    def _work(self) -> None:
        """Ask one after the other, as long as some are in line."""
        while (found := self._take()) is not None:
            set_name, check, begun_at = found
            answer = self._run(set_name, check, begun_at)
            with self._gate:
                self._answers[set_name] = answer
                del self._asking[set_name]
                is_last = not self._asking
                self._gate.notify_all()
            if is_last and answer.trouble is None:  # who is not well is asked again in a while, not at once
                self._all_answered()

    def _take(self) -> tuple[str, str, datetime] | None:
        with self._gate:
            if not self._line:
                self._threads -= 1
                return None
            set_name, check = self._line.popleft()
            begun_at = self._asking[set_name] = self._now()
            return set_name, check, begun_at

    def _run(self, set_name: str, check: str, begun_at: datetime) -> _Answer:
        begun = self._monotonic()
        try:
            trouble = self._probe(set_name, check)
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, nobody has said that all is well
            trouble = f"failed: {problem}"
        ended = self._monotonic()
        rest = ended - begun if ended - begun > _QUICK_SECONDS else 0
        return _Answer(begun_at, trouble, ended + rest)

    def _probe(self, set_name: str, check: str) -> str | None:
        if "://" in check:
            return ask_address(check, self._patience.address_seconds)
        if check not in self._commands:
            return f"is {check!r}, which this service has no command for (--health-command {check}=...)"
        return run_command(self._commands[check], set_name, self._patience.command_seconds)
