"""What people write becomes questions, by HTTP and by the socket alike."""

from __future__ import annotations

import asyncio

import pytest

from bot.answering.routing.message_text import condense
from bot.chat.adapters import ChatContext
from bot.domain.interactions import Outcome
from bot.domain.messages import Inquiry, Policy
from bot.domain.ports import ReportStage
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.workspace import mention_names as names_module
from bot.store.database import Store
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.outcomes import ANSWER, TRACE
from tests.bot.adapters.slack.answering import bot_at, named
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.envelopes import deliver
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.files import StoredFile
from tests.bot.adapters.slack.workspace.names import (
    BOB,
    HELP,
    OTHER_BOT,
    SECRET_ROOM,
    SHARED,
    STRANGER,
)
from tests.bot.recorded import posted


async def allow(office: ChatContext, policy: Policy, channel: str = HELP) -> None:
    await office.policies.set("acme", f"slack:{channel}", policy, actor="cli:test")


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

    assert inbox.only.private
    assert not inbox.only.overheard


async def test_talk_that_nobody_addressed_to_the_bot_is_left_alone(
    ann: Visitor, inbox: KeepingInbox
) -> None:
    await ann.say(HELP, "how do I print?")

    assert not inbox.messages
    assert all_well(ann)


async def test_a_question_is_overheard_where_the_channel_allows_it(
    ann: Visitor, inbox: KeepingInbox, office: ChatContext
) -> None:
    await allow(office, Policy(answers="questions"))
    await ann.say(HELP, "nice weather")
    ts = await ann.say(HELP, "how do I print?")

    assert (inbox.only.id, inbox.only.overheard) == (ts, True)


async def test_a_follow_up_is_overheard_only_in_a_thread_of_the_bots(
    ann: Visitor, inbox: KeepingInbox, office: ChatContext
) -> None:
    await allow(office, Policy(follow_ups=True))
    thread = await ann.say(HELP, "morning")
    await ann.say(HELP, "and in colour?", thread)

    assert not inbox.messages


async def test_a_mention_of_somebody_else_stays_in_the_text_and_addresses_nobody(
    ann: Visitor, inbox: KeepingInbox
) -> None:
    await ann.say(HELP, "<@U0BOB0000> vpn?")
    assert not inbox.messages
    await ann.say(HELP, "can <@U0BOB0000> log in?", mention=True)
    assert inbox.only.text == "can @bob log in?"


async def test_a_mention_and_nothing_else_is_accepted(ann: Visitor, inbox: KeepingInbox) -> None:
    await ann.say(HELP, "", mention=True)

    assert inbox.only.text == ""


async def test_people_of_other_organisations_may_ask_in_a_shared_channel(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox
) -> None:
    olga = Visitor(slack, ann.door, STRANGER)
    await olga.say(SHARED, "vpn?", mention=True)

    assert inbox.only.author.id == STRANGER


@pytest.mark.parametrize("allowed", [False, True])
async def test_another_bot_is_heard_where_the_channel_allows_it_and_only_if_it_asks(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox, office: ChatContext, *, allowed: bool
) -> None:
    await allow(office, Policy(answers="questions", other_bots=allowed))
    bot = Visitor(slack, ann.door, OTHER_BOT)
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
        await posted(store, named(HELP, ts))

    assert desk.read[-1] == ["vpn.log"]
    assert len(desk.read) == (1 if copy_first else 2)
    assert len(slack.answers(HELP, ts)) == 1


async def test_an_edit_that_comes_as_a_mention_again_amends_the_question(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox
) -> None:
    """Where message events are not subscribed, nothing else tells of it."""
    slack.subscribed -= {"message.channels"}
    ts = await ann.say(HELP, "vpn?", mention=True)
    await ann.edit(ts, "<@U0BOT0000> wifi?")

    assert inbox.only.text == "wifi?"


async def test_a_record_that_does_not_answer_leaves_an_overheard_question_to_be_sent_again(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox, office: ChatContext
) -> None:
    slack.sockets.ack_seconds = 0.1
    await allow(office, Policy(answers="questions"))
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
