"""What is taken back in Teams."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Reply
from bot.platforms.teams.channel import TeamsChannel
from bot.store.database import Store
from tests.bot.adapters.outcomes import ANSWER, delivery
from tests.bot.adapters.teams.activities import into, question
from tests.bot.adapters.teams.conftest import Restart
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.faults import Fault
from tests.bot.adapters.teams.test_placeholder import placed

LONG = replace(ANSWER, text="word " * 6000)


@pytest.mark.parametrize("reply", [ANSWER, LONG], ids=["one part", "several parts"])
async def test_a_withdrawn_reply_is_deleted_with_its_further_parts(
    teams: FakeTeams, channel: TeamsChannel, reply: Reply
) -> None:
    other = await channel.deliver(delivery(question(teams, private=True)))
    message = question(teams)
    opened = await placed(channel, message)
    ref = await channel.deliver(into(opened, delivery(message, reply)))
    await channel.withdraw(message, [opened, ref])
    assert [sent.id for sent in teams.messages] == [other.id]


async def test_after_a_restart_what_is_recorded_is_deleted(
    teams: FakeTeams, restart: Restart
) -> None:
    message = question(teams)
    opened = await placed(restart(), message)
    await restart().withdraw(message, [opened])
    assert not teams.messages


async def test_after_a_restart_further_parts_go_too(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    message = question(teams)
    await store.work.open(message, "here")
    opened = await placed(noted_restart(), message)
    ref = await noted_restart().deliver(into(opened, delivery(message, LONG)))
    assert len(teams.messages) > 1
    await noted_restart().withdraw(message, [opened, ref])
    assert not teams.messages


async def test_what_is_gone_already_is_no_error(teams: FakeTeams, channel: TeamsChannel) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    for _ in range(2):
        await channel.withdraw(message, [opened])
    assert teams.calls == ["message", "delete", "delete"]


async def test_a_withdrawal_that_fails_is_tried_again_later(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    teams.fail(Fault(status=502, retry_after="9"), call="delete")
    with pytest.raises(DeliveryFailed, match="502") as failed:
        await channel.withdraw(message, [opened])
    assert failed.value.retry_after_seconds == 9.0
    await channel.withdraw(message, [opened])
    assert not teams.messages
