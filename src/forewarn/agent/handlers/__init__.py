"""The kinds of handlers: what acts on the machine, or on something beside it."""

from __future__ import annotations

from importlib import import_module

from forewarn.agent.handlers.base import Handler

_MODULES = {
    "command": "command",
    "http": "http_call",
    "webhook": "webhook",
    "signal": "signals",
    "systemd": "systemd",
    "readiness": "readiness",
    "haproxy": "haproxy",
    "patroni": "patroni",
}
KINDS = tuple(_MODULES)


def find(kind: str) -> Handler:
    """The handler of that kind. Its module is loaded when it is asked for: an agent pays for what it uses."""
    if kind not in _MODULES:
        raise LookupError(f"There is no handler {kind!r}. There are: {', '.join(KINDS)}.")
    handler: Handler = import_module(f"{__name__}.{_MODULES[kind]}").HANDLER
    return handler
