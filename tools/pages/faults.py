"""The faults, from the table that rules are read by."""

from __future__ import annotations

from forewarn.core.fault import FORMS, Target
from forewarn.wire.fault import COMMON, describe
from tools.markdown import code, page, table

_INTRODUCTION = """\
What may go wrong on purpose, so that clients can be tested: `forewarn fault add NAME`, `POST /v1/faults`. How to
use them is in [a how-to](../howto/faults.md). Only where machines are simulated; a service that acts on real ones
refuses every fault."""
_TARGETS = {
    Target.REQUEST: "## Requests\n\nAsked about every request that is understood and within the rate limit.",
    Target.POLL: "## Polls\n\nAsked about every GET of the document.",
    Target.EVENT: "## Events\n\nAsked about every event that is announced with a notice.",
}
_COMMON = "## Whom, and how often\n\nEvery fault takes these, and at most one of rate, count and every."


def write() -> str:
    """The page: each fault with what it does, its options, and whether it leaves a mark."""
    parts = []
    for target, heading in _TARGETS.items():
        rows = [
            (
                code(fault),
                form.words,
                "\n".join(f"{code(name)}: {describe(option)}" for name, option in form.options.items()),
                "yes" if form.marks_events else "",
            )
            for fault, form in FORMS.items()
            if form.target is target
        ]
        parts += [heading, table(("fault", "what happens", "options", "marks the event"), rows)]
    common = [(code(name), describe(option)) for name, option in COMMON.items()]
    return page("Faults", _INTRODUCTION, *parts, _COMMON, table(("option", "what it is"), common))
