"""What Teams' answers mean: wait here, wait in the inbox, or give up."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.client.errors import BotRemoved, StreamRefused
from tests.bot.adapters.outcomes import delivery
from tests.bot.adapters.teams.activities import question
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.faults import Fault


async def test_a_short_limit_is_waited_out(
    teams: FakeTeams, channel: TeamsChannel, waits: list[float]
) -> None:
    teams.fail(Fault(status=429, retry_after="1"), Fault(status=412))
    await channel.deliver(delivery(question(teams)))
    assert waits == [pytest.approx(1.125, abs=0.125)] * 2
    assert len(teams.messages) == 1


@pytest.mark.parametrize("status", [412, 429])
@pytest.mark.parametrize(("asked", "faults"), [("3", 1), ("3600", 1), ("1", 3), ("0", 5)])
async def test_a_longer_limit_goes_back_with_its_time(
    teams: FakeTeams,
    channel: TeamsChannel,
    waits: list[float],
    status: int,
    asked: str,
    faults: int,
) -> None:
    teams.fail(*[Fault(status=status, retry_after=asked)] * faults)
    with pytest.raises(DeliveryFailed, match="rate limit") as failed:
        await channel.deliver(delivery(question(teams)))
    assert failed.value.retry_after_seconds == max(float(asked), 0.5)
    assert sum(waits) <= 2.0 * 1.25
    assert not teams.messages


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=401, code="BotNotRegistered"),
        Fault(status=403, code="NotEnoughPermissions"),
        Fault(status=403, code="InvalidBotApiHost"),
        Fault(status=500, after=True),
        Fault(status=502, after=True),
        Fault(status=503),
        Fault(status=504),
    ],
    ids=lambda fault: f"{fault.status} {fault.code}",
)
async def test_what_may_pass_or_be_mended_is_tried_again_later_and_not_at_once(
    teams: FakeTeams, channel: TeamsChannel, fault: Fault
) -> None:
    """Msrest would send again on its own what may have been posted."""
    teams.fail(replace(fault, retry_after="9"))
    with pytest.raises(DeliveryFailed, match=str(fault.status)) as failed:
        await channel.deliver(delivery(question(teams)))
    assert not isinstance(failed.value, DeliveryRefused)
    assert failed.value.retry_after_seconds == 9.0
    assert teams.calls == ["message"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=403, code="BotNotInConversationRoster"),
        Fault(status=403, code="ConversationBlockedByUser"),
        Fault(status=403, code="BotDisabledByAdmin"),
        Fault(status=403, code="ForbiddenOperationException"),
        Fault(status=403, code="MessageWritesBlocked"),
        Fault(status=404, code="ConversationNotFound"),
    ],
    ids=lambda fault: f"{fault.status} {fault.code}",
)
async def test_what_will_not_change_is_given_up(
    teams: FakeTeams, channel: TeamsChannel, fault: Fault
) -> None:
    teams.fail(fault)
    with pytest.raises(DeliveryRefused, match=fault.code):
        await channel.deliver(delivery(question(teams)))
    assert teams.calls == ["message"]


async def test_a_connector_that_is_not_there_fails_at_once(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    """Msrest would try again by itself for five seconds."""
    away = question(teams).reply_to.replace(teams.url, "http://127.0.0.1:1")
    began = time.monotonic()
    with pytest.raises(DeliveryFailed, match="cannot be reached"):
        await channel.deliver(delivery(replace(question(teams), reply_to=away)))
    assert time.monotonic() - began < 1.0


@pytest.mark.parametrize(
    "reply_to", ["", "{", "[]", "{}", '{"serviceUrl": "http://x"}', '{"conversation": 5}']
)
async def test_a_message_from_nowhere_is_given_up(
    teams: FakeTeams, channel: TeamsChannel, reply_to: str
) -> None:
    with pytest.raises(DeliveryRefused):
        await channel.deliver(delivery(replace(question(teams), reply_to=reply_to)))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("Content stream was canceled by user.", "stopped"),
        ("Content stream was cancelled by user.", "stopped"),
        ("Content stream is not allowed on an already completed streamed message.", "completed"),
        ("Content stream finished due to exceeded streaming time.", "late"),
        ("Content stream is not allowed.", "refused"),
        ("Message size too large", "refused"),
        ("", "refused"),
    ],
)
async def test_the_end_of_a_stream_is_told_by_its_words(
    teams: FakeTeams, channel: TeamsChannel, words: str, why: str
) -> None:
    teams.fail(Fault(status=403, code="ContentStreamNotAllowed", message=words))
    with pytest.raises(StreamRefused) as refused:
        await channel.connector.send(question(teams).reply_to, {"type": "message", "text": "x"})
    assert refused.value.why == why


async def test_who_was_removed_is_told_from_what_is_wrong(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    teams.fail(Fault(status=403, code="BotNotInConversationRoster"), Fault(status=413))
    with pytest.raises(BotRemoved):
        await channel.deliver(delivery(question(teams)))
    with pytest.raises(DeliveryRefused) as refused:
        await channel.connector.send(question(teams).reply_to, {"type": "message", "text": "x"})
    assert not isinstance(refused.value, BotRemoved)
