"""The page about webhooks: what it tells receivers to do works on what is sent."""

from __future__ import annotations

import json
import re
from typing import Any

from forewarn.clock import SystemClock
from forewarn.wire.push.cloudevents import EventData
from forewarn.wire.push.signature import sign
from tests.running import ROOT

PAGE = (ROOT / "docs/howto/webhooks.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_check_of_a_signature_takes_what_is_genuine_and_nothing_else():
    names: dict[str, Any] = {}
    exec(compile(block("python"), "webhooks.md", "exec"), names)
    is_genuine = names["is_genuine"]
    now, body = int(SystemClock().now().timestamp()), b'{"a":1}'

    assert is_genuine("key", sign("key", now, body), body)
    assert not is_genuine("other", sign("key", now, body), body)
    assert not is_genuine("key", sign("key", now, body), body + b" ")
    assert not is_genuine("key", sign("key", now - 301, body), body)


def test_the_cloudevent_on_the_page_has_the_members_of_a_real_one():
    shown = json.loads(block("json"))

    assert list(shown["data"]) == list(EventData.__struct_fields__)
    assert list(shown) == [
        "specversion",
        "id",
        "source",
        "type",
        "subject",
        "time",
        "sequence",
        "datacontenttype",
        "data",
    ]
