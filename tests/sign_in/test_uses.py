"""When a credential was last used is known at once, and written once a minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from forewarn.operator.sign_in.uses import Uses

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_the_first_use_is_written_and_then_one_a_minute():
    written: list[object] = []
    uses = Uses(written.append)

    for seconds in range(0, 150, 10):
        uses.note("a", after(seconds))

    assert written == [{"a": after(0)}, {"a": after(60)}, {"a": after(120)}]
    assert uses.last("a") == after(140)


def test_what_is_due_takes_with_it_what_is_not():
    written: list[object] = []
    uses = Uses(written.append)
    uses.note("a", after(0))
    uses.note("a", after(30))

    uses.note("b", after(40))

    assert written == [{"a": after(0)}, {"a": after(30), "b": after(40)}]


def test_at_the_end_only_what_is_not_written_yet_is_left():
    uses = Uses(lambda _: None)
    uses.note("a", after(0))
    uses.note("b", after(0))
    uses.note("a", after(5))

    assert uses.take() == {"a": after(5)}
    assert uses.take() == {}
