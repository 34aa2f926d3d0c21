"""W3C trace context: read a caller's trace, and keep the current one with a message.

It works with tracing off too: the caller's trace id still gets into the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web
from aiohttp.typedefs import Handler
from opentelemetry import context, trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from bot.chat.adapters import is_platform_endpoint
from bot.web.auth.security import is_public_path

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


@web.middleware
async def continue_trace(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Continue the caller's trace, if the doors let the caller in; put it behind the doors.

    Nobody else is believed: the sampled flag would let anyone on the internet, through a
    platform's endpoint, decide what is recorded.
    """
    headers = request.headers.getall(TRACEPARENT, [])
    if len(headers) != 1 or is_public_path(request.path) or is_platform_endpoint(request.path):
        return await handler(request)
    state = ",".join(request.headers.getall(TRACESTATE, []))
    with trace_continued_from(headers[0], state):
        return await handler(request)
