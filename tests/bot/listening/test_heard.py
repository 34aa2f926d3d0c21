"""What is for the bot: as the channel's policy says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.chat.messages import ReceivedMessage, should_take
from bot.domain.messages import Message, Person, Thread


class Hears:
    """Hears everything, and other bots in one channel."""

    def __init__(self) -> None:
        self.asked: list[bool] = []

    async def hears(self, message: Message, *, begins: bool) -> bool:
        self.asked.append(begins)
        return True

    async def hears_bots(self, tenant: str, channel: str) -> bool:
        return (tenant, channel) == ("acme", "teams:open")


@pytest.mark.parametrize(
    ("channel", "overheard", "by_bot", "taken"),
    [
        ("shut", False, False, True),
        ("shut", True, False, True),
        ("shut", False, True, False),
        ("open", False, True, True),
        ("open", True, True, False),
    ],
)
async def test_bots_are_heard_where_allowed_and_never_overheard(
    channel: str, *, overheard: bool, by_bot: bool, taken: bool
) -> None:
    message = Message(
        id="1",
        thread=Thread("teams", "acme", channel, "1"),
        author=Person("a"),
        text="vpn?",
        received_at=datetime.now(UTC),
        overheard=overheard,
    )
    hearing = Hears()

    assert await should_take(hearing, ReceivedMessage(message, begins=True, by_bot=by_bot)) is taken
    assert hearing.asked == [True] * (overheard and not by_bot)
