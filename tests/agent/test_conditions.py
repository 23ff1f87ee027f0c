"""What is asked for only if it is another, and the connection that is kept for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forewarn.agent.metadata import EndpointError, Metadata
from tests.agent.azure import NULL_EVENTS, Azure, event

MetadataOf = Callable[..., Metadata]


def test_without_a_tag_no_condition_is_sent(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(azure.url)

    first = metadata.get()
    metadata.get(wait_seconds=30)

    assert not first.has_tag
    assert not any("if-none-match" in asked.headers or "prefer" in asked.headers for asked in azure.asked)


def test_with_a_tag_an_unchanged_document_is_not_sent_again(azure: Azure, metadata_of: MetadataOf):
    azure.has_tags = True
    metadata = metadata_of(azure.url)

    first = metadata.get()
    second = metadata.get(wait_seconds=30)
    azure.show(event("A"))
    third = metadata.get()

    assert first.has_tag
    assert second.document is None
    assert azure.asked[1].headers["if-none-match"] == '"1"'
    assert azure.asked[1].headers["prefer"] == "wait=30"
    assert third.document is not None


def test_a_question_without_a_condition_gets_the_document_although_it_is_the_same(
    azure: Azure, metadata_of: MetadataOf
):
    azure.has_tags = True
    metadata = metadata_of(azure.url)
    metadata.get()

    again = metadata.get(is_conditional=False)

    assert again.document is not None


def test_after_an_answer_that_could_not_be_read_the_whole_document_is_asked_for(
    azure: Azure, metadata_of: MetadataOf
):
    azure.has_tags = True
    metadata = metadata_of(azure.url)
    metadata.get()
    azure.fail(NULL_EVENTS)

    with pytest.raises(EndpointError):
        metadata.get()
    answer = metadata.get()

    assert answer.document is not None


def test_questions_share_a_connection(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(azure.url)

    for _ in range(3):
        metadata.get()

    assert {asked.connection for asked in azure.asked} == {1}


def test_a_kept_connection_that_was_closed_meanwhile_is_no_error(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(azure.url)
    metadata.get()
    azure.close_connections()

    answer = metadata.get()

    assert answer.document is not None
