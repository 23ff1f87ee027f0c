"""Whether a set is well by its owner's own check: an address that answers 2xx, or a command that ends with 0.

A check runs on a thread of its own and is never waited for, but under a virtual clock, where time would have
passed before anybody could answer. How a check is run is in health_probes.py.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from forewarn.control.health_probes import Patience, ask_address, run_command

_MOST_AT_ONCE = 64  # those that find no room are asked at the next look
_QUICK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Answer:
    begun_at: datetime
    trouble: str | None  # None: it is well
    good_until: float  # monotonic: a check that took its time is not asked again for as long as it took


class HealthChecks:
    """Asks, remembers what was answered, and tells it when it is recent enough."""

    def __init__(
        self,
        check_of: Callable[[str], str | None],
        now: Callable[[], datetime],
        commands: Mapping[str, Sequence[str]] | None = None,
        *,
        waits: bool = False,
        patience: Patience | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._check_of = check_of  # by the name of a set
        self._now = now
        self._commands = commands or {}
        self._waits = waits
        self._patience = patience or Patience()
        self._monotonic = monotonic
        self._answers: dict[str, _Answer] = {}
        self._asking: set[str] = set()
        self._gate = threading.Lock()

    def verdict(self, set_name: str, since: datetime) -> str | None:
        """What the check has said since then: None if all is well or there is no check, else why not.

        Where there is no answer yet, or a bad one, it is asked again.
        """
        check = self._check_of(set_name)
        answer = self._answers.get(set_name)
        if check is not None and (answer is None or answer.begun_at < since or self._is_worth_asking(answer)):
            self._ask(set_name, check)
        return self.heard(set_name, since)

    def heard(self, set_name: str, since: datetime) -> str | None:
        """The same, for somebody who only wants to know: nothing is asked."""
        if self._check_of(set_name) is None:
            return None
        answer = self._answers.get(set_name)
        if answer is None or answer.begun_at < since:
            return f"the health check of {set_name} has not answered yet"
        return None if answer.trouble is None else f"the health check of {set_name} {answer.trouble}"

    def _is_worth_asking(self, answer: _Answer) -> bool:
        return answer.trouble is not None and self._monotonic() >= answer.good_until

    def _ask(self, set_name: str, check: str) -> None:
        with self._gate:
            if set_name in self._asking or len(self._asking) >= _MOST_AT_ONCE:
                return
            self._asking.add(set_name)
        begun_at = self._now()
        thread = threading.Thread(
            target=self._run, args=(set_name, check, begun_at), name=f"health-{set_name}", daemon=True
        )
        thread.start()
        if self._waits:
            thread.join(self._patience.longest_seconds)

    def _run(self, set_name: str, check: str, begun_at: datetime) -> None:
        begun = self._monotonic()
        try:
            trouble = self._probe(set_name, check)
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, nobody has said that all is well
            trouble = f"failed: {problem}"
        ended = self._monotonic()
        rest = ended - begun if ended - begun > _QUICK_SECONDS else 0
        with self._gate:
            self._answers[set_name] = _Answer(begun_at, trouble, ended + rest)
            self._asking.discard(set_name)

    def _probe(self, set_name: str, check: str) -> str | None:
        if "://" in check:
            return ask_address(check, self._patience.address_seconds)
        if check not in self._commands:
            return f"is {check!r}, which this service has no command for (--health-command {check}=...)"
        return run_command(self._commands[check], set_name, self._patience.command_seconds)
