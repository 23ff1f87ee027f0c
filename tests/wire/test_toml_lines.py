"""Which line of a TOML text a value stands on: checked against `tomllib`, which knows the values."""

from __future__ import annotations

import tomllib

import pytest

from forewarn.wire.toml_lines import find_lines, syntax_problem

# Whatever is called `here` in these has its line in the number of its value: the reader can count along.
TEXTS = {
    "arrays of tables": """\
[[vms]]
here = 2

[[vms]]
name = "b"
here = 6
[[vms]]
[[vms]]
here = 9
""",
    "comments": """\
# [[vms]]
# here = 1
[[vms]]  # the [first] "one
here = 4  # not '''here = 4
   # indented, with "quotes and [brackets
name = "a # b"  # c
[[vms]]
here = 8
""",
    "strings of several lines": '''\
[[vms]]
text = """
here = 1
[[vms]]
"""
here = 6
[[vms]]
text = """one \\""" two
still "" one \\\\"""
here = 10
[[vms]]
text = """it ends in two quotes""\"""
here = 13
[[vms]]
text = """"quoted\\"""
here = 1
"""
here = 18
[[vms]]
text = """"""
here = 21
''',
    "literal strings of several lines": """\
[[vms]]
text = '''
here = 1 \\'''
here = 4
[[vms]]
text = '''ends in a quote''''
here = 7
[[vms]]
path = 'c:\\'
here = 10
""",
    "arrays and tables over several lines": """\
[[vms]]
addresses = [
  "10.0.0.4",  # here = ]
  "10.0.0.5]",
  '[',
]
here = 7
[[vms]]
nested = [
  [1, 2],
  [
    3 ],
]
here = 14
[[vms]]
tags = { "a]" = "b", c = [
  "}",
] }
here = 19
""",
    "dotted and quoted keys": """\
[[vms]]
tags.team = "blue"
tags."a = b" = "x"
here = 4
[["vms"]]
'tags'.team = "blue"
"here" = 7
[[ vms ]]
tags . team = "blue"
here=10
""",
    "tables of tables": """\
[[vms]]
here = 2
[vms.tags]
here = "1"
[[vms]]
[vms.tags]
here = "1"
[[hosts]]
[[vms]]
here = 10
""",
    "blank lines and spaces": "\n\n  [[vms]]\n\n\there = 5\n\n",
    "lines that end as on Windows": '[[vms]]\r\nname = """a\r\nb"""\r\nhere = 4\r\n[[vms]]\r\nhere = 6\r\n',
    "no end of the last line": "[[vms]]\n[[vms]]\nhere = 3",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_key_is_found_on_its_line(text: str):
    entries = tomllib.loads(text)["vms"]
    lines = find_lines(text)

    found = [lines.line("vms", index, "here") for index, entry in enumerate(entries) if "here" in entry]

    assert found == [entry["here"] for entry in entries if "here" in entry]
    assert found


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("title", 0), 1),
        (("inline", 0), 2),
        (("inline", 1, "name"), 2),
        (("hosts", 0), 6),
        (("hosts", 0, "name"), 7),
        (("hosts", 0, "zone"), 6),
        (("vms", 0), 8),
        (("vms", 0, "tags"), 10),
        (("vms", 1), 12),
        (("vms", 1, "tags"), 14),
        (("vms", 1, "team"), 12),
        (("vms", 2, "name"), 8),
        (("settings", 0), 16),
        (("nowhere", 0, "name"), 0),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else f"line {value}",
)
def test_what_is_not_written_is_on_the_line_of_what_it_belongs_to(place: tuple, line: int):
    text = """\
title = "a fleet"
inline = [
  { name = "a" },
  { name = "b" },
]
[[hosts]]
name = "h"
[[vms]]
name = "a"
tags.team = "blue"
tags.env = "test"
[[vms]]
name = "b"
[vms.tags]
team = "red"
[settings.of.mine]
x = 1
"""
    tomllib.loads(text)

    assert find_lines(text).line(*place) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[[hosts]]\nname = \n", 2),
        ('[[hosts]]\nname = "a\n', 2),
        ("[[hosts]]\nname = [\n1,\n\n", 3),
        ("[[hosts]\n", 1),
        ('a = 1\n\nb = """\n\n', 3),
        ("a = 1\na = 2\n", 2),
        ("=", 1),
    ],
    ids=["no value", "an open string", "an open array", "an open header", "an open text", "twice", "no key"],
)
def test_what_cannot_be_read_is_told_with_a_line_and_without_a_column(text: str, line: int):
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(text)

    found, what = syntax_problem(text, caught.value)

    assert found == line
    assert "line" not in what
    assert "(at" not in what
