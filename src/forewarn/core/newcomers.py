"""Where new machines come up: on declared hosts that take VMs and keep update domains apart, else on their own.

One of these serves a whole request: what it has seated counts for those that come after.
"""

from __future__ import annotations

from collections import Counter

from forewarn.core.draft import Draft
from forewarn.core.fleet import Host, Vm
from forewarn.core.placement import takes_vms
from forewarn.core.seats import own_host


class Newcomers:
    """The hosts as they fill up while a request makes machines."""

    def __init__(self, draft: Draft) -> None:
        world = draft.world
        self._draft = draft
        self._hosts = {
            host.name: host for host in world.hosts.values() if host.is_declared and takes_vms(world, host)
        }
        coming = {name: sum(1 for _ in world.heading_to(name)) for name in self._hosts}
        self._load = Counter({name: world.load_of(name) + coming[name] for name in self._hosts})
        self._awaits = {name for name in self._hosts if world.awaits_turn(name)}
        self._domains: dict[str, dict[str, set[int]]] = {}  # by set and host

    def host_for(self, vm: Vm, home: str | None = None) -> Host:
        """A host for the VM: the one it is meant for, if that takes VMs; the best that fits; or one of its own.

        A host that a rollout is still to come to is worse than any other; then the emptiest is best.
        """
        fitting = [name for name in self._hosts if self._fits(vm, name)]
        chosen = home if home in self._hosts else min(fitting, key=self._rank, default=None)
        if chosen is None:
            host = own_host(vm.name, vm.zone, self._draft.world.hosts)
            self._draft.put(host)
            return host
        self._load[chosen] += 1
        if vm.set_name is not None:
            self._in_set(vm.set_name).setdefault(chosen, set()).add(vm.update_domain)
        return self._hosts[chosen]

    def _rank(self, name: str) -> tuple[bool, int, str]:
        return name in self._awaits, self._load[name], name

    def _fits(self, vm: Vm, host: str) -> bool:
        zone = self._hosts[host].zone
        if vm.zone is not None and zone is not None and zone != vm.zone:
            return False
        return vm.set_name is None or self._in_set(vm.set_name).get(host, {vm.update_domain}) == {vm.update_domain}

    def _in_set(self, name: str) -> dict[str, set[int]]:
        """The update domains of a set on each host, those on their way there included."""
        if name not in self._domains:
            found = self._domains[name] = {}
            for member in self._draft.world.members_of_set(name):
                for host in (member.host, self._draft.world.bound_for(member.name)):
                    if host is not None:
                        found.setdefault(host, set()).add(member.update_domain)
        return self._domains[name]
