"""`run`: the agent itself. This file holds on to nothing that is needed once: see below."""

from __future__ import annotations

import gc
import re
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forewarn.agent.settings import Settings

# What reads a command line and a file. An agent reads them once, and then runs for months in little memory.
_NEEDED_ONCE = (
    "argparse",
    "gettext",
    "locale",
    "tomli",
    "tomllib",
    "forewarn.agent.commands",
    "forewarn.agent.config",
    "forewarn.agent.notices",
    "forewarn.agent.rule_order",
    "forewarn.agent.toml_places",
    "forewarn.agent.toml_reader",
)


def run(given: SimpleNamespace) -> int:
    """Watch, prepare, approve, recover; until told to stop."""
    settings = _settings_of(given)
    _let_go_of_what_was_needed_once()
    from forewarn.agent import daemon  # noqa: PLC0415 - what runs takes the room of what has read

    return daemon.run(settings)


def _settings_of(given: SimpleNamespace) -> Settings:
    from forewarn.agent.commands.reading import settings_of  # noqa: PLC0415 - as above

    return settings_of(given, is_warning=False)  # they are lines of the log


def _let_go_of_what_was_needed_once() -> None:
    """Forget these modules; whoever needs one after all loads it again."""
    for name in sorted((name for name in sys.modules if name.startswith(_NEEDED_ONCE)), reverse=True):
        del sys.modules[name]
        parent, _, child = name.rpartition(".")
        if parent in sys.modules:
            vars(sys.modules[parent]).pop(child, None)
    re.purge()  # it remembers every expression that those modules have compiled
    gc.collect()
