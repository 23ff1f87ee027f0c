"""What a test may read about a guest: the report on it."""

from __future__ import annotations

from typing import Any

import msgspec

from forewarn.core.moment import Pace
from forewarn.core.refusal import Refusal
from forewarn.emulator import Emulator, Refused
from forewarn.operator.report import report_on_vm, usual_pace
from forewarn.wire.choices import either
from forewarn.wire.report import GuestReport


class ClientReport:
    """What one guest did: codes for a test, sentences for its reader."""

    def __init__(self, vm: str, guest: GuestReport | None) -> None:
        self.vm = vm
        self._guest = guest

    @property
    def is_good(self) -> bool:
        """Whether it reads the document, and there is nothing to mend."""
        return self._guest is not None and self._guest.is_good

    @property
    def faults(self) -> list[str]:
        """The codes of what is to be mended."""
        return [str(each.code) for each in self._guest.findings if each.is_fault] if self._guest else []

    @property
    def remarks(self) -> list[str]:
        """The codes of what is good to know."""
        return [str(each.code) for each in self._guest.findings if not each.is_fault] if self._guest else []

    @property
    def json(self) -> dict[str, Any]:
        """All of it, as `GET /v1/report` has it; empty where the guest has not asked for anything."""
        return msgspec.to_builtins(self._guest) if self._guest else {}

    def __str__(self) -> str:
        if self._guest is None:
            return f"{self.vm} has not asked for anything yet."
        findings = [f"  {each.code}: {each.sentence}" for each in self._guest.findings]
        return "\n".join([self._guest.summary, *findings, *(f"  {fact}" for fact in self._guest.facts)])


def report_on(emulator: Emulator, vm: str, pace: str | None) -> ClientReport:
    """The report on one VM's guest."""
    service = emulator.service
    if service.conduct is None:
        raise Refused("This service does not note what guests ask.", "Leave watch_guests out of its settings.")
    if pace is not None and pace not in list(Pace):
        raise Refused(f"{pace!r} is no pace.", f"It can be {either([str(each) for each in Pace])}.")
    by = usual_pace(service.timekeeper) if pace is None else Pace(pace)
    found = report_on_vm(service.conduct, vm, [vm], by)
    if isinstance(found, Refusal):
        raise Refused(found.message, found.hint)
    return ClientReport(vm, found.guests[0] if found.guests else None)
