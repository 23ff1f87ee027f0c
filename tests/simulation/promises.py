"""What was answered with success: promises that outlive whoever made them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.phase import Phase
from forewarn.core.rollout import RolloutState
from forewarn.core.terms import Condition
from tests.simulation.outside import Outside


@dataclass(frozen=True)
class Promise:
    """What an answer said, and how to tell that it still holds."""

    said: str
    is_kept: Callable[[], bool]


Key = tuple[str, ...]


class Promises:
    """Everything that was answered with success. A later request about the same thing takes its place."""

    def __init__(self, outside: Outside, elapsed: Callable[[], timedelta], silence: timedelta) -> None:
        self.outside = outside
        self._elapsed = elapsed
        self._silence = silence
        self._made: dict[Key, Promise] = {}
        self.on_promise: list[Callable[[Promise], None]] = []

    def all(self) -> list[Promise]:
        """What has to be kept now."""
        return list(self._made.values())

    def _promise(self, key: Key, said: str, is_kept: Callable[[], bool]) -> None:
        promise = self._made[key] = Promise(said, is_kept)
        for judge in self.on_promise:
            judge(promise)

    def accepted(self, operation: str) -> None:
        self._promise(
            ("operation", operation),
            f"operation {operation} was accepted and is lost",
            lambda: self.outside.phase_of_operation(operation) is not None,
        )

    def cancelled(self, operation: str) -> None:
        self._promise(
            ("cancel", operation),
            f"operation {operation} was said to be cancelled and is not",
            lambda: self.outside.phase_of_operation(operation) is Phase.CANCELLED,
        )

    def approved(self, event: str, by: str) -> None:
        self._promise(
            ("approval", event, by),
            f"the approval of {event} by {by} was answered and is lost",
            lambda: by in self.outside.approvers(event),
        )

    def postponed(self, event: str, by: str) -> None:
        self._promise(
            ("postponement", event),
            f"{event} was said to be postponed by {by} and is not",
            lambda: self.outside.postponed_by(event) == by,
        )

    def polled(self, scope: str) -> None:
        generation, at = self.outside.generation(scope), self._elapsed()

        def is_kept() -> bool:
            is_another = self.outside.generation(scope) != generation
            return is_another or self.outside.is_on(scope) or self._elapsed() - at >= self._silence

        self._promise(
            ("poll", scope), f"a first poll of {scope} was answered at {at}, and the scope is off", is_kept
        )

    def has_condition(self, host: str, condition: Condition) -> None:
        self._promise(
            ("condition", host),
            f"{host} was said to be {condition} and is not",
            lambda: self.outside.condition(host) is condition or self.outside.is_made_for_one(host),
        )

    def has_state(self, rollout: str, states: set[RolloutState]) -> None:
        names = ", ".join(sorted(states))
        self._promise(
            ("rollout", rollout),
            f"rollout {rollout} was answered with success, and is none of {names}",
            lambda: self.outside.state_of_rollout(rollout) in states,
        )

    def is_applied(self, spec: FleetSpec) -> None:
        places = {vm.name: (vm.host, vm.update_domain) for vm in spec.vms}
        sizes = {each.name: each.placement_group_size for each in spec.scale_sets}

        def is_kept() -> bool:
            for name, (home, domain) in places.items():
                place = self.outside.place(name)
                if place is None or place[0] != home or domain not in {None, place[1]}:
                    return False
            return all(self.outside.group_size(name) == size for name, size in sizes.items())

        self._promise(("fleet",), "a fleet was applied and is not there", is_kept)

    # A request goes out: until it is answered, nothing is certain any more.

    def unsettle(self, *key: str) -> Promise | None:
        return self._made.pop(key, None)

    def settle_again(self, *key: str, promise: Promise | None) -> None:
        """It was refused: all is as it was."""
        if promise is not None:
            self._made[key] = promise
