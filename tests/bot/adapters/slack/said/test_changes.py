"""What people edit and delete, in any order with the message itself."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.domain.interactions import Outcome
from bot.domain.messages import InteractionId, Message, Person, Thread
from bot.store.database import Store
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.saying import Says
from tests.bot.adapters.slack.answering import Bot, named
from tests.bot.adapters.slack.events import direct, envelope
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.envelopes import deliver
from tests.bot.adapters.slack.workspace.names import BOT_USER, DIRECT, HELP

MENTION = f"<@{BOT_USER}>"


async def test_an_edited_question_is_amended(ann: Visitor, inbox: KeepingInbox) -> None:
    ts = await ann.say(HELP, "vpn?", mention=True)
    await ann.edit(ts, f"{MENTION} wifi?")

    assert inbox.only.text == "wifi?"


async def test_an_edited_direct_message_is_amended(ann: Visitor, inbox: KeepingInbox) -> None:
    ts = await ann.say(ann.direct, "vpn?")
    await ann.edit(ts, "wifi?")

    assert inbox.only.text == "wifi?"


async def test_a_mention_that_an_edit_adds_is_a_question(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox
) -> None:
    slack.subscribed -= {"app_mention"}
    ts = await ann.say(HELP, "vpn?")
    assert not inbox.messages
    await ann.edit(ts, f"{MENTION} vpn?")

    assert (inbox.only.id, inbox.only.text, inbox.only.overheard) == (ts, "vpn?", False)


async def test_a_mention_that_an_edit_takes_away_leaves_the_question_as_it_reads_now(
    ann: Visitor, inbox: KeepingInbox
) -> None:
    ts = await ann.say(HELP, "vpn?", mention=True)
    await ann.edit(ts, "never mind")

    assert inbox.only.text == "never mind"


async def test_an_edit_goes_on_when_slack_no_longer_waits_and_is_not_begun_anew(
    ann: Visitor, inbox: KeepingInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    ts = await ann.say(HELP, "vpn?", mention=True)
    edited = {"user": ann.id, "ts": "9.1"}
    event = {
        "type": "message",
        "subtype": "message_changed",
        "channel": HELP,
        "event_ts": "9.1",
        "message": {"ts": ts, "user": ann.id, "text": f"{MENTION} wifi?", "edited": edited},
    }
    before = inbox.accepted
    monkeypatch.setattr("bot.platforms.slack.transport.dispatch.ACCEPT_SECONDS", 0.1)
    inbox.delay = 0.5

    async with asyncio.timeout(60):
        while (await ann.door.event(envelope(event))).status != 200:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.1)

    assert inbox.only.text == "wifi?"
    assert inbox.accepted == before + 1


async def test_an_edit_of_what_nobody_asked_is_left(ann: Visitor, inbox: KeepingInbox) -> None:
    ts = await ann.say(HELP, "morning")
    await ann.edit(ts, "good morning")

    assert not inbox.messages


async def test_a_preview_below_a_message_is_no_edit(ann: Visitor, inbox: KeepingInbox) -> None:
    said = direct("see https://wiki.example.com")
    shown = {**said, "attachments": [{"title": "Wiki"}]}
    event = {**direct("", ts="1.5"), "subtype": "message_changed"}
    event |= {"message": shown, "previous_message": said}
    await deliver(ann.door, [envelope(event), envelope({**event, "previous_message": {}})])

    assert inbox.accepted == 0


async def test_a_deleted_question_is_withdrawn(ann: Visitor, inbox: KeepingInbox) -> None:
    ts = await ann.say(HELP, "vpn?", mention=True)
    await ann.delete(ts)

    assert not inbox.messages
    assert len(inbox.cancelled) == 1
    assert {answer.status for answer in ann.answers} == {200}


async def test_a_deleted_question_with_replies_below_it_is_withdrawn(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox
) -> None:
    ts = await ann.say(HELP, "vpn?", mention=True)
    slack.say(HELP, ts, 1)
    await ann.delete(ts)

    assert not inbox.messages


async def test_what_was_never_asked_may_be_deleted(ann: Visitor, inbox: KeepingInbox) -> None:
    ts = await ann.say(HELP, "morning")
    await ann.delete(ts)

    assert (inbox.accepted, inbox.cancelled) == (0, [])
    assert {answer.status for answer in ann.answers} == {200}


async def test_in_whatever_order_they_come_the_newest_words_stand_and_what_is_gone_is_gone(
    ann: Visitor, inbox: KeepingInbox
) -> None:
    for seed in range(20):
        ann.held = []
        edited = await ann.say(ann.direct, "vpn?")
        await ann.edit(edited, "wifi?")
        gone = await ann.say(ann.direct, "secret?")
        await ann.delete(gone)
        answers = await deliver(ann.door, ann.held, times=2, shuffled=random.Random(seed))  # noqa: S311

        assert {answer.status for answer in answers} == {200}
        texts = {message.id: message.text for message in inbox.messages.values()}
        assert texts.get(edited) == "wifi?"
        assert gone not in texts


@pytest.mark.parametrize("mention", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
async def test_the_last_of_several_edits_stands_in_whatever_order_they_come(
    bot: Bot,
    monkeypatch: pytest.MonkeyPatch,
    *,
    mention: bool,
    at_once: bool,
) -> None:
    thought = asyncio.Event()

    async def think(says: Says, *_: object) -> Outcome:
        await thought.wait()
        return says.outcome

    monkeypatch.setattr(Says, "handle", think)
    alice, place, named_it = bot.person(), HELP if mention else DIRECT, MENTION if mention else ""
    for seed in range(5):
        alice.held = []
        ts = await alice.say(place, "vpn?", mention=mention)
        for words in ("wifi?", "printer?"):
            await alice.edit(ts, f"{named_it} {words}".strip())
        order = random.Random(seed)  # noqa: S311 - an order, no secret
        if at_once:
            await deliver(alice.door, order.sample(alice.held, len(alice.held)), at_once=True)
        else:
            await deliver(alice.door, alice.held, times=2, shuffled=order)
        kept = await bot.store.interactions.get(named(place, ts))
        assert kept is not None
        assert kept.message.text == "printer?"
    thought.set()


async def test_what_was_pressed_below_a_question_goes_with_it(
    ann: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    ts = await ann.say(HELP, "vpn?", mention=True)
    for name in (f"{ts}:person", f"{ts}:option:person", "1700000000.000300"):
        message = replace(inbox.messages[question_at(HELP, ts)], id=name)
        await store.work.open(message, "owner")
        await inbox.accept(message)
    await ann.delete(ts)

    assert [message.id for message in inbox.messages.values()] == ["1700000000.000300"]


def question_at(channel: str, ts: str) -> InteractionId:
    thread = Thread("slack", "acme", channel, ts)
    return Message(ts, thread, Person("U"), "", datetime.now(UTC)).interaction_id
