"""What each member of a body does; the reference page is made from it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from forewarn.core.fleet import DEFAULT_FAULT_DOMAINS, DEFAULT_UPDATE_DOMAINS
from forewarn.core.fleet_check import MOST_FAULT_DOMAINS, MOST_UPDATE_DOMAINS

_LOCATION = "told to clients; lists by location go by it"
_FIXED = "cannot be changed"
_POLICY = (
    "what is approved without asking guests: `userInitiatedReboot` and `userInitiatedRedeploy` the owner's own "
    "requests (default false), `allInstancesDown` any event, while no VM that shares its document runs (default "
    "true). A VM of a set goes by the set's policy. Where VMs of a cloud service share a document, "
    "`allInstancesDown` has to be true for all of them. `scheduledEventsAdditionalPublishingTargets` is kept and "
    "has no effect"
)
_ONE_GROUP = "true: all instances share one document; else those with the numbers 0 to 99 do, and so on"
_PROFILE = "properties.scheduledEventsProfile"
_UPDATE_DOMAINS = "properties.platformUpdateDomainCount"
_FAULT_DOMAINS = "properties.platformFaultDomainCount"
MEANINGS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "virtualMachines": {
            "location": _LOCATION,
            "zones": f"the zone that it is put in; {_FIXED}",
            "tags": "told to guests",
            "properties.availabilitySet": f"the set it belongs to, with an update domain by order; {_FIXED}",
            "properties.virtualMachineScaleSet": "refused, but for the one it is in: capacity makes instances",
            "properties.priority": f"Regular or Spot: only a Spot VM can be evicted; {_FIXED}",
            "properties.evictionPolicy": "whether a Preempt ends in deallocated or deleted",
            "properties.osProfile.computerName": f"told to guests; {_FIXED}",
            "properties.hardwareProfile.vmSize": "told to guests",
            f"{_PROFILE}.terminateNotificationProfile": "a delete is announced that long ahead, PT5M to PT15M",
            f"{_PROFILE}.osImageNotificationProfile": "a reimage is announced, PT15M ahead",
            "properties.scheduledEventsPolicy": _POLICY,
        },
        "virtualMachineScaleSets": {
            "location": _LOCATION,
            "sku.name": "the size that instances are told",
            "sku.capacity": "how many instances; fewer deletes the last ones, announced by their profile",
            "zones": f"the zones of the instances, in turn; {_FIXED}",
            "tags": "told to guests",
            "properties.singlePlacementGroup": f"{_ONE_GROUP}; {_FIXED}",
            "properties.virtualMachineProfile.priority": "as of a VM",
            "properties.virtualMachineProfile.evictionPolicy": "as of a VM",
            "properties.virtualMachineProfile.scheduledEventsProfile": "as of a VM, at once for all instances",
            "properties.scheduledEventsPolicy": "as of a VM, for all instances",
        },
        "availabilitySets": {
            "location": _LOCATION,
            "tags": "kept, and told in the fleet",
            _UPDATE_DOMAINS: f"1 to {MOST_UPDATE_DOMAINS}, by default {DEFAULT_UPDATE_DOMAINS}; {_FIXED}",
            _FAULT_DOMAINS: f"1 to {MOST_FAULT_DOMAINS}, by default {DEFAULT_FAULT_DOMAINS}; {_FIXED}",
            "properties.scheduledEventsPolicy": "as of a VM, for all its VMs",
        },
        "resourceGroups": {"location": "told to clients", "tags": "told to clients"},
    }
)
