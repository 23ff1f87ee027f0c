"""What is declared is used, and what is used is declared."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import packages_distributions
from typing import Any

import pytest

from tests.tidy.rules import PYTHON, SOURCE, nodes
from tests.tree import texts

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_READ_BY_OTHERS = {"tzdata"}  # by zoneinfo, on machines that have no time zones of their own
_OF_EXTRAS = {"src/forewarn/store/postgresql.py": "postgresql"}  # imported only where the extra is installed
_LOADED_BY = {"src/forewarn/testing/plugin.py": "pytest"}  # who imports it has that
_UNPACKED = {"cloudinit", "azurelinuxagent"}  # from Debian's packages, by make guest-agents
_OURS = {"forewarn", "tests", "tools", "benchmarks"}
PROJECT = tomllib.loads(texts("pyproject.toml")["pyproject.toml"])["project"]


def names(requirements: list[str]) -> set[str]:
    """The distributions that requirements name, in the one spelling."""
    found = (_NAME.match(each) for each in requirements)
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for match in found if match}


def imports(files: Mapping[str, str]) -> dict[str, str]:
    """Third-party modules, and a file that imports each."""
    found: dict[str, str] = {}
    for path, text in files.items():
        for node in nodes(text):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules = [node.module]
            else:
                continue
            for module in modules:
                top = module.partition(".")[0]
                if top not in sys.stdlib_module_names | _OURS | _UNPACKED:
                    found.setdefault(top, path)
    return found


def find_undeclared(declared: set[str], files: Mapping[str, str]) -> list[str]:
    """Imports of what no requirement names."""
    providers = packages_distributions()
    return [
        f"{path}: imports {module}, which pyproject.toml does not declare. Add it, or do without."
        for module, path in imports(files).items()
        if not names(providers.get(module, [module])) & declared
    ]


def find_unused(declared: set[str], files: Mapping[str, str]) -> list[str]:
    """Requirements that nothing imports."""
    providers = packages_distributions()
    used = {name for module in imports(files) for name in names(providers.get(module, [module]))}
    return [
        f"pyproject.toml: {name} is declared, and nothing imports it. Take it out." for name in declared - used
    ]


def extras(project: dict[str, Any], *wanted: str) -> set[str]:
    """The dependencies, with those of some extras."""
    more = [each for extra in wanted for each in project["optional-dependencies"][extra]]
    return names([*project["dependencies"], *more])


def test_every_dependency_is_imported_somewhere_in_the_product():
    unused = find_unused(names(PROJECT["dependencies"]) - _READ_BY_OTHERS, SOURCE)

    assert not unused, "\n".join(unused)


def test_every_third_party_import_of_the_product_is_declared():
    product = {path: text for path, text in SOURCE.items() if path not in {*_LOADED_BY, *_OF_EXTRAS}}
    undeclared = find_undeclared(extras(PROJECT, "agent-file"), product)

    assert not undeclared, "\n".join(undeclared)


def test_every_third_party_import_of_tests_and_tools_is_declared():
    undeclared = find_undeclared(extras(PROJECT, "agent-file", "postgresql", "test"), PYTHON)

    assert not undeclared, "\n".join(undeclared)


@pytest.mark.parametrize(("path", "extra"), _OF_EXTRAS.items())
def test_what_needs_an_extra_imports_what_that_extra_declares(path: str, extra: str):
    undeclared = find_undeclared(extras(PROJECT, extra), {path: SOURCE[path]})

    assert not undeclared, "\n".join(undeclared)


@pytest.mark.parametrize(("path", "loader"), _LOADED_BY.items())
def test_what_another_program_loads_may_import_that_program_and_what_is_declared(path: str, loader: str):
    undeclared = find_undeclared({loader, *names(PROJECT["dependencies"])}, {path: SOURCE[path]})

    assert not undeclared, "\n".join(undeclared)


@pytest.mark.parametrize(
    "text", ["import yaml\n", "def late():\n    from yaml.nodes import Node\n"], ids=["at the top", "late"]
)
def test_an_import_that_is_not_declared_is_found(text: str):
    found = find_undeclared({"click"}, {"src/forewarn/planted.py": f"import click\nimport os\n{text}"})

    assert found == [
        "src/forewarn/planted.py: imports yaml, which pyproject.toml does not declare. Add it, or do without."
    ]


def test_a_dependency_that_nothing_imports_is_found():
    found = find_unused({"click", "rich"}, {"src/forewarn/planted.py": "import click\n"})

    assert found == ["pyproject.toml: rich is declared, and nothing imports it. Take it out."]
