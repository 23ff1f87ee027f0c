"""Nothing is left over from the making."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.tidy.rules import PYTHON, SOURCE, assert_kept, nodes
from tests.tree import files

# In two pieces each, so that this file does not find itself.
_MARKERS = [first + last for first, last in (("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("HA", "CK"))]
_MARKER = re.compile(rf"\b(?:{'|'.join(_MARKERS)})\b")
_DEBUGGERS = {"breakpoint", "pdb.set_trace", "pdb.runcall", "ipdb.set_trace", "ic"}
_PRINTERS = {"print", "pprint", "pprint.pprint", "sys.stdout.write", "sys.stderr.write"}
_SPEAKERS = ("src/forewarn/cli/", "src/forewarn/agent/")  # a terminal is what they write to


def markers(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := _MARKER.search(line):
            yield f"{path}:{number}: {found[0]}. Do it now, or write down why not where the reader needs it."


def debuggers(path: str, text: str) -> Iterator[str]:
    for line, name in _calls(text):
        if name in _DEBUGGERS:
            yield f"{path}:{line}: {name}() is left over. Take it out; write a test for what it showed."


def prints(path: str, text: str) -> Iterator[str]:
    for line, name in _calls(text):
        if name in _PRINTERS and not path.startswith(_SPEAKERS):
            yield f"{path}:{line}: {name}() outside the command line. Use log.info with an event name and fields."


def _calls(text: str) -> Iterator[tuple[int, str]]:
    for node in nodes(text):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)


def test_no_marker_of_work_to_be_done_is_left():
    written = {path: content.decode("utf-8", "replace") for path, content in files().items()}

    assert_kept(
        markers,
        written,
        planted=[f"# {marker}: mend this\n" for marker in _MARKERS],
        fine=["# to do is not to be done\n", "HACKING = 1\n"],
    )


def test_no_debugger_is_left():
    assert_kept(debuggers, PYTHON, planted=["breakpoint()\n", "import pdb\npdb.set_trace()\n"])


def test_only_the_command_line_prints():
    assert_kept(
        prints,
        SOURCE,
        planted=["print('here')\n", "from pprint import pprint\npprint(1)\n", "sys.stderr.write('x')\n"],
        fine=["log.info('event started')\n", "fingerprint()\n"],
    )
