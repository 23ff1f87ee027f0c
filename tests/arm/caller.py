"""ARM as a client without an SDK calls it: over a socket, one request at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from forewarn.config import Settings
from tests.running import Reply, RunningService

SUBSCRIPTION = Settings().subscription
ROOT = f"/subscriptions/{SUBSCRIPTION}"
VERSION = "2024-07-01"

Json = dict[str, Any]


def group(name: str = "default") -> str:
    return f"{ROOT}/resourceGroups/{name}"


def compute(what: str, in_group: str = "default") -> str:
    return f"{group(in_group)}/providers/Microsoft.Compute/{what}"


def vm(name: str, in_group: str = "default") -> str:
    return compute(f"virtualMachines/{name}", in_group)


def availability_set(name: str, in_group: str = "default") -> str:
    return compute(f"availabilitySets/{name}", in_group)


def scale_set(name: str, in_group: str = "default") -> str:
    return compute(f"virtualMachineScaleSets/{name}", in_group)


def instance(owner: str, number: int) -> str:
    return f"{scale_set(owner)}/virtualMachines/{number}"


def terminate_notice(timeout: str | None, *, enable: bool = True) -> Json:
    """The profile of a VM, or of a scale set's model, whose deletion is announced that long ahead."""
    notice = {"enable": enable} | ({} if timeout is None else {"notBeforeTimeout": timeout})
    return {"scheduledEventsProfile": {"terminateNotificationProfile": notice}}


def model(**properties: Any) -> Json:
    """The properties of a scale set whose instances are made like that."""
    return {"properties": {"virtualMachineProfile": properties}}


def approves(**approvals: bool) -> Json:
    """The policy that approves these beforehand, or does not."""
    return {"scheduledEventsPolicy": {name: {"automaticallyApprove": each} for name, each in approvals.items()}}


@dataclass(frozen=True)
class Refused:
    """What ARM says no with."""

    status: int
    code: str
    message: str


class Arm:
    """The ARM surface of one service."""

    def __init__(self, service: RunningService) -> None:
        self.service = service

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> Reply:
        """One request, with an api-version."""
        return self.service.operator(method, f"{path}?{urlencode({'api-version': VERSION} | query)}", body)

    def get(self, path: str, **query: str) -> Json:
        """What is there."""
        reply = self.ask("GET", path, **query)
        assert reply.status == 200, (path, reply)
        return reply.json

    def names(self, path: str, **query: str) -> list[str]:
        """What a list has on its one page."""
        answer = self.get(path, **query)
        assert "nextLink" not in answer
        return [each["name"] for each in answer["value"]]

    def put(self, path: str, body: Json, expect: int = 200) -> Json:
        """Write a resource."""
        reply = self.ask("PUT", path, body)
        assert reply.status == expect, (path, reply)
        return reply.json

    def patch(self, path: str, body: Json) -> Json:
        """Change some members of a resource."""
        reply = self.ask("PATCH", path, body)
        assert reply.status == 200, (path, reply)
        return reply.json

    def make_vm(self, name: str, properties: Json | None = None, **members: Any) -> Json:
        """A new VM."""
        return self.put(vm(name), {"location": "local", "properties": properties or {}, **members}, expect=201)

    def make_scale_set(self, name: str, capacity: int, body: Json | None = None) -> Json:
        """A new scale set."""
        return self.put(scale_set(name), {"location": "local", "sku": {"capacity": capacity}} | (body or {}), 201)

    def begin(self, method: str, path: str, body: Any = None) -> Work:
        """Long work, which has to be accepted."""
        reply = self.ask(method, path, body)
        assert (reply.status, reply.body) == (202, b""), (path, reply)
        return Work(self, reply)

    def refused(self, method: str, path: str, body: Any = None, **query: str) -> Refused:
        """How a request is refused, which it has to be."""
        return refused(self.ask(method, path, body, **query))

    def power(self, path: str) -> str:
        """Whether a machine runs."""
        statuses = self.get(f"{path}/instanceView")["statuses"]
        return next(each["code"] for each in statuses if each["code"].startswith("PowerState/"))

    # Guests of machines that were made over ARM have no address: give them one, and ask for the document.

    def seat(self, **addresses: str) -> None:
        """Give VMs their addresses, as an operator does who applies the fleet that there is with them added."""
        fleet = self.service.get("/v1/fleet")
        for each in fleet["vms"]:
            each["addresses"] = [addresses[each["name"]]] if each["name"] in addresses else each["addresses"]
        for each in fleet["scale_sets"]:
            own = [
                addresses[f"{each['name']}_{n}"]
                for n in range(each["capacity"])
                if f"{each['name']}_{n}" in addresses
            ]
            each["addresses"] = own or each["addresses"]
        reply = self.service.operator("PUT", "/v1/fleet", fleet)
        assert reply.status == 200, reply


def refused(reply: Reply) -> Refused:
    """A refusal, in ARM's shape and no other."""
    assert reply.status >= 400, reply
    assert set(reply.json) == {"error"}, reply
    assert set(reply.json["error"]) == {"code", "message"}, reply
    return Refused(reply.status, **reply.json["error"])


@dataclass(frozen=True)
class Work:
    """Work that goes on, followed where its answer said."""

    arm: Arm
    accepted: Reply

    def follow(self, header: str = "azure-asyncoperation") -> Reply:
        """What stands at the address in a header of the answer."""
        address = urlsplit(self.accepted.headers[header])
        return self.arm.service.operator("GET", f"{address.path}?{address.query}")

    @property
    def status(self) -> str:
        reply = self.follow()
        assert reply.status == 200, reply
        return reply.json["status"]
