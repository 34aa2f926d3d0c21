"""Measure and estimate the tokens and cost of embedding, where the embedder reports them."""

from __future__ import annotations

from dataclasses import replace

from ingestion.types import Plan, Report
from rag.ports import CountsUse, Embedder, Index, SearchIndex
from rag.types import EmbeddingUse

_MICRO = 1_000_000
_LEAST_SHOWN_MICRO_USD = 10_000


def use_of(embedder: Embedder | None) -> EmbeddingUse | None:
    """Return an embedder's usage so far; None for one without cost."""
    if isinstance(embedder, CountsUse):
        return embedder.use
    return None


def use_between(before: EmbeddingUse | None, after: EmbeddingUse | None) -> EmbeddingUse | None:
    """Return the usage between two measurements of the same embedder."""
    if before is None or after is None:
        return None
    # Before the first response the price may be unknown, but nothing was spent either.
    spent = 0 if before.tokens == 0 else before.cost_micro_usd
    cost = after.cost_micro_usd
    return EmbeddingUse(
        tokens=after.tokens - before.tokens,
        requests=after.requests - before.requests,
        cost_micro_usd=None if cost is None or spent is None else cost - spent,
        cut=after.cut - before.cut,
    )


def added_use(one: EmbeddingUse | None, other: EmbeddingUse | None) -> EmbeddingUse | None:
    """Return the usage of two runs together; the cost is None if one of them is unknown."""
    if one is None or other is None:
        return one or other
    costs = one.cost_micro_usd, other.cost_micro_usd
    return EmbeddingUse(
        tokens=one.tokens + other.tokens,
        requests=one.requests + other.requests,
        cost_micro_usd=None if None in costs else sum(cost or 0 for cost in costs),
        cut=one.cut + other.cut,
    )


def with_use(report: Report, use: EmbeddingUse | None) -> Report:
    """Return a report with the embedding usage, and a warning where texts were truncated."""
    warning = _truncation_line(use)
    warnings = (*report.warnings, warning) if warning else report.warnings
    return replace(report, use=use, warnings=warnings)


async def expected_use(
    plan: Plan,
    index: Index,
    embedder: Embedder | None,
    *,
    tenant: str,
    space: str,
    chunk_tokens: int,
) -> EmbeddingUse | None:
    """Estimate the usage of a plan from the average page of the space, else of all spaces.

    The number of chunks of a page is known only once it is read. Each chunk is counted with
    ``chunk_tokens``, the target size, so the estimate is rather too high. No tokens means that
    nothing is indexed yet to estimate from.
    """
    if not isinstance(embedder, CountsUse):
        return None
    if not plan.to_write:
        return EmbeddingUse(cost_micro_usd=0)
    chunks = len(plan.to_write) * await _chunks_a_page(index, tenant, space)
    return embedder.estimate(round(chunks * chunk_tokens)) if chunks else EmbeddingUse()


async def _chunks_a_page(index: Index, tenant: str, space: str) -> float:
    if not isinstance(index, SearchIndex):
        return 0.0
    held = await index.space_summaries(tenant, None)
    own = [one for one in held if one.space == space and one.chunks]
    counted = own or held
    pages = sum(one.pages for one in counted)
    return sum(one.chunks for one in counted) / pages if pages else 0.0


def use_line(use: EmbeddingUse | None, *, pages: int, dry_run: bool) -> str:
    """Format the usage, or for a dry run the estimate; "" where there is none."""
    if use is None:
        return ""
    if not dry_run:
        took, requests = _counted(use.tokens, "token"), _counted(use.requests, "request")
        return f"Embedding took {took} in {requests}{_formatted_cost(use)}."
    if not pages:
        return ""
    if not use.tokens:
        told = "The number of tokens can be estimated once some pages are indexed."
        return f"Embedding {_counted(pages, 'page')} costs tokens. {told}"
    taken, tokens = _counted(pages, "page"), _counted(use.tokens, "token")
    return f"Embedding {taken} would take about {tokens}{_formatted_cost(use)}."


def _truncation_line(use: EmbeddingUse | None) -> str:
    if use is None or not use.cut:
        return ""
    texts = "text was" if use.cut == 1 else "texts were"
    return (
        f"{use.cut} {texts} longer than the model sees; the ends are found by their words alone. "
        "Lower EMBEDDING_MAX_TOKENS to what the model sees, and index the space anew."
    )


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _formatted_cost(use: EmbeddingUse) -> str:
    cost = use.cost_micro_usd
    if cost is None:
        return "; their price is not known"
    if cost < _LEAST_SHOWN_MICRO_USD:
        return ", less than $0.01"
    return f", ${cost / _MICRO:,.2f}"
