"""Links lead somewhere, and commands that are shown exist."""

from __future__ import annotations

import os

import pytest

from forewarn.cli.main import forewarn
from tests.docs.reading import anchors, commands, find_wrong, links
from tests.tree import files, texts

PAGES = texts(".md")
_ELSEWHERE = ("http://", "https://", "mailto:")


def find_broken(page: str, text: str) -> list[str]:
    """The links of a page that lead to no file, or to no heading of it."""
    broken = []
    for link in links(text):
        path, _, name = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page  # noqa: PTH118, PTH120 - names, not files
        if link.startswith(_ELSEWHERE):
            continue
        if target != page and not any(each == target or each.startswith(f"{target}/") for each in files()):
            broken.append(f"{page}: {link} leads to no file; mend the path")
        elif name and target.endswith(".md") and name not in anchors(PAGES.get(target, text)):
            broken.append(f"{page}: {link} leads to no heading of {target}; mend what stands behind the #")
    return broken


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: str):
    broken = find_broken(page, PAGES[page])

    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("see [it](nowhere.md)", "nowhere.md"),
        ("see [it](../reference/cli.md#forewarn-nonsense)", "../reference/cli.md#forewarn-nonsense"),
        ("see [it](#not-here)", "#not-here"),
        ("see [it]\n\n[it]: ../gone.md", "../gone.md"),
    ],
    ids=["no file", "no heading", "no heading here", "no file, named below"],
)
def test_a_link_that_leads_nowhere_is_found(text: str, link: str):
    broken = find_broken("docs/reference/planted.md", text)

    assert len(broken) == 1
    assert broken[0].startswith(f"docs/reference/planted.md: {link} leads to no")


def test_links_that_lead_somewhere_or_are_code_are_let_pass():
    text = (
        "[file](cli.md) [heading](cli.md#forewarn-serve) [here](#here) [root](../../LICENSE)\n"
        "[folder](../reference) [web](https://example.org/x) `[code](nowhere.md)`\n\n## Here\n\n"
        "```text\n[block](nowhere.md)\n```\n"
    )

    assert find_broken("docs/reference/planted.md", text) == []


def test_a_heading_that_is_there_again_is_numbered():
    assert anchors("# A `b` c\n## POST /v1/x\n## A b c\n") == {"a-b-c", "post-v1x", "a-b-c-1"}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_shows_exists(page: str):
    wrong = [f"{' '.join(call)}: {why}" for call in commands(PAGES[page]) if (why := find_wrong(call, forewarn))]

    assert not wrong, "\n".join([f"{page} shows what does not exist:", *wrong])


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ("```console\n$ forewarn vm resart web-0\nReboot\n```", "forewarn vm has no command resart"),
        ("```sh\nforewarn serve --colour\n```", "forewarn serve has no option --colour"),
        ("```sh\ncurl x | .venv/bin/forewarn nonsense\n```", "forewarn has no command nonsense"),
        ("```sh\nA=1 forewarn serve --store x \\\n  --nonsense\n```", "forewarn serve has no option --nonsense"),
        ("1. so:\n\n   ```sh\n   forewarn nonsense\n   ```", "forewarn has no command nonsense"),
        ("```sh\nforewarn agent run --colour\n```", "error: Unrecognized arguments: --colour."),
    ],
    ids=["command", "option", "behind a pipe", "on the next line", "in a list", "of the agent"],
)
def test_a_command_that_does_not_exist_is_found(shown: str, why: str):
    assert [find_wrong(call, forewarn) for call in commands(shown)] == [why]


def test_commands_that_exist_are_let_pass():
    shown = (
        "```console\n$ forewarn vm restart web-0 --json\nforewarn nonsense is what it printed\n```\n"
        "```sh\nforewarn serve --store sqlite:// --clock=virtual & # forewarn nonsense\n"
        'id=$(forewarn event list --json | head -1); forewarn event show "$id"\nforewarn agent --version\n```\n'
        "```text\nforewarn nonsense\n```\n"
    )

    calls = list(commands(shown))

    assert [call[1] for call in calls] == ["vm", "serve", "event", "event", "agent"]
    assert [find_wrong(call, forewarn) for call in calls] == [""] * 5
