"""A desk that says what a test tells it to, and the page that it quotes."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.domain.interactions import Outcome
from bot.domain.messages import Inquiry, Message
from bot.domain.ports import ReportStage
from tests.bot.adapters.outcomes import ANSWER, TRACE, VPN
from tests.builders import chunk

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
class Says:
    """A desk that has the same outcome for everything, and remembers what it was asked."""

    outcome: Outcome = field(default_factory=lambda: Outcome(ANSWER, TRACE))
    asked: list[Message] = field(default_factory=list)

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.asked.append(inquiry.message)
        return self.outcome
