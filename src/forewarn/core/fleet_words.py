"""What every key of a fleet file means, and what it may be: for the reference page.

The limits are those that fleet_check.py goes by; a test sees to it that no key is missing here.
"""

from __future__ import annotations

from collections.abc import Mapping

from forewarn.core.fleet import DEFAULT_UPDATE_DOMAINS
from forewarn.core.fleet_check import MOST_FAULT_DOMAINS, MOST_INSTANCES, MOST_UPDATE_DOMAINS, NAME_IN_WORDS
from forewarn.core.fleet_spec import AvailabilitySetSpec, CloudServiceSpec, HostSpec, ScaleSetSpec, VmSpec

_RESOURCE_GROUP = "The resource group that guests and clients are told."
_TAGS = "Names and values that guests and clients are told."
_PRIORITY = "A Spot VM can be evicted."
_EVICTION_POLICY = "What becomes of a Spot VM that is evicted."
_TERMINATE = (
    "How long ahead a delete is announced, `PT5M` to `PT15M`; `true` for the least, without it not at all. "
    'Not with `priority = "Spot"`.'
)

_AUTO_APPROVE = (
    "What is approved without asking the guests: `Reboot` and `Redeploy` for what the owner asks for, "
    "`AllInstancesDown` for anything while no VM of the document runs."
)
_HEALTH = (
    "What a rollout asks before it goes on from one wave to the next: an address that has to answer 2xx, "
    "or the name of a command that the service knows (`--health-command`)."
)
_MINIMUM = (
    f"How many of its VMs planned platform work leaves running, 0 to {MOST_INSTANCES}: it waits while there would "
    "be fewer, and is refused where it would wait for ever."
)
_COMPUTE = (
    "Members of `compute` in the guests' instance metadata, named and nested as on Azure, every value a text: "
    '`{ vmSize = "Standard_D4s_v5", publicKeys = [{ keyData = "ssh-ed25519 ..." }] }`. '
    "All of them, and their defaults: [Metadata endpoint](metadata.md#members-of-compute)."
)
_SUBNET = "The IPv4 subnet that guests are told, like `10.0.0.0/24`; without it, the /24 of the first address."
_REIMAGE = "Whether a reimage is announced, 15 minutes ahead."

TABLES: Mapping[type, str] = {
    HostSpec: "What VMs run on.",
    AvailabilitySetSpec: "VMs of one job, spread over update and fault domains: one scope, with one document.",
    ScaleSetSpec: "Numbered VMs of one kind: `NAME_0`, `NAME_1`, ... Every placement group of them is a scope.",
    CloudServiceSpec: "Role instances of one service: one scope, with one document.",
    VmSpec: "A VM. VMs and instances of scale sets share one namespace.",
}

KEYS: Mapping[type, Mapping[str, str]] = {
    HostSpec: {
        "name": f"{NAME_IN_WORDS.capitalize()}. Unique among hosts, whatever the case of its letters.",
        "zone": "The zone that it is in. A VM that is put there and names another zone is refused.",
        "fault_domain": "The fault domain that its VMs are in.",
        "tags": "Names and values of your own.",
    },
    AvailabilitySetSpec: {
        "name": "As of a host. Availability sets, scale sets and cloud services share one namespace.",
        "update_domains": f"1 to {MOST_UPDATE_DOMAINS}. Planned work takes down one of them at a time.",
        "fault_domains": f"1 to {MOST_FAULT_DOMAINS}.",
        "spread": "`true`: two update domains on one host are refused. `false`: they are taken.",
        "resource_group": _RESOURCE_GROUP,
        "auto_approve": _AUTO_APPROVE,
        "tags": "Names and values that clients are told.",
        "health_check": _HEALTH,
        "min_available": _MINIMUM,
    },
    ScaleSetSpec: {
        "name": "As of an availability set.",
        "capacity": f"How many instances, 0 to {MOST_INSTANCES}. An instance's update domain is its number modulo "
        f"{DEFAULT_UPDATE_DOMAINS}.",
        "hosts": "Where the instances go, in turn; without it each gets a host of its own. Each has to exist.",
        "addresses": "By which the instances are recognised, the first for `NAME_0` and so on.",
        "priority": _PRIORITY,
        "eviction_policy": _EVICTION_POLICY,
        "terminate_notification": _TERMINATE,
        "placement_group_size": (
            f"How many instances share one document, 1 to {MOST_INSTANCES}, by their numbers: with 100, `NAME_0` "
            "to `NAME_99` share one, even if some of them have gone and later ones have come."
        ),
        "zones": "The zones that the instances are in, in turn.",
        "resource_group": _RESOURCE_GROUP,
        "tags": _TAGS,
        "auto_approve": _AUTO_APPROVE,
        "announces_reimage": _REIMAGE,
        "health_check": _HEALTH,
        "min_available": _MINIMUM,
        "subnet": _SUBNET,
        "compute": _COMPUTE,
    },
    CloudServiceSpec: {
        "name": "As of an availability set.",
        "resource_group": _RESOURCE_GROUP,
        "health_check": _HEALTH,
        "min_available": _MINIMUM,
    },
    VmSpec: {
        "name": "As of a host.",
        "host": "Where it is at first; without one it gets a host of its own. It has to exist.",
        "availability_set": "The set that it belongs to. At most one of these three, and it has to exist.",
        "scale_set": "The same, in the first placement group.",
        "cloud_service": "The same. None of the three: a standalone VM, with a document of its own.",
        "update_domain": "Without it: by order in the set, modulo the set's count. It has to be below the "
        "availability set's count.",
        "addresses": "IP addresses by which its guest is recognised. No two VMs share one.",
        "interface": "The host's interface behind which its guest is, and by which it is recognised "
        "instead of its addresses. No two VMs share one.",
        "port": "A port of the listener for its guest alone, 1 to 65535. No two VMs share one.",
        "computer_name": "The name that the guest knows itself by; without it, the VM's.",
        "zone": "The zone that it is in; without it, its host's.",
        "priority": _PRIORITY,
        "eviction_policy": _EVICTION_POLICY,
        "terminate_notification": _TERMINATE,
        "resource_group": _RESOURCE_GROUP,
        "tags": _TAGS,
        "auto_approve": f"{_AUTO_APPROVE} A VM of a set goes by the set's, and is refused one of its own.",
        "announces_reimage": _REIMAGE,
        "mac": "The MAC address that its guest is told; without it, one that is derived from the VM.",
        "subnet": _SUBNET,
        "compute": f"{_COMPUTE} Over those of its scale set.",
    },
}
