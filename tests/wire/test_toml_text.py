"""TOML that nobody could use: refused with its line, wherever a file of ours is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from forewarn.wire.toml_text import MOST_LEVELS, BadToml, read_toml_text
from tests.cli.command import forewarn

DEEP = {
    "lists that are not even closed": "a = 1\n[[vms]]\nb = " + "[" * 5000 + "\n",
    "lists": f"a = 1\n[[vms]]\nb = {'[' * MOST_LEVELS}{']' * MOST_LEVELS}\n",
    "tables": f"a = 1\n[[vms]]\nb = {'{ a = ' * MOST_LEVELS}1{' }' * MOST_LEVELS}\n",
    "a key with dots": f"a = 1\n[[vms]]\nb{'.a' * 5000} = 1\n[c]\nd = '[[[['  # [[[[[\n",
    "a header with dots": f"a = 1\n[[vms]]\n[b{'.a' * 5000}]\n",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_what_is_nested_too_deep_is_refused_with_its_line(text: str):
    with pytest.raises(BadToml) as refused:
        read_toml_text(text)

    assert refused.value.line == 3
    assert str(refused.value).startswith("It is nested too deep: ")


def test_what_is_nested_as_deep_as_may_be_is_read():
    depth = MOST_LEVELS - 1

    read = read_toml_text(f"a = {'[' * depth}{']' * depth}")

    assert str(read) == f"{{'a': {'[' * depth}{']' * depth}}}"


@pytest.mark.parametrize(
    "command",
    [
        ("scenario", "play", "FILE", "--virtual"),
        ("fleet", "apply", "FILE"),
        ("serve", "--fleet", "FILE"),
        ("serve", "--config", "FILE"),
    ],
    ids=" ".join,
)
def test_a_file_that_is_nested_too_deep_is_a_sentence_and_no_traceback(tmp_path: Path, command: tuple[str, ...]):
    file = tmp_path / "deep.toml"
    file.write_text("\na = " + "[" * 5000 + "\n")

    outcome = forewarn(*(str(file) if word == "FILE" else word for word in command))

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {file}:2: It is nested too deep")
    assert "Write it flatter." in outcome.err
