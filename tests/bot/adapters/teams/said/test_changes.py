"""What people edit, delete and restore in Teams, in any order with the message itself."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.adapters import ChatContext
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import InteractionId, Policy
from bot.platforms.teams.channel import TeamsChannel
from bot.store.database import Store
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.outcomes import ANSWER, TRACE
from tests.bot.adapters.saying import Says
from tests.bot.adapters.teams.activities import Client
from tests.bot.adapters.teams.answering import Bot, bot_at, named
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.names import BOB, GROUP, HELP
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.recorded import becomes, posted

CHAT = "chat"
Json = dict[str, Any]


@pytest.fixture
async def bot(teams: FakeTeams, channel: TeamsChannel, store: Store) -> AsyncIterator[Bot]:
    async with bot_at(teams, channel, store) as bot:
        yield bot


@pytest.fixture
def thought(monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.Event]:
    """Let the desk think until a test says so, or ends."""
    done = asyncio.Event()

    async def think(says: Says, *_: object) -> Outcome:
        await done.wait()
        return says.outcome

    monkeypatch.setattr(Says, "handle", think)
    yield done
    done.set()


def place(visitor: Visitor, where: str) -> str:
    return visitor.chat if where == CHAT else where


def texts(inbox: KeepingInbox) -> list[str]:
    return [message.text for message in inbox.messages.values()]


async def kept(bot: Bot, where: str, name: str) -> Interaction:
    interaction = await bot.store.interactions.get(named(where, name))
    assert interaction is not None
    return interaction


@pytest.mark.parametrize("where", [HELP, GROUP, CHAT])
async def test_an_edited_question_is_amended(
    alice: Visitor, inbox: KeepingInbox, where: str
) -> None:
    post = await alice.say(place(alice, where), "vpn?")
    await alice.edit(post, "wifi?")

    assert texts(inbox) == ["wifi?"]


async def test_a_mention_that_an_edit_adds_is_a_question(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    post = await alice.say(HELP, "vpn?", mention=False)
    assert not inbox.messages
    await alice.edit(post, "vpn?", mention=True)

    assert (inbox.only.id, inbox.only.text, inbox.only.overheard) == (post.id, "vpn?", False)


async def test_a_mention_that_an_edit_takes_away_leaves_the_question_as_it_reads_now(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    post = await alice.say(HELP, "vpn?")
    await alice.edit(post, "never mind", mention=False)

    assert texts(inbox) == ["never mind"]


async def test_an_edit_of_what_nobody_asked_is_left(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, office: ChatContext
) -> None:
    teams.hears_all = True
    await office.policies.set(
        "acme", f"teams:{HELP}", Policy(answers="questions"), actor="cli:test"
    )
    post = await alice.say(HELP, "morning", mention=False)
    await alice.edit(post, "how do I print?")

    assert not inbox.messages
    assert {answer.status for answer in alice.answers} == {200}


async def test_only_the_authors_own_edit_counts(bot: Bot, thought: asyncio.Event) -> None:
    alice, bob = bot.person(), bot.person(BOB)
    alice.held = []
    post = await alice.say(HELP, "vpn?")
    await alice.deliver(post.activity)
    await alice.edit(post, "password of the CEO?")
    forged = {**alice.held[-1], "from": bob.human.account()}
    await bob.deliver(forged)

    assert (await kept(bot, HELP, post.id)).message.text == "vpn?"
    await alice.deliver(alice.held[-1])
    assert (await kept(bot, HELP, post.id)).message.text == "password of the CEO?"
    thought.set()


async def test_an_order_that_is_changed_is_no_question(alice: Visitor, inbox: KeepingInbox) -> None:
    alice.held = []
    post = await alice.say(alice.chat, "statsu")
    await alice.edit(post, "status")
    await alice.deliver(alice.held[-1])

    assert not inbox.messages


@pytest.mark.parametrize("where", [HELP, GROUP, CHAT])
async def test_a_deleted_question_is_withdrawn(
    alice: Visitor, inbox: KeepingInbox, where: str
) -> None:
    post = await alice.say(place(alice, where), "vpn?")
    await alice.delete(post)

    assert not inbox.messages
    assert len(inbox.cancelled) == 1
    assert {answer.status for answer in alice.answers} == {200}


async def test_what_was_pressed_below_a_question_goes_with_it(
    alice: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    post = await alice.say(HELP, "vpn?")
    asked = inbox.only
    for name in (f"{post.id}:person", f"{post.id}:option:person", "1600000000003"):
        message = replace(asked, id=name)
        await store.work.open(message, "owner")
        await inbox.accept(message)
    await alice.delete(post)

    assert [message.id for message in inbox.messages.values()] == ["1600000000003"]


@pytest.mark.parametrize("where", [HELP, GROUP, CHAT])
async def test_in_whatever_order_they_come_the_newest_words_stand_and_what_is_gone_is_gone(
    alice: Visitor, inbox: KeepingInbox, where: str
) -> None:
    order = random.Random(6)  # noqa: S311 - an order, no secret
    for _ in range(12):
        alice.held = []
        edited = await alice.say(place(alice, where), "vpn?")
        await alice.edit(edited, "wifi?")
        gone = await alice.say(place(alice, where), "secret?")
        await alice.edit(gone, "secret!")
        await alice.delete(gone)
        for activity in order.sample(alice.held * 2, 2 * len(alice.held)):
            assert [answer.status for answer in await alice.deliver(activity)] == [200]

        now = {message.id: message.text for message in inbox.messages.values()}
        assert now.get(edited.id) == "wifi?"
        assert gone.id not in now


@pytest.mark.parametrize("at_once", [False, True])
async def test_the_last_of_several_edits_stands_in_whatever_order_they_come(
    bot: Bot, thought: asyncio.Event, *, at_once: bool
) -> None:
    alice, order = bot.person(), random.Random(6)  # noqa: S311 - an order, no secret
    for _ in range(5):
        alice.held = []
        post = await alice.say(HELP, "vpn?")
        for words in ("wifi?", "printer?"):
            await alice.edit(post, words)
        for activities in together(order.sample(alice.held * 2, 6), at_once=at_once):
            await alice.deliver(*activities)
        assert (await kept(bot, HELP, post.id)).message.text == "printer?"
    thought.set()


async def test_talk_that_is_deleted_is_not_recorded(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox
) -> None:
    teams.hears_all = True
    post = await alice.say(HELP, "morning", mention=False)
    await alice.delete(post)

    assert (inbox.accepted, inbox.cancelled) == (0, [])
    assert {answer.status for answer in alice.answers} == {200}


@pytest.mark.parametrize("where", [HELP, CHAT])
async def test_a_restored_question_is_asked_once_more(bot: Bot, where: str) -> None:
    alice = bot.person()
    where = place(alice, where)
    post = await alice.say(where, "vpn?")
    await posted(bot.store, named(where, post.id))
    await alice.delete(post)
    await gone(bot, named(where, post.id))
    await alice.undelete(post)
    await alice.deliver(alice.sent[-1], *alice.sent[:2])
    again = await restored(bot, where, post.id)

    assert (await posted(bot.store, again.id)).message.text == "vpn?"
    assert (await kept(bot, where, post.id)).status == "cancelled"


async def test_a_restored_question_may_be_edited_and_deleted_again(bot: Bot) -> None:
    alice = bot.person()
    post = await alice.say(HELP, "vpn?")
    for _ in range(2):
        await alice.delete(post)
        await alice.undelete(post)
    alice.held = []
    await alice.edit(post, "wifi?")
    await alice.delete(post)
    again = await restored(bot, HELP, post.id)
    await alice.deliver(alice.held[0])
    await posted(bot.store, again.id)
    await alice.deliver(alice.held[1])
    await gone(bot, again.id)


async def test_a_deletion_that_comes_after_its_own_restoration_is_left(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    post = await alice.say(HELP, "vpn?")
    alice.held = []
    await alice.delete(post)
    await alice.undelete(post)
    deleted, undeleted = alice.held
    await alice.deliver(undeleted)
    await alice.deliver(deleted)

    assert texts(inbox) == ["vpn?"]


async def test_an_overheard_question_that_was_left_alone_can_be_asked_and_changed_then(
    teams: FakeTeams, client: Client, store: Store, inbox: KeepingInbox, office: ChatContext
) -> None:
    """What is asked anew has an id of its own; an edit after that is an edit of it."""
    alice = Visitor(teams, client)
    teams.hears_all = True
    await office.policies.set(
        "acme", f"teams:{HELP}", Policy(answers="questions"), actor="cli:test"
    )
    post = await alice.say(HELP, "how do I print?", mention=False)
    silent = await store.work.open(inbox.only, "owner")
    await store.work.close(silent, Outcome(ANSWER, TRACE, silent=True), last=True)
    await alice.edit(post, "how do I print?", mention=True)
    await alice.edit(post, "how do I print in colour?")

    assert texts(inbox) == ["how do I print?", "how do I print in colour?"]


def together(activities: list[Json], *, at_once: bool) -> list[list[Json]]:
    return [activities] if at_once else [[each] for each in activities]


async def gone(bot: Bot, interaction_id: InteractionId) -> None:
    """Wait until nothing is left of a question."""
    await becomes(bot.store, interaction_id, lambda each: each.status == "cancelled")


async def restored(bot: Bot, where: str, name: str) -> Interaction:
    """Return the question as it is asked since it was restored."""
    first = await kept(bot, where, name)
    there = await bot.store.interactions.in_thread(first.message.thread, 20)
    return [each for each in there if each.message.id.startswith(f"{name}:restored:")][-1]
