"""Tests of drafts on both databases; the rest is in learning/test_shadow_mode.py."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.domain.interactions import Outcome
from bot.domain.outcomes import DRAFTED
from bot.learning.shadow_mode import DraftCounts
from bot.store.database import Store
from tests.fakes.board_app import SURE, TRACE
from tests.fakes.builders import message


async def test_drafts_are_due_postponed_settled_judged_and_counted(store: Store) -> None:
    asked = message("vpn?", platform="slack", channel="C1", private=False)
    opened = await store.work.open(replace(asked, shadow=True), "me")
    trace = replace(TRACE, notes=(DRAFTED,))
    await store.work.close(opened, Outcome(SURE, trace, silent=True), last=True)
    now, drafts = datetime.now(UTC), store.shadow_drafts

    (draft,) = await drafts.due("default", now, 5)
    await drafts.later(draft, now + timedelta(hours=1), "away")
    assert not await drafts.due("default", now, 5)
    (draft,) = await drafts.due("default", now + timedelta(hours=2), 5)
    assert draft.attempts == 1
    await drafts.settle(draft)
    assert not await drafts.due("default", now + timedelta(hours=2), 5)
    assert not await drafts.due("other", now + timedelta(hours=2), 5)

    assert await drafts.judge("default", opened.id, "agree", "slack:U1")
    assert not await drafts.judge("default", opened.id, "agree", "slack:U2")
    (counts,) = (await drafts.counts("default", "slack:C1")).values()
    assert counts == DraftCounts(questions=1, drafts=1, right=1)
