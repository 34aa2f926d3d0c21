"""Thumbs below an answer, by Teams' own form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.domain.errors import StoreUnavailable
from bot.domain.feedback import LONGEST_COMMENT
from bot.domain.interactions import Feedback, Interaction, Outcome
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, TRACE
from tests.bot.adapters.teams.answering import Bot
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.conversations import chat_of
from tests.bot.adapters.teams.tenant.names import (
    ALICE,
    BOB,
    GROUP,
    GUEST,
    GUESTS,
    HELP,
    OUTSIDE_GROUP,
    SHARED,
    STRANGER,
)
from tests.bot.adapters.teams.tenant.posts import Sent

LIKE = {"actionName": "feedback", "actionValue": {"reaction": "like", "feedback": "{}"}}
LONG = Outcome(replace(ANSWER, text="Restart the client [1]. " * 1500), TRACE)


async def _kept(bot: Bot, asked: Interaction) -> dict[str, Feedback]:
    given = await bot.store.interactions.feedback(asked.id)
    return {each.person_id: each for each in given}


@pytest.mark.parametrize("where", [HELP, GROUP, chat_of(ALICE)])
@pytest.mark.parametrize(("reaction", "vote"), [("like", "up"), ("dislike", "down")])
async def test_a_thumb_is_a_vote_with_its_words(
    bot: Bot, where: str, reaction: str, vote: str
) -> None:
    asked = await bot.answered(where=where)
    await bot.person().feedback(bot.reply(asked), reaction, "It says 5.")
    kept = (await _kept(bot, asked))[ALICE]
    assert (kept.vote, kept.comment) == (vote, "It says 5.")


async def test_who_changes_their_mind_has_one_vote(bot: Bot) -> None:
    asked, alice = await bot.answered(), bot.person()
    await alice.feedback(bot.reply(asked), "dislike", "too old")
    await alice.feedback(bot.reply(asked), "like")
    assert await bot.votes(asked.id) == {ALICE: "up"}
    assert (await _kept(bot, asked))[ALICE].comment is None


async def test_the_same_thumb_again_keeps_what_was_said_unless_there_are_new_words(
    bot: Bot,
) -> None:
    asked, alice = await bot.answered(), bot.person()
    for words in ("too old", ""):
        await alice.feedback(bot.reply(asked), "dislike", words)
    assert (await _kept(bot, asked))[ALICE].comment == "too old"
    await alice.feedback(bot.reply(asked), "dislike", "and wrong")
    assert (await _kept(bot, asked))[ALICE].comment == "and wrong"


async def test_a_colleague_who_sees_the_channel_votes_too(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(BOB).feedback(bot.reply(asked), "dislike")
    assert await bot.votes(asked.id) == {BOB: "down"}


@pytest.mark.parametrize(
    ("where", "person"), [(GUESTS, GUEST), (SHARED, STRANGER), (OUTSIDE_GROUP, STRANGER)]
)
async def test_people_who_are_no_colleagues_do_not_vote(bot: Bot, where: str, person: str) -> None:
    asked = await bot.answered(where=where)
    await bot.invoke(bot.reply(asked), "message/submitAction", LIKE, person)
    await bot.invoke(bot.reply(asked), "message/submitAction", LIKE)
    assert await bot.votes(asked.id) == {ALICE: "up"}


async def test_a_guest_judges_what_they_asked_themselves(bot: Bot) -> None:
    asked = await bot.answered(where=GUESTS, person=GUEST)
    await bot.person(GUEST).feedback(bot.reply(asked))
    assert await bot.votes(asked.id) == {GUEST: "up"}


async def test_anothers_private_answer_is_not_judged(bot: Bot) -> None:
    asked = await bot.answered(where=chat_of(ALICE))
    await bot.invoke(bot.reply(asked), "message/submitAction", LIKE, BOB)
    await bot.invoke(bot.reply(asked), "message/submitAction", LIKE, BOB, where=chat_of(BOB))
    assert await bot.votes(asked.id) == {}


async def test_what_people_get_instead_of_an_answer_is_not_judged(bot: Bot) -> None:
    asked = await bot.answered(Outcome(HANDED_OVER, TRACE))
    await bot.invoke(bot.reply(asked), "message/submitAction", LIKE)
    assert await bot.votes(asked.id) == {}


async def test_a_withdrawn_answer_is_not_judged(bot: Bot) -> None:
    asked = await bot.answered()
    reply = bot.reply(asked)
    await bot.inbox.cancel(asked.id)
    await bot.invoke(reply, "message/submitAction", LIKE)
    assert await bot.votes(asked.id) == {}


async def test_a_thumb_on_any_part_of_a_long_answer_counts(bot: Bot) -> None:
    asked = await bot.answered(LONG)
    *_, last = bot.teams.posts_in(HELP)
    assert last.id != bot.reply(asked).id
    await bot.invoke(last, "message/submitAction", LIKE)
    assert await bot.votes(asked.id) == {ALICE: "up"}


async def test_the_playground_names_no_message_so_the_newest_answer_of_its_user_is_meant(
    bot: Bot,
) -> None:
    older, chat = await bot.answered(where=chat_of(ALICE)), chat_of(ALICE)
    newer = await bot.answered(where=chat)
    await bot.answered(Outcome(HANDED_OVER, TRACE), where=chat)
    await bot.person().feedback(bot.reply(newer), "dislike", "too old", plain=True)
    assert await bot.votes(older.id) == {}
    kept = (await _kept(bot, newer))[ALICE]
    assert (kept.vote, kept.comment) == ("down", "too old")


async def test_without_a_message_nobody_judges_what_another_asked(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(BOB).feedback(bot.reply(asked), plain=True)
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize(
    ("feedback", "comment"),
    [
        ('{"feedbackText":"too old"}', "too old"),
        ("too old", "too old"),
        ("5", "5"),
        ('"quoted"', '"quoted"'),
        ("[" * 5_000, "[" * LONGEST_COMMENT),
        ('{"feedbackText":5}', None),
        ("{}", None),
        ("  ", None),
        ("x" * 3_000, "x" * LONGEST_COMMENT),
        (None, None),
        ({"feedbackText": "an object"}, None),
    ],
    ids=range(11),
)
async def test_words_come_as_json_or_as_they_are(
    bot: Bot, feedback: object, comment: str | None
) -> None:
    asked = await bot.answered()
    value = {"actionName": "feedback", "actionValue": {"reaction": "like", "feedback": feedback}}
    await bot.invoke(bot.reply(asked), "message/submitAction", value)
    assert (await _kept(bot, asked))[ALICE].comment == comment


@pytest.mark.parametrize(
    "value", [{}, {"actionValue": "like"}, {"actionValue": {"reaction": ["like"]}}], ids=str
)
async def test_what_says_no_thumb_is_answered_with_nothing(bot: Bot, value: dict[str, Any]) -> None:
    asked = await bot.answered()
    answer = await bot.invoke(bot.reply(asked), "message/submitAction", value)
    assert (answer.text, await bot.votes(asked.id)) == ("{}", {})


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), RuntimeError("a defect")], ids=repr)
async def test_a_vote_that_can_not_be_kept_shows_no_error(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    asked = await bot.answered()

    async def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(type(bot.store.interactions), "rate", fails)
    answer = await bot.invoke(bot.reply(asked), "message/submitAction", LIKE)
    assert answer.text == "{}"


async def test_messages_that_are_no_answers_are_not_judged(bot: Bot, teams: FakeTeams) -> None:
    asked = await bot.answered()
    reply = bot.reply(asked)
    other = Sent("1234", reply.conversation, None, reply.activity, "")
    await bot.invoke(other, "message/submitAction", LIKE)
    assert await bot.votes(asked.id) == {}
