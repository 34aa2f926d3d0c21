"""Test votes by thumbs and reactions, and the reasons of a thumb down."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import LONGEST_COMMENT, Feedback, Interaction, Outcome
from bot.platforms.teams.actions import reaction_in
from bot.platforms.teams.payloads.actions import INTERACTION_KEY, SHOW_WHY
from tests.fakes.desk import ANSWER, HANDED_OVER, TRACE
from tests.fakes.teams import activities
from tests.fakes.teams.builders import Bot
from tests.fakes.teams.interactions import dialog_of
from tests.fakes.teams.names import (
    ALICE,
    BOB,
    BOT,
    GROUP,
    GUEST,
    GUESTS,
    HELP,
    OUTSIDE_GROUP,
    SHARED,
    STRANGER,
)
from tests.fakes.teams.people import chat_of
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams

LIKE = {"actionName": "feedback", "actionValue": {"reaction": "like", "feedback": "{}"}}
LONG = Outcome(replace(ANSWER, text="Restart the client [1]. " * 6_000), TRACE)


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


@pytest.mark.parametrize(("kind", "vote"), [("like", "up"), ("sad", "down"), ("angry", "down")])
@pytest.mark.parametrize("where", [HELP, GROUP])
async def test_a_reaction_is_a_vote_and_taking_it_back_takes_the_vote_back(
    bot: Bot, where: str, kind: str, vote: str
) -> None:
    asked, alice = await bot.answered(where=where), bot.person()
    await alice.react(bot.reply(asked), kind)
    assert await bot.votes(asked.id) == {ALICE: vote}
    await alice.unreact(bot.reply(asked), kind)
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize("kind", ["heart", "laugh", "surprised", "1f440_eyes", "", "LIKE "])
async def test_other_reactions_say_nothing_of_an_answer(bot: Bot, kind: str) -> None:
    asked = await bot.answered()
    await bot.person().react(bot.reply(asked), kind)
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize(("where", "person"), [(GUESTS, GUEST), (SHARED, STRANGER)])
async def test_colleagues_vote_and_nobody_else(bot: Bot, where: str, person: str) -> None:
    asked = await bot.answered(where=where)
    for each in (BOB, person):
        await bot.person(each).react(bot.reply(asked))
    assert await bot.votes(asked.id) == {BOB: "up"}


async def test_a_reaction_to_any_part_of_a_long_answer_counts(bot: Bot) -> None:
    asked = await bot.answered(LONG)
    *_, last = bot.teams.posts_in(HELP)
    assert last.id != bot.reply(asked).id
    await bot.person().react(last, "sad")
    assert await bot.votes(asked.id) == {ALICE: "down"}


async def test_what_is_no_answer_is_not_judged(bot: Bot) -> None:
    asked = await bot.answered(Outcome(HANDED_OVER, TRACE))
    await bot.person().react(bot.reply(asked))
    assert await bot.votes(asked.id) == {}


def _changed(bot: Bot, over: Sent, person: str = ALICE, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    human = bot.teams.people[person]
    told = activities.reacted(bot.teams, human, over, "like", "reactionsAdded")
    del told["reactionsAdded"]
    return {**told, **changes}


async def test_who_changes_a_reaction_changes_the_vote(bot: Bot) -> None:
    asked, alice = await bot.answered(), bot.person()
    await alice.react(bot.reply(asked))
    swapped: dict[str, Any] = {
        "reactionsAdded": [{"type": "sad"}],
        "reactionsRemoved": [{"type": "like"}],
    }
    await alice.deliver(_changed(bot, bot.reply(asked), **swapped))
    assert await bot.votes(asked.id) == {ALICE: "down"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
async def test_what_a_person_did_last_counts_in_whatever_order_it_arrives_and_how_often(
    bot: Bot, order: tuple[int, ...]
) -> None:
    asked, alice = await bot.answered(), bot.person()
    alice.held = []
    await alice.react(bot.reply(asked))
    await alice.unreact(bot.reply(asked))
    await alice.react(bot.reply(asked), "angry")
    for each in [*order, *order]:
        await alice.deliver(alice.held[each])
    assert await bot.votes(asked.id) == {ALICE: "down"}


async def test_a_reaction_of_the_bot_itself_is_no_vote(bot: Bot) -> None:
    asked = await bot.answered()
    own = _changed(bot, bot.reply(asked), reactionsAdded=[{"type": "like"}])
    await bot.person().deliver({**own, "from": {"id": BOT}})
    assert await bot.votes(asked.id) == {}


async def test_a_reaction_from_another_channel_is_no_vote(bot: Bot) -> None:
    asked = await bot.answered()
    own = _changed(bot, bot.reply(asked), reactionsAdded=[{"type": "like"}])
    await bot.person().deliver({**own, "conversation": bot.teams.conversations[GROUP].told()})
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"reactionsAdded": "like"},
        {"reactionsAdded": [None, "like", {"type": 3}, {}]},
        {"reactionsAdded": [], "reactionsRemoved": [{"type": "heart"}]},
    ],
    ids=str,
)
def test_what_says_no_thumb_is_no_reaction_to_an_answer(told: dict[str, Any]) -> None:
    assert reaction_in(told) is None


def test_the_moment_is_told_in_seconds_and_is_now_where_nothing_says_it() -> None:
    liked = {"reactionsAdded": [{"type": "like"}]}
    told = reaction_in({**liked, "timestamp": "2026-11-21T10:00:00.123Z"})
    assert told is not None
    assert told.at == "1795255200.123000"
    for nothing in ({}, {"timestamp": "yesterday"}, {"timestamp": 5}):
        now = reaction_in({**liked, **nothing})
        assert now is not None
        assert float(now.at) > 1_700_000_000


BUTTON = "Why this answer"


async def _stored_feedback(bot: Bot, asked: Interaction) -> list[Feedback]:
    return list(await bot.store.interactions.feedback(asked.id))


async def _sent(bot: Bot, asked: Interaction, person: str = ALICE, **filled: str) -> str:
    """Send the form as a client might make it up; return what is said to it."""
    reply, data = bot.reply(asked), {"name": SHOW_WHY, INTERACTION_KEY: asked.id, **filled}
    answer = await bot.invoke(reply, "task/submit", {"data": data}, person)
    shown = dialog_of(reply, answer.body)
    assert shown is not None
    return shown.words


async def test_a_reason_and_words_are_kept_with_a_thumb_down(bot: Bot) -> None:
    asked, bob = await bot.answered(), bot.person(BOB)
    await bob.feedback(bot.reply(asked), "like")
    dialog = await bob.open(bot.reply(asked), BUTTON)
    shown = await bob.submit(dialog, "Send", reason="It's outdated", comment="Port 443 now")
    assert shown is not None
    assert "Thank you" in shown.words
    (kept,) = await _stored_feedback(bot, asked)
    assert (kept.person_id, kept.vote) == (BOB, "down")
    assert (kept.reason, kept.comment) == ("outdated", "Port 443 now")


async def test_words_alone_stay_beside_an_earlier_reason(bot: Bot) -> None:
    asked = await bot.answered()
    await _sent(bot, asked, reason="wrong")
    await _sent(bot, asked, comment="see the new page")
    (kept,) = await _stored_feedback(bot, asked)
    assert (kept.reason, kept.comment) == ("wrong", "see the new page")


async def test_an_empty_form_is_no_judgement(bot: Bot) -> None:
    asked = await bot.answered()
    for filled in ({}, {"comment": "  "}, {"reason": "made up"}):
        assert "nothing was saved" in await _sent(bot, asked, **filled)
    assert await _stored_feedback(bot, asked) == []


async def test_what_is_too_long_is_told_and_not_cut(bot: Bot) -> None:
    asked = await bot.answered()
    assert "too long" in await _sent(bot, asked, comment="x" * (LONGEST_COMMENT + 1))
    assert await _stored_feedback(bot, asked) == []


async def test_guests_give_no_reasons(bot: Bot) -> None:
    asked = await bot.answered(where=GUESTS)
    assert "Only colleagues" in await _sent(bot, asked, GUEST, reason="wrong")
    assert await _stored_feedback(bot, asked) == []


async def test_what_can_not_be_judged_has_no_form_and_takes_none(bot: Bot) -> None:
    asked = await bot.answered(Outcome(HANDED_OVER, TRACE))
    dialog = await bot.person().open(bot.reply(asked), "Why no answer")
    assert dialog.labels == []
    assert "There is no answer to rate here any more" in await _sent(bot, asked, reason="wrong")


@pytest.mark.parametrize("title", ["It's wrong", "Not what I asked", "Something else"])
async def test_reasons_are_offered_in_words(bot: Bot, title: str) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.submit(await alice.open(bot.reply(asked), BUTTON), "Send", reason=title)
    assert len(await _stored_feedback(bot, asked)) == 1
