"""A small application that sits out a freeze and saves its work before any longer maintenance."""

import json
from urllib.request import Request, urlopen


class Application:
    """`look` is one round of the application's loop. Its tests do not depend on how often it looks."""

    def __init__(self, root: str, name: str) -> None:
        self._address = f"{root}/metadata/scheduledevents?api-version=2020-07-01"
        self._name = name
        self.is_serving = True
        self.saved = 0

    def look(self) -> None:
        """Read the events of this VM, prepare for them and approve them."""
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
