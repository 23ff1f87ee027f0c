"""Every call of azure-mgmt-compute that forewarn answers, for an interpreter that has some version of it.

    python sdk_calls.py < {"url", "subscription", "token", "how", "ca", "only"}

`how` is one of the ways in which the SDK reaches a service that is not Azure: `policy` and `per call` over plain
http, `tls` with a certificate of one's own. A line of JSON comes out for each call: its name, and what came of it.
`only` names the calls that are wanted, where not all are. Nothing of ours is imported here.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator

from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.mgmt.compute import ComputeManagementClient

LONGEST_SECONDS = 60
FIRST = {"instanceIds": ["0", "1"]}
THIRD = {"instanceIds": ["2"]}
PROFILE = {
    "scheduledEventsProfile": {"terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT7M"}}
}


class Credential:
    """A token that somebody else has got."""

    def __init__(self, token: str) -> None:
        self._token = token

    def get_token(self, *_scopes: str, **_options: object) -> AccessToken:
        return AccessToken(self._token, int(time.time()) + 3600)


class Header(SansIOHTTPPolicy):
    """The token in a header, whatever the scheme is."""

    def __init__(self, token: str) -> None:
        self._token = token

    def on_request(self, request: object) -> None:
        request.http_request.headers["Authorization"] = f"Bearer {self._token}"  # type: ignore[attr-defined]


def connect(given: dict[str, str]) -> tuple[ComputeManagementClient, dict[str, bool]]:
    """A client, and what each call of it needs besides."""
    url = given["url"]
    common = {"base_url": url, "credential_scopes": [f"{url}/.default"]}
    credential = Credential(given["token"])
    if given["how"] == "policy":
        policy = Header(given["token"])
        return ComputeManagementClient(
            credential, given["subscription"], authentication_policy=policy, **common
        ), {}
    if given["how"] == "per call":
        return ComputeManagementClient(credential, given["subscription"], **common), {"enforce_https": False}
    trust = given["ca"]
    return ComputeManagementClient(credential, given["subscription"], connection_verify=trust, **common), {}


Calls = Iterator[tuple[str, Callable[[], object]]]


def end(poller: object) -> str:
    """How long work ended."""
    poller.result(timeout=LONGEST_SECONDS)  # type: ignore[attr-defined]
    return poller.status()  # type: ignore[attr-defined]


def names(found: object) -> list[str]:
    return [each.name for each in found]  # type: ignore[attr-defined]


def no(error: HttpResponseError) -> list[object]:
    """What a refusal says: the exception, the status and the code."""
    return [type(error).__name__, error.status_code, error.error.code]  # type: ignore[union-attr]


def vm_calls(client: ComputeManagementClient, more: dict[str, bool]) -> Calls:
    vms = client.virtual_machines
    yield "vm get", lambda: vms.get("rg", "vm1", **more).name
    yield "vm get, unknown", lambda: vms.get("rg", "nope", **more)
    yield (
        "vm get, expanded",
        lambda: vms.get("rg", "vm1", expand="instanceView", **more).instance_view.statuses[1].code,
    )
    yield "vm instance view", lambda: vms.instance_view("rg", "vm1", **more).statuses[1].code
    yield "vm list", lambda: names(vms.list("rg", **more))
    yield "vm list, pages", lambda: len(names(vms.list("crowd", **more)))
    yield "vm list all", lambda: len(names(vms.list_all(**more)))
    yield "vm list by location", lambda: len(names(vms.list_by_location("local", **more)))
    for name in ("restart", "redeploy", "reapply", "power_off", "start", "deallocate", "perform_maintenance"):
        target = "vm2" if name == "perform_maintenance" else "vm1"
        begin = getattr(vms, f"begin_{name}")
        yield f"vm {name}", lambda begin=begin, target=target: end(begin("rg", target, **more))
    yield "vm start again", lambda: end(vms.begin_start("rg", "vm1", **more))
    yield "vm start, running", lambda: end(vms.begin_start("rg", "vm1", **more))
    yield "vm power_off, hard", lambda: end(vms.begin_power_off("rg", "vm1", skip_shutdown=True, **more))
    yield "vm restart, stopped", lambda: end(vms.begin_restart("rg", "vm1", **more))
    yield "vm restart, failing", lambda: end(vms.begin_restart("rg", "failing", **more))
    yield "vm simulate eviction", lambda: vms.simulate_eviction("rg", "spot", **more)
    yield "vm simulate eviction, regular", lambda: vms.simulate_eviction("rg", "vm2", **more)
    yield "vm update", lambda: vms.begin_update("rg", "vm2", {"tags": {"a": "b"}}, **more).result().tags
    made = {"location": "local", "properties": {"priority": "Spot", "evictionPolicy": "Delete"}}
    yield "vm create", lambda: vms.begin_create_or_update("rg", "new", made, **more).result().priority
    yield "vm write what was read", lambda: rewrite(vms, "vm2", more)
    yield "vm delete", lambda: end(vms.begin_delete("rg", "doomed", **more))
    yield "vm delete, absent", lambda: end(vms.begin_delete("rg", "doomed", **more))


def rewrite(vms: object, name: str, more: dict[str, bool]) -> bool:
    before = vms.get("rg", name, **more)  # type: ignore[attr-defined]
    after = vms.begin_create_or_update("rg", name, before, **more).result()  # type: ignore[attr-defined]
    return before.as_dict() == after.as_dict()


def scale_set_calls(client: ComputeManagementClient, more: dict[str, bool]) -> Calls:
    sets, instances = client.virtual_machine_scale_sets, client.virtual_machine_scale_set_vms
    yield "set get", lambda: sets.get("rg", "ss1", **more).sku.capacity
    yield "set list", lambda: names(sets.list("rg", **more))
    yield "set list all", lambda: names(sets.list_all(**more))
    for name in ("restart", "redeploy", "power_off", "start", "reimage", "perform_maintenance"):
        begin = getattr(sets, f"begin_{name}")
        body = THIRD if name == "perform_maintenance" else FIRST
        yield f"set {name}", lambda begin=begin, body=body: end(begin("rg", "ss1", body, **more))
    yield "set restart, all", lambda: end(sets.begin_restart("rg", "ss1", **more))
    yield "instance get", lambda: instances.get("rg", "ss1", "0", **more).name
    yield "instance get, unknown", lambda: instances.get("rg", "ss1", "99", **more)
    yield "instance view", lambda: instances.get_instance_view("rg", "ss1", "0", **more).statuses[1].code
    yield "instance list", lambda: names(instances.list("rg", "ss1", **more))
    for name in ("restart", "redeploy", "perform_maintenance"):
        begin = getattr(instances, f"begin_{name}")
        number = "3" if name == "perform_maintenance" else "0"
        yield f"instance {name}", lambda begin=begin, number=number: end(begin("rg", "ss1", number, **more))
    yield "instance simulate eviction", lambda: instances.simulate_eviction("rg", "ss-spot", "0", **more)
    yield "instance delete", lambda: end(instances.begin_delete("rg", "ss1", "4", **more))
    yield (
        "set delete instances",
        lambda: end(sets.begin_delete_instances("rg", "ss1", {"instanceIds": ["3"]}, **more)),
    )
    yield "instance list, fewer", lambda: names(instances.list("rg", "ss1", **more))
    profile = {"properties": {"virtualMachineProfile": PROFILE}}
    yield "set update, profile", lambda: notice(sets.begin_update("rg", "ss1", profile, **more).result())
    smaller = {"sku": {"capacity": 1}}
    yield "set update, capacity", lambda: sets.begin_update("rg", "ss1", smaller, **more).result().sku.capacity
    made = {"location": "local", "sku": {"name": "Standard_D2s_v3", "capacity": 2}}
    yield (
        "set create",
        lambda: sets.begin_create_or_update("rg", "ss2", made, **more).result().sku.capacity,
    )
    yield "set delete", lambda: end(sets.begin_delete("rg", "ss2", **more))
    owners = client.availability_sets
    yield (
        "availability set create",
        lambda: owners.create_or_update("rg", "as2", {"location": "local"}, **more).platform_update_domain_count,
    )
    yield "availability set list", lambda: names(owners.list("rg", **more))
    yield "availability set delete", lambda: owners.delete("rg", "as2", **more)


def notice(found: object) -> str:
    profile = found.virtual_machine_profile.scheduled_events_profile  # type: ignore[attr-defined]
    return profile.terminate_notification_profile.not_before_timeout


def main() -> None:
    given = json.loads(sys.stdin.readline())
    client, more = connect(given)
    for calls in (vm_calls, scale_set_calls):
        for name, call in calls(client, more):
            if given["only"] and name not in given["only"]:
                continue
            try:
                outcome = call()
            except HttpResponseError as error:
                outcome = no(error)
            print(json.dumps([name, outcome]), flush=True)


if __name__ == "__main__":
    main()
