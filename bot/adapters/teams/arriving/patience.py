"""What arrives while the record is away for some seconds: held, not sent back.

Nobody promises that Teams sends again what it was answered 503 for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bot.adapters.teams.wire.body import Body, Json, text_at
from bot.domain.errors import BotError, InboxUnavailable, RecordRefused, StoreUnavailable

_AGAIN_SECONDS = 0.5


async def patiently(take: Callable[[Body], Awaitable[Json]], body: Body) -> Json:
    """Hand an activity on, again while the record is away; who waits longer stops it.

    Whoever pressed is told at once instead. Raises BotError.
    """
    while True:
        try:
            return await take(body)
        except (StoreUnavailable, InboxUnavailable) as error:
            if text_at(body, "type") == "invoke" or not _is_away(error):
                raise
        await asyncio.sleep(_AGAIN_SECONDS)


def _is_away(error: BotError) -> bool:
    """Tell whether it is the record that is away, not this server that takes nothing."""
    cause = error.__cause__ if isinstance(error, InboxUnavailable) else error
    return isinstance(cause, StoreUnavailable) and not isinstance(cause, RecordRefused)
