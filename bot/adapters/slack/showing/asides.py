"""Answers at the address that came with a press, a form or a command: for one person's eyes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.showing.blocks import Block
from bot.adapters.slack.wire.reply_to import is_slacks
from bot.domain.errors import DeliveryFailed, DeliveryRefused

_TIMEOUT = aiohttp.ClientTimeout(total=10)
_GONE = frozenset({403, 404, 410})
_WELL = 300


class Asides:
    """Posts to response addresses, each good five times within half an hour.

    It works where the bot is not: in channels that it is no member of, and between two people.
    Raises DeliveryFailed, and DeliveryRefused for an address that is used up.
    """

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client

    async def tell(
        self, url: str, text: str, blocks: Sequence[Block] = (), *, thread: str = ""
    ) -> None:
        """Show something new; ``text`` is escaped already."""
        where = {"thread_ts": thread} if thread else {}
        await self._post(url, {**_shown(text, blocks), **where, "replace_original": False})

    async def replace(self, url: str, text: str, blocks: Sequence[Block] = ()) -> None:
        """Show something in place of the message that was pressed on."""
        await self._post(url, {**_shown(text, blocks), "replace_original": True})

    async def _post(self, url: str, payload: dict[str, object]) -> None:
        if not is_slacks(url, self._client.base_url):
            raise DeliveryRefused("The address to answer at is not Slack's. Nothing was sent.")
        try:
            status = await self._status(url, payload)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise DeliveryFailed("The address to answer at can't be reached.") from error
        if status in _GONE:
            raise DeliveryRefused("The address to answer at is used up, or was never good.")
        if status >= _WELL:
            raise DeliveryFailed(f"Slack answered {status} at the address to answer at.")

    async def _status(self, url: str, payload: dict[str, object]) -> int:
        async with AsyncExitStack() as stack:
            session = self._client.session
            if session is None:
                session = await stack.enter_async_context(aiohttp.ClientSession())
            answer = await stack.enter_async_context(
                session.post(url, json=payload, timeout=_TIMEOUT, allow_redirects=False)
            )
            return answer.status


def _shown(text: str, blocks: Sequence[Block]) -> dict[str, object]:
    return {
        "response_type": "ephemeral",
        "text": text,
        **({"blocks": [dict(block) for block in blocks]} if blocks else {}),
        "unfurl_links": False,
        "unfurl_media": False,
    }
