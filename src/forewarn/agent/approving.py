"""Sends approvals, each in a thread of its own, never two of one event at once. Whether to, others decide."""

from __future__ import annotations

import threading
from collections.abc import Callable

from forewarn.agent.compat import dataclass
from forewarn.agent.metadata import EndpointError


@dataclass(frozen=True, slots=True)
class Answered:
    """What the endpoint said to an approval. No problem: it was taken."""

    event: str
    problem: EndpointError | None


class Approver:
    """The approvals that are under way. `send` is for the keeper's thread."""

    def __init__(self, approve: Callable[[str], None], tell: Callable[[Answered], None]) -> None:
        self._approve = approve
        self._tell = tell
        self._under_way: set[str] = set()

    def is_under_way(self, event: str) -> bool:
        """Whether an answer is still waited for."""
        return event in self._under_way

    @property
    def is_busy(self) -> bool:
        """Whether any answer is still waited for."""
        return bool(self._under_way)

    def send(self, event: str) -> bool:
        """Send it; False where one is under way."""
        if event in self._under_way:
            return False
        self._under_way.add(event)
        try:
            threading.Thread(target=self._run, args=(event,), name=f"approve {event}", daemon=True).start()
        except RuntimeError as problem:
            message = f"The approval could not be sent, as there is no thread for it: {problem}."
            self._tell(Answered(event, EndpointError("unexpected", None, message)))
        return True

    def settle(self, answered: Answered) -> None:
        """Its answer was taken note of."""
        self._under_way.discard(answered.event)

    def _run(self, event: str) -> None:
        problem = None
        try:
            self._approve(event)
        except EndpointError as error:
            problem = error
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no approval
            problem = EndpointError("unexpected", None, f"The approval could not be sent: {error!r}.")
        self._tell(Answered(event, problem))
