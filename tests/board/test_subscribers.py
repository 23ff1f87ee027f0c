"""Who subscribes is told everything from then on, and is nobody else's trouble."""

from __future__ import annotations

from forewarn.subscribers import Subscribers


def test_subscribers_are_told_in_the_order_in_which_they_came():
    news: Subscribers[int] = Subscribers()
    told: list[tuple[str, int]] = []
    news.subscribe(lambda each: told.append(("first", each)))
    news.subscribe(lambda each: told.append(("second", each)))

    news.publish(1)

    assert told == [("first", 1), ("second", 1)]
    assert len(news) == 2


def test_a_subscriber_that_fails_keeps_no_news_from_the_others():
    news: Subscribers[int] = Subscribers()
    told: list[int] = []
    news.subscribe(lambda each: told.append(1 // (each - 1)))
    news.subscribe(told.append)

    news.publish(1)

    assert told == [1]


def test_unsubscribing_ends_one_subscription_and_may_be_repeated():
    news: Subscribers[int] = Subscribers()
    told: list[int] = []
    unsubscribe = news.subscribe(told.append)
    news.subscribe(told.append)

    unsubscribe()
    news.publish(1)

    assert told == [1]


def test_a_subscription_may_be_ended_while_news_is_published():
    news: Subscribers[int] = Subscribers()
    told: list[int] = []
    unsubscribe = news.subscribe(lambda _: unsubscribe())
    news.subscribe(told.append)

    news.publish(1)
    news.publish(2)

    assert told == [1, 2]
    assert len(news) == 1
