"""What shows in Teams that a question is worked on, beside streams."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.adapters.teams import TeamsChannel
from bot.adapters.teams.wire.reading import message_of
from bot.types import Activity, Message, Stage
from tests.bot.adapters.teams.activities import in_channel, question
from tests.bot.adapters.teams.server import FakeTeams, Fault
from tests.bot.adapters.teams.tenant.names import GROUP


def in_group(teams: FakeTeams) -> Message:
    group = {"id": GROUP, "conversationType": "groupChat", "isGroup": True}
    activity = in_channel(teams, "<at>Help</at> vpn?", conversation=group)
    message = message_of(activity, tenant="acme", received_at=datetime.now(UTC))
    assert message is not None
    return message


async def test_a_group_chat_shows_typing_once_and_a_message_that_is_edited(
    teams: FakeTeams, channel: TeamsChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("bot.adapters.teams.calling.pacing.time.monotonic", lambda: clock[0])
    message = in_group(teams)
    opened = await channel.open_placeholder(message)
    for stage in (Stage.SEARCHING, Stage.CHECKING):
        clock[0] += 1.0
        await channel.progress(message, Activity(stage), opened)
    await channel.errands.finish()
    assert sorted(teams.calls) == ["message", "typing", "update", "update"]
    assert [sent.text for sent in teams.messages] == ["Checking sources\u2026"]
    assert {sent.conversation for sent in teams.sent} == {GROUP}


async def test_typing_that_is_refused_harms_nothing(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    teams.fail(Fault(status=403), call="typing")
    opened = await channel.open_placeholder(in_group(teams))
    await channel.errands.finish()
    assert [sent.id for sent in teams.messages] == [opened.id]


async def test_a_channel_shows_a_message_and_no_typing(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    await channel.open_placeholder(question(teams))
    await channel.errands.finish()
    assert teams.calls == ["message"]
