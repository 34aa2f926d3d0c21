"""Traces: whose are continued, the spans around an interaction, and where they are sent."""

from bot.observing.tracing.context import continue_trace, current_trace_id, current_traceparent
from bot.observing.tracing.setup import set_up_tracing, tracing_part
from bot.observing.tracing.spans import InteractionSpan, deliver_span, interaction_span

__all__ = [
    "InteractionSpan",
    "continue_trace",
    "current_trace_id",
    "current_traceparent",
    "deliver_span",
    "interaction_span",
    "set_up_tracing",
    "tracing_part",
]
