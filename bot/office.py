"""What a platform reaches of the bot, in one value; joined in bot.app, given to every adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.documents.documents import Documents, Reindex
from bot.escalations.casework import Casework
from bot.fuller import FullerReplies
from bot.orders.orders import Orders
from bot.ports import Audits, Directory, Inbox, Interactions, KeepsPolicies, Notes
from bot.startup import Part
from bot.types import Message
from bot.why.explaining import Explaining


class Hears(Protocol):
    """Decides which messages that nobody addressed to the bot are taken. Raises StoreUnavailable.

    By the channel's policy: questions without a mention, follow-ups in a thread that the bot is in.
    """

    async def hears(self, message: Message, *, begins: bool) -> bool:
        """Tell whether to take a message; ``begins``: it is the first of its thread."""
        ...

    async def hears_bots(self, tenant: str, channel: str) -> bool:
        """Tell whether other bots may ask in a channel, ``platform:channel``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """What stands behind every platform.

    Attributes:
        tenant: The company that is served.
        directory: What a colleague may read.
        inbox: Where questions go.
        interactions: The record, to read and to judge.
        casework: What is done about escalations, and how they are shown.
        explaining: Why an answer, or none.
        fuller: What only an asker may read of an answer.
        hearing: Which messages are taken that are not addressed to the bot.
        policies: What single channels allow.
        notes: What an adapter remembers for all processes.
        audits: What admins did.
        documents: What is indexed.
        reindexing: How it gets there.
        orders: What is ordered by command.
        check_parts: The state of every part.
    """

    tenant: str
    directory: Directory
    inbox: Inbox
    interactions: Interactions
    casework: Casework
    explaining: Explaining
    fuller: FullerReplies
    hearing: Hears
    policies: KeepsPolicies
    notes: Notes
    audits: Audits
    documents: Documents
    reindexing: Reindex
    orders: Orders
    check_parts: Callable[[], Awaitable[Sequence[Part]]]
