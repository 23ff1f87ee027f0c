"""What every key of a scenario file means, and which deed and which expectation takes it.

The reference page is made from these, and check.py goes by them; a test sees to it that no key is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forewarn.scenario.model import Act, Deed, Expectation, GuestScript, Head


@dataclass(frozen=True, slots=True)
class DeedWords:
    """What a deed needs, what it takes besides, and what it does."""

    needs: tuple[str, ...]  # one of these
    takes: tuple[str, ...]
    does: str


_VM = ("vm",)
_HOST = ("host", "vm")
DEEDS: Mapping[Deed, DeedWords] = {
    Deed.RESTART: DeedWords(_VM, ("who",), "The owner restarts a VM: Reboot, 15 minutes ahead."),
    Deed.REDEPLOY: DeedWords(_VM, ("who",), "The owner redeploys a VM: Redeploy, 10 minutes ahead."),
    Deed.STOP: DeedWords(_VM, ("who",), "The owner stops a VM. Nothing is announced."),
    Deed.START: DeedWords(_VM, ("who",), "The owner starts a VM. Nothing is announced."),
    Deed.DELETE: DeedWords(
        _VM, ("who",), "The owner deletes a VM: Terminate, where the VM has a `terminate_notification`."
    ),
    Deed.EVICT: DeedWords(_VM, ("who",), "A Spot VM's capacity is taken back: Preempt, 30 seconds ahead."),
    Deed.SCALE: DeedWords(
        ("scale_set",),
        ("to", "who"),
        "A scale set is to have `to` instances; those too many are deleted, the last first.",
    ),
    Deed.MAINTAIN: DeedWords(
        _HOST,
        ("kind", "by", "duration_seconds", "notice", "description", "who"),
        "Planned work on a host: `kind` for the VMs on it.",
    ),
    Deed.DEGRADE: DeedWords(
        _HOST, ("notice", "risk", "who"), "A host is expected to fail: Redeploy, a week ahead unless told sooner."
    ),
    Deed.FAIL: DeedWords(_HOST, ("kind", "who"), "A host has failed: events are born Started."),
    Deed.RECOVER: DeedWords(_HOST, ("who",), "A host is well again."),
    Deed.ROLLOUT: DeedWords(
        (),
        ("hosts", "kind", "by", "duration_seconds", "notice", "recovery", "who"),
        "`kind` over `hosts`, or all of them, one update domain after the other.",
    ),
    Deed.APPROVE: DeedWords(
        _VM, ("kind", "who"), "An operator approves the VM's open event; the last, where there are several."
    ),
    Deed.CANCEL: DeedWords(
        _VM, ("kind", "who"), "What is scheduled for the VM is called off; the last, where there are several."
    ),
    Deed.FAULT: DeedWords(("fault",), ("vm", "options"), "A fault is put in, for one VM or for all."),
    Deed.CLEAR: DeedWords((), ("fault",), "Faults are taken out again: those of that name, or all."),
}

# By what an expectation is about, the keys that say so; `kind` says which of a VM's events is meant.
EXPECTED_OF: Mapping[str, tuple[str, ...]] = {
    "vm": (
        "kind",
        "phase",
        "notice",
        "not_before_in",
        "approved_by",
        "description",
        "duration_seconds",
        "source",
        "resources",
        "fault",
        "count",
        "empty",
        "events",
        "incarnation",
        "on",
        "state",
        "host",
    ),
    "guest": ("kind", "saw", "status", "ids"),
    "": ("open",),
}
OF_AN_EVENT = EXPECTED_OF["vm"][:10]
OF_A_VM_THAT_IS = ("empty", "events", "incarnation", "on", "host")  # and of no other; a deleted one has a state

# What the service of a scenario may be told; the words are those of `forewarn serve`.
SERVICE_SETTINGS = (
    "lead",
    "reset_incarnation",
    "failed_host_kind",
    "simulated_seconds",
    "user_operation_limit",
    "sick_host_percent",
    "postpone_limit",
    "action_limit",
    "first_call_delay",
    "location",
    "subscription",
    "tenant",
)

# What is to be known of a setting in a scenario beyond that.
SETTING_NOTES: Mapping[str, str] = {
    "first_call_delay": (
        "It takes real time, at any rate and with --virtual: a guest whose `timeout` is shorter gets no answer."
    ),
}
# What a service may be told and a scenario not: why, and what to do instead.
NO_SETTINGS: Mapping[str, tuple[str, str]] = {
    "rate_limit": (
        "it counts in real time, so a scenario would not give the same bytes at any rate",
        'Put in a fault: do = "fault", fault = "status", options = { code = 429 }.',
    ),
}

TABLES: Mapping[type, str] = {
    Head: "What the scenario is called, and its time.",
    GuestScript: (
        "Programs in VMs: each polls and approves over a real socket, as its script says. Who is not scripted is "
        "silent."
    ),
    Act: "What is done, and when. Times do not go back.",
    Expectation: (
        "What is to be true at a time, after all that happens then. An expectation is about an event, a document "
        "or a machine (`vm`), about what a guest was told (`guest`), or about all of them."
    ),
}

_TIME = 'From the start: `"15m"`, `"1h30m"`, `"0:15:00"`, or seconds.'
KEYS: Mapping[type, Mapping[str, str]] = {
    Head: {
        "name": "What it is called; without it, as its file.",
        "description": "What it shows.",
        "seed": "Of the ids, and of faults that come by chance: the same seed gives the same bytes.",
        "start": "What time it is when it begins; without a zone, in UTC.",
        "length": "How long it goes on; without it, until the last time that is named.",
        "enabled": "Whether every VM has asked for its document before it begins: who has not is told nothing.",
    },
    GuestScript: {
        "vm": "The VM that it runs in; also an instance that a scale set gets later.",
        "name": "What it is called; without it, as its VM.",
        "every": "How often it polls.",
        "starts": "When it polls first.",
        "stops": "When it polls no more; without it, never.",
        "version": "Its api-version.",
        "approve_after": "How long after it has seen a Scheduled event it approves it; without it, never.",
        "approves": "The kinds that it approves.",
        "others": "Whether it also approves events that do not name its VM.",
        "conditional": "Whether it sends `If-None-Match`, and is answered 304 where nothing has changed.",
        "timeout": "How long it waits for an answer, in real time.",
        "outside": "Nothing is scripted: a program of your own speaks for the VM, and may approve.",
    },
    Act: {
        "time": _TIME,
        "do": "What is done; see above.",
        "vm": "The VM; of what is done to a host, the VM's host at that time.",
        "host": "The host.",
        "scale_set": "The scale set.",
        "to": "How many instances it is to have.",
        "hosts": "The hosts of a rollout; without it, all.",
        "kind": "What guests are told; Freeze where nothing is said. Of an approval, which event is meant.",
        "by": "`pause`, or `live_migration`: the VMs of a Freeze are moved.",
        "duration_seconds": "The interruption that is announced.",
        "notice": "How long ahead it is announced; without it, the least that the kind has.",
        "risk": "How likely the host is to fail soon, in place of a notice.",
        "description": "The text for guests; without it, that of the real service.",
        "recovery": "How long after one update domain the next may start.",
        "who": "Who asks for it, for the history.",
        "fault": "The name of the fault.",
        "options": "What the fault is to be, and how often: as `forewarn fault add` has it.",
    },
    Expectation: {
        "time": _TIME + ' `"end"`, or none at all: when everything else is over.',
        "vm": "The VM; its last event is meant, ended ones too.",
        "kind": "The last event of this kind.",
        "phase": "Where the event is in its life; `none`: there has been none.",
        "notice": "How long ahead it was announced.",
        "not_before_in": "How far ahead NotBefore is.",
        "approved_by": 'Who approved it first; `""`: nobody.',
        "description": "Its text.",
        "duration_seconds": "Its announced interruption.",
        "source": "On whose wish it happens.",
        "resources": "The VMs that it names.",
        "fault": "The fault that it is marked with.",
        "count": "How many events of the VM there have been.",
        "empty": "Whether its document has no events.",
        "events": "How many events its document has.",
        "incarnation": "The DocumentIncarnation.",
        "on": "Whether the VM's scope is on: somebody has asked in the last 24 hours.",
        "state": "What the VM is doing.",
        "host": "Where the VM is.",
        "guest": "The name of a scripted guest.",
        "saw": "What the guest saw of its VM's last event, in order: `Scheduled`, `Started`, `gone`.",
        "status": "The status of its last answer; 0: there was none.",
        "ids": "How many different events of its VM it has seen.",
        "open": "How many events are open in the whole fleet.",
    },
}
