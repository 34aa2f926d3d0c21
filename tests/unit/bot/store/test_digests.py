"""Tests of subscriptions to the digest, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.learning.digest import Subscription
from bot.store.database import Store
from bot.store.learning_tables import ReviewedAnswerRow
from tests.fakes.builders import NOON
from tests.fakes.record_rows import add

ANNA = Subscription("slack:U1", "Anna", NOON, "U1", "anna@acme.example")


async def test_a_subscription_is_kept_with_what_was_sent(store: Store) -> None:
    kept = store.digests
    await kept.subscribe("default", ANNA, actor="slack:U1")
    await kept.tried("default", ANNA.target, "2026-W48")
    await kept.failed("default", ANNA.target, "away" * 1_000)
    tried = await kept.one("default", ANNA.target)
    await kept.ended("default", ANNA.target, "2026-W48")

    assert tried is not None
    assert (tried.tried_week, tried.sent_week, len(tried.failure)) == ("2026-W48", "", 500)
    assert await kept.listed("default") == [
        replace(ANNA, tried_week="2026-W48", sent_week="2026-W48")
    ]
    assert await kept.listed("other") == []
    assert not await kept.unsubscribe("other", ANNA.target, actor="slack:U1")


async def test_switched_on_again_it_remembers_the_week(store: Store) -> None:
    kept = store.digests
    await kept.subscribe("default", ANNA, actor="slack:U1")
    await kept.ended("default", ANNA.target, "2026-W48")
    assert await kept.unsubscribe("default", ANNA.target, actor="slack:U1")
    await kept.subscribe("default", ANNA, actor="slack:U1")

    found = await kept.one("default", ANNA.target)
    assert found is not None
    assert (found.off, found.sent_week) == (False, "2026-W48")


async def test_answers_of_people_count_while_they_are_live(store: Store) -> None:
    values: dict[str, object] = {
        "tenant": "default",
        "kind": "reviewed",
        "question": "?",
        "text": "!",
    }
    values |= {"readers": "[]", "owner": "ben", "created_at": NOON}
    for name, state, days in (("a", "live", 1), ("b", "live", 9), ("c", "draft", 1)):
        at = NOON - timedelta(days=days)
        await add(store, ReviewedAnswerRow, **values, id=name, state=state, changed_at=at)

    assert await store.digests.answers_live_since("default", NOON - timedelta(days=7)) == 1
