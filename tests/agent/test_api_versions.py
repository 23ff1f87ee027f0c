"""In which version the endpoint is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forewarn.agent.metadata import EndpointError, Metadata
from tests.agent.azure import VERSIONS, Azure, Fault, event
from tests.agent.looking import hours_later

MetadataOf = Callable[..., Metadata]


def test_the_newest_version_is_asked_first(azure: Azure, metadata_of: MetadataOf):
    metadata_of(azure.url).get()

    assert [asked.version for asked in azure.asked] == ["2020-07-01"]


@pytest.mark.parametrize("newest", range(1, len(VERSIONS)), ids=VERSIONS[:-1])
def test_a_400_steps_down_to_the_newest_version_that_the_endpoint_knows(
    azure: Azure, newest: int, metadata_of: MetadataOf
):
    azure.versions = VERSIONS[:newest]
    azure.show(event("A"))
    metadata = metadata_of(azure.url)

    metadata.get()
    answer = metadata.get()

    assert answer.api_version == VERSIONS[newest - 1]
    assert answer.document is not None
    assert [each.id for each in answer.document.events] == ["A"]
    asked = [each.version for each in azure.asked]
    assert asked == [*reversed(VERSIONS[newest:]), VERSIONS[newest - 1], VERSIONS[newest - 1]]


def test_an_approval_goes_out_in_the_version_that_was_read(azure: Azure, metadata_of: MetadataOf):
    azure.versions = ("2017-08-01", "2019-08-01")
    metadata = metadata_of(azure.url)
    metadata.get()

    metadata.approve("A")

    assert azure.asked[-1].method == "POST"
    assert azure.asked[-1].version == "2019-08-01"
    assert azure.approved == ["A"]


def test_a_pinned_version_is_the_only_one_for_reading_and_approving(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(azure.url, api_version="2019-01-01")

    metadata.get()
    metadata.approve("A")

    assert [asked.version for asked in azure.asked] == ["2019-01-01", "2019-01-01"]


def test_a_pinned_version_that_the_endpoint_refuses_is_an_error(azure: Azure, metadata_of: MetadataOf):
    azure.versions = ("2017-08-01",)

    with pytest.raises(EndpointError, match="api-version is invalid") as caught:
        metadata_of(azure.url, api_version="2020-07-01").get()

    assert caught.value.kind == "bad_request"
    assert len(azure.asked) == 1


def test_an_endpoint_that_refuses_every_version_is_an_error_and_is_asked_anew_from_the_newest(
    azure: Azure, metadata_of: MetadataOf
):
    azure.versions = ()
    metadata = metadata_of(azure.url)

    with pytest.raises(EndpointError) as caught:
        metadata.get()
    azure.versions = VERSIONS
    answer = metadata.get()

    assert caught.value.kind == "bad_request"
    assert answer.api_version == "2020-07-01"


def test_a_single_400_does_not_give_up_a_version_that_has_worked(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(azure.url)
    metadata.get()
    azure.fail(Fault(400))

    with pytest.raises(EndpointError):
        metadata.get()
    answer = metadata.get()

    assert answer.api_version == "2020-07-01"


def test_a_newer_version_is_looked_for_again_after_an_hour(azure: Azure, metadata_of: MetadataOf):
    hours = [0.0]
    metadata = metadata_of(azure.url, timer=hours_later(hours))
    azure.versions = ("2019-08-01",)
    before = metadata.get()

    azure.versions = VERSIONS
    hours[0] = 2
    after = metadata.get()

    assert (before.api_version, after.api_version) == ("2019-08-01", "2020-07-01")
