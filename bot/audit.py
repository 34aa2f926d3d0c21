"""The one log line a request."""

from __future__ import annotations

import structlog

from bot.outcomes import answer_type, document_ids, retrieval_used
from bot.types import Message, Outcome

log = structlog.get_logger(__name__)

HIDDEN = "(not logged)"


class Audit:
    """Writes what was asked and what came of it; the question only when that is wanted."""

    def __init__(self, *, log_questions: bool) -> None:
        self._log_questions = log_questions

    def answered(self, message: Message, outcome: Outcome, duration_ms: float) -> None:
        log.info(
            "request.answered",
            interaction_id=message.interaction_id,
            platform=message.thread.platform,
            tenant=message.thread.tenant,
            user_query=message.text if self._log_questions else HIDDEN,
            intent=outcome.trace.route.intent.value,
            retrieval_used=retrieval_used(outcome),
            document_ids=list(document_ids(outcome)),
            confidence_score=outcome.response.confidence,
            answer_type=answer_type(outcome),
            duration_ms=round(duration_ms, 1),
        )
