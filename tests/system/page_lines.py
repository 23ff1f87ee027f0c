"""The lines that Microsoft's page gives its readers, edition by edition."""

from __future__ import annotations

from typing import NamedTuple

import pytest

PAGE_EVENT = "f020ba2e-3bc0-4c40-a10b-86575a9eabd5"


class Edition(NamedTuple):
    """The lines of one edition of the page, and what its version adds to the members of an event."""

    get: str
    post: str
    resource: str
    more_members: str


RESTART = "Virtual machine is going to be restarted as requested by authorized user."

EDITIONS = {
    "2017-03": Edition(
        "curl -H Metadata:true http://169.254.169.254/metadata/scheduledevents?api-version=2017-03-01",
        """curl -H Metadata:true -X POST -d '{"DocumentIncarnation":"5", "StartRequests": """
        """[{"EventId": "f020ba2e-3bc0-4c40-a10b-86575a9eabd5"}]}' """
        "http://169.254.169.254/metadata/scheduledevents?api-version=2017-03-01",
        "_web-0",
        "",
    ),
    "2017-08": Edition(
        "curl -H Metadata:true http://169.254.169.254/metadata/scheduledevents?api-version=2017-08-01",
        """curl -H Metadata:true -X POST -d '{"DocumentIncarnation":"5", "StartRequests": """
        """[{"EventId": "f020ba2e-3bc0-4c40-a10b-86575a9eabd5"}]}' """
        "http://169.254.169.254/metadata/scheduledevents?api-version=2017-08-01",
        "web-0",
        "",
    ),
    "2019-08": Edition(
        "curl -H Metadata:true http://169.254.169.254/metadata/scheduledevents?api-version=2019-08-01",
        """curl -H Metadata:true -X POST -d '{"StartRequests": """
        """[{"EventId": "f020ba2e-3bc0-4c40-a10b-86575a9eabd5"}]}' """
        "http://169.254.169.254/metadata/scheduledevents?api-version=2019-01-01",
        "web-0",
        f',"Description":"{RESTART}","EventSource":"User"',
    ),
}
editions = pytest.mark.parametrize("edition", EDITIONS.values(), ids=EDITIONS.keys())
