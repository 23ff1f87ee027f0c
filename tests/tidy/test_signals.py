"""A signal's handler breaks in anywhere: it may find any lock held by the very line that it holds up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.rules import PYTHON, assert_kept, nodes

_LOCKING = {"set", "clear", "wait", "acquire", "notify", "notify_all", "start", "join"}  # of what `threading` has


def locking_handlers(path: str, text: str) -> Iterator[str]:
    for node in nodes(text):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "signal.signal"):
            continue
        handlers = [each for each in node.args[1:] if isinstance(each, ast.Lambda)]
        for call in (inner for handler in handlers for inner in ast.walk(handler.body)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _LOCKING:
                yield (
                    f"{path}:{call.lineno}: a signal's handler calls {ast.unparse(call.func)}, which may wait for "
                    "a lock. Have it append to a list, or put into a queue.SimpleQueue."
                )


def test_no_signals_handler_waits_for_a_lock():
    assert_kept(
        locking_handlers,
        PYTHON,
        planted=[
            "signal.signal(signal.SIGTERM, lambda *_: is_over.set())\n",
            "signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=stop).start())\n",
        ],
        fine=[
            "signal.signal(signal.SIGTERM, lambda *_: told.append(True))\n",
            "signal.signal(signal.SIGTERM, lambda *_: inbox.put(None))\n",
            "is_over.set()\n",
        ],
    )
