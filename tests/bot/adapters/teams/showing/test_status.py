"""What shows in Teams that a question is worked on, beside streams."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from bot.domain.messages import Activity, Message, Stage
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.payloads.messages import question_of
from tests.bot.adapters.teams.activities import in_channel, question
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.faults import Fault
from tests.bot.adapters.teams.tenant.names import GROUP


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [100.0]
    monkeypatch.setattr("bot.platforms.teams.client.rate_limits.time.monotonic", lambda: clock[0])
    return clock


def in_group(teams: FakeTeams) -> Message:
    group = {"id": GROUP, "conversationType": "groupChat", "isGroup": True}
    activity = in_channel(teams, "<at>Help</at> vpn?", conversation=group)
    message = question_of(activity, tenant="acme", received_at=datetime.now(UTC))
    assert message is not None
    return message


@pytest.mark.mended(id="teams-3")
@pytest.mark.parametrize("asked", [question, in_group], ids=["channel", "group chat"])
async def test_where_others_read_the_bot_types_and_writes_no_placeholder(
    teams: FakeTeams,
    channel: TeamsChannel,
    clock: list[float],
    asked: Callable[[FakeTeams], Message],
) -> None:
    message = asked(teams)
    assert not channel.has_placeholder(message)
    assert await channel.open_placeholder(message, needed=True) is None
    for seconds in (0.0, 9.0, 2.0):
        clock[0] += seconds
        await channel.progress(message, Activity(Stage.SEARCHING), None)
    assert teams.calls == ["typing", "typing"]
    assert not teams.messages


@pytest.mark.parametrize("status", [403, 404, 429, 500])
async def test_typing_that_is_refused_is_left_alone_for_that_message(
    teams: FakeTeams,
    channel: TeamsChannel,
    clock: list[float],
    status: int,
    waits: list[float],
) -> None:
    message = question(teams)
    teams.fail(Fault(status=status, retry_after="30"), call="typing")
    for _ in range(3):
        await channel.progress(message, Activity(Stage.SEARCHING), None)
        clock[0] += 12.0
    assert teams.calls == ["typing"]
    assert not waits
    await channel.progress(in_group(teams), Activity(Stage.SEARCHING), None)
    assert len(teams.calls) == 2
