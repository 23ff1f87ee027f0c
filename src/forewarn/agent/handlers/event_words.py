"""An event as others read it: Azure's members, environment variables, and the parts that templates name."""

from __future__ import annotations

from typing import Any

from forewarn.agent.events import Event
from forewarn.agent.handlers.base import Task

_LONGEST_VARIABLE = 32_000  # bytes; the kernel refuses a program whose variables are too long

TEST_MARK = "TEST: "  # in front of what people read

PLACEHOLDERS = {
    "event.id": "its EventId",
    "event.type": "Freeze, Reboot, Redeploy, Preempt, Terminate",
    "event.status": "Scheduled or Started",
    "event.source": "Platform or User",
    "event.description": "its description",
    "event.resources": "the VMs that it names",
    "event.resource_type": "VirtualMachine",
    "event.not_before": "its NotBefore, as the endpoint writes it",
    "event.duration_seconds": "how long it will take; -1: unknown",
    "vm": "the name by which it means this VM",
    "step": "the step's name",
    "direction": "do or undo",
    "try": "1 for the first try",
    "seconds_left": "how long the step may take",
    "key": "the same for every repeat of the step",
    "is_test": "true if `agent test` invented the event, else false",
    "summary": "all that matters, as a sentence",
}


def not_before_text(event: Event) -> str:
    """Its NotBefore as the endpoint writes it; empty where there is none."""
    return f"{event.not_before:%a, %d %b %Y %H:%M:%S GMT}" if event.not_before else ""


def azure_members(event: Event) -> dict[str, Any]:
    """The event with Azure's names, every member there."""
    return {
        "EventId": event.id,
        "EventType": event.type,
        "ResourceType": event.resource_type,
        "Resources": list(event.resources),
        "EventStatus": event.status,
        "NotBefore": not_before_text(event),
        "Description": event.description,
        "EventSource": event.source,
        "DurationInSeconds": -1 if event.duration_seconds is None else event.duration_seconds,
    }


def summary(task: Task) -> str:
    """One sentence for people."""
    event = task.event
    whom = task.vm or ", ".join(event.resources) or "nobody"
    when = f", not before {not_before_text(event)}" if event.not_before else ""
    why = f": {event.description}" if event.description else ""
    mark = TEST_MARK if task.is_test else ""
    return f"{mark}{event.type} of {whom}, {event.status}{when}{why} ({event.id})"


def parts(task: Task) -> dict[str, Any]:
    """What the placeholders of templates stand for."""
    event = task.event
    return {
        "event.id": event.id,
        "event.type": event.type,
        "event.status": event.status,
        "event.source": event.source,
        "event.description": event.description,
        "event.resources": list(event.resources),
        "event.resource_type": event.resource_type,
        "event.not_before": not_before_text(event),
        "event.duration_seconds": -1 if event.duration_seconds is None else event.duration_seconds,
        "vm": task.vm,
        "step": task.step,
        "direction": str(task.direction),
        "try": task.try_number,
        "seconds_left": round(task.seconds, 1),
        "key": task.key,
        "is_test": task.is_test,
        "summary": summary(task),
    }


def variables(task: Task) -> dict[str, str]:
    """The event as environment variables. The first seven are named as the webdevops manager names them."""
    event = task.event
    said = {
        "EVENT_ID": event.id,
        "EVENT_SOURCE": event.source,
        "EVENT_STATUS": event.status,
        "EVENT_TYPE": event.type,
        "EVENT_NOTBEFORE": not_before_text(event),
        "EVENT_RESOURCES": " ".join(event.resources),
        "EVENT_RESOURCETYPE": event.resource_type,
        "EVENT_DESCRIPTION": event.description,
        "EVENT_DURATION_SECONDS": "-1" if event.duration_seconds is None else str(event.duration_seconds),
        "EVENT_VM": task.vm,
        "EVENT_STEP": task.step,
        "EVENT_DIRECTION": str(task.direction),
        "EVENT_TRY": str(task.try_number),
        "EVENT_KEY": task.key,
        "EVENT_TEST": "true" if task.is_test else "false",
        "EVENT_SECONDS_LEFT": f"{task.seconds:.0f}",
        "EVENT_SECONDS_TO_NOTBEFORE": (
            "" if task.seconds_to_not_before is None else f"{task.seconds_to_not_before:.0f}"
        ),
    }
    return {name: _fit_for_a_variable(text) for name, text in said.items()}


def _fit_for_a_variable(text: str) -> str:
    """Without what no variable can hold: NUL, halves of characters, and more than the kernel takes."""
    return text.replace("\0", "").encode("utf-8", "replace")[:_LONGEST_VARIABLE].decode("utf-8", "ignore")
