"""The page on recordings has the members of every line, and the error for a damaged one."""

from __future__ import annotations

import re

from forewarn.recording.file import Header, RecordingLine
from tests.running import ROOT

PAGE = (ROOT / "docs/howto/record-and-replay.md").read_text()
TABLE = PAGE.partition("## File format")[2]


def test_table_names_every_member_of_every_line():
    members = set(re.findall(r"`(\w+)`", TABLE))

    assert members == set(Header.__struct_fields__) | set(RecordingLine.__struct_fields__)


def test_error_for_a_cut_off_line_is_the_real_one():
    said = (ROOT / "src/forewarn/recording/file.py").read_text()

    assert "the line is cut off, as when the recorder is killed" in said
    assert "the line is cut off, as when the recorder is killed." in " ".join(PAGE.split())
