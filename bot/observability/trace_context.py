"""W3C trace context: continue a caller's trace, and store the current one with a message.

Works with tracing off too: the caller's trace id still gets into the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context, trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

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
