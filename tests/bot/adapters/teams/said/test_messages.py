"""What people write in Teams becomes questions."""

from __future__ import annotations

import json

import pytest

from bot.chat.adapters import ChatContext
from bot.domain.messages import Policy
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.teams.activities import Client
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.names import BOT, BOT_NAME, GROUP, GUEST, GUESTS, HELP
from tests.bot.adapters.teams.tenant.posts import Written
from tests.bot.adapters.teams.visitor import Visitor


async def allow(office: ChatContext, policy: Policy, channel: str = HELP) -> None:
    await office.policies.set("acme", f"teams:{channel}", policy, actor="cli:test")


def all_well(visitor: Visitor) -> bool:
    return {answer.status for answer in visitor.answers} <= {200}


def from_another_bot(post: Written) -> dict[str, object]:
    """Return an activity as if another bot had written it."""
    return {**post.activity, "from": {"id": "28:other", "name": "Build"}}


@pytest.mark.parametrize("where", [HELP, GROUP])
async def test_a_mention_is_a_question(alice: Visitor, inbox: KeepingInbox, where: str) -> None:
    post = await alice.say(where, "vpn & <wifi>?")

    message = inbox.only
    assert (message.text, message.overheard, message.private) == ("vpn & <wifi>?", False, False)
    assert (message.id, message.thread.channel) == (post.id, where)
    assert message.thread.id == (post.id if where == HELP else GROUP)
    assert message.author.id == alice.id
    assert all_well(alice)


async def test_a_reply_stands_in_the_thread_that_it_replies_in(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    root = await alice.say(HELP, "vpn?")
    reply = await alice.say(root, "on a Mac")

    asked = {message.id: message for message in inbox.messages.values()}
    assert asked[reply.id].thread == asked[root.id].thread
    there = json.loads(asked[reply.id].reply_to)["conversation"]["id"]
    assert there == f"{HELP};messageid={root.id}"


async def test_a_personal_chat_needs_no_mention(alice: Visitor, inbox: KeepingInbox) -> None:
    await alice.say(alice.chat, "vpn?")

    assert inbox.only.private
    assert not inbox.only.overheard


async def test_a_message_of_only_a_mention_is_accepted(alice: Visitor, inbox: KeepingInbox) -> None:
    await alice.say(HELP, "")

    assert inbox.only.text == ""


async def test_guests_may_ask(teams: FakeTeams, client: Client, inbox: KeepingInbox) -> None:
    await Visitor(teams, client, GUEST).say(GUESTS, "vpn?")

    assert inbox.only.author.id == GUEST


async def test_talk_that_the_bot_may_read_is_left_alone(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox
) -> None:
    teams.hears_all = True
    for where in (HELP, GROUP):
        await alice.say(where, "how do I print?", mention=False)

    assert not inbox.messages
    assert len(alice.answers) == 2
    assert all_well(alice)


@pytest.mark.parametrize("where", [HELP, GROUP])
async def test_a_question_is_overheard_where_the_conversation_allows_it(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, office: ChatContext, where: str
) -> None:
    teams.hears_all = True
    await allow(office, Policy(answers="questions"), where)
    await alice.say(where, "nice weather", mention=False)
    post = await alice.say(where, "how do I print?", mention=False)

    assert (inbox.only.id, inbox.only.overheard) == (post.id, True)


async def test_a_follow_up_is_overheard_only_in_a_thread_of_the_bots(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, office: ChatContext
) -> None:
    teams.hears_all = True
    await allow(office, Policy(follow_ups=True))
    root = await alice.say(HELP, "morning", mention=False)
    await alice.say(root, "and in colour?", mention=False)

    assert not inbox.messages


@pytest.mark.parametrize("allowed", [False, True])
async def test_another_bot_is_heard_where_allowed_and_only_if_it_mentions_us(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, office: ChatContext, *, allowed: bool
) -> None:
    teams.hears_all = True
    await allow(office, Policy(answers="questions", other_bots=allowed))
    alice.held = []
    talk = await alice.say(HELP, "why is the build red?", mention=False)
    asked = await alice.say(HELP, "vpn?")
    await alice.deliver(from_another_bot(talk), from_another_bot(asked))

    assert [message.text for message in inbox.messages.values()] == ["vpn?"] * allowed
    assert all_well(alice)


async def test_our_own_words_ask_nothing(alice: Visitor, inbox: KeepingInbox) -> None:
    alice.held = []
    post = await alice.say(HELP, "vpn?")
    await alice.deliver({**post.activity, "from": {"id": BOT, "name": BOT_NAME}})

    assert not inbox.messages


async def test_what_a_button_of_an_old_card_sends_goes_nowhere(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    alice.held = []
    post = await alice.say(alice.chat, "")
    pressed = {key: value for key, value in post.activity.items() if key != "text"}
    await alice.deliver({**pressed, "value": {"name": "gone"}, "replyToId": "reply-1"})

    assert not inbox.messages
    assert all_well(alice)


async def test_a_quoted_message_is_what_is_asked_about(alice: Visitor, inbox: KeepingInbox) -> None:
    alice.held = []
    post = await alice.say(HELP, "what is this?")
    html = (
        '<blockquote itemtype="http://schema.skype.com/Reply">'
        '<strong itemprop="mri" itemid="8:orgid:bob">Bob</strong><p>Error 809</p></blockquote>'
        "<p>what is this?</p>"
    )
    await alice.deliver(
        {**post.activity, "attachments": [{"contentType": "text/html", "content": html}]}
    )

    assert inbox.only.text == "what is this?"
    assert [each.name for each in inbox.only.attachments] == ["a message by Bob"]
