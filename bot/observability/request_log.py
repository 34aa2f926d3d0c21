"""Log one line for each answered request, with passwords and keys masked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import structlog

from bot.domain.interactions import Outcome
from bot.domain.messages import Message
from bot.domain.outcomes import (
    answer_type,
    confidence_level,
    document_ids,
    escalation_reason,
    retrieval_used,
)
from bot.observability.trace_context import current_trace_id
from rag.types import ModelCall

log = structlog.get_logger(__name__)

HIDDEN = "(not logged)"
MASKED = "(masked)"
LONGEST_QUERY = 2000
"""Maximum number of characters of a question that are logged."""

_MASKED_CHARACTERS = 10 * LONGEST_QUERY
"""Longer texts are cut before masking; a margin, because masking shortens the text."""

_CREDENTIALS = re.compile(
    r"-----BEGIN[A-Z ]*PRIVATE KEY-----(?:[^-]|-(?!----))*(?:-----END[A-Z ]*-----)?"
    r"|\b(?:xox[a-z]|xapp|sk|pk|rk|glpat|hf)[-_][\w-]{12,}"
    r"|\b(?:gh[a-z]_|github_pat_|ATATT)\w{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\beyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]*)?"
    r"|(?P<said>://|\bbearer\s{1,3}|\bbasic\s{1,3}"
    r"|(?:password|passwort|passcode|secret|token|api.?key)\s{0,3}(?:[:=]|\b(?:is|ist)\b)\s{0,3})"
    r"(?:(?<=://)[^\s/@:]{1,100}:[^\s/@]{1,200}(?=@)"
    r"|(?<=[:=\s])(?=\S*\d)\S{6,}|(?<=[:=])\S+|(?<=[:=]\s)\S+)",
    re.IGNORECASE,
)
"""Matches secrets pasted by mistake. After words like "password is" only text with a digit
counts."""


ObserveOutcome = Callable[[Message, Outcome, float], None]
"""Observes an outcome and its duration in ms, within the interaction's span; never raises."""


class RequestLog:
    """Logs each question and its outcome; the text of the question only when configured."""

    def __init__(self, *, log_questions: bool) -> None:
        self._log_questions = log_questions

    def answered(self, message: Message, outcome: Outcome, duration_ms: float) -> None:
        """Write the log line, within the interaction's span so that it has the trace id."""
        trace, response = outcome.trace, outcome.response
        log.info(
            "request.answered",
            interaction_id=message.interaction_id,
            trace_id=current_trace_id() or None,
            platform=message.thread.platform,
            tenant=message.thread.tenant,
            user_query=self._query(message, outcome),
            intent=trace.route.intent.value,
            decided_by=trace.route.decided_by,
            retrieval_used=retrieval_used(outcome),
            document_ids=list(document_ids(outcome)),
            confidence_score=response.confidence,
            threshold=trace.threshold,
            answer_type=answer_type(outcome),
            confidence_level=confidence_level(outcome),
            escalation_reason=escalation_reason(outcome),
            **_model_usage(trace.calls),
            timings_ms={stage: round(ms, 1) for stage, ms in trace.timings_ms.items()},
            notes=list(trace.notes),
            duration_ms=round(duration_ms, 1),
        )

    def _query(self, message: Message, outcome: Outcome) -> str:
        if not self._log_questions:
            return HIDDEN
        query = mask_credentials(
            (outcome.trace.masked_question or message.text)[:_MASKED_CHARACTERS]
        )
        return query if len(query) <= LONGEST_QUERY else f"{query[:LONGEST_QUERY]}…"


def mask_credentials(text: str) -> str:
    """Return the text with anything that looks like a password, key or token masked."""
    return _CREDENTIALS.sub(rf"\g<said>{MASKED}", text)


def _model_usage(calls: Sequence[ModelCall]) -> Mapping[str, object]:
    """Sum up the model calls; the cost is None if the price of any call is unknown."""
    costs = [call.cost_micro_usd for call in calls]
    known = [cost for cost in costs if cost is not None]
    return {
        "models": list(dict.fromkeys(call.model for call in calls)),
        "prompts": list(dict.fromkeys(call.prompt for call in calls)),
        "model_calls": len(calls),
        "input_tokens": sum(call.input_tokens for call in calls),
        "output_tokens": sum(call.output_tokens for call in calls),
        "cost_micro_usd": sum(known) if len(known) == len(costs) else None,
    }
