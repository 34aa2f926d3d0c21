"""Stop, pressed in a personal chat while the bot works: the question is withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import Inquiry, Stage
from bot.domain.ports import ReportStage
from bot.domain.settings import Settings
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud
from bot.store.database import Store
from tests.bot.adapters.outcomes import ANSWER, TRACE
from tests.bot.adapters.teams.answering import Bot, bot_at, named
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.recorded import becomes


class Desk:
    """A desk that answers when it may; ``shows`` says what is being done, once it is set."""

    def __init__(self) -> None:
        self.reached, self.shows, self.may = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.reached.set()
        await self.shows.wait()
        await report(Stage.SEARCHING)
        await self.may.wait()
        return Outcome(ANSWER, TRACE)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def bot(
    teams: FakeTeams,
    settings: Settings,
    cloud: Cloud,
    store: Store,
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Bot]:
    monkeypatch.setattr("bot.platforms.teams.messages.streams.PAUSE_SECONDS", 0.0)
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    async with bot_at(teams, channel, store, desk) as bot:
        yield bot


async def _stopped(bot: Bot, desk: Desk) -> Interaction:
    """Ask in person, press Stop once a stream is open, and wait until nothing is left to do."""
    alice = bot.person()
    asked = await alice.say(alice.chat, "vpn down?")
    question = named(asked.place, asked.id)
    await desk.reached.wait()
    await becomes(bot.store, question, lambda each: each.placeholder and each.placeholder.id)
    alice.stop()
    desk.shows.set()
    return await becomes(bot.store, question, lambda each: each.status == "cancelled")


async def test_a_stop_that_is_seen_while_the_bot_works_ends_the_work(bot: Bot, desk: Desk) -> None:
    stopped = await _stopped(bot, desk)
    assert stopped.outcome is None
    assert not bot.teams.messages


async def test_a_stop_that_is_seen_with_the_answer_leaves_nothing_of_it(
    bot: Bot, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.platforms.teams.messages.streams.PAUSE_SECONDS", 60.0)
    desk.may.set()
    stopped = await _stopped(bot, desk)
    assert stopped.message.text == ""
    assert not bot.teams.messages


async def test_the_next_question_is_answered_as_ever(bot: Bot, desk: Desk) -> None:
    await _stopped(bot, desk)
    desk.may.set()
    alice = bot.person()
    asked = await alice.say(alice.chat, "and now?")
    answered = await becomes(bot.store, named(asked.place, asked.id), lambda each: each.posted)
    assert answered.posted is not None
    assert [sent.id for sent in bot.teams.messages] == [answered.posted.id]
