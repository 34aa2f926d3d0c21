"""What the bot answered to what somebody wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.posts import Sent, Written

_GLANCE_SECONDS = 0.05
_ANSWER_SECONDS = 120.0
_CARD_SECONDS = 5.0


def answers(teams: FakeTeams, asked: Written) -> Sequence[Sent]:
    """Return what stands below a message: words, and what hangs below them."""
    return [post for post in teams.messages if post.reply_to == asked.id and not is_waiting(post)]


def is_waiting(post: Sent) -> bool:
    """Tell whether a message says only that a question is worked on."""
    return not post.cards and post.text.endswith("\u2026")


async def answered(teams: FakeTeams, asked: Written) -> Sequence[Sent]:
    """Wait for an answer, and a little longer for its buttons. Raises TimeoutError."""
    async with asyncio.timeout(_ANSWER_SECONDS):
        while not answers(teams, asked):  # noqa: ASYNC110 - it happens in another server
            await asyncio.sleep(_GLANCE_SECONDS)
    with suppress(TimeoutError):
        async with asyncio.timeout(_CARD_SECONDS):
            while not any(each.cards for each in answers(teams, asked)):  # noqa: ASYNC110 - as above
                await asyncio.sleep(_GLANCE_SECONDS)
    return answers(teams, asked)


def buttons(posts: Sequence[Sent]) -> dict[str, Sent]:
    """Return where each button is, by what is written on it."""
    return {label: post for post in posts for label in post.labels}
