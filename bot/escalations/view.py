"""A case as one reader sees it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.escalations.finding import Exchange, Finding
from bot.escalations.types import Case, CaseStep, Standing
from bot.types import Delivery, Escalation


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case with its history, and what went before.

    ``finding`` is None for a question that has no outcome any more, and while it can't be known
    what may be read. ``before`` is what was said earlier in the thread, oldest first.
    """

    case: Case
    steps: tuple[CaseStep, ...]
    finding: Finding | None
    before: tuple[Exchange, ...]


def bare_view(delivery: Delivery) -> CaseView:
    """Return a question as it came, where its case can't be seen.

    Pages found in a private conversation are left out: the asker may read them, others perhaps not.
    """
    message, response = delivery.message, delivery.outcome.response
    escalated = response if isinstance(response, Escalation) else None
    case = Case(
        interaction_id=delivery.interaction_id,
        tenant=message.thread.tenant,
        standing=Standing("open"),
        reason=escalated.reason if escalated else "asked_for_human",
        question=escalated.question if escalated else message.text,
        asker_id=message.author.id,
        asker_name=message.author.name,
        channel=f"{message.thread.platform}:{message.thread.channel}",
        private=message.private,
        opened_at=message.received_at,
        changed_at=message.received_at,
        outsider=(delivery.outcome.asker or message.author).outsider,
    )
    finding = Finding(
        interaction_id=delivery.interaction_id,
        question=case.question,
        gate="",
        confidence=None,
        threshold=None,
        suggestions=escalated.suggestions if escalated and not message.private else (),
    )
    return CaseView(case=case, steps=(), finding=finding, before=())
