"""What has started: in the world, and in the decision that is being made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forewarn.core.operation import Operation
from forewarn.core.phase import Phase


class Underway:
    """What has started, counting what the present decision is about to start."""

    def __init__(self) -> None:
        self._starting: set[str] = set()

    def add(self, operation: Operation) -> None:
        """Count an operation as started."""
        self._starting.add(operation.id)

    def started(self, operations: Iterable[Operation], *, but: Operation | None = None) -> Iterator[Operation]:
        """Those of the operations that have started or are about to."""
        for operation in operations:
            is_another = but is None or operation.id != but.id
            if is_another and (operation.phase is Phase.STARTED or operation.id in self._starting):
                yield operation
