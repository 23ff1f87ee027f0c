"""What all tidy tests share: a rule looks at one file; a planted sample shows that it can find something."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from tests.tree import CODE, texts

Rule = Callable[
    [str, str], Iterable[str]
]  # path and text in, findings out: "PATH:LINE: what. What to do instead."

SOURCE = texts(".py", under=("src",))
TESTS = texts(".py", under=("tests",))
PYTHON = texts(".py", under=CODE)


def judge(rule: Rule, files: Mapping[str, str]) -> list[str]:
    """All that a rule finds."""
    return [finding for path, text in files.items() for finding in rule(path, text)]


def assert_kept(
    rule: Rule,
    files: Mapping[str, str],
    *,
    planted: Sequence[str],
    fine: Sequence[str] = (),
    path: str = "src/forewarn/planted.py",
) -> None:
    """The rule catches every planted sample, lets the fine ones pass, and finds nothing in the project."""
    assert files, "there is nothing to look at"
    for sample in planted:
        found = judge(rule, {path: sample})
        assert found, f"the rule does not see what is wrong with:\n{sample}"
        assert all(finding.startswith(path) for finding in found), found
    for sample in fine:
        assert judge(rule, {path: sample}) == []
    findings = judge(rule, files)
    assert not findings, "\n".join(findings)


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Every node of a file's syntax tree, parsed once for all rules; `conftest.py` lets go of them at the end."""
    return tuple(ast.walk(ast.parse(text)))


def functions(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a file, methods and inner ones too."""
    for node in nodes(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def attributes(text: str) -> Iterator[tuple[int, str]]:
    """Every dotted name that is used, `datetime.now`, and every `from` import in the same shape."""
    for node in nodes(text):
        if isinstance(node, ast.Attribute):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Every comment, with its line."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
