"""From message to inquiry: the conversation so far, who asks, and who will read the reply."""

from __future__ import annotations

from dataclasses import replace

from bot.ports import Directory, Interactions
from bot.types import Audience, Inquiry, Message, Person, Policy
from rag.types import EVERYONE, Principal

HISTORY_TURNS = 6


class Admission:
    """Builds inquiries. The audience bounds the search: a channel reads what everyone may."""

    def __init__(self, interactions: Interactions, directory: Directory, policy: Policy) -> None:
        self._interactions = interactions
        self._directory = directory
        self._policy = policy

    async def admit(self, message: Message) -> Inquiry:
        """Return the inquiry for a message."""
        principals = await self._directory.principals(message.thread.tenant, message.author)
        known = replace(message, author=replace(message.author, principals=principals))
        return Inquiry(
            message=known,
            history=await self._interactions.history(message.thread, message, HISTORY_TURNS),
            audience=audience_of(known),
            policy=self._policy,
        )


def audience_of(message: Message) -> Audience:
    """Return who will read the reply: the asker alone, or everyone in a channel."""
    if message.private:
        return Audience("private", message.author.principals | {EVERYONE})
    return Audience("channel", frozenset({EVERYONE}))


class VouchedDirectory:
    """Knows of a person only what their adapter has verified; everyone else is ``everyone``."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:  # noqa: ARG002 - the port names it
        return person.principals | {EVERYONE}
