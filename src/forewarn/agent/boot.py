"""Which boot of the machine this is. What was running in another one is not running any more."""

from __future__ import annotations

from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id(path: Path = _BOOT_ID) -> str:
    """The same until the machine boots again; empty where there is no telling: then every boot looks the same."""
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
