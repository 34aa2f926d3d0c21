"""What names a message, and where its reply is sought."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.payloads.metadata import is_ts, thread_of, ts_of
from tests.bot.adapters.outcomes import delivery
from tests.bot.adapters.slack.clock import unhurried
from tests.bot.adapters.slack.questions import HELP, ROOT, question, replies
from tests.bot.adapters.slack.server import FakeSlack


@pytest.mark.parametrize("id_", [ROOT, f"{ROOT}:person", f"{ROOT}:option:2"])
def test_a_press_is_where_it_was_made(id_: str) -> None:
    assert ts_of(question(id=id_)) == ROOT
    assert thread_of(question(id=id_)).since == ROOT


@pytest.mark.parametrize("id_", ["13345224609.738474920.8088930838d88f008e0", "", "command:1"])
def test_what_has_no_ts_is_sought_from_when_it_was_received(id_: str) -> None:
    received_at = datetime(2026, 11, 22, 12, 0, 5, tzinfo=UTC)
    at = ts_of(replace(question(id=id_), received_at=received_at))
    assert float(at) == received_at.timestamp() - 60
    assert is_ts(at)


async def test_the_reply_to_a_press_is_found_by_another_process_and_taken_back(
    slack: FakeSlack, settings: Settings, channel: SlackChannel
) -> None:
    first, press = question(), question(id=f"{ROOT}:person")
    answer = await channel.deliver(delivery(first))
    ref = await channel.deliver(delivery(press))
    assert ref != answer
    other = connect(settings, caller=unhurried())
    assert await other.find(delivery(press)) == ref
    assert await other.find(delivery(first)) == answer
    await other.withdraw(press, [])
    assert [(HELP, post.ts) for post in replies(slack)] == [(HELP, answer.id)]
