"""A small application that minds maintenance: it sits out a freeze, and saves its work before anything worse."""

import json
from urllib.request import Request, urlopen


class Application:
    """What it does in one round of its loop is in `look`; how often it looks is not what its tests are about."""

    def __init__(self, root: str, name: str) -> None:
        self._address = f"{root}/metadata/scheduledevents?api-version=2020-07-01"
        self._name = name
        self.is_serving = True
        self.saved = 0

    def look(self) -> None:
        """Read what is coming, prepare for it, and let it come."""
        mine = [event for event in self._ask()["Events"] if self._name in event["Resources"]]
        serious = [event for event in mine if event["EventType"] != "Freeze"]
        if serious and self.is_serving:
            self.saved += 1
        self.is_serving = not serious
        for event in serious:
            if event["EventStatus"] == "Scheduled" and event["EventType"] != "Preempt":
                self._ask({"StartRequests": [{"EventId": event["EventId"]}]})

    def _ask(self, body: object = None) -> dict:
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self._address, data, {"Metadata": "true"}), timeout=5) as answer:
            return json.loads(answer.read() or b"{}")
