"""azure-mgmt-compute itself drives the service, over plain http and over TLS."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.arm.quick import let_maintenance_wait, quick
from tests.arm.sdk import EXPECTED, hear, outcomes, say, speaking, start
from tests.running import RunningService, wait_until
from tests.sign_in.certificates import make_certificate, trusting
from tests.sign_in.people import bearer, jwt_for

_GUEST = Path(__file__).with_name("guest.py")
_WAYS_OVER_HTTP = ["policy", "per call"]
_RESTARTED = "Virtual machine is going to be restarted as requested by authorized user."
_REDEPLOYED = "Virtual machine is going to be redeployed as requested by authorized user."


@pytest.mark.parametrize("how", _WAYS_OVER_HTTP)
def test_every_call_is_answered_over_http(how: str):
    with quick() as service:
        let_maintenance_wait(service)

        with start(service, how) as sdk:
            found = outcomes(sdk)

    assert found == EXPECTED


def test_every_call_is_answered_over_tls_for_a_principal_that_signed_in(tmp_path: Path):
    ca = make_certificate(tmp_path)
    with quick(tls_cert=tmp_path / "server.pem", tls_key=tmp_path / "server.key") as service:
        service.trust = trusting(ca)
        let_maintenance_wait(service)
        admin = service.post("/v1/tokens", {"name": "root", "role": "admin"})["token"]
        service.headers = bearer(admin)
        made = service.post("/v1/principals", {"name": "deployer", "role": "operator"})
        token = jwt_for(
            service, made["client_id"], made["client_secret"], f"https://localhost:{service.service.operator[1]}"
        )

        with start(service, "tls", token=token, ca=ca) as sdk:
            found = outcomes(sdk)

        history = service.get("/v1/history")["history"]
    assert found == EXPECTED
    assert {each["asked_by"] for each in history if each["operation"]} <= {"deployer", "operator"}
    assert "deployer" in {each["asked_by"] for each in history}


@contextmanager
def guest_of(service: RunningService) -> Iterator[subprocess.Popen[str]]:
    """A guest that has asked once; its event comes with the next line that it writes."""
    url = f"http://127.0.0.1:{service.metadata_port}"
    with speaking([sys.executable, "-I", str(_GUEST), url]) as process:
        assert hear(process) == []
        yield process


@pytest.mark.parametrize(
    ("call", "kind", "description"),
    [("vm restart", "Reboot", _RESTARTED), ("vm redeploy", "Redeploy", _REDEPLOYED)],
    ids=["restart", "redeploy"],
)
def test_a_call_returns_only_after_a_guest_saw_the_event_and_approved_it(call: str, kind: str, description: str):
    with quick(guest="vm1") as service, guest_of(service) as guest, start(service, "policy", only=[call]) as sdk:
        event = hear(guest)
        (waiting,) = service.get("/v1/events")["events"]
        had_returned = sdk.poll() is not None

        say(guest, "go ahead")
        found = outcomes(sdk)
        (row,) = service.get("/v1/history")["history"]

        assert (event["EventType"], event["EventStatus"], event["Resources"]) == (kind, "Scheduled", ["vm1"])
        assert (event["Description"], event["EventSource"]) == (description, "User")
        assert (waiting["phase"], waiting["id"], had_returned) == ("Scheduled", event["EventId"], False)
        assert found == {call: "Succeeded"}
        assert (row["outcome"], row["approved_by"], row["event"]) == ("Completed", "vm1", event["EventId"])
        wait_until(lambda: guest.poll() == 0, "the guest to see that the event is gone")
