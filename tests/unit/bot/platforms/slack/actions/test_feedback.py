"""Test votes on answers by reaction and by button, and the reasons given with them."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace

import pytest

from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import LONGEST_COMMENT, Feedback, Outcome, Reply
from bot.domain.messages import InteractionId
from bot.platforms.slack.actions.feedback import parse_thumb
from bot.platforms.slack.payloads.actions import ASK_PERSON, FEEDBACK, REASON
from bot.platforms.slack.payloads.events import BotIds
from bot.store.key_values import StoredNotes
from tests.fakes.desk import ANSWER, TRACE
from tests.fakes.http_server import wait_until
from tests.fakes.slack.builders import Bot
from tests.fakes.slack.events import ALICE, deliver
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import (
    BOB,
    BOT_USER,
    DIRECT,
    GUEST,
    HELP,
    OTHER_BOT,
    PEOPLE,
    SHARED,
    STRANGER,
)

LONG = "\n\n".join(f"Step {number}. " + "word " * 60 for number in range(1, 90))
EVENT = {
    "type": "reaction_added",
    "user": ALICE,
    "reaction": "+1",
    "item_user": BOT_USER,
    "item": {"type": "message", "channel": HELP, "ts": "1.4"},
    "event_ts": "1.6",
}
US = BotIds(frozenset({BOT_USER}))


async def becomes_voted(bot: Bot, asked: InteractionId, wanted: dict[str, str]) -> None:
    async with asyncio.timeout(60):
        while await bot.votes(asked) != wanted:  # noqa: ASYNC110 - an errand tells nobody
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("name", "vote"),
    [
        ("+1", "up"),
        ("thumbsup", "up"),
        ("+1::skin-tone-3", "up"),
        ("thumbsdown::skin-tone-6", "down"),
        ("-1", "down"),
    ],
)
async def test_thumbs_count_in_any_colour_and_by_either_name(
    bot: Bot, name: str, vote: str
) -> None:
    asked = await bot.answered()
    await bot.person().react(bot.reply(asked), name)
    assert await bot.votes(asked.id) == {ALICE: vote}


@pytest.mark.parametrize("name", ["tada", "white_check_mark", "heart", "+10", "", "::"])
def test_other_reactions_are_no_votes(name: str) -> None:
    assert parse_thumb({**EVENT, "reaction": name}, US) is None


@pytest.mark.parametrize(
    "change",
    [
        {"item_user": ALICE},
        {"item_user": None},
        {"user": BOT_USER},
        {"user": 7},
        {"item": None},
        {"item": {"type": "file", "file": "F1"}},
        {"item": {"channel": HELP, "ts": "now"}},
        {"event_ts": "soon"},
        {"reaction": ["+1"]},
    ],
)
def test_what_is_no_thumb_on_our_message_is_left_alone(change: dict[str, object]) -> None:
    assert parse_thumb(EVENT, US) is not None
    assert parse_thumb({**EVENT, **change}, US) is None


async def test_a_vote_is_kept_before_slack_has_its_answer(bot: Bot) -> None:
    asked = await bot.answered()
    calls = len(bot.slack.calls)
    alice = bot.person()
    await alice.react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {ALICE: "up"}
    assert alice.answers[-1].status == 200
    assert len(bot.slack.calls) == calls


async def test_a_reaction_taken_back_withdraws_its_vote_and_no_other(bot: Bot) -> None:
    asked = await bot.answered()
    alice, reply = bot.person(), bot.reply(asked)
    await alice.react(reply, "+1")
    await alice.react(reply, "-1")
    await alice.unreact(reply, "+1")
    assert await bot.votes(asked.id) == {ALICE: "down"}
    await alice.unreact(reply, "-1")
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize("user", [GUEST, STRANGER, OTHER_BOT])
async def test_who_is_no_colleague_has_no_vote(bot: Bot, user: str) -> None:
    asked = await bot.answered(channel=SHARED)
    await bot.person(user).react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {}


async def test_colleagues_have_a_vote_each(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(BOB).react(bot.reply(asked), "-1")
    await bot.person().react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {ALICE: "up", BOB: "down"}


async def test_an_asker_from_outside_judges_their_own_answer(bot: Bot) -> None:
    asked = await bot.answered(channel=SHARED, user=STRANGER)
    await bot.person(STRANGER).react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {STRANGER: "up"}


async def test_what_is_no_answer_with_sources_is_not_judged(bot: Bot) -> None:
    asked = await bot.answered(Outcome(Reply("Hello!", "generic"), TRACE))
    await bot.person().react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {}


async def test_the_first_part_of_a_long_answer_is_judged_too(bot: Bot) -> None:
    asked = await bot.answered(Outcome(replace(ANSWER, text=LONG), TRACE))
    first = bot.slack.answers(HELP, asked.message.thread.id)[0]
    assert first.ts != bot.reply(asked).ts
    alice = bot.person()
    await alice.react(first, "+1")
    await becomes_voted(bot, asked.id, {ALICE: "up"})
    looked_up = bot.slack.calls.count("conversations.replies")
    await alice.unreact(first, "+1")
    assert await bot.votes(asked.id) == {}
    assert bot.slack.calls.count("conversations.replies") == looked_up


async def test_the_question_itself_and_cards_are_no_answers(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(BOB).react(asked.message.id, "+1")
    posted = bot.slack.write(BOT_USER, HELP, {"text": "hello", "metadata": {}})
    await bot.person(BOB).react(posted, "+1")
    await wait_until(lambda: "conversations.replies" in bot.slack.calls)
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize("seed", range(6))
async def test_the_last_reaction_counts_in_whatever_order_and_however_often_it_is_told(
    bot: Bot, seed: int
) -> None:
    asked = await bot.answered()
    alice, reply = bot.person(), bot.reply(asked)
    alice.held = []
    await alice.react(reply, "+1")
    await alice.unreact(reply, "+1")
    await alice.react(reply, "-1")
    await alice.unreact(reply, "-1")
    await alice.react(reply, "+1")
    await deliver(alice.door, alice.held, times=2, shuffled=random.Random(seed))  # noqa: S311 - an order, no secret
    assert await bot.votes(asked.id) == {ALICE: "up"}


async def test_the_last_reaction_counts_when_all_are_told_at_once(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await bot.answered()
    alice, reply = bot.person(), bot.reply(asked)
    get = StoredNotes.get

    async def slow(notes: StoredNotes, tenant: str, key: str) -> str | None:
        noted = await get(notes, tenant, key)
        await asyncio.sleep(0.05)
        return noted

    monkeypatch.setattr(StoredNotes, "get", slow)
    alice.held = []
    await alice.react(reply, "+1")
    await alice.unreact(reply, "+1")
    await deliver(alice.door, list(reversed(alice.held)), at_once=True)
    assert await bot.votes(asked.id) == {}


async def test_a_private_answer_is_judged_by_its_asker(bot: Bot) -> None:
    asked = await bot.answered(channel=DIRECT)
    await bot.person().react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {ALICE: "up"}


async def test_a_vote_that_was_not_kept_is_not_acknowledged(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await bot.answered()

    async def away(*_: object) -> None:
        raise StoreUnavailable("the disk is full")

    alice = bot.person()
    monkeypatch.setattr(bot.store.interactions, "rate", away)
    await alice.react(bot.reply(asked), "+1")
    assert alice.answers[-1].status == 503


async def test_who_may_vote_is_asked_again_while_slack_does_not_tell(bot: Bot) -> None:
    asked = await bot.answered()
    bob = bot.person(BOB)
    bot.slack.scopes = ("chat:write",)
    await bob.react(bot.reply(asked), "+1")
    assert bob.answers[-1].status == 503
    assert await bot.votes(asked.id) == {}


async def test_a_thumb_down_asks_what_was_wrong_once(bot: Bot) -> None:
    asked = await bot.answered()
    alice, reply = bot.person(), bot.reply(asked)
    alice.held = []
    await alice.react(reply, "-1")
    await deliver(alice.door, alice.held, times=3)
    await bot.told("What was wrong")
    assert len(bot.whispered()) == 1


UNKNOWN = "00000000-0000-4000-8000-000000000000"
UP, DOWN = "Helpful", "Not helpful"


async def _given(bot: Bot, asked: InteractionId) -> Feedback:
    (given,) = await bot.store.interactions.feedback(asked)
    return given


async def test_a_press_is_a_vote_and_is_thanked_for(bot: Bot) -> None:
    asked = await bot.answered()
    answer = await bot.person().click(bot.reply(asked), UP)
    assert answer.status == 200
    assert await bot.votes(asked.id) == {ALICE: "up"}
    thanks = await bot.told("Thanks")
    assert thanks.thread_ts == asked.message.thread.id


async def test_a_second_vote_replaces_the_first_of_the_same_person(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person().click(bot.reply(asked), UP)
    await bot.person(BOB).click(bot.reply(asked), UP)
    await bot.person().click(bot.reply(asked), DOWN)
    assert await bot.votes(asked.id) == {ALICE: "down", BOB: "up"}


async def test_a_button_and_a_reaction_are_one_vote(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person().click(bot.reply(asked), DOWN)
    await bot.person().react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {ALICE: "up"}


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("It's wrong", "wrong"),
        ("It's outdated", "outdated"),
        ("Not what I asked", "off_topic"),
        ("It's unclear", "unclear"),
    ],
)
async def test_a_thumb_down_is_asked_about_and_the_question_becomes_its_outcome(
    bot: Bot, label: str, reason: str
) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.click(bot.reply(asked), DOWN)
    question = await bot.told("What was wrong")
    assert "Ask a person" in question.labels
    await alice.click(question, label)
    await bot.told("Saved")
    given = await _given(bot, asked.id)
    assert (given.vote, given.reason) == ("down", reason)
    assert len(bot.whispered()) == 1
    assert "What was wrong" not in bot.whispered()[0].shown


async def test_below_a_commands_answer_it_is_asked_where_the_bot_is_not(bot: Bot) -> None:
    alice = bot.person()
    bot.slack.channels.discard(HELP)
    await alice.command(HELP, "/frontdesk", "ask vpn down?")
    answer = await bot.told("Restart the client")
    await alice.click(answer, DOWN)
    await alice.click(await bot.told("What was wrong"), "It's outdated")
    await bot.told("Saved")
    named = bot.said.asked[0].interaction_id
    given = await _given(bot, named)
    assert (given.vote, given.reason) == ("down", "outdated")


@pytest.mark.parametrize("way", ["Something else\u2026", "Say more\u2026"])
async def test_words_of_ones_own_are_kept_with_the_vote(bot: Bot, way: str) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.click(bot.reply(asked), DOWN)
    question = await bot.told("What was wrong")
    if way.startswith("Say"):
        await alice.click(question, "It's wrong")
        question = await bot.told("Saved")
    await alice.click(question, way)
    form = await bot.modal()
    assert await alice.submit(form, {"comment": "It is port <443> & not 80."}) == {}
    given = await _given(bot, asked.id)
    assert given.comment == "It is port <443> & not 80."
    assert given.reason == ("wrong" if way.startswith("Say") else "other")
    await bot.told("Thank you for your feedback")
    assert len(bot.whispered()) == 1


async def test_the_form_takes_as_much_as_is_kept(bot: Bot) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.click(bot.reply(asked), DOWN)
    await alice.click(await bot.told("What was wrong"), "Something else\u2026")
    await alice.submit(await bot.modal(), {"comment": "x" * LONGEST_COMMENT})
    assert len((await _given(bot, asked.id)).comment or "") == LONGEST_COMMENT


async def test_what_was_written_is_not_lost_while_the_record_is_away(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.click(bot.reply(asked), DOWN)
    await alice.click(await bot.told("What was wrong"), "Something else\u2026")
    form = await bot.modal()

    async def away(*_: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(bot.store.interactions, "rate", away)
    answer = await alice.submit(form, {"comment": "port 443"})
    assert answer["errors"] == {"comment": "Something went wrong. Please try again in a minute."}
    monkeypatch.undo()
    assert await alice.submit(form) == {}
    assert (await _given(bot, asked.id)).comment == "port 443"


async def test_a_person_is_asked_for_from_the_question_what_was_wrong(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person().click(bot.reply(asked), DOWN)
    await bot.person().click(await bot.told("What was wrong"), ASK_PERSON)
    await wait_until(lambda: len(bot.said.asked) == 2)
    assert bot.said.asked[1].id == f"{asked.message.id}:person"


async def test_who_is_no_colleague_is_told_so(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(GUEST).click(bot.reply(asked), UP)
    await bot.told("Only colleagues", GUEST)
    assert await bot.votes(asked.id) == {}


async def test_a_press_that_is_not_kept_is_told(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = await bot.answered()

    async def away(*_: object) -> None:
        raise StoreUnavailable("password=hunter2")

    monkeypatch.setattr(bot.store.interactions, "rate", away)
    answer = await bot.person().click(bot.reply(asked), UP)
    assert answer.status == 200
    told = await bot.told("try again")
    assert "hunter2" not in told.shown


async def test_an_answer_that_is_withdrawn_is_gone(bot: Bot) -> None:
    asked = await bot.answered()
    reply = bot.reply(asked)
    await bot.store.work.cancel(asked.id)
    await bot.person().click(reply, UP)
    await bot.told("That question is no longer here")


@pytest.mark.parametrize(
    "value",
    [None, "", "up", "up:", "sideways:{id}", "up:{id}x", "up:\x00", f"up:{UNKNOWN}", "x" * 2000, 7],
)
async def test_values_that_nobody_was_given_change_nothing(bot: Bot, value: object) -> None:
    asked = await bot.answered()
    named = value.replace("{id}", asked.id) if isinstance(value, str) else value
    answer = await bot.press(bot.reply(asked), FEEDBACK, named)
    assert answer.status == 200
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize("elsewhere", [PEOPLE, DIRECT])
async def test_a_press_counts_only_in_the_channel_of_the_answer(bot: Bot, elsewhere: str) -> None:
    asked = await bot.answered()
    await bot.person().door.interact(bot.pressed(elsewhere, FEEDBACK, f"up:{asked.id}"))
    await bot.told("That question is no longer here")
    assert await bot.votes(asked.id) == {}


async def test_anothers_private_answer_is_nobodys_to_judge(bot: Bot) -> None:
    asked = await bot.answered(channel=bot.person(BOB).direct, user=BOB)
    await bot.press(bot.reply(asked), FEEDBACK, f"up:{asked.id}")
    await bot.told("That question is no longer here")
    assert await bot.votes(asked.id) == {}


async def test_an_unknown_reason_is_acknowledged_and_not_kept(bot: Bot) -> None:
    asked = await bot.answered()
    answer = await bot.press(bot.reply(asked), f"{REASON}:boring", f"boring:{asked.id}")
    assert answer.status == 200
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize("metadata", ["", "[]", "{}", "nonsense", json.dumps({"id": UNKNOWN})])
async def test_a_form_about_nothing_says_so(bot: Bot, metadata: str) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.click(bot.reply(asked), DOWN)
    await alice.click(await bot.told("What was wrong"), "Something else\u2026")
    form = await bot.modal()
    form.payload["private_metadata"] = metadata
    answer = await alice.submit(form, {"comment": "port 443"})
    assert "comment" in answer["errors"]
    assert (await _given(bot, asked.id)).comment is None


async def test_nothing_is_asked_where_there_is_nothing_to_judge(bot: Bot) -> None:
    asked = await bot.answered(Outcome(Reply("Hello!", "generic"), TRACE))
    await bot.press(bot.reply(asked), FEEDBACK, f"down:{asked.id}")
    await bot.told("There is no answer to rate here any more")


async def test_a_vote_counts_though_its_presser_cannot_be_told(bot: Bot) -> None:
    asked = await bot.answered()
    bot.slack.fail("response_url", Fault(status=500))
    answer = await bot.person().click(bot.reply(asked), UP)
    assert (answer.status, await bot.votes(asked.id)) == (200, {ALICE: "up"})


@pytest.mark.parametrize("change", [{"user": {}}, {"user": None}, {"container": {}, "channel": {}}])
async def test_a_press_of_nobody_or_nowhere_is_acknowledged(
    bot: Bot, change: dict[str, object]
) -> None:
    asked = await bot.answered()
    pressed = {**bot.pressed(HELP, FEEDBACK, f"up:{asked.id}"), **change}
    assert (await bot.person().door.interact(pressed)).status == 200
    assert await bot.votes(asked.id) == {}
