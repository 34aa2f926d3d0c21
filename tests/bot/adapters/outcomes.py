"""Outcomes to be shown, made short."""

from __future__ import annotations

from dataclasses import replace

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
from bot.domain.messages import Intent, Message
from bot.inbox.outbox import delivery_id

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
