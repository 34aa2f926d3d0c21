"""Which answer of ours somebody judges: every part of a long one counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.adapters.teams.showing.parts import REPLY
from bot.adapters.teams.wire.body import Body, conversation_of, person_of, text_at, thread_id_of
from bot.chat.adapters import ChatContext
from bot.chat.votes import can_be_rated
from bot.domain.types import Interaction, InteractionId, Message, PostedRef, Thread

_LOOKED_AT = 20
"""So many messages of a conversation are looked through."""


class KnowsParts(Protocol):
    """Tells which activities a long answer is made of: bot.adapters.teams.showing.parts.Parts."""

    async def question_of(
        self, tenant: str, channel: str, activity_id: str
    ) -> InteractionId | None: ...

    async def of(self, message: Message, name: str, *, several: bool) -> Sequence[str]: ...


class Answers:
    """Finds answers by the message that was judged. Raises StoreUnavailable."""

    def __init__(self, office: ChatContext, parts: KnowsParts) -> None:
        self._interactions = office.interactions
        self._tenant = office.tenant
        self._parts = parts

    async def judged(self, body: Body) -> Interaction | None:
        """Return what an activity is about, None for what is no answer of ours in its place."""
        channel, activity_id = conversation_of(body), text_at(body, "replyToId")
        if not (channel and activity_id):
            return None
        ref = PostedRef(channel, activity_id)
        found = await self._interactions.find_posted(self._tenant, ref)
        if found is None:
            found = await self._part_of(channel, activity_id)
        return found if found is not None and self._is_there(found, channel) else None

    async def _part_of(self, channel: str, activity_id: str) -> Interaction | None:
        """Return the answer of which this is a part; news of people are no answers of the bot's."""
        named = await self._parts.question_of(self._tenant, channel, activity_id)
        found = await self._interactions.get(named) if named else None
        if found is None:
            return None
        posted = await self._parts.of(found.message, REPLY, several=True)
        return found if activity_id in posted else None

    async def newest_of(self, body: Body) -> Interaction | None:
        """Return the newest answer that can be judged and that the sender asked for there.

        For Microsoft's playground, which does not say what is judged.
        """
        there = Thread("teams", self._tenant, conversation_of(body), thread_id_of(body))
        asked = await self._interactions.in_thread(there, _LOOKED_AT)
        person = person_of(body).id
        own = [each for each in asked if each.message.author.id == person]
        return next((each for each in reversed(own) if can_be_rated(each.outcome)), None)

    def _is_there(self, interaction: Interaction, channel: str) -> bool:
        thread = interaction.message.thread
        return (thread.platform, thread.tenant, thread.channel) == ("teams", self._tenant, channel)
