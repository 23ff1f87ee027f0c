"""How long before its NotBefore Azure announces an event."""

from __future__ import annotations

# The least notice in seconds, by type. Terminate is 5 to 15 minutes, as its owner sets it.
LEAST_NOTICE_SECONDS = {"Freeze": 900, "Reboot": 900, "Redeploy": 600, "Preempt": 30, "Terminate": 300}
USUAL_NOTICE_SECONDS = 900
