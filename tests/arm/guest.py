"""A guest that knows nothing of forewarn: it waits for an event, tells it, and approves it when it is told to.

    python guest.py URL

The event is written to stdout as JSON. After a line on stdin it is approved; once it is gone, the program ends.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any
from urllib.request import Request, urlopen

_EVERY_SECONDS = 0.05


def ask(url: str, body: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data, {"Metadata": "true"}), timeout=10) as answer:
        text = answer.read()
    return json.loads(text)["Events"] if text else []


def poll(url: str, *, until: bool) -> list[dict[str, Any]]:
    """Ask until there are events, or until there are none."""
    while bool(events := ask(url)) is not until:
        threading.Event().wait(_EVERY_SECONDS)
    return events


def main() -> None:
    url = f"{sys.argv[1]}/metadata/scheduledevents?api-version=2020-07-01"
    print(json.dumps(ask(url)), flush=True)  # the first question turns the feature on
    (event,) = poll(url, until=True)
    print(json.dumps(event), flush=True)
    sys.stdin.readline()
    ask(url, {"StartRequests": [{"EventId": event["EventId"]}]})
    poll(url, until=False)


if __name__ == "__main__":
    main()
