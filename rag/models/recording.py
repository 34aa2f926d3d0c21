"""What is recorded of a call: tokens, cost, verdicts, and how often it was tried."""

from __future__ import annotations

from collections.abc import Sequence

from rag.models.pricing import cost_micro_usd
from rag.models.transport import Tally
from rag.models.wire import Usage
from rag.ports import Prompt
from rag.types import ModelCall

_LONGEST_NAME = 128
_WITHOUT_REPLY = {True: "content_filter", False: "error"}
"""Finish reasons by whether the server understood the question."""


def recorded(
    prompt: Prompt, tally: Tally, *, model: str, base_url: str, duration_ms: float
) -> ModelCall:
    """Sum up a question and its repair, if any, or what was counted of them when they failed.

    The cost is None as soon as one part of it is unknown.
    """
    exchanges = tally.exchanges
    replies = [exchange.reply for exchange in exchanges if exchange.reply]
    usages = [*(reply.usage for reply in replies), *tally.unread]
    whole = len(replies) == len(exchanges)
    last = exchanges[-1].reply if exchanges else None
    answered_by = (last.model if last else None) or model
    names = tuple(dict.fromkeys((answered_by, model)))
    return ModelCall(
        purpose=prompt.id.partition("@")[0],
        model=answered_by[:_LONGEST_NAME],
        prompt=prompt.id,
        input_tokens=sum(usage.prompt_tokens for usage in usages if usage),
        output_tokens=sum(usage.completion_tokens for usage in usages if usage),
        duration_ms=duration_ms,
        cost_micro_usd=_cost(usages, names, base_url) if whole else None,
        finish_reason=last.finish_reason if last else _WITHOUT_REPLY[bool(exchanges)],
        attempts=tally.requests,
        repaired=len(exchanges) > 1,
        filters=tuple(verdict for exchange in exchanges for verdict in exchange.filters),
    )


def _cost(usages: Sequence[Usage | None], names: tuple[str, ...], base_url: str) -> int | None:
    total = 0
    for usage in usages:
        cost = cost_micro_usd(usage, names, base_url) if usage else None
        if cost is None:
            return None
        total += cost
    return total
