"""Tests that test something, and all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.rules import TESTS, assert_kept, attributes, functions

_EXPECTATIONS = {"pytest.raises", "pytest.warns", "pytest.fail", "pytest.deprecated_call"}
_SKIPS = {"pytest.skip", "pytest.importorskip", "pytest.mark.skip", "pytest.mark.skipif", "unittest.skip"}
_MODULES = {path: text for path, text in TESTS.items() if path.rpartition("/")[2].startswith("test_")}


def idle_tests(path: str, text: str) -> Iterator[str]:
    """A test asserts in its own body, or through a function of the same file or one called assert_...."""
    known = {function.name: function for function in functions(text)}

    def asserts(function: ast.AST, seen: frozenset[str]) -> bool:
        for node in ast.walk(function):
            if isinstance(node, ast.Assert):
                return True
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if name in _EXPECTATIONS or name.rpartition(".")[2].startswith("assert_"):
                    return True
                if name in known and name not in seen and asserts(known[name], seen | {name}):
                    return True
        return False

    for name, function in known.items():
        if name.startswith("test_") and not asserts(function, frozenset({name})):
            yield f"{path}:{function.lineno}: {name} asserts nothing. Say with assert what its name claims."


def skips(path: str, text: str) -> Iterator[str]:
    for line, name in attributes(text):
        if name in _SKIPS:
            yield (
                f"{path}:{line}: {name}. Mark it `system` or `long`, so that `make test` leaves it out and "
                "`make test-all` runs it; or let it fail with a sentence."
            )


def test_every_test_asserts_something():
    assert_kept(
        idle_tests,
        _MODULES,
        planted=[
            "def test_it_works():\n    run()\n",
            "def look():\n    run()\n\n\ndef test_it_works():\n    look()\n",
            "class TestAll:\n    async def test_it_works(self):\n        test_it_works()\n",
        ],
        fine=[
            "def test_it_works():\n    assert run()\n",
            "def test_it_works():\n    with pytest.raises(Refused):\n        run()\n",
            "def look():\n    assert run()\n\n\ndef test_it_works():\n    look()\n",
            "def test_it_works():\n    assert_kept(rule)\n",
            "def run():\n    pass\n",
        ],
        path="tests/test_planted.py",
    )


def test_no_test_is_skipped():
    assert_kept(
        skips,
        TESTS,
        planted=[
            "pytest.skip('later')\n",
            "@pytest.mark.skip\ndef test_it(): ...\n",
            "@pytest.mark.skipif(True, reason='x')\ndef test_it(): ...\n",
            "libvirt = pytest.importorskip('libvirt')\n",
            "from pytest import importorskip\n",
        ],
        fine=["@pytest.mark.system\ndef test_it(): ...\n", "skipped = rows.skip\n"],
        path="tests/test_planted.py",
    )
