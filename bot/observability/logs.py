"""Set up structured logs, and log answered requests and lasting trouble.

Logs are rendered for people on a terminal, as JSON lines everywhere else. An answered request is
one line, with passwords and keys masked; trouble is logged when it begins and when it ends.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

import structlog
from aiohttp.http_exceptions import HttpProcessingError

from bot.domain.errors import BotError
from bot.domain.formatting import option_label
from bot.domain.handoff import PERSON_REQUEST, is_person_request
from bot.domain.interactions import Outcome
from bot.domain.messages import Message
from bot.domain.outcomes import (
    answer_type,
    confidence_level,
    document_ids,
    escalation_reason,
    retrieval_used,
)
from bot.observability.tracing import current_trace_id
from rag.personal_data.credentials import ANY_CREDENTIALS
from rag.retrying import log_long_waits
from rag.types import ModelCall

PERSON_FIELDS = ("person", "actor", "key")
"""Fields of log lines that hold a person's id, or the key of a limit that has one in it."""

_MARK_DIGITS = 12


def mask_persons(
    _logger: object, _method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """Replace persons' ids by a hash: lines of one person belong together, and name nobody.

    Who knows an id can tell its hash. A log is kept by others than the record, and not deleted
    from when somebody is forgotten.
    """
    for name in PERSON_FIELDS:
        if event.get(name):
            digest = hashlib.sha256(str(event[name]).encode("utf-8", "replace")).hexdigest()
            event[name] = f"person-{digest[:_MARK_DIGITS]}"
    return event


def set_up_logs(level: str, stream: TextIO = sys.stderr) -> None:
    """Send structlog and the standard library's loggers to one stream in one form."""
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer(colors=True)
        if stream.isatty()
        else structlog.processors.JSONRenderer()
    )
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        mask_persons,
    ]
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared)
    )
    logging.getLogger("aiohttp.server").addFilter(_is_http)
    log_long_waits()
    logging.basicConfig(level=max(threshold, logging.WARNING), handlers=[handler], force=True)


def _is_http(record: logging.LogRecord) -> bool:
    """Drop records of malformed HTTP: anyone can send it, it gets a 400, and may hold secrets."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


log = structlog.get_logger(__name__)


class LastingTrouble:
    """The current error of a periodic task; ``text`` is empty while the task succeeds.

    Args:
        subject: The prefix of the log events ``SUBJECT.troubled`` and ``SUBJECT.well_again``.
        text: The error to begin with.
    """

    def __init__(self, subject: str, text: str = "") -> None:
        self._begun, self._over = f"{subject}.troubled", f"{subject}.well_again"
        self.text = text

    def note(self, error: Exception | None) -> None:
        """Record the result of a round, and log the change between failing and working.

        An unexpected exception is shown by its type only: its message is for the log.
        """
        known = isinstance(error, BotError)
        text = "" if error is None else str(error) if known else type(error).__name__
        if text and not self.text:
            log.error(self._begun, why=text, exc_info=None if known else error)
        elif self.text and not text:
            log.warning(self._over)
        self.text = text


HIDDEN = "(not logged)"
MASKED = "(masked)"
LONGEST_QUERY = 2000
"""Maximum number of characters of a question that are logged."""

_MASKED_CHARACTERS = 10 * LONGEST_QUERY
"""Longer texts are cut before masking; a margin, because masking shortens the text."""

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
            answer_cache=None if trace.cache is None else trace.cache.result,
            **_model_usage(trace.calls),
            timings_ms={stage: round(ms, 1) for stage, ms in trace.timings_ms.items()},
            notes=list(trace.notes),
            duration_ms=round(duration_ms, 1),
        )

    def _query(self, message: Message, outcome: Outcome) -> str:
        if not self._log_questions or _is_option(message, outcome):
            return HIDDEN
        asked = outcome.trace.masked_question or message.text
        # The question that a person is asked about was logged as such, unless it is an option.
        asked = PERSON_REQUEST if is_person_request(message) else asked
        query = mask_credentials(asked[:_MASKED_CHARACTERS])
        return query if len(query) <= LONGEST_QUERY else f"{query[:LONGEST_QUERY]}…"


def _is_option(message: Message, outcome: Outcome) -> bool:
    """Return whether the question is a chosen option: a page's title, which not all may read."""
    return any(option_label(each) == message.text for each in outcome.trace.passages)


def mask_credentials(text: str) -> str:
    """Return the text with anything that looks like a password, key or token masked."""
    return ANY_CREDENTIALS.sub(rf"\g<said>{MASKED}", text)


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
