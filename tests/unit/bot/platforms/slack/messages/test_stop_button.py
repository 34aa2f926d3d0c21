"""Test that Stop withdraws the newest question of the person who presses it, in that thread."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.chat.messages import STOPPED
from bot.domain.interactions import Outcome, PostedRef, Reply
from bot.domain.messages import InteractionId, Message, Person, Thread
from bot.store.database import Store
from tests.fakes.desk import TRACE, KeepingInbox
from tests.fakes.http_server import wait_until
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import ALICE, BOB, DIRECT
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor

ROOT = "1700000000.000100"


def question(ts: str, user: str = ALICE) -> Message:
    thread = Thread("slack", "acme", DIRECT, ROOT)
    return Message(ts, thread, Person(user), "vpn?", datetime.now(UTC), private=True)


@pytest.fixture(autouse=True)
def at_work(slack: FakeSlack) -> None:
    """Let Slack show Stop."""
    slack.sessions[(DIRECT, ROOT)] = "processing"


@pytest.fixture
async def asked(store: Store, inbox: KeepingInbox) -> list[InteractionId]:
    """Record three questions; the first is answered, the last is another's."""
    answered = question(ROOT)
    opened = await store.work.open(answered, "owner")
    await store.work.close(opened, Outcome(Reply("Yes.", "generic"), TRACE), last=True)
    await store.work.posted(answered.interaction_id, PostedRef(DIRECT, "1.2"))
    waiting = question("1700000000.000200"), question("1700000000.000300", BOB)
    for message in waiting:
        await store.work.open(message, "owner")
    return [await inbox.accept(message) for message in (answered, *waiting)]


async def test_the_newest_unanswered_question_of_that_person_is_withdrawn(
    ann: Visitor, inbox: KeepingInbox, asked: list[InteractionId]
) -> None:
    await ann.stop(DIRECT, ROOT)

    assert inbox.cancelled == [asked[1]]
    assert ann.answers[-1].status == 200


async def test_who_pressed_stop_alone_sees_that_it_stopped(
    ann: Visitor, slack: FakeSlack, asked: list[InteractionId]
) -> None:
    await ann.stop(DIRECT, ROOT)

    await wait_until(lambda: bool(slack.whispered(ALICE)))
    (shown,) = slack.whispered(ALICE)
    assert (shown.thread_ts, shown.payload["text"]) == (ROOT, STOPPED)
    assert not slack.answers(DIRECT)


async def test_a_stop_is_acknowledged_before_it_is_confirmed(
    ann: Visitor, inbox: KeepingInbox, slack: FakeSlack, asked: list[InteractionId]
) -> None:
    slack.fail("chat.postEphemeral", Fault(seconds=60.0))

    await ann.stop(DIRECT, ROOT)

    assert ann.answers[-1].status == 200
    assert inbox.cancelled == [asked[1]]
    assert not slack.whispered(ALICE)


async def test_there_may_be_nothing_to_stop(
    ann: Visitor, inbox: KeepingInbox, slack: FakeSlack
) -> None:
    await ann.stop(DIRECT, ROOT)

    assert inbox.cancelled == [] == slack.whispered(ALICE)
    assert ann.answers[-1].status == 200
    await wait_until(lambda: slack.sessions[(DIRECT, ROOT)] == "active")
