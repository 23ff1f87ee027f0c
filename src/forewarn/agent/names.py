"""Whose event it is: the names by which an event may mean this VM.

The endpoint's `compute.name` is what events use. The rest is for endpoints that do not tell it, and for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_INSTANCE = re.compile(r"(.+)_([0-9]{1,10})", re.DOTALL)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LEAST_DIGITS = 6


class Names:
    """The names of this VM, the surest first."""

    def __init__(self, aliases: Iterable[str] = (), hostname: str = "", compute_name: str = "") -> None:
        self._aliases = tuple(alias for alias in aliases if alias.strip())
        self._hostname = hostname
        self._ordered: dict[str, str] = {}
        self.known: tuple[str, ...] = ()  # the names as they were given
        self.compute_name = ""
        self.learn(compute_name)

    def learn(self, compute_name: str) -> None:
        """Take over what the endpoint says; nothing, where it says nothing."""
        self.compute_name = compute_name.strip() or self.compute_name
        said = (self.compute_name, *self._aliases, self._hostname, self._hostname.partition(".")[0])
        ordered: dict[str, str] = {}
        for each in said:
            for form in _forms(each):
                ordered.setdefault(form, each)
        self._ordered = ordered
        self.known = tuple(dict.fromkeys(each for each in said if each))

    def which(self, resources: Sequence[str]) -> str:
        """The one of the resources that means this VM, as it is written there; empty: none does."""
        forms = [(resource, set(_forms(resource))) for resource in resources]
        for name in self._ordered:
            for resource, its_forms in forms:
                if name in its_forms:
                    return resource
        return ""

    def explain(self, resources: Sequence[str]) -> str:
        """By which of the names a resource means this VM, in words."""
        found = self.which(resources)
        if not found:
            return f"none of {', '.join(resources) or 'no resources'} is {' or '.join(self.known) or 'known here'}"
        name = next(self._ordered[form] for form in self._ordered if form in set(_forms(found)))
        return f"{found} is this VM, known as {name}"


def computer_name(vm: str) -> str | None:
    """The computer name of an instance of a scale set: its number in base 36. None for any other name."""
    found = _INSTANCE.fullmatch(vm)
    if found is None:
        return None
    number, digits = int(found[2]), ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return found[1] + digits.rjust(_LEAST_DIGITS, "0")


def _forms(name: str) -> list[str]:
    """How a name may be written: in any case, with the early `_` before it, as a computer's name."""
    plain = name.strip().lower()
    if not plain:
        return []
    plain = plain.removeprefix("_") or plain
    computer = computer_name(plain)
    return [plain] if computer is None else [plain, computer]
