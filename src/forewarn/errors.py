"""What can go wrong around the rules: a store that will not open, a setting that makes no sense.

Each carries a sentence and, where there is one, a hint; `cli` prints them, `operator` maps them to a status.
"""

from __future__ import annotations


class ForewarnError(Exception):
    """Something that the person in front of the terminal can mend."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(ForewarnError):
    """A setting, flag or file that cannot be used as it is."""


class UsageProblem(ConfigError):
    """A flag that cannot be used as it was given."""


class Stopping(ForewarnError):
    """The service is on its way out; what was asked now was not done."""


class StoreError(ForewarnError):
    """The store cannot be opened, read or written."""


class StoreUnavailable(StoreError):
    """The store did not answer; whether the last commit was kept is known only after reading it again."""


class StaleWrite(StoreError):
    """A row was changed by somebody else since it was read; nothing was written."""
