"""W3C trace context: continue a caller's trace, and keep the current one with a message.

It works with tracing off too: the caller's trace id still gets into the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context, trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"
_MAX_HEADER_LENGTH = 512
"""Characters of either header; what is longer is not even looked at."""


def current_traceparent() -> str:
    """Return the trace that is open here, as a message keeps it; "" where there is none."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(TRACEPARENT, "")


def current_trace_id() -> str:
    """Return the open trace's id, 32 hexadecimal digits; "" where there is none."""
    opened = trace.get_current_span().get_span_context()
    return trace.format_trace_id(opened.trace_id) if opened.is_valid else ""


@contextmanager
def trace_continued_from(traceparent: str, tracestate: str = "") -> Iterator[None]:
    """Make what is opened in the block part of a trace; of a new one if it can't be read.

    Whatever trace is open around the block has no part in it.
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
