"""The client report in a test."""

from __future__ import annotations

from typing import Any

import msgspec

from forewarn.core.refusal import Refusal
from forewarn.emulator import Emulator, Refused
from forewarn.operator.report import report_on_vm, usual_pace
from forewarn.report.moment import Pace
from forewarn.report.views import GuestReport
from forewarn.wire.choices import either


class ClientReport:
    """The report on one guest: codes for the test, sentences for its reader."""

    def __init__(self, vm: str, guest: GuestReport | None) -> None:
        self.vm = vm
        self._guest = guest

    @property
    def is_good(self) -> bool:
        """Whether it reads the document, and there is nothing to fix."""
        return self._guest is not None and self._guest.is_good

    @property
    def faults(self) -> list[str]:
        """The codes of findings to fix."""
        return [str(each.code) for each in self._guest.findings if each.is_fault] if self._guest else []

    @property
    def remarks(self) -> list[str]:
        """The codes of findings that are good to know."""
        return [str(each.code) for each in self._guest.findings if not each.is_fault] if self._guest else []

    @property
    def json(self) -> dict[str, Any]:
        """The report as in `GET /v1/report`; empty if the guest has sent no request."""
        return msgspec.to_builtins(self._guest) if self._guest else {}

    def __str__(self) -> str:
        if self._guest is None:
            return f"{self.vm} has sent no request yet."
        findings = [f"  {each.code}: {each.sentence}" for each in self._guest.findings]
        return "\n".join([self._guest.summary, *findings, *(f"  {fact}" for fact in self._guest.facts)])


def report_on(emulator: Emulator, vm: str, pace: str | None) -> ClientReport:
    """The report on one VM's guest."""
    service = emulator.service
    if service.conduct is None:
        raise Refused("This service does not watch its guests.", "Leave watch_guests out of its settings.")
    if pace is not None and pace not in list(Pace):
        raise Refused(f"There is no pace {pace!r}.", f"Use {either([str(each) for each in Pace])}.")
    by = usual_pace(service.timekeeper) if pace is None else Pace(pace)
    found = report_on_vm(service.conduct, vm, [vm], by)
    if isinstance(found, Refusal):
        raise Refused(found.message, found.hint)
    return ClientReport(vm, found.guests[0] if found.guests else None)
