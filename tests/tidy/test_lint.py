"""Whoever turns a rule off says why."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.tidy.rules import PYTHON, assert_kept, comments
from tests.tree import texts

_SECTION = re.compile(r"\[+([\w.\"-]+)\]+")
_RULE = re.compile(r'"([A-Z]{1,4}\d*)"')
_SELECTION = re.compile(r"\s*(?:extend-)?select\b")
_NOQA = re.compile(r"# noqa: [A-Z]+\d+(?:, [A-Z]+\d+)* - \S.*")
_IGNORE = re.compile(r"# type: ignore\[[a-z-]+(?:, ?[a-z-]+)*\].*")
_WHOLE_FILE = re.compile(r"#\s*(?:ruff|flake8|mypy|pyright)\s*:\s*(?!ignore\[)")


def silent_ignores(path: str, text: str) -> Iterator[str]:
    """Rules that the linter's settings turn off, one to a line and a reason beside each."""
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := _SECTION.fullmatch(line.partition("#")[0].strip()):
            section = match[1]
        setting, _, reason = line.partition("#")
        rules = _RULE.findall(setting)
        if not section.startswith("tool.ruff.lint") or not rules or _SELECTION.match(line):
            continue
        if len(rules) > 1 or not reason.strip():
            yield f"{path}:{number}: {rules} without a reason. Give each rule a line and a comment that says why."


def silent_exceptions(path: str, text: str) -> Iterator[str]:
    """Comments that turn a rule off for a line."""
    for line, comment in comments(text):
        if "noqa" in comment and not _NOQA.search(comment):
            yield f"{path}:{line}: {comment}. Write it as: # noqa: CODE - the reason"
        if re.search(r"type:\s*ignore", comment) and not _IGNORE.search(comment):
            yield f"{path}:{line}: {comment}. Write it as: # type: ignore[code]"
        if _WHOLE_FILE.match(comment):
            yield f"{path}:{line}: {comment} is for a whole file. Turn it off for a line, or in pyproject.toml."


def test_every_rule_that_is_turned_off_has_its_reason_beside_it():
    head = "[tool.ruff.lint]\n"

    assert_kept(
        silent_ignores,
        texts("pyproject.toml"),
        planted=[
            f'{head}ignore = [\n  "D105",\n]\n',
            f'{head}ignore = [\n  "D105", "EM", # why\n]\n',
            '[tool.ruff.lint.per-file-ignores]\n"tests/**" = ["S"]\n',
        ],
        fine=[
            f'{head}select = ["ALL"]\nignore = [\n  "D105", # a dunder says it\n]\n',
            '[tool.ruff.lint.per-file-ignores]\n"tests/**" = ["S"] # loopback\n',
            '[tool.other]\nnames = ["D105"]\n',
        ],
        path="pyproject.toml",
    )


def test_every_exception_in_the_code_names_its_rule_and_its_reason():
    off, loose = "# noqa", "# type: ignore"

    assert_kept(
        silent_exceptions,
        PYTHON,
        planted=[
            f"import os  {off}\n",
            f"import os  {off}: F401\n",
            f"x = 1  {loose}\n",
            "# ruff: noqa: F401\n",
            "# mypy: ignore-errors\n",
        ],
        fine=[
            f"import os  {off}: F401, E402 - a reason\n",
            f"x = 1  {loose}[arg-type]\n",
            f"text = '{off}'\n",
            "x = 1  # fmt: skip\n",
        ],
    )
