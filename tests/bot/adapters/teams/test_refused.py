"""Answers that Teams refuses, and posts whose response is lost: nobody is left waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.domain.errors import DeliveryFailed
from bot.domain.handoff import ON_HELP_DESK_LIST
from bot.domain.interactions import Interaction, Outcome
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.store.database import Store
from tests.bot.adapters.outcomes import ANSWER, TRACE, delivery
from tests.bot.adapters.teams.activities import into, question
from tests.bot.adapters.teams.answering import Bot, bot_at, named
from tests.bot.adapters.teams.conftest import Restart
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.faults import Fault
from tests.bot.adapters.teams.tenant.names import ALICE, HELP
from tests.bot.adapters.teams.tenant.posts import Sent
from tests.bot.recorded import becomes

BAD = Fault(400, code="BadArgument")
LOST = Fault(0, after=True)
TABLE = replace(ANSWER, text="See [1].\n\n| Code | Cure |\n|---|---|\n| 809 | Call IT |")
LONG = replace(ANSWER, text="Restart the client [1]. " + "word " * 1_600)
ENDLESS = 5
"""Refusals after which nothing of an answer was taken, nor the line that stands for it."""


@pytest.fixture
async def bot(
    teams: FakeTeams, settings: Settings, cloud: Cloud, store: Store
) -> AsyncIterator[Bot]:
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    async with bot_at(teams, channel, store) as bot:
        yield bot


def is_plain(sent: Sent) -> bool:
    """Tell whether a message is nothing but words, which may end a stream."""
    kinds = {entity["type"] for entity in sent.activity.get("entities", ())}
    return kinds <= {"streaminfo"} and not sent.activity.keys() & {"channelData", "attachments"}


@pytest.mark.mended(id="teams-2")
@pytest.mark.parametrize("private", [False, True], ids=["channel", "chat"])
@pytest.mark.parametrize("fault", [BAD, Fault(413, code="MessageSizeTooBig")], ids=["400", "413"])
async def test_a_refused_answer_comes_as_words_and_links(
    teams: FakeTeams, channel: TeamsChannel, fault: Fault, *, private: bool
) -> None:
    message = question(teams, private=private)
    opened = await channel.open_placeholder(message)
    teams.fail(fault)
    with capture_logs() as logs:
        await channel.deliver(into(opened, delivery(message, LONG)))
    sent = next(iter(teams.visible.values()))
    assert is_plain(sent)
    assert sent.text.startswith("Restart the client [1].")
    assert ANSWER.sources[0].url in sent.text
    assert (len(sent.text) < len(LONG.text)) is (fault.status == 413)
    (line,) = [each for each in logs if each["event"] == "teams.not_taken"]
    assert "citation" in line["shape"]
    assert "Restart" not in str(line)
    assert not [each for each in teams.streams.values() if each.state == "open"]


@pytest.mark.mended(id="teams-2")
async def test_a_table_that_is_refused_comes_as_lines(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    teams.fail(None, BAD)
    await channel.deliver(delivery(question(teams), TABLE))
    (_, table) = teams.messages
    assert is_plain(table)
    assert "809 \u00b7 Call IT" in table.text


async def _failed(bot: Bot, where: str, *, faults: int) -> Interaction:
    bot.teams.fail(*[BAD] * faults)
    bot.said.outcome = Outcome(ANSWER, TRACE)
    written = await bot.person().say(where, "vpn down?")
    return await becomes(
        bot.store, named(written.place, written.id), lambda each: each.status == "failed"
    )


@pytest.mark.mended(id="teams-2")
async def test_an_answer_that_is_never_taken_goes_to_people(bot: Bot) -> None:
    with capture_logs() as logs:
        failed = await _failed(bot, HELP, faults=2)
    (line,) = bot.teams.messages
    assert ON_HELP_DESK_LIST in line.text
    case = await bot.store.escalations.get("acme", failed.id)
    assert case is not None
    assert (case.standing.state, case.reason) == ("open", "undelivered")
    (due,) = await bot.store.notices.due("me", case.opened_at, 5)
    assert (due.to, due.step) == ("people", "open")
    assert "400" in failed.failure
    assert [each["log_level"] for each in logs if each["event"] == "delivery.given_up"] == ["error"]


@pytest.mark.mended(id="teams-2")
@pytest.mark.parametrize(("faults", "left"), [(3, 1), (ENDLESS, 0)], ids=["a line", "nothing"])
async def test_no_stream_says_for_ever_that_it_looks_something_up(
    bot: Bot, faults: int, left: int
) -> None:
    failed = await _failed(bot, bot.person().chat, faults=faults)
    assert [stream.state for stream in bot.teams.streams.values()] == ["completed"]
    assert len(bot.teams.messages) == left
    assert all("human" in each.text for each in bot.teams.messages)
    # In private nobody is asked before the asker agrees.
    assert await bot.store.escalations.get("acme", failed.id) is None
    assert failed.message.author.id == ALICE


@pytest.mark.mended(id="teams-2")
@pytest.mark.mended(id="teams-3")
@pytest.mark.parametrize("fault", [BAD, Fault(403), LOST, Fault(502, after=True)], ids=repr)
async def test_what_becomes_of_the_buttons_leaves_the_answer_delivered_once(
    bot: Bot, fault: Fault
) -> None:
    bot.teams.fail(None, fault)
    answered = await bot.answered(Outcome(ANSWER, TRACE))
    assert (answered.status, answered.attempts) == ("done", 0)
    assert len(bot.teams.visible) == 1 + fault.after


@pytest.mark.mended(id="teams-3")
@pytest.mark.parametrize(
    ("fault", "elsewhere", "twice"),
    [(LOST, False, True), (LOST, True, True), (Fault(429, retry_after="30"), False, False)],
    ids=["lost", "lost by another process", "refused for the rate"],
)
async def test_an_answer_that_may_be_there_twice_says_so(
    teams: FakeTeams,
    channel: TeamsChannel,
    restart: Restart,
    waits: list[float],
    fault: Fault,
    *,
    elsewhere: bool,
    twice: bool,
) -> None:
    sent = delivery(question(teams))
    teams.fail(fault)
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    waits.append(60.0)
    channel = restart() if elsewhere else channel
    assert await channel.find(sent) is None
    await channel.deliver(sent)
    first, *again = [post for post in teams.visible.values() if post.text]
    assert "twice" not in first.text
    assert ["twice" in post.text for post in again] == [True] * twice
