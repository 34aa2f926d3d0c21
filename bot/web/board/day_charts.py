"""Charts of questions, votes and costs by day, or by longer periods where there are many days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from bot.domain.record_reports import Day, Figures, QuestionKind, UsageSum, sum_of
from bot.domain.texts import join_texts, number_text, tr, trn
from bot.domain.texts.dates import spoken_date
from bot.learning.insights import Measure
from bot.web.board.figures import Chart, Series, stacked, usd

OUTCOMES: Mapping[QuestionKind, tuple[str, Measure]] = {
    "answered": (tr("Answered from the wiki"), "answered"),
    "unsure": (tr("Guess without a thumbs up"), "unsure"),
    "escalated": (tr("Handed over"), "handed_over"),
    "offered": (tr("Person offered, declined"), "offered"),
    "clarified": (tr("Follow-up question"), "asked_back"),
    "generic": (tr("General"), "general"),
    "refused": (tr("Rejected by a limit"), "refused"),
    "open": (tr("In progress"), "open"),
}
"""What became of questions: the label, and the definition's name."""

_BARS = 92


@dataclass(frozen=True, slots=True)
class Period:
    """What a bar stands for: a number of days, and the texts of the charts."""

    days: int
    questions: str
    feedback: str
    cost: str
    head: str


DAILY = Period(
    1, tr("Questions by day"), tr("Feedback by day"), tr("Model cost by day, USD"), tr("Day")
)
_PERIODS = (
    DAILY,
    Period(
        7,
        tr("Questions by week"),
        tr("Feedback by week"),
        tr("Model cost by week, USD"),
        tr("Week from"),
    ),
    Period(
        30,
        tr("Questions by 30 days"),
        tr("Feedback by 30 days"),
        tr("Model cost by 30 days, USD"),
        tr("30 days from"),
    ),
)


def charts_of(figures: Figures, costs: Sequence[UsageSum]) -> Sequence[Chart]:
    """Return the charts of questions, votes and costs; of many days, by week or 30 days."""
    few = (each for each in _PERIODS if len(figures.days) <= each.days * _BARS)
    period = next(few, _PERIODS[-1])
    length = period.days
    periods = [
        _joined(figures.days[begin : begin + length])
        for begin in range(0, len(figures.days), length)
    ]
    days = [each.day for each in figures.days]
    daily = sums_by_day(days, costs)
    summed = [_cost(daily[begin : begin + length]) for begin in range(0, len(days), length)]
    starts = [each.day for each in periods]
    return [
        _questions(periods, period),
        _votes(periods, period),
        cost_chart(starts, summed, period),
    ]


def _joined(days: Sequence[Day]) -> Day:
    tally = sum_of(each.questions for each in days)
    return Day(days[0].day, tally, sum(each.up for each in days), sum(each.down for each in days))


def _cost(days: Sequence[UsageSum]) -> UsageSum:
    return UsageSum(
        days[0].key,
        sum(each.calls for each in days),
        sum(each.input_tokens for each in days),
        sum(each.output_tokens for each in days),
        sum(each.cost_usd for each in days),
        sum(each.unpriced_calls for each in days),
    )


def _questions(periods: Sequence[Day], period: Period) -> Chart:
    total = sum_of(each.questions for each in periods)
    seen = [
        Series(name, f"tone-{kind}", tuple(each.questions.of(kind) for each in periods))
        for kind, (name, _) in OUTCOMES.items()
        if total.of(kind)
    ]
    busiest = max(periods, key=lambda each: each.questions.asked)
    summary = trn(
        "{n} question, most on {day} ({most}).",
        "{n} questions, most on {day} ({most}).",
        total.asked,
        day=spoken_date(busiest.day),
        most=busiest.questions.asked,
    )
    days = [each.day for each in periods]
    return stacked(period.questions, summary, days, seen, head=period.head)


def _votes(periods: Sequence[Day], period: Period) -> Chart:
    up, down = tuple(each.up for each in periods), tuple(each.down for each in periods)
    series = [
        Series(tr("Thumbs up"), "tone-answered", up),
        Series(tr("Thumbs down"), "tone-escalated", down),
    ]
    summary = tr("No feedback in this period.")
    if sum(up) + sum(down):
        summary = tr("{ups} thumbs up, {downs} thumbs down.", ups=sum(up), downs=sum(down))
    days = [each.day for each in periods]
    return stacked(period.feedback, summary, days, series, head=period.head)


def sums_by_day(days: Sequence[date], sums: Sequence[UsageSum]) -> Sequence[UsageSum]:
    """Return one sum for each day; zeros for days without a call."""
    by_key = {each.key: each for each in sums}
    return [by_key.get(str(day), UsageSum(str(day), 0, 0, 0, 0.0, 0)) for day in days]


def cost_chart(days: Sequence[date], sums: Sequence[UsageSum], period: Period = DAILY) -> Chart:
    """Return the chart of cost by day, or by a longer period."""
    costs = tuple(each.cost_usd for each in sums)
    series = [Series(tr("Cost"), "tone-answered", costs)]
    return stacked(
        period.cost,
        _cost_summary(sums),
        days,
        series,
        write=usd,
        mark=_axis_cost,
        head=period.head,
    )


def _cost_summary(sums: Sequence[UsageSum]) -> str:
    calls = sum(each.calls for each in sums)
    if not calls:
        return tr("No model calls.")
    cost = usd(sum(each.cost_usd for each in sums))
    told = trn("{cost} for {n} call.", "{cost} for {n} calls.", calls, cost=cost)
    unpriced = sum(each.unpriced_calls for each in sums)
    if not unpriced:
        return told
    left_out = trn(
        "Not included: {n} call with unknown price.",
        "Not included: {n} calls with unknown price.",
        unpriced,
    )
    return join_texts(" ", (told, left_out))


def _axis_cost(amount: float) -> str:
    return number_text(f"{amount:.4g}")
