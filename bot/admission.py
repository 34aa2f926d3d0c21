"""From message to inquiry: the conversation so far, who asks, and who will read the reply."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.attachments.reading import Read, ReadsAttachments
from bot.escalations.card_threads import USE_REPLY, is_card_thread
from bot.escalations.handover import asks_topic
from bot.escalations.repeating import ASKED_ALREADY, LOOKED_AT, asked_already, is_wish
from bot.introductions import Introduced, Introductions
from bot.ports import Directory, Interactions, Notes, Policies
from bot.types import Audience, Inquiry, Message, Person, Policy, Refusal
from rag.types import EVERYONE, Principal, Turn

HISTORY_TURNS = 6
_JUST_BEFORE = timedelta(minutes=10)

_OFF = "I'm turned off here. Please ask me somewhere else, or ask your help desk directly."


class Admission:
    """Builds inquiries. The audience bounds the search: a channel reads what everyone may.

    Args:
        interactions: What was said before in a thread.
        directory: What a person may read.
        policy: It holds everywhere; a channel's own narrows it further.
        policies: The channels' own.
        introductions: Who asks, on platforms that know more than a message says.
        reading: Reads the files that come with messages; without it none is read.
        notes: Tells which threads are those of cards; without it none is.
    """

    def __init__(
        self,
        interactions: Interactions,
        directory: Directory,
        policy: Policy,
        policies: Policies,
        *,
        introductions: Introductions | None = None,
        reading: ReadsAttachments | None = None,
        notes: Notes | None = None,
    ) -> None:
        self._interactions = interactions
        self._directory = directory
        self._policy = policy
        self._policies = policies
        self._introductions = introductions
        self._reading = reading
        self._notes = notes

    async def admit(self, message: Message) -> Inquiry | Refusal:
        """Return the inquiry for a message, or why none is made. Raises StoreUnavailable."""
        thread = message.thread
        if self._notes is not None and await is_card_thread(self._notes, thread):
            return Refusal(USE_REPLY, "card_thread", ephemeral=True)
        own = await self._policies.of(thread.tenant, f"{thread.platform}:{thread.channel}")
        policy = narrowed(self._policy, own)
        if policy.answers == "off":
            return Refusal(_OFF, "channel_off")
        introduced = await self._introduced(message)
        if isinstance(introduced, Refusal):
            return introduced
        if await self._is_repeated(message):
            return Refusal(ASKED_ALREADY, "asked_already")
        known = replace(message, author=await self._with_principals(message, introduced))
        read = await self._read(message)
        before = await self._interactions.history(thread, message, HISTORY_TURNS)
        return Inquiry(
            message=known,
            history=before or await self._asked_topic(message),
            audience=audience_of(known),
            policy=policy,
            attached=read.attached,
            remarks=read.remarks,
            notes=introduced.notes,
            asker=introduced.recorded,
        )

    async def _asked_topic(self, message: Message) -> tuple[Turn, ...]:
        """Return what was said just before, if the bot asked there what a person is wanted for.

        That is for direct conversations in which every message may begin a thread; else nothing.
        """
        thread = message.thread
        if not message.private or thread.id != message.id:
            return ()
        place = thread.tenant, thread.platform, thread.channel
        last = await self._interactions.newest_of(*place, message.author.id)
        if last is None or last.outcome is None or not asks_topic(last.outcome.response.text):
            return ()
        age = message.received_at - last.message.received_at
        if last.withdrawn or not timedelta(0) <= age <= _JUST_BEFORE:
            return ()
        return Turn("user", last.message.text), Turn("assistant", last.outcome.response.text)

    async def _is_repeated(self, message: Message) -> bool:
        """Tell whether a button asks for what somebody typed meanwhile."""
        if not is_wish(message):
            return False
        there = await self._interactions.in_thread(message.thread, LOOKED_AT)
        before = [each for each in there if each.id != message.interaction_id]
        return asked_already(message, before)

    async def _introduced(self, message: Message) -> Introduced | Refusal:
        if self._introductions is None:
            return Introduced(message.author)
        return await self._introductions.of(message)

    async def _with_principals(self, message: Message, introduced: Introduced) -> Person:
        author = introduced.author
        if not introduced.open:
            return author
        principals = await self._directory.principals(message.thread.tenant, author)
        return replace(author, principals=principals)

    async def _read(self, message: Message) -> Read:
        if self._reading is None or not message.attachments:
            return Read()
        return await self._reading.read(message)


def narrowed(policy: Policy, own: Policy | None) -> Policy:
    """Return a channel's own policy within the spaces of the one that holds everywhere."""
    if own is None:
        return policy
    if policy.spaces is None or own.spaces is None:
        return replace(own, spaces=policy.spaces if own.spaces is None else own.spaces)
    return replace(own, spaces=own.spaces & policy.spaces)


def audience_of(message: Message) -> Audience:
    """Return who will read the reply: the asker alone, or everyone in a channel."""
    if message.private:
        return Audience("private", message.author.principals | {EVERYONE})
    return Audience("channel", frozenset({EVERYONE}))


class VouchedDirectory:
    """Knows of a person only what their adapter has verified; everyone else is ``everyone``."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:  # noqa: ARG002 - the port names it
        return person.principals | {EVERYONE}
