"""Test changes that Slack sends before a message that does not address the bot."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat.adapters import ChatContext
from bot.domain.messages import Policy
from tests.fakes.desk import KeepingInbox
from tests.fakes.slack.names import HELP
from tests.fakes.slack.visitor import Visitor

ASKED = "how do I print?"


async def changed_first(
    alice: Visitor, text: str, now: str | None, *, seconds: float = 1.0
) -> None:
    """Write and change a message; the change comes first, so many seconds after it."""
    alice.held = []
    ts = await alice.say(HELP, text)
    await (alice.delete(ts) if now is None else alice.edit(ts, now))
    written, change = alice.held
    event: Any = change["event"]
    event["event_ts"] = event["ts"] = f"{float(ts) + seconds:.6f}"
    for each in (change, written):
        assert (await alice.door.event(each)).status == 200


async def listens(context: ChatContext) -> None:
    questions = Policy(answers="questions")
    await context.policies.set("acme", f"slack:{HELP}", questions, actor="cli:test")


async def test_an_overheard_question_is_asked_as_it_was_edited_ahead(
    alice: Visitor, inbox: KeepingInbox, context: ChatContext
) -> None:
    await listens(context)
    await changed_first(alice, ASKED, "how do I scan?")
    assert (inbox.only.text, inbox.only.overheard) == ("how do I scan?", True)


async def test_an_overheard_question_that_was_deleted_ahead_is_not_asked(
    alice: Visitor, inbox: KeepingInbox, context: ChatContext
) -> None:
    await listens(context)
    await changed_first(alice, ASKED, None)
    assert not inbox.messages
    assert len(inbox.cancelled) == 1


@pytest.mark.parametrize("now", ["how do I scan?", None])
async def test_where_the_bot_does_not_listen_nothing_is_kept(
    alice: Visitor, inbox: KeepingInbox, now: str | None
) -> None:
    await changed_first(alice, ASKED, now)
    assert (inbox.accepted, inbox.cancelled) == (0, [])


@pytest.mark.parametrize("now", ["how do I scan?", None])
async def test_talk_that_was_no_question_is_not_kept(
    alice: Visitor, inbox: KeepingInbox, context: ChatContext, now: str | None
) -> None:
    await listens(context)
    await changed_first(alice, "nice weather", now)
    assert (inbox.accepted, inbox.cancelled) == (0, [])


@pytest.mark.parametrize("now", ["how do I scan?", None])
async def test_a_change_of_an_old_message_asks_nothing(
    alice: Visitor, inbox: KeepingInbox, context: ChatContext, now: str | None
) -> None:
    await listens(context)
    alice.held = []
    ts = await alice.say(HELP, ASKED)
    await (alice.delete(ts) if now is None else alice.edit(ts, now))
    event: Any = alice.held[1]["event"]
    event["event_ts"] = f"{float(ts) + 61:.6f}"
    assert (await alice.door.event(alice.held[1])).status == 200
    assert (inbox.accepted, inbox.cancelled) == (0, [])
