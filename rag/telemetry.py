"""Span and attribute names, and helpers to open OpenTelemetry spans.

Names follow OpenTelemetry's GenAI conventions where they define one, else are ours under
``frontdesk.``. No text of a question, page or answer, and no error message, is put in a span.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Literal

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, TracerProvider

from rag.errors import RagError
from rag.ports import Composition
from rag.types import ModelCall

SCOPE = "frontdesk"

# Span names
INTERACTION = "interaction"
ROUTE = "route"
RETRIEVAL = "retrieval"
GENERATION = "generation"
GROUNDING = "grounding"
GATE = "gate"
PRIVATE_REPLY = "private_reply"
DELIVER = "deliver"

# Attributes of OpenTelemetry's semantic conventions
CONVERSATION_ID = "gen_ai.conversation.id"
OPERATION_NAME = "gen_ai.operation.name"
PROVIDER_NAME = "gen_ai.provider.name"
PROMPT_NAME = "gen_ai.prompt.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE = "gen_ai.evaluation.score.value"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
SERVER_ADDRESS = "server.address"
ERROR_TYPE = "error.type"

# Frontdesk's own attributes
INTERACTION_ID = "frontdesk.interaction.id"
PLATFORM = "frontdesk.platform"
TENANT = "frontdesk.tenant"
INTENT = "frontdesk.intent"
ANSWER_TYPE = "frontdesk.answer_type"
CONFIDENCE = "frontdesk.confidence"
ESCALATION_REASON = "frontdesk.escalation.reason"
ROUTE_DECIDED_BY = "frontdesk.route.decided_by"
ROUTE_SCORE = "frontdesk.route.score"
RETRIEVAL_WANTED = "frontdesk.retrieval.wanted"
RETRIEVAL_FOUND = "frontdesk.retrieval.found"
RETRIEVAL_EMBED_MS = "frontdesk.retrieval.embed_ms"
RETRIEVAL_SEARCH_MS = "frontdesk.retrieval.search_ms"
COMPOSER = "frontdesk.composer"
PASSAGES = "frontdesk.generation.passages"
PROMPT_VERSION = "frontdesk.prompt.version"
COST_MICRO_USD = "frontdesk.cost.micro_usd"
MODEL_NAME = "frontdesk.model.name"
ATTEMPTS = "frontdesk.model.attempts"
REPAIRED = "frontdesk.model.repaired"
REFUSED = "frontdesk.model.refused"
CLAIMS_KEPT = "frontdesk.grounding.claims_kept"
CLAIMS_DROPPED = "frontdesk.grounding.claims_dropped"
GATE_THRESHOLD = "frontdesk.gate.threshold"
EDITS_PLACEHOLDER = "frontdesk.delivery.edits_placeholder"

Value = str | bool | int | float | Sequence[str] | None
Attributes = Mapping[str, Value]
"""Attribute values by name; those that are None are left out."""

Kind = Literal["internal", "client", "consumer"]

_KINDS: Mapping[Kind, SpanKind] = {
    "internal": SpanKind.INTERNAL,
    "client": SpanKind.CLIENT,
    "consumer": SpanKind.CONSUMER,
}


@contextmanager
def span(
    name: str, attributes: Attributes | None = None, *, kind: Kind = "internal"
) -> Iterator[Span]:
    """Record the block as a child of the current span; nearly free when tracing is off.

    An exception is recorded by its type name alone and raised again.
    """
    opened = _tracer(trace.get_tracer_provider()).start_span(name, kind=_KINDS[kind])
    if not opened.get_span_context().is_valid:
        yield opened
        return
    describe(opened, attributes or {})
    with trace.use_span(
        opened, end_on_exit=True, record_exception=False, set_status_on_exception=False
    ):
        try:
            yield opened
        except BaseException as error:
            _mark(opened, error)
            raise


def describe(current: Span, attributes: Attributes) -> None:
    """Set those attributes of a span that are not None."""
    if current.is_recording():
        for name, value in attributes.items():
            if value is not None:
                current.set_attribute(name, value)


def describe_current(attributes: Attributes) -> None:
    """Set those attributes of the current span that are not None."""
    describe(trace.get_current_span(), attributes)


@contextmanager
def counting(current: Span) -> Iterator[None]:
    """Record the model calls of a RagError raised in the block as attributes of a span."""
    try:
        yield
    except RagError as error:
        for call in error.calls:
            describe(current, of_call(call))
        raise


def of_call(call: ModelCall) -> Attributes:
    """Return the span attributes of a model call."""
    return {
        RESPONSE_MODEL: call.answered_by or call.model,
        RESPONSE_FINISH_REASONS: (call.finish_reason,),
        INPUT_TOKENS: call.input_tokens,
        OUTPUT_TOKENS: call.output_tokens,
        COST_MICRO_USD: call.cost_micro_usd,
        ATTEMPTS: call.attempts,
        REPAIRED: call.repaired,
    }


def of_prompt(prompt_id: str) -> Attributes:
    """Return the span attributes of a prompt file: name and version of its id ("answer@1")."""
    name, _, version = prompt_id.partition("@")
    return {PROMPT_NAME: name, PROMPT_VERSION: version or None}


def of_claims(composition: Composition) -> Attributes:
    """Return the span attributes of the grounding checks: claims kept and dropped."""
    return {
        CLAIMS_KEPT: len(composition.claims),
        CLAIMS_DROPPED: composition.dropped_claims,
    }


def _mark(current: Span, error: BaseException) -> None:
    current.set_status(StatusCode.ERROR)
    current.set_attribute(ERROR_TYPE, type(error).__qualname__)


@lru_cache(maxsize=4)
def _tracer(provider: TracerProvider) -> Tracer:
    """Return the tracer of a provider, cached because asking the SDK each time is slow."""
    return provider.get_tracer(SCOPE)
