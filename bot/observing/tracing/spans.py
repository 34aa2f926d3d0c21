"""The spans around an interaction, for whoever does its work."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from opentelemetry.trace import Span

from bot.domain.outcomes import answer_type, confidence_level, escalation_reason
from bot.domain.types import Delivery, Message, Outcome, Thread
from bot.observing.tracing.context import continued, current_trace_id
from rag import telemetry
from rag.telemetry import Attributes, describe, span

_CONFIDENCE_LEVEL = "frontdesk.confidence_level"
_CONVERSATIONS = uuid.UUID("0e6c7c36-7f5e-5c39-8f43-6d1b7a2f51c4")


@dataclass(frozen=True, slots=True)
class InteractionSpan:
    """The root span of the work on a message, while it is open."""

    _span: Span

    def answered(self, outcome: Outcome) -> None:
        """Say what became of the message."""
        told = {
            telemetry.INTENT: outcome.trace.route.intent.value,
            telemetry.ANSWER_TYPE: answer_type(outcome),
            telemetry.CONFIDENCE: outcome.response.confidence,
            _CONFIDENCE_LEVEL: confidence_level(outcome),
            telemetry.ESCALATION_REASON: escalation_reason(outcome),
        }
        describe(self._span, told)


@contextmanager
def interaction_span(message: Message) -> Iterator[InteractionSpan]:
    """Open the span that the work on a message is done in.

    It continues the trace that the message came with, whichever process does the work, and else
    begins one. What is open around it (the engine's own work) has no part in it.
    """
    with (
        continued(message.traceparent),
        span(telemetry.INTERACTION, kind="consumer") as opened,
    ):
        if opened.is_recording():
            describe(opened, _of_message(message))
        yield InteractionSpan(opened)


@contextmanager
def deliver_span(delivery: Delivery) -> Iterator[None]:
    """Open the span of a reply on its way to its platform, with all its attempts.

    Where no trace is open, as after a restart, it continues the message's own.
    """
    with ExitStack() as opened:
        if not current_trace_id():
            opened.enter_context(continued(delivery.message.traceparent))
        told: Attributes = {
            telemetry.INTERACTION_ID: delivery.interaction_id,
            telemetry.PLATFORM: delivery.message.thread.platform,
            telemetry.TENANT: delivery.message.thread.tenant,
            telemetry.ANSWER_TYPE: answer_type(delivery.outcome),
            telemetry.EDITS_PLACEHOLDER: delivery.placeholder is not None,
        }
        opened.enter_context(span(telemetry.DELIVER, told, kind="client"))
        yield


def _of_message(message: Message) -> Attributes:
    return {
        telemetry.INTERACTION_ID: message.interaction_id,
        telemetry.CONVERSATION_ID: _conversation(message.thread),
        telemetry.PLATFORM: message.thread.platform,
        telemetry.TENANT: message.thread.tenant,
    }


def _conversation(thread: Thread) -> str:
    """Name a conversation, always the same, without the names of channels and people in it."""
    return str(uuid.uuid5(_CONVERSATIONS, thread.key))
