"""Tests of the webhook's queue on both databases; the rest is in learning/test_case_webhook.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.domain.cases import Actor
from bot.learning.case_webhook import WebhookCounts
from bot.store.database import Store
from tests.fakes.board_app import UNSURE, ask

ANNA = Actor("anna", "Anna", "expert")
DAY = timedelta(days=1)


async def test_events_are_sent_postponed_given_up_and_replayed(store: Store) -> None:
    case = await ask(store, response=UNSURE)
    await store.escalations.act("default", case.id, "claim", ANNA)
    now = datetime.now(UTC)
    events = store.webhook_events

    (opened,) = await events.due("default", after=now - DAY, now=now, limit=5)
    await events.later(opened, now + DAY, "away")
    assert not await events.due("default", after=now - DAY, now=now, limit=5)
    assert await events.replay("default", since=now - DAY, now=now) == 2
    await events.sent(opened, now)
    assert (await events.counts("default")).waiting == 2, "of an attempt before the replay"
    (opened,) = await events.due("default", after=now - DAY, now=now, limit=5)
    await events.sent(opened, now)
    (claimed,) = await events.due("default", after=now - DAY, now=now, limit=5)
    assert (claimed.step.step, claimed.status.owner_name) == ("claim", "Anna")
    assert await events.give_up("default", queued_until=now) == 1

    assert await events.counts("default") == WebhookCounts(0, 1, now, "")
