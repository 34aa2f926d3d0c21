"""Store how to reach people and channels, and which conversations the bot was removed from.

Kept in notes, shared by all processes, as messages are also sent without a recent activity.
"""

from __future__ import annotations

import structlog

from bot.domain.concurrency import TtlCache
from bot.domain.errors import StoreUnavailable
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.platforms.teams.payloads.activity import (
    Body,
    conversation_of,
    initial_reference,
    is_private,
    person_of,
    reference_to,
    service_reference_of,
    text_at,
)

_SERVICE_KEY = "teams:service"
_KEPT_SECONDS = 60.0
_MOST = 1_000
_SERVICE_SECONDS = 3_600.0
_MOST_SERVICES = 10


class Conversations:
    """Stores the connector's service URL and the ids of personal chats. Raises StoreUnavailable.

    What it finds it returns as a ``reply_to`` for bot.platforms.teams.client.api.TeamsClient.
    """

    def __init__(self, notes: Notes, settings: Settings) -> None:
        self._notes = notes
        self._tenant = settings.tenant
        self._first = initial_reference(
            service_url=settings.teams_service_url,
            app_id=settings.microsoft_app_id or "",
            tenant=settings.microsoft_app_tenant_id or "",
        )
        self._noted = TtlCache(self._read, seconds=_KEPT_SECONDS, most=_MOST)
        # A company in several regions uses several service URLs in turn; any of them works.
        self._services = TtlCache(
            self._store_service, seconds=_SERVICE_SECONDS, most=_MOST_SERVICES
        )

    async def note(self, body: Body, *, rewrite: bool = False) -> None:
        """Store where an activity came from, unless that is stored already.

        ``rewrite``: write even if it is cached, as another process may just have removed it.
        """
        if text_at(body, "serviceUrl"):
            await self._services.get(service_reference_of(body))
        person = person_of(body).id
        if is_private(body) and person:
            await self.keep_chat(person, conversation_of(body), rewrite=rewrite)

    async def service(self) -> str:
        """Return a reference to the service, without a conversation."""
        return await self._read(_SERVICE_KEY) or self._first

    async def channel(self, conversation: str) -> str:
        """Return a reference to a channel or, with ``;messageid=``, to a thread of it."""
        return reference_to(await self.service(), conversation)

    async def chat_with(self, person_id: str) -> str | None:
        """Return a reference to a person's personal chat (object id); None if unknown.

        Everybody who added the app for themselves has one.
        """
        chat = await self._read(_chat_key(person_id))
        return reference_to(await self.service(), chat, kind="personal") if chat else None

    async def forget_chat(self, person_id: str) -> None:
        """Remove a personal chat: the app was uninstalled there."""
        await self._notes.remove(self._tenant, _chat_key(person_id))
        self._noted.put(_chat_key(person_id), None)

    async def _store_service(self, service: str) -> str:
        if await self._read(_SERVICE_KEY) != service:
            await self._notes.put(self._tenant, _SERVICE_KEY, service)
        return service

    async def keep_chat(self, person_id: str, chat: str, *, rewrite: bool) -> None:
        """Store a person's personal chat; ``rewrite`` is as in ``note``."""
        key = _chat_key(person_id)
        if rewrite or await self._noted.get(key) != chat:
            await self._notes.put(self._tenant, key, chat)
            self._noted.put(key, chat)

    async def _read(self, key: str) -> str | None:
        return await self._notes.get(self._tenant, key)


def _chat_key(person_id: str) -> str:
    return f"teams:chat:{person_id}"


_CHANNEL_PREFIX = "19:"

log = structlog.get_logger(__name__)


class Removals:
    """Stores conversations that the bot was removed from, in notes for all processes.

    A conversation is a chat or a channel, without a thread. Other processes see a removal within a
    minute, and a return at once.
    """

    def __init__(self, notes: Notes, tenant: str) -> None:
        self._notes = notes
        self._tenant = tenant
        self._kept = TtlCache(self._noted, seconds=_KEPT_SECONDS, most=_MOST)

    async def mark_removed(self, conversation: str, why: str) -> None:
        """Store that the bot can't post in a conversation any more. Raises StoreUnavailable."""
        await self._notes.put(self._tenant, _removal_key(conversation), why)
        self._kept.put(conversation, why)
        log.info("teams.gone_from", conversation=conversation, why=why)

    async def clear(self, conversation: str) -> None:
        """Clear the removal: an activity came from there. Raises StoreUnavailable."""
        if await self._kept.get(conversation) is not None:
            await self._remove_note(conversation)

    async def clear_added(self, conversation: str) -> None:
        """Clear the removal even if this process has not cached one. Raises StoreUnavailable.

        Teams reports a team only through its channel General, without naming the other channels
        that the bot is back in, so the removals of all channels are cleared.
        """
        await self._remove_note(conversation)
        if conversation.startswith(_CHANNEL_PREFIX):
            for key in await self._notes.beginning(self._tenant, _removal_key(_CHANNEL_PREFIX)):
                await self._remove_note(key.removeprefix(_removal_key("")))

    async def is_removed(self, conversation: str) -> bool:
        """Return whether the bot was removed from there; False if the store is unavailable."""
        try:
            if await self._kept.get(conversation) is None:
                return False
            return await self._noted(conversation) is not None
        except StoreUnavailable:
            return False

    async def _remove_note(self, conversation: str) -> None:
        await self._notes.remove(self._tenant, _removal_key(conversation))
        self._kept.put(conversation, None)

    async def _noted(self, conversation: str) -> str | None:
        return await self._notes.get(self._tenant, _removal_key(conversation))


def _removal_key(conversation: str) -> str:
    return f"teams:gone:{conversation}"
