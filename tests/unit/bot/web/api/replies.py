"""Outcomes of every kind, as the desk gives them."""

from __future__ import annotations

from datetime import date

from bot.domain.interactions import (
    Clarification,
    Escalation,
    Outcome,
    Reply,
    Response,
    Route,
    Source,
    Trace,
)
from bot.domain.messages import FoundPassage, Intent
from rag.search_scope import PlannedSearch
from rag.types import FilterVerdict, ModelCall

SOURCE = Source(
    chunk_id="c1",
    page_id="vpn.md",
    title="VPN",
    url="/pages/IT/vpn.md",
    section="Set up",
    quote="Install the client.",
    document_page=None,
    relevance=0.9,
    source_type="folder",
    source_id="vpn.md",
)
CALL = ModelCall("intent", "small", "intent@1", 10, 1, 5.0)
WRITING = ModelCall("answer", "large", "answer@1", 900, 80, 700.0, cost_micro_usd=120)
TRACE = Trace(
    route=Route(Intent.DOMAIN, 0.9, "model", "How do I set up the VPN?", calls=(CALL,)),
    passages=(FoundPassage("c1", "vpn.md", "VPN", "Set up", {"keyword": 5.0, "vector": 0.8}),),
    features={"coverage": 0.75, "margin": float("inf")},
    threshold=0.65,
    gate="logistic@1",
    calls=(CALL, WRITING),
    filters=(FilterVerdict("input", "hate", filtered=False, severity="safe"),),
    timings_ms={"route": 1.5, "search": 12.0},
    notes=("one claim dropped",),
    searches=(PlannedSearch("client set-up", "IT", None, date(2026, 1, 2), 3),),
)

FOUND = Reply("From the wiki: Install the client. [1]", "found", (SOURCE,), 0.91)
ANSWERED = Reply("Install the client. [1]", "answer", (SOURCE,), 0.8)
HELLO = Reply("Hello!", "generic")
REFUSED = Reply("I can't help with that.", "answer", (SOURCE,), 0.3, refused=True)
UNSOURCED = Reply("Trust me.", "answer", (), 0.99)
WHICH = Clarification("Which one?", ("Laptop", "Phone"), (SOURCE,), 0.5)
UNSURE = Escalation("I'd rather ask.", "low_confidence", "VPN?", (SOURCE,), 0.4)
NOTHING = Escalation("I'd rather ask.", "nothing_found", "VPN?", (), 0.0)
UNSUPPORTED = Escalation("I'd rather ask.", "unsupported", "VPN?", (SOURCE,), 0.7)
PERSON = Escalation("I'll get someone.", "asked_for_human", "VPN?")
BROKEN = Escalation("Something isn't working.", "unavailable", "VPN?")


def outcome(response: Response) -> Outcome:
    """The response with everything that led to it."""
    return Outcome(response, TRACE)
