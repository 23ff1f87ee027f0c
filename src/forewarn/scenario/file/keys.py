"""What every key of a scenario file means, and which action or expectation takes it.

The reference page is generated from these tables, and `checks.py` uses them; a test finds missing keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forewarn.scenario.file.model import ActionKind, Expectation, GuestScript, Head, TimedAction


@dataclass(frozen=True, slots=True)
class ActionWords:
    """The keys of an action, and what it does."""

    needs: tuple[str, ...]  # exactly one of these
    takes: tuple[str, ...]
    does: str


_VM = ("vm",)
_HOST = ("host", "vm")
ACTIONS: Mapping[ActionKind, ActionWords] = {
    ActionKind.RESTART: ActionWords(_VM, ("who",), "The owner restarts a VM: Reboot, 15 minutes ahead."),
    ActionKind.REDEPLOY: ActionWords(_VM, ("who",), "The owner redeploys a VM: Redeploy, 10 minutes ahead."),
    ActionKind.STOP: ActionWords(_VM, ("who",), "The owner stops a VM, without an event."),
    ActionKind.START: ActionWords(_VM, ("who",), "The owner starts a VM, without an event."),
    ActionKind.DELETE: ActionWords(
        _VM, ("who",), "The owner deletes a VM: Terminate if the VM has a `terminate_notification`."
    ),
    ActionKind.EVICT: ActionWords(_VM, ("who",), "The platform evicts a Spot VM: Preempt, 30 seconds ahead."),
    ActionKind.SCALE: ActionWords(
        ("scale_set",),
        ("to", "who"),
        "Sets a scale set's instance count to `to`; surplus instances are deleted, the last first.",
    ),
    ActionKind.MAINTAIN: ActionWords(
        _HOST,
        ("kind", "by", "duration_seconds", "notice", "description", "who"),
        "Planned maintenance of a host: an event of `kind` for the VMs on it.",
    ),
    ActionKind.DEGRADE: ActionWords(
        _HOST, ("notice", "risk", "who"), "A host is predicted to fail: Redeploy, a week ahead by default."
    ),
    ActionKind.FAIL: ActionWords(_HOST, ("kind", "who"), "A host fails: its events are Started at once."),
    ActionKind.RECOVER: ActionWords(_HOST, ("who",), "A failed or degraded host recovers."),
    ActionKind.ROLLOUT: ActionWords(
        (),
        ("hosts", "kind", "by", "duration_seconds", "notice", "recovery", "who"),
        "A rollout of `kind` over `hosts` (default: all), one update domain after the other.",
    ),
    ActionKind.APPROVE: ActionWords(_VM, ("kind", "who"), "An operator approves the VM's newest open event."),
    ActionKind.CANCEL: ActionWords(_VM, ("kind", "who"), "Cancels the VM's newest open event."),
    ActionKind.FAULT: ActionWords(("fault",), ("vm", "options"), "Adds a fault, for one VM or for all."),
    ActionKind.CLEAR: ActionWords((), ("fault",), "Clears the faults of that name, or all faults."),
}

# The keys of an expectation, by its subject; `kind` selects among the events of a VM.
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
OF_A_VM_THAT_EXISTS = ("empty", "events", "incarnation", "on", "host")  # a deleted VM has only a state

# The settings of `forewarn serve` that a scenario may set.
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

# Notes on settings that apply to scenarios only.
SETTING_NOTES: Mapping[str, str] = {
    "first_call_delay": (
        "It takes real time at any rate and with --virtual: a guest with a shorter `timeout` gets no answer."
    ),
}
# Settings of `forewarn serve` that a scenario cannot set: why, and what to do instead.
NO_SETTINGS: Mapping[str, tuple[str, str]] = {
    "rate_limit": (
        "it counts in real time, so the bytes of a play would depend on its speed",
        'Add a fault instead: do = "fault", fault = "status", options = { code = 429 }.',
    ),
}

TABLES: Mapping[type, str] = {
    Head: "The scenario's name, seed and times.",
    GuestScript: (
        "Programs in VMs: each polls and approves over a real socket as its script says. VMs without a guest are "
        "silent."
    ),
    TimedAction: "Actions and their times, in order of time.",
    Expectation: (
        "What is true at a time, after everything else that happens then. An expectation is about an event, a "
        "document or a machine (`vm`), about what a guest saw (`guest`), or about the whole fleet."
    ),
}

_TIME = 'Time since the start: `"15m"`, `"1h30m"`, `"0:15:00"`, or seconds.'
KEYS: Mapping[type, Mapping[str, str]] = {
    Head: {
        "name": "The scenario's name; default: the name of the file.",
        "description": "A sentence about the scenario.",
        "seed": "Seed of event ids and of faults by chance; the same seed gives the same bytes.",
        "start": "The date and time at the start; UTC if it has no zone.",
        "length": "How long the scenario lasts; default: until the last time in the file.",
        "enabled": "Whether Scheduled Events is on for every VM at the start; if not, a poll turns it on.",
    },
    GuestScript: {
        "vm": "The VM that the guest runs in, or an instance that a scale set gets later.",
        "name": "The guest's name; default: the name of its VM.",
        "every": "The polling interval.",
        "starts": "The time of its first poll.",
        "stops": "The time after which it no longer polls; default: never.",
        "version": "Its api-version.",
        "approve_after": "How long after it first sees a Scheduled event it approves it; default: never.",
        "approves": "The kinds that it approves.",
        "others": "Whether it also approves events that do not name its VM.",
        "conditional": "Whether it sends `If-None-Match` and gets 304 for an unchanged document.",
        "timeout": "How long it waits for an answer, in real time.",
        "outside": "No script: your own program polls for the VM, and may approve.",
    },
    TimedAction: {
        "time": _TIME,
        "do": "The action; see above.",
        "vm": "The VM; for an action on a host: the VM's host at that time.",
        "host": "The host.",
        "scale_set": "The scale set.",
        "to": "The instance count.",
        "hosts": "The hosts of a rollout; default: all.",
        "kind": "The kind of the event; default: Freeze. For approve and cancel: the kind of the event to select.",
        "by": "`pause`, or `live_migration`: a Freeze moves its VMs to another host.",
        "duration_seconds": "The announced interruption.",
        "notice": "The notice; default: the minimum of the kind.",
        "risk": "How likely the host is to fail soon; sets the notice.",
        "description": "The text for guests; default: the text of the real service.",
        "recovery": "The minimum time between two update domains.",
        "who": "The name of who asks, for the history.",
        "fault": "The name of the fault.",
        "options": "The options of `forewarn fault add`: what the fault does, and how often.",
    },
    Expectation: {
        "time": _TIME + ' `"end"`, the default: when everything else is over.',
        "vm": "The VM; the keys of an event are about its newest event, open or ended.",
        "kind": "Select the newest event of this kind.",
        "phase": "The phase of the event; `none`: there has been no event.",
        "notice": "The notice at its announcement.",
        "not_before_in": "How far ahead NotBefore is.",
        "approved_by": 'Who approved it first; `""`: nobody.',
        "description": "Its description.",
        "duration_seconds": "Its announced interruption.",
        "source": "Its source.",
        "resources": "The VMs in its Resources.",
        "fault": "The fault that marks it.",
        "count": "How many events of the VM there have been.",
        "empty": "Whether its document has no events.",
        "events": "How many events its document has.",
        "incarnation": "The DocumentIncarnation.",
        "on": "Whether the VM's scope is on: a VM in it has polled in the last 24 hours.",
        "state": "The state of the VM.",
        "host": "The host of the VM.",
        "guest": "The name of a scripted guest.",
        "saw": "What the guest saw of its VM's newest event, in order: `Scheduled`, `Started`, `gone`.",
        "status": "The status of its last answer; 0: no answer.",
        "ids": "How many different events of its VM it has seen.",
        "open": "How many events are open in the whole fleet.",
    },
}
