"""Fleet files in TOML and in JSON: what they mean, and where what is wrong with them stands."""

from __future__ import annotations

import json
import tomllib
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from forewarn.core.fleet_spec import FleetSpec, HostSpec, VmSpec
from forewarn.core.terms import EvictionPolicy, Priority
from forewarn.wire.fleet_file import BadFleet, read_json, read_toml, write_toml
from tests.fleets import SMALL


def refused(text: str) -> tuple[str, ...]:
    with pytest.raises(BadFleet) as caught:
        read_toml(text, "f.toml")
    return caught.value.lines


def refused_json(fleet: Any) -> tuple[str, ...]:
    with pytest.raises(BadFleet) as caught:
        read_json(fleet)
    return caught.value.lines


def test_an_empty_file_is_an_empty_fleet():
    assert read_toml("", "f.toml").spec == read_json({}).spec == FleetSpec()


def test_every_key_is_taken_as_it_is_written():
    text = """
        [[hosts]]
        name = "h"
        [[vms]]
        name = "a"
        host = "h"
        interface = "tap0"
        port = 8080
        computer_name = "A"
        zone = "1"
        priority = "Spot"
        eviction_policy = "Delete"
        resource_group = "rg"
        tags = { team = "blue" }
        [[vms]]
        name = "b"
        terminate_notification = "PT5M"
    """

    assert read_toml(text, "f.toml").spec == FleetSpec(
        hosts=[HostSpec("h")],
        vms=[
            VmSpec(
                "a",
                host="h",
                interface="tap0",
                port=8080,
                computer_name="A",
                zone="1",
                priority=Priority.SPOT,
                eviction_policy=EvictionPolicy.DELETE,
                resource_group="rg",
                tags={"team": "blue"},
            ),
            VmSpec("b", terminate_notification=timedelta(minutes=5)),
        ],
    )


def test_the_same_keys_mean_the_same_in_json():
    text = write_toml(msgspec.to_builtins(read_json(SMALL).spec))

    assert read_toml(text, "f.toml").spec == read_json(json.loads(json.dumps(SMALL))).spec


@pytest.mark.parametrize("written", ["PT5M", "PT15M", "PT7M30S", "PT10M"])
def test_a_terminate_notice_is_written_back_as_people_write_it(written: str):
    spec = read_json({"vms": [{"name": "a", "terminate_notification": written}]}).spec

    assert tomllib.loads(write_toml(msgspec.to_builtins(spec)))["vms"] == [
        {"name": "a", "terminate_notification": written}
    ]


# Every problem, of whatever kind.


def numbered(text: str) -> list[int]:
    return [int(line.split(":")[1]) for line in refused(text)]


def test_problems_of_all_kinds_are_reported_at_once_in_the_order_of_lines():
    text = """\
[[vms]]
name = "b"
host = "nowhere"
addresses = ["10.0.0.4"]
[[hosts]]
name = "h"
zone = 1
[[vms]]
name = "a"
hots = "h"
addresses = ["10.0.0.4"]
[[machines]]
name = "m"
[[vms]]
name = "a"
port = 70000
[[availability_sets]]
name = "web"
[[vms]]
name = "web-0"
host = "h"
availability_set = "web"
[[vms]]
name = "web-1"
availability_set = "web"
host = "h"
[[scale_sets]]
name = "pool"
capacity = 2
[[vms]]
name = "pool_1"
"""

    assert numbered(text) == [3, 7, 10, 11, 12, 15, 16, 26, 30]


def test_in_json_problems_come_by_section_and_entry():
    fleet = {"vms": [{"name": "a", "x": 1}, {"name": "a", "host": "h"}], "hosts": [{"name": 5}, {"name": "/"}]}

    assert [line.partition(":")[0] for line in refused_json(fleet)] == [
        "hosts[0].name",
        "hosts[1].name",
        "vms[0].x",
        "vms[1].name",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[[hosts]]\nnmae = "h"\n[[vms]]\nname = "a"\nhost = "h"\n', 2),
        ('[[host]]\nname = "h"\n[[vms]]\nname = "a"\nhost = "h"\n', 1),
        ('[hosts]\nname = "h"\n[[vms]]\nname = "a"\nhost = "h"\n', 1),
        ('[[hosts]]\nname = 5\n[[vms]]\nname = "a"\nhost = "h"\n', 2),
        ('[[scale_set]]\nname = "s"\n[[vms]]\nname = "a"\nscale_set = "s"\n', 1),
        (
            (
                '[[availability_sets]]\nname = "s"\nupdate_domain = 9\n'
                '[[vms]]\nname = "a"\navailability_set = "s"\nupdate_domain = 8\n'
            ),
            3,
        ),
        (
            (
                '[[vms]]\nname = "a"\ninterfce = "tap0"\naddresses = ["10.0.0.4"]\n'
                '[[vms]]\nname = "b"\naddresses = ["10.0.0.4"]\n'
            ),
            3,
        ),
        (
            (
                '[[hosts]]\nname = "h"\n[[availability_sets]]\nname = "s"\nspraed = false\n'
                '[[vms]]\nname = "a"\nhost = "h"\navailability_set = "s"\n'
                '[[vms]]\nname = "b"\nhost = "h"\navailability_set = "s"\n'
            ),
            5,
        ),
    ],
    ids=[
        "misspelt name of a host",
        "misspelt section of hosts",
        "hosts in a single table",
        "host name of the wrong type",
        "misspelt section of sets",
        "misspelt number of update domains",
        "misspelt interface",
        "misspelt spread",
    ],
)
def test_a_mistake_is_reported_once_and_not_again_where_others_refer_to_it(text: str, line: int):
    assert numbered(text) == [line]


# Where it stands.


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('# a fleet\n[[vms]]\nname = "a"\n\n# the host\nhost = "x"\n', 6),
        ('[[vms]]\nname = "a"\n[[vms]]\nname = "b"\nhost = "x"\n', 5),
        ('[[vms]]\ntags = { note = """\nhost = "x"\n""" }\nname = "a"\nhost = "x"\n', 6),
        ('[[vms]]\nname = "a"\naddresses = [\n  "10.0.0.4", # host = "x"\n]\nhost = "x"\n', 6),
        ('[[vms]]\nname = "a"\ntags.host = "y"\ntags.team = "b"\nhost = "x"\n', 5),
        ('[[vms]]\nname = "a"\n[vms.tags]\nhost = "y"\n[[vms]]\nname = "b"\nhost = "x"\n', 7),
        ('vms = [\n  { name = "a" },\n  { name = "b", host = "x" },\n]\n', 1),
        ('\r\n[[vms]]\r\nname = "a"\r\nhost = "x"\r\n', 4),
    ],
    ids=[
        "after comments",
        "in the second entry",
        "after a text of several lines",
        "after a list of several lines",
        "after dotted keys",
        "after a table in an entry",
        "in a list of inline tables",
        "with line ends of Windows",
    ],
)
def test_a_host_that_does_not_exist_is_told_with_the_line_of_the_key(text: str, line: int):
    assert refused(text) == (f'f.toml:{line}: There is no host x. Add [[hosts]] with name = "x".',)


@pytest.mark.parametrize(
    ("fleet", "place"),
    [
        ({"vms": [{"name": "a", "host": "x"}]}, "vms[0].host"),
        ({"vms": [{"name": "a"}, {"name": "b", "host": "x"}]}, "vms[1].host"),
        ({"scale_sets": [{"name": "p", "hosts": ["x"]}]}, "scale_sets[0].hosts"),
    ],
    ids=["first entry", "second entry", "scale set"],
)
def test_in_json_it_is_told_with_the_path(fleet: dict[str, Any], place: str):
    assert refused_json(fleet) == (f'{place}: There is no host x. Add [[hosts]] with name = "x".',)


@pytest.mark.parametrize(
    ("fleet", "refusal"),
    [
        ([], "fleet: a fleet is a JSON object. Send one with hosts, vms and sets."),
        (None, "fleet: a fleet is a JSON object. Send one with hosts, vms and sets."),
        ({"vms": {}}, "vms[0]: vms is not a list. Write [[vms]] above every entry."),
        (
            {"vms": ["a"]},
            "vms[0]: This entry cannot be used: expected `object`, got `str`. Write a table of keys and values.",
        ),
        ({"vms": [{"zone": "1"}]}, "vms[0]: This entry has no name. Give it a name."),
        (
            {"vms": [{"name": 1}]},
            "vms[0].name: name cannot be used: expected `str`, got `int`. Write a text in quotes.",
        ),
        (
            {"vms": [{"name": "a", "tags": {"x": 1}}]},
            "vms[0].tags: tags cannot be used: expected `str`, got `int`. Write a text in quotes.",
        ),
        (
            {"scale_sets": [{"name": "a", "eviction_policy": "Stop"}]},
            ("scale_sets[0].eviction_policy: eviction_policy cannot be used: invalid enum value 'Stop'. "
            "It can be Deallocate or Delete."),
        ),
        ({"vms": [{"name": "a", "nmae": "b"}]}, "vms[0].nmae: vms have no key nmae. Did you mean name?"),
        ({"vm": []}, "vm[0]: There is no section vm. Did you mean vms?"),
    ],
    ids=[
        "a list", "null", "one entry", "a name alone", "no name", "a number for text", "a number in tags",
        "another word", "a misspelled key", "a misspelled section",
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_with_what_would_do(fleet: Any, refusal: str):
    assert refused_json(fleet) == (refusal,)


def test_unknown_keys_are_told_all_at_once_each_with_its_line():
    text = '[[hosts]]\nname = "h"\nzoen = "1"\n[[vms]]\nnmae = "a"\n\n[machines]\n'

    assert refused(text) == (
        "f.toml:3: hosts have no key zoen. Did you mean zone?",
        "f.toml:5: vms have no key nmae. Did you mean name?",
        (
            "f.toml:7: There is no section machines. "
            "Known are: hosts, availability_sets, scale_sets, cloud_services, vms."
        ),
    )


def test_the_refusal_as_text_has_a_line_for_every_problem():
    with pytest.raises(BadFleet) as caught:
        read_toml('[[vms]]\nname = "a"\nhost = "x"\n[[vms]]\nname = "b"\nhost = "y"\n', "f.toml")

    assert str(caught.value).splitlines() == list(caught.value.lines)
    assert [line.partition(": ")[0] for line in caught.value.lines] == ["f.toml:3", "f.toml:6"]


@pytest.mark.parametrize("section", ["availability_sets", "scale_sets", "cloud_services"])
@pytest.mark.parametrize(
    "check",
    [
        "",
        "rm -rf /",
        "/bin/true",
        "ftp://web.example",
        "http://",
        "http://user:secret@web.example/",
        "http://a b/",
    ],
)
def test_a_health_check_that_is_neither_an_address_nor_a_name_is_refused(section: str, check: str):
    made = {"name": "web", "health_check": check} | ({"capacity": 0} if section == "scale_sets" else {})

    (said,) = refused_json({section: [made]})

    assert "health_check" in said
    assert "secret" not in said
