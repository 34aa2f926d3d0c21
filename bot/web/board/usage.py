"""Board page of model calls and their cost by day, model, channel or person; also as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from aiohttp import web

from bot.domain.record_reports import UsageSum, days_in, last_days
from bot.domain.texts import Text, join_texts, number_text, tr, trn
from bot.store.limits import StoredUsage
from bot.web.auth.identity import require_role
from bot.web.board.day_charts import cost_chart, sums_by_day
from bot.web.board.figures import Chart, Series, count, stacked, usd
from bot.web.board.layout import (
    Choice,
    csv_response,
    days_asked_for,
    render_page,
    span_choices,
    utc_now,
)

PATH = "/board/usage"
CSV_PATH = "/board/usage.csv"
MAX_ROWS = 100

Dimension = Literal["day", "model", "channel", "person"]
DIMENSIONS: tuple[Dimension, ...] = ("day", "model", "channel", "person")
_BY: Mapping[Dimension, str] = {
    "day": tr("By day"),
    "model": tr("By model"),
    "channel": tr("By channel"),
    "person": tr("By person"),
}
_HEADS: Mapping[Dimension, str] = {
    "day": tr("Day"),
    "model": tr("Model"),
    "channel": tr("Channel"),
    "person": tr("Person"),
}
_FORGOTTEN = tr("(forgotten)")
_CSV_COLUMNS = ("calls", "input_tokens", "output_tokens", "cost_usd", "unpriced_calls")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table, formatted."""

    key: str
    calls: str
    input_tokens: str
    output_tokens: str
    cost: str
    unpriced: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePage:
    """Handlers of the usage page; stateless."""

    usage: StoredUsage
    tenant: str
    clock: Callable[[], datetime] = utc_now

    async def page(self, request: web.Request) -> web.Response:
        """Show the usage of a span, summed by the dimension of the query string."""
        require_role(request, "expert")
        days, by = days_asked_for(request), _dimension(request)
        span = last_days(self.clock(), days)
        per_day = await self.usage.sums(span, "day", self.tenant)
        sums = per_day if by == "day" else await self.usage.sums(span, by, self.tenant)
        shown = sums[-MAX_ROWS:] if by == "day" else sums[:MAX_ROWS]
        context = {
            "spans": span_choices(days, PATH, f"&by={by}"),
            "dimensions": [
                Choice(name, _href(days, each), each == by) for each, name in _BY.items()
            ],
            "head": _HEADS[by],
            "words": _summary(days, per_day),
            "charts": _charts(days_in(span), per_day) if per_day else (),
            "rows": [_row(each) for each in shown],
            "left_out": len(sums) - len(shown),
            "csv": f"{CSV_PATH}?days={days}&by={by}",
        }
        return render_page(request, "board/usage.html", context)

    async def csv(self, request: web.Request) -> web.Response:
        """Return all rows of the same sums as a CSV file."""
        require_role(request, "expert")
        days, by = days_asked_for(request), _dimension(request)
        at = self.clock()
        sums = await self.usage.sums(last_days(at, days), by, self.tenant)
        name = f"frontdesk-usage-by-{by}-{days}-days-to-{at:%Y-%m-%d}.csv"
        return csv_response(name, (by, *_CSV_COLUMNS), map(_csv_row, sums))


def _dimension(request: web.Request) -> Dimension:
    asked = request.query.get("by", "")
    return next((each for each in DIMENSIONS if each == asked), DIMENSIONS[0])


def _href(days: int, by: Dimension) -> str:
    return f"{PATH}?days={days}&by={by}"


def _summary(days: int, sums: Sequence[UsageSum]) -> str:
    calls, unpriced = sum(s.calls for s in sums), sum(s.unpriced_calls for s in sums)
    if not calls:
        return tr("No model calls in the last {days} days.", days=days)
    tokens = sum(s.input_tokens + s.output_tokens for s in sums)
    told = tr(
        "In the last {days} days: {calls}, {tokens}, {cost}.",
        days=days,
        calls=trn("{n} call", "{n} calls", calls),
        tokens=trn("{n} token", "{n} tokens", tokens),
        cost=usd(sum(s.cost_usd for s in sums)),
    )
    if not unpriced:
        return told
    return join_texts(" ", (told, _unpriced(unpriced, calls)))


def _unpriced(unpriced: int, calls: int) -> Text:
    if unpriced == calls:
        return tr("None of these calls has a known price, so their cost is not included.")
    return trn(
        "{n} call has no known price, so the real cost is higher.",
        "{n} calls have no known price, so the real cost is higher.",
        unpriced,
    )


def _charts(days: Sequence[date], sums: Sequence[UsageSum]) -> Sequence[Chart]:
    each = sums_by_day(days, sums)
    read = Series(tr("Input"), "tone-answered", tuple(s.input_tokens for s in each))
    written = Series(tr("Output"), "tone-clarified", tuple(s.output_tokens for s in each))
    tokens = sum(read.values) + sum(written.values)
    summary = tr("{tokens} tokens, input and output.", tokens=count(tokens))
    return [
        stacked(tr("Tokens by day"), summary, days, [read, written], mark=_thousands),
        cost_chart(days, each),
    ]


def _thousands(tokens: float) -> str:
    """Format a number of tokens for an axis."""
    for size, sign in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return number_text(f"{tokens / size:.1f}".removesuffix(".0") + sign)
    return count(tokens)


def _row(of: UsageSum) -> Row:
    return Row(
        key=of.key or _FORGOTTEN,
        calls=count(of.calls),
        input_tokens=count(of.input_tokens),
        output_tokens=count(of.output_tokens),
        cost=usd(of.cost_usd) if of.unpriced_calls < of.calls else tr("unknown"),
        unpriced=count(of.unpriced_calls) if of.unpriced_calls else "",
    )


def _csv_row(of: UsageSum) -> tuple[object, ...]:
    figures = of.calls, of.input_tokens, of.output_tokens
    return (of.key, *figures, f"{of.cost_usd:.6f}", of.unpriced_calls)
