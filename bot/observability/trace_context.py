"""Spans of interactions and deliveries, and the W3C trace context that they continue.

Works with tracing off too: the caller's trace id still gets into the log.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from opentelemetry import context, trace
from opentelemetry.trace import Span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from bot.domain.interactions import Delivery, Outcome
from bot.domain.messages import Message, Thread
from bot.domain.outcomes import answer_type, confidence_level, escalation_reason
from rag import telemetry
from rag.telemetry import Attributes, describe, span

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"
_MAX_HEADER_LENGTH = 512
"""Characters of either header; a longer one is ignored."""


def current_traceparent() -> str:
    """Return the current trace as a traceparent header to store with a message; "" without one."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(TRACEPARENT, "")


def current_trace_id() -> str:
    """Return the id of the current trace, 32 hexadecimal digits; "" without one."""
    opened = trace.get_current_span().get_span_context()
    return trace.format_trace_id(opened.trace_id) if opened.is_valid else ""


@contextmanager
def trace_continued_from(traceparent: str, tracestate: str = "") -> Iterator[None]:
    """Make spans opened in the block part of the given trace, or of a new one if it is unreadable.

    The trace that is open around the block is not continued.
    """
    token = context.attach(_read(traceparent, tracestate))
    try:
        yield
    finally:
        context.detach(token)


def _read(traceparent: str, tracestate: str) -> context.Context:
    if not traceparent or len(traceparent) > _MAX_HEADER_LENGTH:
        return context.Context()
    carrier = {TRACEPARENT: traceparent}
    if 0 < len(tracestate) <= _MAX_HEADER_LENGTH:
        carrier[TRACESTATE] = tracestate
    return TraceContextTextMapPropagator().extract(carrier, context=context.Context())


_CONFIDENCE_LEVEL = "frontdesk.confidence_level"
_CONVERSATIONS = uuid.UUID("0e6c7c36-7f5e-5c39-8f43-6d1b7a2f51c4")  # uuid5 namespace


def describe_outcome(opened: Span, outcome: Outcome) -> None:
    """Set an outcome's attributes on the span of its interaction."""
    attributes = {
        telemetry.INTENT: outcome.trace.route.intent.value,
        telemetry.ANSWER_TYPE: answer_type(outcome),
        telemetry.CONFIDENCE: outcome.response.confidence,
        _CONFIDENCE_LEVEL: confidence_level(outcome),
        telemetry.ESCALATION_REASON: escalation_reason(outcome),
    }
    describe(opened, attributes)


@contextmanager
def interaction_span(message: Message) -> Iterator[Span]:
    """Open the root span of a message's processing.

    It continues the trace that the message came with, whichever process does the work, or else
    begins one. The span that is open around it (the engine's own) is not its parent.
    """
    with (
        trace_continued_from(message.traceparent),
        span(telemetry.INTERACTION, kind="consumer") as opened,
    ):
        if opened.is_recording():
            thread = message.thread
            attributes = {
                telemetry.INTERACTION_ID: message.interaction_id,
                telemetry.CONVERSATION_ID: _conversation_id(thread),
                telemetry.PLATFORM: thread.platform,
                telemetry.TENANT: thread.tenant,
            }
            describe(opened, attributes)
        yield opened


@contextmanager
def deliver_span(delivery: Delivery) -> Iterator[None]:
    """Open the span of a reply's delivery to its platform, with all requests it takes.

    Where no trace is open, as after a restart, it continues the message's own.
    """
    with ExitStack() as opened:
        if not current_trace_id():
            opened.enter_context(trace_continued_from(delivery.message.traceparent))
        attributes: Attributes = {
            telemetry.INTERACTION_ID: delivery.interaction_id,
            telemetry.PLATFORM: delivery.message.thread.platform,
            telemetry.TENANT: delivery.message.thread.tenant,
            telemetry.ANSWER_TYPE: answer_type(delivery.outcome),
            telemetry.EDITS_PLACEHOLDER: delivery.placeholder is not None,
        }
        opened.enter_context(span(telemetry.DELIVER, attributes, kind="client"))
        yield


def _conversation_id(thread: Thread) -> str:
    """Return a stable id of a conversation that reveals no names of channels or people."""
    return str(uuid.uuid5(_CONVERSATIONS, thread.key))
