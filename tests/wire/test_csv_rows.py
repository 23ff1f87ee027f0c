"""Rows for spreadsheets: RFC 4180, and nothing that a spreadsheet would carry out."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

import msgspec
import pytest

from forewarn.core.phase import Phase
from forewarn.wire.csv_rows import header_of, rows_of
from forewarn.wire.history import HistoryRow
from forewarn.wire.rest import ApprovalView

NOON = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)


class Sample(msgspec.Struct):
    text: str | None = ""
    number: float | int | None = None
    at: datetime | None = None
    names: list[str] | list[ApprovalView] = []


def cells(sample: Sample) -> list[str]:
    (row,) = csv.reader(io.StringIO(rows_of([sample]).decode(), newline=""))
    return row


def test_the_first_row_names_the_members_in_their_order():
    assert header_of(Sample) == b"text,number,at,names\r\n"
    assert header_of(HistoryRow).startswith(b"event,operation,rollout,cause,kind,")


def test_every_row_ends_with_a_carriage_return_and_a_line_feed():
    assert rows_of([Sample("a"), Sample("b")]) == b"a,,,\r\nb,,,\r\n"
    assert rows_of([]) == b""


@pytest.mark.parametrize("text", ["a,b", 'say "go"', "two\nlines", "é", "a'b", " space"])
def test_a_text_is_read_back_as_it_was(text: str):
    assert cells(Sample(text))[0] == text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", '=HYPERLINK("x")'])
def test_a_text_that_looks_like_a_formula_is_made_harmless(text: str):
    assert cells(Sample(text))[0] == f"'{text}"


def test_a_list_that_begins_like_a_formula_is_made_harmless_too():
    assert cells(Sample(names=["=cmd", "b"]))[3] == "'=cmd; b"


def test_a_number_stays_a_number_though_it_be_negative():
    assert cells(Sample(number=-1.5))[1] == "-1.5"


def test_instants_words_and_approvals_are_told_as_in_json():
    row = cells(Sample(Phase.COMPLETED, at=NOON, names=[ApprovalView("web-0", NOON), ApprovalView("a@b", NOON)]))

    assert row == [
        "Completed",
        "",
        "2026-03-02T12:00:00Z",
        "web-0 2026-03-02T12:00:00Z; a@b 2026-03-02T12:00:00Z",
    ]


def test_what_is_not_there_is_an_empty_cell():
    assert rows_of([Sample(None)]) == b",,,\r\n"
