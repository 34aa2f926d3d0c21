"""Test how messages, edits, deletions and arrivals on Slack become questions."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.answering.admission import PRACTISING
from bot.answering.routing.message_text import condense
from bot.chat.adapters import ChatContext
from bot.domain.interactions import Outcome
from bot.domain.messages import AnswerMode, Inquiry, InteractionId, Message, Person, Policy, Thread
from bot.domain.ports import ReportStage
from bot.platforms.slack import members as names_module
from bot.platforms.slack.channel import SlackChannel
from bot.store.database import Store
from tests.fakes.desk import ANSWER, TRACE, FixedDesk, KeepingInbox
from tests.fakes.durable_inbox import wait_until_posted
from tests.fakes.http_server import wait_until
from tests.fakes.slack.builders import Bot, bot_at, interaction_id_of
from tests.fakes.slack.events import deliver, direct, envelope
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import (
    BOB,
    BOT_USER,
    DIRECT,
    ELSEWHERE,
    HELP,
    OTHER_BOT,
    SECRET_ROOM,
    SHARED,
    STRANGER,
)
from tests.fakes.slack.posts import StoredFile
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor


async def allow(context: ChatContext, policy: Policy, channel: str = HELP) -> None:
    await context.policies.set("acme", f"slack:{channel}", policy, actor="cli:test")


class Reads:
    """A desk that notes the files of what it is asked, and waits until it may answer."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.read: list[list[str]] = []

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.read.append([each.name for each in inquiry.message.attachments])
        await self.gate.wait()
        return Outcome(ANSWER, TRACE)


def all_well(visitor: Visitor) -> bool:
    return {answer.status for answer in visitor.answers} == {200}


@pytest.mark.parametrize("channel", [HELP, SECRET_ROOM])
async def test_a_mention_and_its_copy_in_the_channel_are_one_question(
    ann: Visitor, inbox: KeepingInbox, channel: str
) -> None:
    ts = await ann.say(channel, "vpn &amp; wifi?", mention=True)

    assert inbox.only.key == f"slack:acme:{channel}:{ts}"
    assert not inbox.only.overheard
    assert inbox.accepted == 2
    assert all_well(ann)


async def test_a_direct_message_is_private_and_addressed(ann: Visitor, inbox: KeepingInbox) -> None:
    await ann.say(ann.direct, "vpn?")

    assert (inbox.only.private, inbox.only.overheard) == (True, False)


async def test_a_question_is_acknowledged_while_its_answer_is_blocked(
    slack: FakeSlack, channel: SlackChannel, store: Store
) -> None:
    """Slack waits three seconds, and an answer may take longer."""
    desk = Reads()
    async with bot_at(slack, channel, store, desk) as bot:
        alice = bot.person()
        in_channel = await alice.say(HELP, "vpn?", mention=True)
        directly = await alice.say(alice.direct, "wifi?")
        await alice.command(HELP, "/frontdesk", "ask what is a vpn?")
        await wait_until(lambda: len(desk.read) == 3)
        assert all_well(alice)
        assert not slack.answers(HELP, in_channel)
        desk.gate.set()
        for place, ts in ((HELP, in_channel), (alice.direct, directly)):
            await wait_until_posted(store, interaction_id_of(place, ts))


async def test_talk_that_nobody_addressed_to_the_bot_is_left_alone(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    await alice.say(HELP, "how do I print?")

    assert not inbox.messages
    assert all_well(alice)


async def test_a_question_is_overheard_where_the_channel_allows_it(
    alice: Visitor, inbox: KeepingInbox, context: ChatContext
) -> None:
    await allow(context, Policy(answers="questions"))
    await alice.say(HELP, "nice weather")
    ts = await alice.say(HELP, "how do I print?")

    assert (inbox.only.id, inbox.only.overheard) == (ts, True)


async def test_who_mentions_a_bot_that_practises_is_told_so_once_and_alone(
    slack: FakeSlack, alice: Visitor, inbox: KeepingInbox, context: ChatContext
) -> None:
    await allow(context, Policy(answers="shadow", follow_ups=True))
    await alice.say(HELP, "how do I print?")
    first = await alice.say(HELP, "vpn?", mention=True)
    await wait_until(lambda: any(post.only_for for post in slack.in_channel(HELP)))
    await alice.say(HELP, "wifi?", mention=True)
    await alice.say(HELP, "and how?", first)

    assert [each.shadow for each in inbox.messages.values()] == [True, True, True]
    assert [each.overheard for each in inbox.messages.values()] == [True, False, False]
    told = [post for post in slack.in_channel(HELP) if post.by_bot]
    assert [post.only_for for post in told] == [alice.id]
    assert PRACTISING in told[0].shown


@pytest.mark.parametrize("answers", ["shadow", "mentions"])
async def test_where_the_bot_practises_nothing_is_shown(
    slack: FakeSlack, channel: SlackChannel, store: Store, answers: AnswerMode
) -> None:
    desk = Reads()
    async with bot_at(slack, channel, store, desk) as bot:
        await store.policies.set("acme", f"slack:{HELP}", Policy(answers=answers), actor="test")
        ts = await bot.person().say(HELP, "vpn?", mention=True)
        await wait_until(lambda: desk.read)
        desk.gate.set()
        await wait_until_posted(store, interaction_id_of(HELP, ts))

    shown = {"assistant.threads.setStatus", "reactions.add"} & set(slack.calls)
    assert bool(shown) == (answers == "mentions")
    assert bool(slack.answers(HELP, ts)) == (answers == "mentions")


async def test_a_follow_up_is_overheard_only_in_a_thread_of_the_bots(
    alice: Visitor, inbox: KeepingInbox, context: ChatContext
) -> None:
    await allow(context, Policy(follow_ups=True))
    thread = await alice.say(HELP, "morning")
    await alice.say(HELP, "and in colour?", thread)

    assert not inbox.messages


async def test_a_mention_of_somebody_else_stays_in_the_text_and_addresses_nobody(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    await alice.say(HELP, "<@U0BOB0000> vpn?")
    assert not inbox.messages
    await alice.say(HELP, "can <@U0BOB0000> log in?", mention=True)
    assert inbox.only.text == "can @bob log in?"


async def test_a_mention_and_nothing_else_is_accepted(alice: Visitor, inbox: KeepingInbox) -> None:
    await alice.say(HELP, "", mention=True)

    assert inbox.only.text == ""


async def test_people_of_other_organisations_may_ask_in_a_shared_channel(
    slack: FakeSlack, alice: Visitor, inbox: KeepingInbox
) -> None:
    olga = Visitor(slack, alice.door, STRANGER)
    await olga.say(SHARED, "vpn?", mention=True)

    assert inbox.only.author.id == STRANGER


@pytest.mark.parametrize("allowed", [False, True])
async def test_another_bot_is_heard_where_the_channel_allows_it_and_only_if_it_asks(
    slack: FakeSlack, alice: Visitor, inbox: KeepingInbox, context: ChatContext, *, allowed: bool
) -> None:
    await allow(context, Policy(answers="questions", other_bots=allowed))
    bot = Visitor(slack, alice.door, OTHER_BOT)
    await bot.say(HELP, "why is the build red?")
    await bot.say(HELP, "vpn?", mention=True)

    heard = [(message.text, message.by_bot) for message in inbox.messages.values()]
    assert heard == [("vpn?", True)] * allowed


async def test_files_come_along_with_where_they_are(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox
) -> None:
    log = StoredFile("vpn.log", b"error 809")
    elsewhere = StoredFile("plan.txt", b"x", external=True)
    await ann.say(HELP, "what is this?", files=[log, elsewhere], mention=True)

    read, shut = inbox.only.attachments
    assert (read.name, read.media_type, read.size) == ("vpn.log", "text/plain", 9)
    assert read.place.startswith(slack.site)
    assert shut.place == ""


@pytest.mark.parametrize("copy_first", [False, True])
async def test_files_that_a_mention_comes_without_come_with_its_copy(
    slack: FakeSlack, channel: SlackChannel, store: Store, *, copy_first: bool
) -> None:
    """Slack was seen to leave them out of mentions, whichever comes first."""
    slack.sparse_mentions = True
    desk = Reads()
    async with bot_at(slack, channel, store, desk) as bot:
        alice = bot.person()
        alice.held = []
        log = StoredFile("vpn.log", b"error 809")
        ts = await alice.say(HELP, "what is this?", files=[log], mention=True)
        for each in alice.held[::-1] if copy_first else alice.held:
            await deliver(alice.door, [each], times=2)
        desk.gate.set()
        await wait_until_posted(store, interaction_id_of(HELP, ts))

    assert desk.read[-1] == ["vpn.log"]
    assert len(desk.read) == (1 if copy_first else 2)
    assert len(slack.answers(HELP, ts)) == 1


async def test_an_edit_that_comes_as_a_mention_again_amends_the_question(
    slack: FakeSlack, alice: Visitor, inbox: KeepingInbox
) -> None:
    """Where message events are not subscribed, nothing else tells of it."""
    slack.subscribed -= {"message.channels"}
    ts = await alice.say(HELP, "vpn?", mention=True)
    await alice.edit(ts, "<@U0BOT0000> wifi?")

    assert inbox.only.text == "wifi?"


async def test_a_record_that_does_not_answer_leaves_an_overheard_question_to_be_sent_again(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox, context: ChatContext
) -> None:
    slack.sockets.ack_seconds = 0.1
    await allow(context, Policy(answers="questions"))
    inbox.error = RuntimeError("down")
    await ann.say(HELP, "how do I print?")

    assert ann.answers[-1].status in {0, 503}


@pytest.mark.mended(id="slack-10")
@pytest.mark.parametrize(
    ("written", "read", "searched"),
    [
        ("can <@U0BOB0000> log in?", "can @Bob\u00a0<b>\u00a0&amp;\u00a0co log in?", "can log in?"),
        ("may <@U0NOBODY0> log in?", "may @U0NOBODY0 log in?", "may log in?"),
        ("what is <#C0HELP000> for?", "what is #help for?", "what is #help for?"),
        ("what is <#C0SECRET0> for?", "what is #private\u00a0channel for?", None),
        ("may <!subteam^S0ADMINS0> log in?", "may @group-0 log in?", "may log in?"),
        ("may <!subteam^S0ADMINS0|@it> log in?", "may @it log in?", "may log in?"),
    ],
)
async def test_people_read_names_and_the_search_does_without_those_of_others(
    slack: FakeSlack,
    alice: Visitor,
    inbox: KeepingInbox,
    written: str,
    read: str,
    searched: str | None,
) -> None:
    slack.people[BOB].name = "Bob <b> &amp; co"
    await alice.say(HELP, written, mention=True)

    assert inbox.only.text == read
    assert searched is None or condense(inbox.only.text) == searched


@pytest.mark.mended(id="slack-10")
async def test_an_edited_question_is_kept_with_names_as_well(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    ts = await alice.say(HELP, "can Bob log in?", mention=True)
    await alice.edit(ts, "<@U0BOT0000> can <@U0BOB0000> log in?")

    assert inbox.only.text == "can @bob log in?"


@pytest.mark.mended(id="slack-10")
async def test_a_question_is_kept_with_ids_where_slack_tells_no_names(
    slack: FakeSlack, alice: Visitor, inbox: KeepingInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names_module, "_PATIENCE_SECONDS", 0.05)
    slack.fail("users.info", Fault(seconds=20))

    await alice.say(HELP, "can <@U0BOB0000> log in?", mention=True)

    assert inbox.only.text == "can @U0BOB0000 log in?"


MENTION = f"<@{BOT_USER}>"


@pytest.mark.parametrize(
    ("where", "mention", "edited"),
    [(HELP, True, f"{MENTION} wifi?"), (HELP, True, "wifi?"), (DIRECT, False, "wifi?")],
    ids=["mentioned", "no longer mentioned", "direct"],
)
async def test_an_edited_question_is_amended(
    ann: Visitor, inbox: KeepingInbox, where: str, edited: str, *, mention: bool
) -> None:
    ts = await ann.say(where, "vpn?", mention=mention)
    await ann.edit(ts, edited)

    assert inbox.only.text == "wifi?"


async def test_a_mention_that_an_edit_adds_is_a_question(
    slack: FakeSlack, alice: Visitor, inbox: KeepingInbox
) -> None:
    slack.subscribed -= {"app_mention"}
    ts = await alice.say(HELP, "vpn?")
    assert not inbox.messages
    await alice.edit(ts, f"{MENTION} vpn?")

    assert (inbox.only.id, inbox.only.text, inbox.only.overheard) == (ts, "vpn?", False)


async def test_an_edit_goes_on_when_slack_no_longer_waits_and_is_not_begun_anew(
    alice: Visitor, inbox: KeepingInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    ts = await alice.say(HELP, "vpn?", mention=True)
    edited = {"user": alice.id, "ts": "9.1"}
    event = {
        "type": "message",
        "subtype": "message_changed",
        "channel": HELP,
        "event_ts": "9.1",
        "message": {"ts": ts, "user": alice.id, "text": f"{MENTION} wifi?", "edited": edited},
    }
    before = inbox.accepted
    monkeypatch.setattr("bot.platforms.slack.messages.intake.ACCEPT_SECONDS", 0.1)
    inbox.delay = 0.5

    while (await alice.door.event(envelope(event))).status != 200:  # noqa: ASYNC110 - no event
        await asyncio.sleep(0.1)

    assert inbox.only.text == "wifi?"
    assert inbox.accepted == before + 1


async def test_an_edit_of_what_nobody_asked_is_left(alice: Visitor, inbox: KeepingInbox) -> None:
    ts = await alice.say(HELP, "morning")
    await alice.edit(ts, "good morning")

    assert not inbox.messages


async def test_a_preview_below_a_message_is_no_edit(alice: Visitor, inbox: KeepingInbox) -> None:
    said = direct("see https://wiki.example.com")
    shown = {**said, "attachments": [{"title": "Wiki"}]}
    event = {**direct("", ts="1.5"), "subtype": "message_changed"}
    event |= {"message": shown, "previous_message": said}
    await deliver(alice.door, [envelope(event), envelope({**event, "previous_message": {}})])

    assert inbox.accepted == 0


async def test_a_deleted_question_is_withdrawn(ann: Visitor, inbox: KeepingInbox) -> None:
    ts = await ann.say(HELP, "vpn?", mention=True)
    await ann.delete(ts)

    assert not inbox.messages
    assert len(inbox.cancelled) == 1
    assert {answer.status for answer in ann.answers} == {200}


async def test_a_deleted_question_with_replies_below_it_is_withdrawn(
    slack: FakeSlack, alice: Visitor, inbox: KeepingInbox
) -> None:
    ts = await alice.say(HELP, "vpn?", mention=True)
    slack.say(HELP, ts, 1)
    await alice.delete(ts)

    assert not inbox.messages


async def test_what_was_never_asked_may_be_deleted(alice: Visitor, inbox: KeepingInbox) -> None:
    ts = await alice.say(HELP, "morning")
    await alice.delete(ts)

    assert (inbox.accepted, inbox.cancelled) == (0, [])
    assert {answer.status for answer in alice.answers} == {200}


async def test_in_whatever_order_they_come_the_newest_words_stand_and_what_is_gone_is_gone(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    for seed in range(20):
        alice.held = []
        edited = await alice.say(alice.direct, "vpn?")
        await alice.edit(edited, "wifi?")
        gone = await alice.say(alice.direct, "secret?")
        await alice.delete(gone)
        answers = await deliver(alice.door, alice.held, times=2, shuffled=random.Random(seed))  # noqa: S311

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

    async def think(says: FixedDesk, *_: object) -> Outcome:
        await thought.wait()
        return says.outcome

    monkeypatch.setattr(FixedDesk, "handle", think)
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
        kept = await bot.store.interactions.get(interaction_id_of(place, ts))
        assert kept is not None
        assert kept.message.text == "printer?"
    thought.set()


async def test_what_was_pressed_below_a_question_goes_with_it(
    alice: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    ts = await alice.say(HELP, "vpn?", mention=True)
    for name in (f"{ts}:person", f"{ts}:option:person", "1700000000.000300"):
        message = replace(inbox.messages[question_at(HELP, ts)], id=name)
        await store.work.open(message, "owner")
        await inbox.accept(message)
    await alice.delete(ts)

    assert [message.id for message in inbox.messages.values()] == ["1700000000.000300"]


def question_at(channel: str, ts: str) -> InteractionId:
    thread = Thread("slack", "acme", channel, ts)
    return Message(ts, thread, Person("U"), "", datetime.now(UTC)).interaction_id


async def test_it_says_hello_once_in_a_channel_that_it_comes_into(
    slack: FakeSlack, ann: Visitor
) -> None:
    await ann.invites(ELSEWHERE)
    await wait_until(lambda: slack.answers(ELSEWHERE))
    slack.channels.discard(ELSEWHERE)
    await ann.invites(ELSEWHERE)
    await ann.invites("C0OTHER00")
    await wait_until(lambda: slack.answers("C0OTHER00"))

    (hello,) = slack.answers(ELSEWHERE)
    assert "Mention me" in hello.shown
    assert hello.payload["unfurl_links"] is False
    assert {answer.status for answer in ann.answers} == {200}


async def test_people_who_come_in_are_not_greeted(slack: FakeSlack, alice: Visitor) -> None:
    bob = Visitor(slack, alice.door, BOB)
    await bob.joins("C0HELP000")
    await alice.open_home()
    await wait_until(lambda: slack.prompts)

    assert not slack.posts


async def test_who_opens_its_messages_is_offered_questions_at_most_once_an_hour(
    slack: FakeSlack, alice: Visitor
) -> None:
    await alice.open_home("home")
    await alice.open_home()
    await alice.open_home()
    bob = Visitor(slack, alice.door, BOB)
    await bob.open_home()
    await wait_until(lambda: len(slack.prompts) == 2)

    assert [each["channel_id"] for each in slack.prompts] == [alice.direct, bob.direct]
    assert 1 <= len(slack.prompts[0]["prompts"]) <= 4


async def test_a_plan_without_prompts_changes_nothing_else(
    slack: FakeSlack, alice: Visitor
) -> None:
    slack.fail("assistant.threads.setSuggestedPrompts", Fault(error="feature_not_enabled"))
    await alice.open_home()
    await wait_until(lambda: "assistant.threads.setSuggestedPrompts" in slack.calls)

    assert alice.answers[-1].status == 200
