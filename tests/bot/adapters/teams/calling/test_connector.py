"""What is done again, what is not, and where nothing more is done."""

from __future__ import annotations

import pytest

from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.errors import BotRemoved, Unavailable
from bot.platforms.teams.client.registration import Cloud
from bot.store.database import Store
from tests.bot.adapters.teams.activities import CHANNEL, question
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.faults import Fault

WORDS = {"type": "message", "text": "x"}


@pytest.mark.parametrize("status", [502, 504])
async def test_an_edit_and_a_deletion_are_tried_again_for_twice_is_the_same_as_once(
    teams: FakeTeams, channel: TeamsChannel, waits: list[float], status: int
) -> None:
    there = question(teams).reply_to
    posted = await channel.connector.send(there, WORDS)
    teams.fail(Fault(status, after=True), call="update")
    await channel.connector.update(there, posted, {"type": "message", "text": "y"})
    teams.fail(Fault(status), call="delete")
    await channel.connector.delete(there, posted)
    assert teams.calls == ["message", "update", "update", "delete", "delete"]
    assert len(waits) == 2
    assert all(0.5 <= wait <= 0.625 for wait in waits)


@pytest.mark.parametrize("status", [502, 504])
async def test_a_post_whose_outcome_is_unknown_is_left_to_the_inbox(
    teams: FakeTeams, channel: TeamsChannel, status: int
) -> None:
    teams.fail(Fault(status, after=True))
    with pytest.raises(Unavailable):
        await channel.connector.send(question(teams).reply_to, WORDS)
    assert teams.calls == ["message"]


async def test_the_end_of_a_stream_is_tried_again(teams: FakeTeams, channel: TeamsChannel) -> None:
    there = question(teams, private=True).reply_to
    begun = {"type": "streaminfo", "streamType": "informative", "streamSequence": 1}
    stream = await channel.connector.send(
        there, {"type": "typing", "text": "Looking", "entities": [begun]}
    )
    teams.fail(Fault(502))
    ended = {"type": "streaminfo", "streamId": stream, "streamType": "final"}
    await channel.connector.send(there, {**WORDS, "entities": [ended]})
    assert [sent.id for sent in teams.messages] == [stream]


async def test_what_has_no_patience_is_not_tried_again(
    teams: FakeTeams, channel: TeamsChannel, waits: list[float]
) -> None:
    there = question(teams).reply_to
    posted = await channel.connector.send(there, WORDS)
    teams.fail(Fault(502), call="update")
    with pytest.raises(Unavailable):
        await channel.connector.update(there, posted, WORDS, patience_seconds=0.0)
    assert not waits


async def test_where_the_bot_was_removed_nothing_more_is_called_until_something_comes(
    teams: FakeTeams, settings: Settings, cloud: Cloud, store: Store
) -> None:
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    there = question(teams).reply_to
    teams.fail(Fault(403, code="BotNotInConversationRoster"))
    with pytest.raises(BotRemoved):
        await channel.connector.send(there, WORDS)
    for _ in range(2):
        with pytest.raises(BotRemoved):
            await channel.connector.send(there, WORDS)
        with pytest.raises(BotRemoved):
            await channel.connector.update(there, "1", WORDS)
    assert teams.calls == ["message"]
    await channel.presence.back(CHANNEL)
    await channel.connector.send(there, WORDS)
    assert len(teams.messages) == 1


async def test_a_refusal_that_says_nothing_of_removal_closes_no_conversation(
    teams: FakeTeams, settings: Settings, cloud: Cloud, store: Store
) -> None:
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    teams.fail(Fault(403, code="MessageWritesBlocked"))
    with pytest.raises(BotRemoved):
        await channel.connector.send(question(teams).reply_to, WORDS)
    await channel.connector.send(question(teams).reply_to, WORDS)
    assert len(teams.messages) == 1


async def test_a_burst_in_one_conversation_stays_below_what_teams_takes(
    teams: FakeTeams, channel: TeamsChannel, waits: list[float]
) -> None:
    for _ in range(20):
        await channel.connector.send(question(teams).reply_to, WORDS)
    assert len(teams.messages) == 20
    assert sum(waits) >= 4.0
