"""The keys of the file, one table each: file, environment, flags and reference page are made from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forewarn.agent.compat import dataclass
from forewarn.agent.config_values import (
    as_address,
    as_endpoints,
    as_expression,
    as_flag,
    as_full_text,
    as_listen,
    as_path,
    as_table,
    as_texts,
    as_times,
    as_whole_seconds,
    from_text,
    member_of,
    one_of,
    seconds,
    split_text,
    whole,
)
from forewarn.agent.policy import Approval, Occasion, OnFailure, Together, Whose

ENVIRONMENT_PREFIX = "FOREWARN_AGENT_"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table."""

    name: str
    read: Callable[[Any], Any]
    form: str  # what it looks like, for people
    help: str
    field: str = ""  # of the value that it becomes a part of, where that has another name
    is_required: bool = False
    from_text: Callable[[str], Any] = str  # from the environment or a flag to what a file would say

    @property
    def variable(self) -> str:
        """Its name in the environment, at the top of the file."""
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        """Its name on the command line, at the top of the file."""
        return "--" + self.name.replace("_", "-")

    @property
    def target(self) -> str:
        """The part of the value that it becomes."""
        return self.field or self.name


SETTINGS = (
    Key(
        "endpoint",
        as_endpoints,
        "URL or list",
        'Where to ask: a root such as http://169.254.169.254, several that are asked in turn, or "discover": '
        "SCHEDULEDEVENTSIP in the environment, DHCP option 245, then Azure's address.",
        field="endpoints",
        from_text=split_text,
    ),
    Key(
        "api_version",
        as_full_text,
        "VERSION",
        "The version to speak; without it the newest that the endpoint knows.",
    ),
    Key("poll_seconds", seconds(0.2), "SECONDS", "How often to ask; 0.2 or more."),
    Key(
        "wait_seconds",
        seconds(),
        "SECONDS",
        "How long the endpoint may hold a request until something changes, where it can; 0: never ask for it.",
    ),
    Key("first_timeout_seconds", seconds(1), "SECONDS", "How long the first request may take."),
    Key("timeout_seconds", seconds(0.1), "SECONDS", "How long every later request may take."),
    Key(
        "blind_after_seconds",
        seconds(1),
        "SECONDS",
        "Without a good answer for so long, the agent says that it is blind.",
    ),
    Key(
        "names",
        as_texts,
        "NAME or list",
        "Other names of this VM in events, besides those that the endpoint and the machine say.",
        from_text=split_text,
    ),
    Key(
        "uses_hostname",
        as_flag,
        "true or false",
        "Whether the hostname is a name of this VM.",
        from_text=from_text,
    ),
    Key("state_dir", as_path, "DIRECTORY", "Where the journal, the token and the work of handlers are kept."),
    Key(
        "listen",
        as_listen,
        "HOST:PORT or false",
        "Where the agent answers /healthz, /readyz, /drainz, /events, /metrics and the commands; false: nowhere.",
        from_text=lambda text: False if text.strip().lower() in {"false", "no", "off"} else text,
    ),
    Key(
        "log_format",
        one_of(("auto", "plain", "json")),
        "auto, plain or json",
        "auto: plain on a terminal, else json.",
    ),
    Key("audit_file", as_path, "FILE", "Gets one line of JSON per event that is over."),
    Key(
        "approves",
        as_flag,
        "true or false",
        "false: nothing is approved, whatever the profiles say.",
        from_text=from_text,
    ),
    Key(
        "dry_run",
        as_flag,
        "true or false",
        "true: nothing is run and nothing is approved; what would be done is said.",
        field="is_dry_run",
        from_text=from_text,
    ),
)

RULE = (
    Key("profile", as_full_text, "text", "The profile that it leads to.", is_required=True),
    Key("name", as_full_text, "text", "What logs and `explain` call it."),
    Key("whose", member_of(Whose), "mine, others or any", "Events that name this VM, that do not, or all."),
    Key(
        "types", as_texts, "list of texts", "Freeze, Reboot, Redeploy, Preempt, Terminate; one of them has to fit."
    ),
    Key("sources", as_texts, "list of texts", "Platform or User; one of them has to fit."),
    Key(
        "min_duration_seconds",
        as_whole_seconds,
        "seconds",
        "The least duration. A duration that is not known counts as long.",
    ),
    Key(
        "max_duration_seconds",
        as_whole_seconds,
        "seconds",
        "The greatest duration. A duration that is not known counts as long.",
    ),
    Key(
        "resources", as_texts, "list of texts", "Patterns such as web-*; a VM that the event names has to fit one."
    ),
    Key("min_resources", whole(0), "number", "How many VMs it names at least."),
    Key("max_resources", whole(0), "number", "How many VMs it names at most."),
    Key(
        "description", as_expression, "text", "A regular expression that is found in the description, in any case."
    ),
    Key(
        "between",
        as_times,
        "two times",
        'Its NotBefore lies between these times of day on this machine, e.g. ["22:00", "06:00"].',
    ),
)

PROFILE = (
    Key(
        "lead_seconds",
        seconds(),
        "seconds",
        "Preparation begins that long before NotBefore; without it, as soon as the event is seen.",
    ),
    Key("reserve_seconds", seconds(), "seconds", "Preparation has to be done that long before NotBefore."),
    Key("approval", member_of(Approval), ", ".join(Approval), "When the event is approved; see below."),
    Key(
        "pause_before_approval_seconds",
        seconds(),
        "seconds",
        "Between success and approval, so that logs can leave the machine.",
    ),
    Key(
        "together",
        member_of(Together),
        ", ".join(Together),
        "Who approves an event that names several VMs; see below.",
    ),
    Key("approves_others", as_flag, "true or false", "Also approve events that do not name this VM."),
    Key(
        "prepares_when_started",
        as_flag,
        "true or false",
        "Also prepare for an event that has already started when it is first seen.",
    ),
)

STEP = (
    Key("uses", as_full_text, "text", "The kind of handler.", is_required=True),
    Key("name", as_full_text, "text", "What it is called, once per profile; without it, as its kind is."),
    Key(
        "on",
        member_of(Occasion),
        ", ".join(Occasion),
        "When it runs; see below.",
    ),
    Key("group", whole(0, 1000), "number", "Groups run one after the other, the steps of one side by side."),
    Key("needs", as_texts, "list of texts", "Steps of the same occasion that have to have succeeded before."),
    Key("timeout_seconds", seconds(0.1), "seconds", "How long a try may take, if the notice is that long."),
    Key("retries", whole(0, 1000), "number", "How many more tries it gets when it fails."),
    Key("retry_pause_seconds", seconds(0.1), "seconds", "Between two tries."),
    Key(
        "on_failure",
        member_of(OnFailure),
        ", ".join(OnFailure),
        "hold: later groups do not run and nothing is approved; continue: as if it had not been there.",
    ),
)

PEERS = (
    Key("listen", as_address, "HOST:PORT", "Where the other agents reach this one.", is_required=True),
    Key(
        "secret",
        lambda value: value,  # `config_secrets.py` reads it
        "text, {file} or {env}",
        'The same on all of them: a text, { file = "..." } or { env = "..." }.',
        is_required=True,
    ),
    Key("members", as_table, "table", 'Each VM\'s name, and where its agent listens: web-1 = "10.0.0.5:8257".'),
    Key("expiry_seconds", seconds(1), "seconds", "How long an agent's word that it is ready counts."),
)

APPROVALS = {
    Approval.NEVER: "The agent never approves; the event starts at its NotBefore. `agent approve` still does.",
    Approval.MANUAL: "When somebody says `agent approve`, and the preparation has succeeded.",
    Approval.AFTER_SUCCESS: "As soon as the preparation has succeeded.",
    Approval.AT_ONCE_FOR_USER: "What a user asked for at once, without waiting; anything else after success.",
    Approval.BEFORE_DEADLINE: "After success, but as late as `reserve_seconds` before NotBefore.",
}

TOGETHER = {
    Together.LEADER: "The VM that is named first, when all named are ready; needs `[peers]`.",
    Together.EACH: "Each for itself: whoever is ready first.",
    Together.REFUSE: "Nobody; the event starts at its NotBefore.",
}

OCCASIONS = {
    Occasion.DETECTED: "The event is seen for the first time. It holds nothing up.",
    Occasion.PREPARE: "Its time has come, see `lead_seconds`. Undone when the event is over.",
    Occasion.STARTED: "The platform has begun.",
    Occasion.FINISHED: "The event is gone after it had started, and what was done is undone.",
    Occasion.CANCELLED: "The event is gone before it started, and what was done is undone.",
}
