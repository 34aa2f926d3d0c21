"""Where people and channels are reached, though nothing was said there just now."""

from __future__ import annotations

from typing import Any

from botbuilder.schema import ChannelAccount, ConversationParameters

from bot.adapters.teams.calling.connector import Act, Connector
from bot.adapters.teams.wire.body import Body, conversation_of, is_private, person_of, text_at
from bot.adapters.teams.wire.reference import (
    elsewhere,
    first_reference,
    read_reference,
    service_of,
)
from bot.config import Settings
from bot.errors import DeliveryRefused
from bot.ports import Notes

_SERVICE = "teams:service"


class Places:
    """Remembers the service that the bot talks to, and personal chats. Raises StoreUnavailable.

    All that it returns is a ``reply_to`` for calling.connector.Connector.
    """

    def __init__(self, connector: Connector, notes: Notes, settings: Settings) -> None:
        self._connector = connector
        self._notes = notes
        self._tenant = settings.tenant
        self._first = first_reference(
            service_url=settings.teams_service_url,
            app_id=settings.microsoft_app_id or "",
            tenant=settings.microsoft_app_tenant_id or "",
        )
        self._noted: set[tuple[str, str]] = set()

    async def note(self, body: Body) -> None:
        """Remember where an activity came from, unless that is known."""
        if text_at(body, "serviceUrl"):
            await self._keep(_SERVICE, service_of(body))
        person = person_of(body).id
        if is_private(body) and person:
            await self._keep(_chat(person), conversation_of(body))

    async def service(self) -> str:
        """Return a reference to the service, and to no conversation there."""
        return await self._notes.get(self._tenant, _SERVICE) or self._first

    async def channel(self, conversation: str) -> str:
        """Return a reference to a channel, or with ``;messageid=`` to a thread of it."""
        return elsewhere(await self.service(), conversation)

    async def chat_with(self, person_id: str) -> str | None:
        """Return a reference to the personal chat with somebody (object id); None if unknown.

        Who added the app for themselves has one.
        """
        chat = await self._notes.get(self._tenant, _chat(person_id))
        return elsewhere(await self.service(), chat, kind="personal") if chat else None

    async def open_chat(self, person_id: str, user_id: str) -> str:
        """Return a reference to the personal chat with somebody, opened if there was none.

        ``user_id`` is as the connector knows them (29:…). Raises DeliveryRefused where they have
        not added the app, DeliveryFailed.
        """
        known = await self.chat_with(person_id)
        if known is not None:
            return known
        service = await self.service()
        made = await self._connector.call(service, _opening(service, user_id))
        chat = str(getattr(made, "id", None) or "")
        if not chat:
            raise DeliveryRefused("Teams did not say where the chat is.")
        await self._keep(_chat(person_id), chat)
        return elsewhere(service, chat, kind="personal")

    async def forget_chat(self, person_id: str) -> None:
        """Forget a personal chat: the app was removed from it."""
        self._noted = {each for each in self._noted if each[0] != _chat(person_id)}
        await self._notes.remove(self._tenant, _chat(person_id))

    async def _keep(self, key: str, text: str) -> None:
        if (key, text) not in self._noted:
            await self._notes.put(self._tenant, key, text)
            self._noted.add((key, text))


def _chat(person_id: str) -> str:
    return f"teams:chat:{person_id}"


def _opening(service: str, user_id: str) -> Act:
    """Return the call that opens a personal chat; doing so again returns the same one."""
    read = read_reference(service)
    tenant = text_at(read, "conversation", "tenantId")
    wanted = ConversationParameters(
        is_group=False,
        bot=ChannelAccount(id=text_at(read, "bot", "id")),
        members=[ChannelAccount(id=user_id)],
        # botbuilder's own field is sent as "tenantID", which Teams does not read.
        channel_data={"tenant": {"id": tenant}},
    )

    async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
        return await conversations.create_conversation(wanted)

    return act
