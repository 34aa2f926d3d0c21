"""Whom a limit is told to and how often, and how long another bot is answered."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.answering.limit_notices import AskerNotices, RefusalLog
from bot.answering.limits import LimitedAdmission
from bot.domain.messages import Inquiry, Message, Refusal
from bot.domain.outcomes import refused_outcome
from bot.domain.usage import UsageLimits
from bot.store.database import Store
from tests.bot.ledger import Door, Ledger
from tests.bot.recorded import answered
from tests.builders import NOON, message

SLACK = frozenset({"slack"})


def admission(store: Store, ledger: Ledger | None = None) -> LimitedAdmission:
    """Return the admission of one process; the record is that of all."""
    return LimitedAdmission(
        Door(),
        use=ledger or store.counting,
        pauses=store.pauses,
        limits=UsageLimits(per_user=2 if ledger else 0),
        notices=RefusalLog(),
        told=AskerNotices(store.notes, SLACK),
    )


def said(number: int, *, by_bot: bool) -> Message:
    asked = message(f"And {number}?", message_id=f"m{number}", platform="slack", private=False)
    return replace(asked, by_bot=by_bot)


async def silences(store: Store, *messages: Message) -> list[bool]:
    """Have messages answered one after the other; tell which were left alone."""
    silent = []
    for asked in messages:
        await store.work.open(asked, "me")
        admitted = await admission(store).admit(asked)
        silent.append(isinstance(admitted, Refusal))
        outcome = "Yes." if isinstance(admitted, Inquiry) else refused_outcome(asked, admitted)
        await answered(store, asked, outcome)
    return silent


@pytest.mark.mended(id="slack-8")
async def test_another_bot_has_three_turns_until_a_person_speaks(store: Store) -> None:
    bots = [said(number, by_bot=True) for number in range(30)]
    person = said(30, by_bot=False)
    later = [said(number, by_bot=True) for number in range(31, 36)]

    assert await silences(store, *bots) == [False] * 3 + [True] * 27
    assert await silences(store, person, *later) == [False] * 4 + [True] * 2
    kept = await store.interactions.get(later[-1].interaction_id)
    assert kept is not None
    assert kept.outcome is not None
    assert kept.outcome.silent


@pytest.mark.mended(id="slack-8")
async def test_all_processes_together_tell_a_limit_once_a_minute(store: Store) -> None:
    ledger = Ledger()
    flood = [ledger.arrive(50 + number / 2) for number in range(40)]
    later = [ledger.arrive(115 + number) for number in range(4)]
    for each in (*flood, *later):
        await store.work.open(each, "me")

    told = [(each, await admission(store, ledger).admit(each)) for each in (*flood, *later)]

    heard = [each.received_at - NOON for each, one in told if _is_said(one)]
    assert heard == [timedelta(seconds=51), timedelta(seconds=115)]
    assert await admission(store, ledger).admit(flood[2]) == told[2][1]


def _is_said(told: Inquiry | Refusal) -> bool:
    return isinstance(told, Refusal) and not told.silent


@pytest.mark.mended(id="slack-8")
async def test_who_fetches_each_reply_is_told_of_each_limit(store: Store) -> None:
    notices = AskerNotices(store.notes, SLACK)
    asked = [message("hi", message_id=name, platform="rest") for name in ("m1", "m2")]

    assert [await notices.due(each, "limit") for each in asked] == [True, True]


@pytest.mark.mended(id="slack-8")
def test_no_bot_is_told_of_a_limit() -> None:
    limit = Refusal("Later.", "rate", ephemeral=True)

    outcomes = [refused_outcome(said(1, by_bot=by_bot), limit) for by_bot in (True, False)]

    assert [(each.silent, each.ephemeral) for each in outcomes] == [(True, True), (False, True)]
