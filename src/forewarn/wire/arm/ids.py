"""Resource ids: written in the case that Azure uses, read in any."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.core.fleet import AvailabilitySet, CloudService, ScaleSet, Vm, VmSet
from forewarn.core.requests.machines import SetRef
from forewarn.core.world import World

COMPUTE = "Microsoft.Compute"
VMS = "virtualMachines"
SCALE_SETS = "virtualMachineScaleSets"
AVAILABILITY_SETS = "availabilitySets"
CLOUD_SERVICES = "cloudServices"
_KIND_OF_SET = {ScaleSet: SCALE_SETS, AvailabilitySet: AVAILABILITY_SETS, CloudService: CLOUD_SERVICES}


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of everything in one subscription."""

    subscription: str

    @property
    def root(self) -> str:
        """The subscription's own."""
        return f"/subscriptions/{self.subscription}"

    def group(self, name: str) -> str:
        """A resource group's."""
        return f"{self.root}/resourceGroups/{name}"

    def of_set(self, owner: VmSet) -> str:
        """A set's."""
        return f"{self.group(owner.resource_group)}/providers/{COMPUTE}/{_KIND_OF_SET[type(owner)]}/{owner.name}"

    def of_vm(self, world: World, vm: Vm) -> str:
        """A VM's; an instance of a scale set is found under that."""
        owner = world.sets.get(vm.set_name) if vm.set_name else None
        if isinstance(owner, ScaleSet) and vm.instance is not None:
            return f"{self.of_set(owner)}/{VMS}/{vm.instance}"
        return self.of_single_vm(vm)

    def of_single_vm(self, vm: Vm) -> str:
        """That of a VM outside a scale set."""
        return f"{self.group(vm.resource_group)}/providers/{COMPUTE}/{VMS}/{vm.name}"

    def set_in(self, resource_id: str, kind: str) -> SetRef | None:
        """The set of that kind that an id names; None where it is no such id, or of another subscription."""
        *before, name = resource_id.strip("/").split("/")
        group = before[3] if len(before) > 3 else ""  # noqa: PLR2004 - /subscriptions/S/resourceGroups/GROUP
        wanted = f"{self.group(group)}/providers/{COMPUTE}/{kind}"
        is_ours = name and group and f"/{'/'.join(before)}".lower() == wanted.lower()
        return SetRef(group, name) if is_ours else None
