"""What programs say when they begin to watch, and what cannot be meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest

from forewarn.agent import until_maintenance, watch
from tests.agent.azure import Azure, event

NONSENSE: list[tuple[dict[str, Any], str]] = [
    ({"poll_seconds": -1}, "poll_seconds: -1 is too small; it can be 0.01 or more."),
    ({"poll_seconds": 0}, "poll_seconds: 0 is too small; it can be 0.01 or more."),
    ({"poll_seconds": float("nan")}, "poll_seconds: nan is no number."),
    ({"poll_seconds": None}, "poll_seconds: None is no number."),
    ({"names": ["web-1", ""]}, "names: it is empty; write something, or leave it out."),
    ({"names": 1}, 'names: 1 is no list of texts; write it like ["one", "two"].'),
    ({"names": [b"web-1"]}, "names: b'web-1' is no text; write it in quotes."),
    ({"api_version": 2020}, "api_version: 2020 is no text; write it in quotes."),
    ({"endpoint": 8254}, 'endpoint: 8254 is no list of texts; write it like ["one", "two"].'),
    (
        {"endpoint": "ftp://host"},
        "endpoint: The endpoint 'ftp://host' is not http: metadata is served in plain HTTP, say http://HOST.",
    ),
    (
        {"endpoint": ["http://host", "http://a b"]},
        "endpoint: The endpoint 'http://a b' is no address: say http://HOST or http://HOST:PORT.",
    ),
]


@pytest.mark.parametrize("begin", [watch, until_maintenance])
@pytest.mark.parametrize(("arguments", "words"), NONSENSE, ids=[words for _, words in NONSENSE])
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(
    begin: Callable[..., object], arguments: dict[str, Any], words: str
):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - all of it is looked at
        begin(**arguments)

    assert str(refused.value) == words


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match="where: 'Reboot' is no function"):
        until_maintenance(where="Reboot")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="on_trouble: 'log' is no function"):
        watch(on_trouble="log")  # type: ignore[arg-type]


def test_a_function_that_can_also_be_iterated_is_a_function():
    with (
        watch("http://127.0.0.1:9", on_trouble=MagicMock()),
        until_maintenance("http://127.0.0.1:9", where=MagicMock()) as coming,
    ):
        assert not coming


@pytest.mark.parametrize("names", ["db-7", ["db-7"], {"db-7"}], ids=["a text", "a list", "a set"])
def test_one_text_is_one_name(azure: Azure, names: Any):
    azure.show(event("OF D", Resources=["d"]), event("OF DB-7", Resources=["db-7"]))

    with watch(azure.url, names=names, poll_seconds=0.02) as changes:
        whose = {change.id: change.is_mine for change in (next(changes), next(changes))}

    assert whose == {"OF D": False, "OF DB-7": True}
