"""The ARM surface, from its routes and from the table of what the members of bodies mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forewarn.config import Settings
from forewarn.operator.app import ARM
from forewarn.operator.arm.endpoint import PROVIDER, ArmEndpoint
from forewarn.operator.arm.errors import OCCASIONS
from forewarn.operator.endpoint import Nothing
from forewarn.wire.arm.ids import SCALE_SETS, VMS
from forewarn.wire.arm.meanings import MEANINGS
from tools.markdown import anchor, code, page, table

_INTRODUCTION = f"""\
What Azure's own SDK, CLI and PowerShell call, on the operators' listener ([how to](../howto/azure-tools.md)).
Paths are found in whatever case they are written. Every request has an `api-version`, and any date will do: what
is answered does not depend on it. There is one subscription, {code(Settings().subscription)} unless
it is [set](settings.md) otherwise. Errors have the [codes](#errors) that ARM uses.

In the tables, `{{S}}` stands for `/subscriptions/{{subscription}}`, and `{{P}}` for
`{PROVIDER}`.
[Parameters](#parameters) that are not named are ignored."""

_LONG_WORK = """\
Long work is answered 202 without a body. `Azure-AsyncOperation` says where its status is to be had, `Location`
where it is 202 as long as it goes on and then 200, and `Retry-After` is 1. While an event waits for its guests
the status is InProgress; it ends Succeeded, or Failed or Canceled with the reason. Several instances are one
operation, which ends with the last of them. A PUT or PATCH that makes a scale set smaller is answered 200 with
the scale set and `Azure-AsyncOperation`. What is already as it is asked for, like the start of a VM that runs, is
answered 200."""

_BODIES = """\
A PUT makes a resource, or changes the members that it names: those that it does not name stay as they are, but
`tags` are given as a whole. A PATCH changes members one by one, and null takes one away. Members are read in
whatever case they are written, nulls are not kept, and an instance whose name a VM has already is given the
next number. **Members that are not in these tables are kept and given back, and have no effect**: what was read
can be changed and written back, and nothing is lost. Passwords and other secrets (`adminPassword`,
`customData`, `userData`, `protectedSettings`) are neither kept nor given back: nothing here needs them."""

_HEAD = ("route", "what it does", "role", "honoured", "without effect")
_KEPT = "all other members, which are kept and given back"


def write() -> str:
    """The page."""
    sections: dict[str, list[ArmEndpoint]] = {}
    for endpoint in ARM:
        sections.setdefault(_section(endpoint.path), []).append(endpoint)
    parts = [_INTRODUCTION]
    for section, endpoints in sections.items():
        parts += [f"## {section}", table(_HEAD, map(_row, endpoints))]
    parts += ["## Parameters", _parameters(), "## Long work", _LONG_WORK]
    parts += ["## What bodies mean", _BODIES, *_meanings()]
    rows = [(str(int(each.status)), code(name), each.when) for name, each in OCCASIONS.items()]
    return page("ARM", *parts, "## Errors", table(("status", "code", "when"), rows))


def _section(path: str) -> str:
    """What stands together: the routes of one resource type."""
    if "Microsoft.Maintenance" in path:
        return "Microsoft.Maintenance"
    if f"{SCALE_SETS}/{{set}}/{VMS}" in path:
        return f"{SCALE_SETS}, {VMS}"
    kinds = [part for part in path.split("/") if part in {*MEANINGS, "operations"} and part != "resourceGroups"]
    return kinds[-1] if kinds else "Subscription and resource groups"


def _row(endpoint: ArmEndpoint) -> tuple[str, ...]:
    short = endpoint.path.replace(PROVIDER, "{P}").replace("/subscriptions/{subscription}/", "{S}/")
    return code(f"{endpoint.method} {short}"), endpoint.summary, str(endpoint.needs or ""), *_effect(endpoint)


def _effect(endpoint: ArmEndpoint) -> tuple[str, str]:
    """What of a request is honoured, and what is not."""
    honoured = [code(name) for name in endpoint.query]
    if endpoint.kind:
        return f"[these members](#{anchor(_heading(endpoint.kind))})", _KEPT
    body = endpoint.described_body
    if body is Any:
        return ", ".join(honoured), "the body"
    if body is not Nothing:
        honoured += [code(name) for name in body.__struct_encode_fields__]
        return ", ".join(honoured), "all other members"
    return ", ".join(honoured), ""


def _heading(kind: str) -> str:
    return f"Members of {kind}"


def _parameters() -> str:
    known: dict[str, dict[str, None]] = {}  # the same parameter may do something else on another route
    for name, what in (each for endpoint in ARM for each in endpoint.query.items()):
        known.setdefault(name, {})[what] = None
    return table(("parameter", "what it does"), [(code(name), "; ".join(what)) for name, what in known.items()])


def _meanings() -> Iterator[str]:
    for kind, members in MEANINGS.items():
        yield f"### {_heading(kind)}"
        yield table(("member", "what it does"), [(code(name), what) for name, what in members.items()])
