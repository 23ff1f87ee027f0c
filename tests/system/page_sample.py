"""What readers of Microsoft's page make of its Python sample: written anew, with the same accesses.

    page_sample.py API_VERSION [--approve]

Standard library only. Every member is taken by index and used as the text it has to be, so that a missing or null
one is a crash.
"""

from __future__ import annotations

import json
import socket
import sys
import urllib.request

ENDPOINT = "http://169.254.169.254/metadata/scheduledevents?api-version="


def fetch(url: str) -> dict:
    request = urllib.request.Request(url)
    request.add_header("Metadata", "true")
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.loads(answer.read())


def approve(url: str, event_id: str) -> None:
    body = json.dumps({"StartRequests": [{"EventId": event_id}]}).encode()
    request = urllib.request.Request(url, data=body)
    request.add_header("Metadata", "true")
    with urllib.request.urlopen(request, timeout=20) as answer:
        answer.read()


def main() -> None:
    version, is_approving = sys.argv[1], "--approve" in sys.argv[2:]
    url = ENDPOINT + version
    this_host = socket.gethostname()
    for event in fetch(url)["Events"]:
        event_id = event["EventId"]
        resources = event["Resources"]
        print("EventId: " + event_id)
        print("EventStatus: " + event["EventStatus"])
        print("Resources: " + ",".join(resources))
        print("EventType: " + event["EventType"])
        print("ResourceType: " + event["ResourceType"])
        print("NotBefore: " + event["NotBefore"].replace(" ", "_"))
        if version >= "2019-08-01":
            print("Description: " + event["Description"])
            print("EventSource: " + event["EventSource"])
        is_mine = this_host in resources
        print("mine: " + str(is_mine))
        if is_mine and is_approving:
            approve(url, event_id)


if __name__ == "__main__":
    main()
