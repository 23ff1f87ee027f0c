"""The page on recordings: its table of lines is what is written, its words for damage are those that are said."""

from __future__ import annotations

import re

from forewarn.recording.tape import Header, Line
from tests.running import ROOT

PAGE = (ROOT / "docs/howto/record-and-replay.md").read_text()
TABLE = PAGE.partition("## File format")[2]


def test_the_table_names_every_member_of_every_line():
    members = set(re.findall(r"`(\w+)`", TABLE))

    assert members == set(Header.__struct_fields__) | set(Line.__struct_fields__)


def test_the_sentence_about_a_line_that_is_cut_off_is_the_one_that_is_said():
    said = (ROOT / "src/forewarn/recording/tape.py").read_text()

    assert "the line is cut off, as when the recorder is killed" in said
    assert "the line is cut off, as when the recorder is killed." in " ".join(PAGE.split())
