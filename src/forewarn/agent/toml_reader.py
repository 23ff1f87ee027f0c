"""The TOML parser: Python's own since 3.11; before that tomli, its origin, which `forewarn-agent.pyz` contains."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError, loads
else:
    from tomli import TOMLDecodeError, loads

__all__ = ["TOMLDecodeError", "loads"]
