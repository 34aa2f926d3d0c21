"""Send the fuller reply that only the asker may read to their personal chat."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import quote

import structlog

from bot.domain.errors import BotError, DeliveryFailed, DeliveryRefused
from bot.domain.interactions import Delivery, Reply
from bot.domain.markdown import clip
from bot.domain.messages import Message
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.domain.texts import join_texts, tr
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.client.errors import BotRemoved, Gone
from bot.platforms.teams.client.rate_limits import Pause
from bot.platforms.teams.payloads.activity import Json, user_in
from bot.platforms.teams.rendering.answers import answer_activities
from bot.platforms.teams.rendering.labels import NO_SENSITIVITY, Sensitivity
from bot.platforms.teams.rendering.text import markdown_link, teams_plain

_ATTEMPTS = 3
_SECONDS = 20.0
_PAUSE_SECONDS = 1.0
_QUESTION_LENGTH = 200
_NAME_LENGTH = 80
_APP = "https://teams.microsoft.com/l/app/"
_HEADING = tr("Only for you, from pages that not everyone there can read:")

_T = TypeVar("_T")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _SentReply:
    """A sent private reply: the chat's reference, and the ids of its activities."""

    chat: str
    ids: tuple[str, ...] = ()


class PrivateReplies:
    """Sends the private, fuller reply to its asker as a separate message, once.

    It is recorded after it was sent, so it may be sent twice but is never lost. It is not a turn of
    any conversation. An asker without a personal chat with the bot is told in the question's
    channel how to get one, once per channel; that message contains nothing of the reply.
    """

    def __init__(
        self,
        client: TeamsClient,
        notes: Notes,
        settings: Settings,
        *,
        sensitivity: Sensitivity = NO_SENSITIVITY,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._client = client
        self._notes = notes
        self._install_url = _install_url(settings)
        self._sensitivity = sensitivity
        self._pause = pause

    async def send(self, delivery: Delivery) -> None:
        """Send the private reply. Failures are only logged: the public reply stands."""
        message, private = delivery.message, delivery.outcome.private
        if private is None or message.private:
            return
        try:
            async with asyncio.timeout(_SECONDS):
                await self._send(delivery, private)
        except (BotError, TimeoutError) as error:
            why = str(error) or "It took too long."
            log.warning("teams.whisper_failed", interaction_id=delivery.interaction_id, why=why)

    async def note(self, message: Message, text: str) -> None:
        """Send the asker a line of plain text in their personal chat. Raises DeliveryFailed."""
        where, user = message.reply_to, user_in(message.reply_to)
        if not message.private:
            where = await self._client.open_chat(message.author.id, user_id=user)
        said: Json = {"type": "message", "text": teams_plain(text), "textFormat": "markdown"}
        await self._client.send(where, said)

    async def tell(self, delivery: Delivery) -> None:
        """Send a notice about a question to its asker's chat. Raises DeliveryFailed."""
        await self.note(delivery.message, delivery.outcome.response.text)

    async def withdraw(self, message: Message) -> None:
        """Delete the private reply. Raises DeliveryFailed, StoreUnavailable."""
        sent = await self._sent(message)
        if sent is None:
            return
        for activity_id in sent.ids:
            with suppress(DeliveryRefused):
                await self._client.delete(sent.chat, activity_id)

    async def _send(self, delivery: Delivery, private: Reply) -> None:
        message, shown = delivery.message, self._shown(delivery, private)
        sent = await self._sent(message)
        try:
            asker, user = message.author.id, user_in(message.reply_to)
            sent = sent or _SentReply(
                await self._retried(lambda: self._client.open_chat(asker, user_id=user))
            )
            for activity in shown[len(sent.ids) :]:
                sent = await self._add(message, sent, activity)
        except (Gone, BotRemoved) as error:
            log.info("teams.no_chat", interaction_id=message.interaction_id, why=str(error))
            await self._client.conversations.forget_chat(message.author.id)
            await self._invite(message)

    async def _add(self, message: Message, sent: _SentReply, activity: Json) -> _SentReply:
        posted = await self._retried(lambda: self._client.send(sent.chat, activity))
        now = replace(sent, ids=(*sent.ids, posted))
        text = json.dumps({"chat": now.chat, "ids": list(now.ids)})
        about = message.interaction_id
        await self._notes.put(
            message.thread.tenant, _reply_key(message), text, interaction_id=about
        )
        return now

    async def _invite(self, message: Message) -> None:
        """Post how to get private replies, once per asker and channel, below the question."""
        if self._install_url is None:
            return
        asked = f"teams:invited:{message.thread.channel}:{message.author.id}"
        if await self._notes.first(message.thread.tenant, asked):
            await self._client.send(message.reply_to, _invitation(message, self._install_url))

    def _shown(self, delivery: Delivery, private: Reply) -> tuple[Json, ...]:
        asked = teams_plain(clip(delivery.message.text, _QUESTION_LENGTH))
        return answer_activities(
            replace(delivery.outcome, response=private, remarks=()),
            replace(delivery.message, private=True),
            now=datetime.now(UTC),
            sensitivity=self._sensitivity,
            opening=join_texts("", (f"> {asked}\n\n*", _HEADING, "*")),
            pressed=False,
        )

    async def _sent(self, message: Message) -> _SentReply | None:
        noted = await self._notes.get(message.thread.tenant, _reply_key(message))
        if noted is None:
            return None
        read = json.loads(noted)
        return _SentReply(read["chat"], tuple(read["ids"]))

    async def _retried(self, act: Callable[[], Awaitable[_T]]) -> _T:
        """Run ``act``, with retries while Teams may succeed soon."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return await act()
            except DeliveryRefused:
                raise
            except DeliveryFailed as error:
                await self._pause(error.retry_after_seconds or _PAUSE_SECONDS)
        return await act()


def _invitation(message: Message, url: str) -> Json:
    name = teams_plain(clip(message.author.name, _NAME_LENGTH))
    add = markdown_link(tr("Add me for yourself"), url)
    text = tr(
        "I may be able to tell you more than everyone here can read, but only in a personal chat. "
        "{add}, then ask me there.",
        add=add,
    )
    called = join_texts(": ", (name, text)) if name else text
    return {"type": "message", "text": called, "textFormat": "markdown"}


def _install_url(settings: Settings) -> str | None:
    app_id = settings.microsoft_app_id
    return settings.teams_install_url or (f"{_APP}{quote(app_id, safe='')}" if app_id else None)


def _reply_key(message: Message) -> str:
    return f"teams:whispered:{message.interaction_id}"
