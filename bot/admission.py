"""From message to inquiry: the conversation so far, who asks, and who will read the reply."""

from __future__ import annotations

from dataclasses import replace

from bot.ports import Directory, Interactions, Policies
from bot.types import Audience, Inquiry, Message, Person, Policy
from rag.types import EVERYONE, Principal

HISTORY_TURNS = 6


class Admission:
    """Builds inquiries. The audience bounds the search: a channel reads what everyone may.

    ``policy`` holds everywhere; a channel's own narrows it further.
    """

    def __init__(
        self, interactions: Interactions, directory: Directory, policy: Policy, policies: Policies
    ) -> None:
        self._interactions = interactions
        self._directory = directory
        self._policy = policy
        self._policies = policies

    async def admit(self, message: Message) -> Inquiry:
        """Return the inquiry for a message. Raises StoreUnavailable."""
        thread = message.thread
        principals = await self._directory.principals(thread.tenant, message.author)
        own = await self._policies.of(thread.tenant, f"{thread.platform}:{thread.channel}")
        known = replace(message, author=replace(message.author, principals=principals))
        return Inquiry(
            message=known,
            history=await self._interactions.history(message.thread, message, HISTORY_TURNS),
            audience=audience_of(known),
            policy=narrowed(self._policy, own),
        )


def narrowed(policy: Policy, own: Policy | None) -> Policy:
    """Return what both policies allow; a channel's own never adds anything."""
    if own is None or own.spaces is None:
        return policy
    if policy.spaces is None:
        return own
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
