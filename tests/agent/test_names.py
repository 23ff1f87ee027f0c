"""Whose event it is."""

from __future__ import annotations

import pytest

from forewarn.agent.names import Names, computer_name


def test_the_endpoints_name_is_what_counts_and_the_hostname_is_another():
    names = Names(hostname="pool00000A", compute_name="pool_10")

    assert names.which(["pool_9", "pool_10"]) == "pool_10"
    assert names.which(["pool_9"]) == ""


def test_a_hostname_that_differs_from_the_name_does_not_hide_the_event():
    names = Names(hostname="ip-10-0-0-4.internal", compute_name="web-3")

    assert names.which(["web-3"]) == "web-3"


def test_without_a_name_from_the_endpoint_the_hostname_counts_with_and_without_its_domain():
    names = Names(hostname="web-3.example.org")

    assert names.which(["web-3"]) == "web-3"
    assert names.which(["WEB-3.example.org"]) == "WEB-3.example.org"
    assert names.which(["example"]) == ""


def test_the_leading_underscore_of_the_first_version_does_not_hide_the_event():
    names = Names(compute_name="mysrv")

    assert names.which(["_other", "_mysrv"]) == "_mysrv"


def test_the_case_of_a_name_does_not_matter_and_what_is_returned_is_what_was_written():
    names = Names(compute_name="Web-3")

    assert names.which(["wEB-3"]) == "wEB-3"


@pytest.mark.parametrize(
    ("vm", "computer"),
    [
        ("pool_0", "pool000000"),
        ("pool_10", "pool00000a"),
        ("aks-spot-19654750-vmss_2768", "aks-spot-19654750-vmss00024w"),
        ("a_b_35", "a_b00000z"),
        ("pool_2176782335", "poolzzzzzz"),
        ("pool_2176782336", "pool1000000"),
    ],
)
def test_an_instance_of_a_scale_set_has_its_number_in_base_36_in_its_computer_name(vm: str, computer: str):
    assert computer_name(vm) == computer


@pytest.mark.parametrize(
    "vm", ["web-3", "web", "_", "_3", "", "pool_", "pool_3a", "flex_1a2b3c4d", "pool_²", "a_12345678901"]
)
def test_a_name_without_a_number_has_no_computer_name_and_is_no_error(vm: str):
    assert computer_name(vm) is None
    assert Names(compute_name=vm).which([vm]) == vm


def test_a_computer_name_means_the_instance_and_the_instance_the_computer():
    by_hostname = Names(hostname="aks-spot-19654750-vmss00024W")
    by_name = Names(compute_name="aks-spot-19654750-vmss_2768")

    assert by_hostname.which(["aks-spot-19654750-vmss_2768"]) == "aks-spot-19654750-vmss_2768"
    assert by_name.which(["aks-spot-19654750-vmss00024W"]) == "aks-spot-19654750-vmss00024W"
    assert by_hostname.which(["aks-spot-19654750-vmss_2769"]) == ""


def test_aliases_count_too():
    names = Names(["blue", " "], "host-7", "web-3")

    assert names.which(["green", "BLUE"]) == "BLUE"
    assert names.known == ("web-3", "blue", "host-7")


def test_the_surest_name_wins_where_several_resources_would_fit():
    names = Names(hostname="web-1", compute_name="web-0")

    assert names.which(["web-1", "web-0"]) == "web-0"


def test_a_name_that_is_learned_later_counts_from_then_on():
    names = Names(hostname="host-7")
    before = names.which(["web-3"])

    names.learn("web-3")
    names.learn("")

    assert (before, names.which(["web-3"])) == ("", "web-3")


def test_no_names_and_no_resources_mean_nobody():
    assert Names().which(["web-3", ""]) == ""
    assert Names(compute_name="web-3").which([]) == ""
    assert Names(compute_name="web-3").which([""]) == ""


def test_it_is_said_by_which_name_this_vm_is_meant():
    names = Names(hostname="pool00000A", compute_name="pool_10")

    assert names.explain(["pool_10"]) == "pool_10 is this VM, known as pool_10"
    assert names.explain(["x"]) == "none of x is pool_10 or pool00000A"
