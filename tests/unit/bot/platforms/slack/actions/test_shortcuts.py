"""Test the message shortcut: answered where the bot is, else in a direct message."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import InboxFull
from bot.platforms.slack.actions.shortcuts import parse_shortcut
from bot.platforms.slack.payloads.actions import ASK_SHORTCUT
from tests.fakes.durable_inbox import wait_until_posted
from tests.fakes.http_server import wait_until
from tests.fakes.slack.builders import Bot, interaction_id_of
from tests.fakes.slack.events import ALICE
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import (
    BOB,
    BOT_USER,
    DIRECT,
    ELSEWHERE,
    HELP,
    OTHER_BOT,
    SECRET_ROOM,
    TEAM,
)
from tests.fakes.slack.posts import StoredFile

HERS = "D0ALICE00"


async def test_a_message_is_asked_as_whoever_chose_it_and_answered_in_its_thread(bot: Bot) -> None:
    ts = await bot.person(BOB).say(HELP, "the <vpn> is down & out")
    answer = await bot.person().shortcut(ts, ASK_SHORTCUT)
    assert answer.status == 200
    asked = await wait_until_posted(bot.store, interaction_id_of(HELP, ts))
    message = bot.said.asked[0]
    assert (message.author.id, message.text) == (ALICE, "the <vpn> is down & out")
    assert bot.reply(asked).thread_ts == ts
    await bot.told("thread of that message")


async def test_a_message_of_a_thread_is_answered_in_that_thread(bot: Bot) -> None:
    root = await bot.person(BOB).say(HELP, "morning")
    ts = await bot.person(BOB).say(HELP, "vpn down?", root)
    await bot.person().shortcut(ts, ASK_SHORTCUT)
    assert (
        bot.reply(await wait_until_posted(bot.store, interaction_id_of(HELP, ts))).thread_ts == root
    )


async def test_a_question_that_was_answered_is_not_answered_twice(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(BOB).shortcut(asked.message.id, ASK_SHORTCUT)
    await bot.told("already been asked about this", BOB)
    assert len(bot.said.asked) == 1


async def test_files_come_along(bot: Bot) -> None:
    ts = await bot.person(BOB).say(
        HELP, "why?", files=[StoredFile("vpn.log", b"809", "text/plain")]
    )
    await bot.person().shortcut(ts, ASK_SHORTCUT)
    await wait_until(lambda: bot.said.asked)
    assert [file.name for file in bot.said.asked[0].attachments] == ["vpn.log"]


async def test_messages_of_other_bots_may_be_asked_about(bot: Bot) -> None:
    post = bot.slack.write(OTHER_BOT, HELP, {"text": "disk 93 percent full"})
    await bot.person().shortcut(post, ASK_SHORTCUT)
    await wait_until(lambda: bot.said.asked)
    assert bot.said.asked[0].text == "disk 93 percent full"


async def test_a_message_without_words_or_files_is_not_asked(bot: Bot) -> None:
    post = bot.slack.write(BOB, HELP, {"text": "  "})
    await bot.person().shortcut(post, ASK_SHORTCUT)
    await bot.told("nothing in that message")
    assert bot.said.asked == []


async def test_where_the_bot_is_not_it_answers_in_a_direct_message(bot: Bot) -> None:
    ts = await bot.person(BOB).say(ELSEWHERE, "vpn down? <!channel> <https://evil.example|x>")
    await bot.person().shortcut(ts, ASK_SHORTCUT)
    await wait_until(lambda: len(bot.slack.in_channel(HERS)) == 2)
    opening, answer = bot.slack.in_channel(HERS)
    link = f"<https://acme.slack.com/archives/{ELSEWHERE}/p{ts.replace('.', '')}|a message>"
    assert link in opening.raw
    assert "> vpn down?" in opening.shown
    assert opening.raw.count("<") == 1
    assert answer.thread_ts == opening.ts
    asked = bot.said.asked[0]
    assert (asked.private, asked.author.id) == (True, ALICE)
    assert bot.slack.answers(ELSEWHERE) == []
    await bot.told("direct messages")


async def test_a_private_room_without_the_bot_is_no_place_for_an_answer(bot: Bot) -> None:
    ts = await bot.person().say(SECRET_ROOM, "vpn down?")
    bot.slack.channels.discard(SECRET_ROOM)
    await bot.person().shortcut(ts, ASK_SHORTCUT)
    await wait_until(lambda: len(bot.slack.in_channel(HERS)) == 2)
    assert bot.slack.answers(SECRET_ROOM) == []


async def test_of_two_peoples_talk_the_one_who_asked_is_told(bot: Bot) -> None:
    bot.slack.rooms.made("D0BETWEEN").members |= {ALICE, BOB}
    post = bot.slack.write(BOB, "D0BETWEEN", {"text": "vpn down?"})
    await bot.person().shortcut(post, ASK_SHORTCUT)
    await wait_until(lambda: len(bot.slack.in_channel(HERS)) == 2)
    assert bot.slack.answers("D0BETWEEN") == []


async def test_a_message_elsewhere_is_asked_once_by_each(bot: Bot) -> None:
    ts = await bot.person(BOB).say(ELSEWHERE, "vpn down?")
    await bot.person().shortcut(ts, ASK_SHORTCUT)
    await bot.person().shortcut(ts, ASK_SHORTCUT)
    await bot.told("already asked me about this")
    await bot.person(BOB).shortcut(ts, ASK_SHORTCUT)
    await wait_until(lambda: len(bot.said.asked) == 2)
    assert [each.author.id for each in bot.said.asked] == [ALICE, BOB]


async def test_who_chooses_it_twice_at_once_has_asked_once(bot: Bot) -> None:
    ts = await bot.person(BOB).say(ELSEWHERE, "vpn down?")
    alice = bot.person()
    await asyncio.gather(*(alice.shortcut(ts, ASK_SHORTCUT) for _ in range(2)))
    await wait_until(lambda: len(bot.slack.in_channel(HERS)) >= 2)
    await bot.told("already asked me about this")
    assert len(bot.slack.in_channel(HERS)) == 2
    assert len(bot.said.asked) == 1


async def test_in_the_direct_conversation_it_stays_private(bot: Bot) -> None:
    post = bot.slack.write(ALICE, DIRECT, {"text": "Restart the client."})
    await bot.person().shortcut(post, ASK_SHORTCUT)
    await wait_until(lambda: bot.said.asked)
    assert bot.said.asked[0].private
    assert bot.said.asked[0].thread.channel == DIRECT


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(error="fatal_error")])
async def test_what_could_not_be_asked_is_told(bot: Bot, fault: Fault) -> None:
    ts = await bot.person(BOB).say(ELSEWHERE, "vpn down?")
    bot.slack.fail("conversations.open", fault)
    answer = await bot.person().shortcut(ts, ASK_SHORTCUT)
    assert answer.status == 200
    await bot.told("try again")
    await bot.person().shortcut(ts, ASK_SHORTCUT)
    await wait_until(lambda: bot.said.asked)


async def test_a_full_inbox_is_told(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object) -> None:
        raise InboxFull("waiting=200")

    monkeypatch.setattr(type(bot.inbox), "accept", full)
    ts = await bot.person(BOB).say(HELP, "vpn down?")
    await bot.person().shortcut(ts, ASK_SHORTCUT)
    assert "200" not in (await bot.told("try again")).shown


async def test_two_who_choose_at_once_get_one_answer(bot: Bot) -> None:
    ts = await bot.person(BOB).say(HELP, "vpn down?")
    people = [bot.person(), bot.person(BOB)]
    await asyncio.gather(*(each.shortcut(ts, ASK_SHORTCUT) for each in people))
    await wait_until_posted(bot.store, interaction_id_of(HELP, ts))
    assert len(bot.slack.answers(HELP, ts)) == len(bot.said.asked) == 1


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
_KEYS = ("user", "channel", "message", "team", "response_url", "message_ts")


@given(st.dictionaries(st.sampled_from(_KEYS), _json))
def test_odd_payloads_point_at_nothing(body: dict[str, Any]) -> None:
    assert parse_shortcut(body) is None


async def test_a_shortcut_that_points_at_nothing_is_acknowledged(bot: Bot) -> None:
    body = {
        "type": "message_action",
        "callback_id": ASK_SHORTCUT,
        "user": {"id": ALICE, "team_id": TEAM},
        "team": {"id": TEAM, "domain": "acme"},
        "message": {},
    }
    assert (await bot.person().door.interact(body)).status == 200
    assert bot.said.asked == []


@pytest.mark.mended(id="slack-9")
async def test_an_own_answer_is_known_and_a_person_is_offered(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(BOB).shortcut(bot.reply(asked), ASK_SHORTCUT)
    told = await bot.told("my own answer", BOB)

    assert (len(bot.said.asked), told.labels) == (1, ["Ask a person"])
    await bot.person(BOB).click(told, "Ask a person")
    await wait_until(lambda: len(bot.said.asked) == 2)
    assert bot.said.asked[1].thread == asked.message.thread


@pytest.mark.mended(id="slack-9")
async def test_an_own_message_that_answers_nothing_is_not_asked(bot: Bot) -> None:
    post = bot.slack.write(BOT_USER, HELP, {"text": "Hello!"})
    await bot.person().shortcut(post, ASK_SHORTCUT)

    assert (await bot.told("my own message")).labels == []
    assert bot.said.asked == []


@pytest.mark.mended(id="slack-9")
@pytest.mark.parametrize("who", [ALICE, BOB])
async def test_a_reply_says_who_asked_about_the_message_of_another(bot: Bot, who: str) -> None:
    ts = await bot.person(BOB).say(HELP, "vpn is down")
    await bot.person(who).shortcut(ts, ASK_SHORTCUT)
    reply = bot.reply(await wait_until_posted(bot.store, interaction_id_of(HELP, ts)))

    assert (f"<@{ALICE}>" in reply.raw) is (who == ALICE)
