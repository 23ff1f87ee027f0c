"""One name for one thing: no public class has the name of a class in another module."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from tests.tidy.rules import SOURCE

_AGENT = "src/forewarn/agent/"  # it stands apart, and imports nothing of ours
_TESTERS = "what a test author calls it; the plain name is the interface of forewarn.testing"

MAY_EXIST_TWICE = {
    "Clock": _TESTERS,
    "Event": _TESTERS,
    "Fault": _TESTERS,
    "Service": _TESTERS,
    "Vm": _TESTERS,
    "Approval": "the JSON member of ARM's body is called so; a replay notes what its guests send",
    "Refused": "what a refusal is raised as, on both sides of the wire",
}


def places_of_names(files: Mapping[str, str]) -> dict[str, list[str]]:
    """The public classes that exist more than once, and the files that they are in."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, text in files.items():
        if not path.startswith(_AGENT):
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(path)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_public_class_has_the_name_of_another():
    found = {name: places for name, places in places_of_names(SOURCE).items() if name not in MAY_EXIST_TWICE}

    assert not found, "\n".join(
        f"{name}: in {' and '.join(places)}. Name the role of each." for name, places in found.items()
    )


def test_every_name_that_may_exist_twice_does():
    assert set(MAY_EXIST_TWICE) - set(places_of_names(SOURCE)) == set(), "take these out of MAY_EXIST_TWICE"


def test_a_name_in_two_files_is_seen_and_the_agent_stands_apart():
    twice = {"src/forewarn/a.py": "class Page: ...\n", "src/forewarn/b.py": "class Page: ...\nclass _Page: ...\n"}
    apart = {"src/forewarn/a.py": "class Page: ...\n", f"{_AGENT}b.py": "class Page: ...\n"}

    assert places_of_names(twice) == {"Page": ["src/forewarn/a.py", "src/forewarn/b.py"]}
    assert places_of_names(apart) == {}
