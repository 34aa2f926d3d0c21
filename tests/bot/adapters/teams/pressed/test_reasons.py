"""Why an answer did not help, said below the explanation of it."""

from __future__ import annotations

import pytest

from bot.domain.feedback import LONGEST_COMMENT
from bot.domain.interactions import Feedback, Interaction, Outcome
from bot.platforms.teams.payloads.actions import INTERACTION_KEY, SHOW_WHY
from tests.bot.adapters.outcomes import HANDED_OVER, TRACE
from tests.bot.adapters.teams.answering import Bot
from tests.bot.adapters.teams.tenant.dialogs import opened
from tests.bot.adapters.teams.tenant.names import ALICE, BOB, GUEST, GUESTS

BUTTON = "Why this answer"


async def _kept(bot: Bot, asked: Interaction) -> list[Feedback]:
    return list(await bot.store.interactions.feedback(asked.id))


async def _sent(bot: Bot, asked: Interaction, person: str = ALICE, **filled: str) -> str:
    """Send the form as a client might make it up; return what is said to it."""
    reply, data = bot.reply(asked), {"name": SHOW_WHY, INTERACTION_KEY: asked.id, **filled}
    answer = await bot.invoke(reply, "task/submit", {"data": data}, person)
    shown = opened(reply, answer.body)
    assert shown is not None
    return shown.words


async def test_a_reason_and_words_are_kept_with_a_thumb_down(bot: Bot) -> None:
    asked, bob = await bot.answered(), bot.person(BOB)
    await bob.feedback(bot.reply(asked), "like")
    dialog = await bob.open(bot.reply(asked), BUTTON)
    shown = await bob.submit(dialog, "Send", reason="It's outdated", comment="Port 443 now")
    assert shown is not None
    assert "noted" in shown.words
    (kept,) = await _kept(bot, asked)
    assert (kept.person_id, kept.vote) == (BOB, "down")
    assert (kept.reason, kept.comment) == ("outdated", "Port 443 now")


async def test_words_alone_stay_beside_an_earlier_reason(bot: Bot) -> None:
    asked = await bot.answered()
    await _sent(bot, asked, reason="wrong")
    await _sent(bot, asked, comment="see the new page")
    (kept,) = await _kept(bot, asked)
    assert (kept.reason, kept.comment) == ("wrong", "see the new page")


async def test_an_empty_form_is_no_judgement(bot: Bot) -> None:
    asked = await bot.answered()
    for filled in ({}, {"comment": "  "}, {"reason": "made up"}):
        assert "noted nothing" in await _sent(bot, asked, **filled)
    assert await _kept(bot, asked) == []


async def test_what_is_too_long_is_told_and_not_cut(bot: Bot) -> None:
    asked = await bot.answered()
    assert "too long" in await _sent(bot, asked, comment="x" * (LONGEST_COMMENT + 1))
    assert await _kept(bot, asked) == []


async def test_guests_give_no_reasons(bot: Bot) -> None:
    asked = await bot.answered(where=GUESTS)
    assert "Only colleagues" in await _sent(bot, asked, GUEST, reason="wrong")
    assert await _kept(bot, asked) == []


async def test_what_can_not_be_judged_has_no_form_and_takes_none(bot: Bot) -> None:
    asked = await bot.answered(Outcome(HANDED_OVER, TRACE))
    dialog = await bot.person().open(bot.reply(asked), "Why no answer")
    assert dialog.labels == []
    assert "no answer to judge" in await _sent(bot, asked, reason="wrong")


@pytest.mark.parametrize("title", ["It's wrong", "Not what I asked", "Something else"])
async def test_reasons_are_offered_in_words(bot: Bot, title: str) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.submit(await alice.open(bot.reply(asked), BUTTON), "Send", reason=title)
    assert len(await _kept(bot, asked)) == 1
