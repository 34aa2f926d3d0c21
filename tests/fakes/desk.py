"""Outcomes to show, a desk that always gives the same one, and an inbox that keeps messages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import (
    Delivery,
    Escalation,
    Outcome,
    Reply,
    Response,
    Route,
    Source,
    Trace,
)
from bot.domain.messages import Inquiry, Intent, InteractionId, Message
from bot.domain.ports import ReportStage
from bot.inbox.outbox import delivery_id
from tests.fakes.builders import chunk

TRACE = Trace(route=Route(Intent.DOMAIN, 1.0, "rule", "vpn down?"))

VPN = Source(
    chunk_id="c1",
    page_id="vpn.md",
    title="VPN guide",
    url="https://wiki.example.com/vpn?a=1&b=2",
    section="Reset",
    quote="Restart the client.",
    document_page=None,
    relevance=0.9,
    source_type="folder",
    source_id="it",
)
LOCAL = replace(VPN, chunk_id="c2", title="Offices", url="/pages/offices", section="")

ANSWER = Reply(text="Restart the client [1].", tone="answer", sources=(VPN,), confidence=0.9)
HANDED_OVER = Escalation(
    text="I've asked the people in #it-help.",
    reason="low_confidence",
    question="vpn down?",
    suggestions=(VPN,),
    confidence=0.2,
)
OFFERED = replace(HANDED_OVER, text="Shall I ask a person?", consent_needed=True)


def delivery(
    message: Message, response: Response = ANSWER, private: Reply | None = None
) -> Delivery:
    outcome = Outcome(response=response, trace=TRACE, private=private)
    name = delivery_id(message.interaction_id)
    return Delivery(name, message.interaction_id, message, outcome)


TENANT = "acme"
PAGE = chunk(
    VPN.quote,
    chunk_id=VPN.chunk_id,
    page_id=VPN.page_id,
    title=VPN.title,
    section=VPN.section,
    tenant=TENANT,
    url=VPN.url,
)
"""The page that answers quote here, as the index holds it."""


@dataclass
class FixedDesk:
    """A desk that has the same outcome for everything, and remembers what it was asked."""

    outcome: Outcome = field(default_factory=lambda: Outcome(ANSWER, TRACE))
    asked: list[Message] = field(default_factory=list)

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.asked.append(inquiry.message)
        return self.outcome


class KeepingInbox:
    """Keeps messages by id; ``error`` is raised instead, ``delay`` is waited before."""

    def __init__(self) -> None:
        self.messages: dict[InteractionId, Message] = {}
        self.cancelled: list[InteractionId] = []
        self.accepted = 0
        self.error: Exception | None = None
        self.delay = 0.0

    @property
    def only(self) -> Message:
        (message,) = self.messages.values()
        return message

    async def accept(self, message: Message) -> InteractionId:
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        self.accepted += 1
        if message.interaction_id in self.cancelled:
            return message.interaction_id
        self.messages.setdefault(message.interaction_id, message)
        return message.interaction_id

    async def amend(self, message: Message) -> None:
        kept = self.messages.get(message.interaction_id)
        if kept is not None:
            files = message.attachments or kept.attachments
            self.messages[message.interaction_id] = replace(
                kept, text=message.text, attachments=files
            )

    async def cancel(self, interaction_id: InteractionId, *, keep_acts: bool = False) -> None:
        """Forget a message; it is not kept again when it is sent again."""
        if interaction_id not in self.messages:
            raise InteractionUnknown(f"There is no interaction {interaction_id!r}. Ask first.")
        del self.messages[interaction_id]
        self.cancelled.append(interaction_id)

    async def outcome(self, interaction_id: InteractionId) -> Outcome:
        raise NotImplementedError(interaction_id)
