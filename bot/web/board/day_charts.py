"""Charts of questions, votes and costs by day, or by longer periods where there are many days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from bot.domain.record_reports import Day, Figures, QuestionKind, UsageSum, sum_of
from bot.learning.insights import Measure
from bot.web.board.figures import Chart, Series, count, plural, stacked, usd

OUTCOMES: Mapping[QuestionKind, tuple[str, Measure]] = {
    "answered": ("Answered from the wiki", "answered"),
    "unsure": ("A guess, no thumb up", "unsure"),
    "escalated": ("Went to people", "handed_over"),
    "offered": ("A person offered, not taken", "offered"),
    "clarified": ("Asked back", "asked_back"),
    "generic": ("General", "general"),
    "refused": ("Refused by a limit", "refused"),
    "open": ("Still open", "open"),
}
"""What became of questions: the label, and the definition's name."""

_BARS = 92
_PERIODS = ((1, "day"), (7, "week"), (30, "30 days"))


def charts_of(figures: Figures, costs: Sequence[UsageSum]) -> Sequence[Chart]:
    """Return the charts of questions, votes and costs; of many days, by week or 30 days."""
    length, called = next(
        (each for each in _PERIODS if len(figures.days) <= each[0] * _BARS), _PERIODS[-1]
    )
    periods = [
        _joined(figures.days[begin : begin + length])
        for begin in range(0, len(figures.days), length)
    ]
    days = [each.day for each in figures.days]
    daily = sums_by_day(days, costs)
    summed = [_cost(daily[begin : begin + length]) for begin in range(0, len(days), length)]
    starts = [each.day for each in periods]
    drawn = [_questions(periods), _votes(periods), cost_chart(starts, summed)]
    return [_of_periods(each, called) for each in drawn]


def _of_periods(chart: Chart, called: str) -> Chart:
    if called == "day":
        return chart
    title = chart.title.replace("by day", f"by {called}")
    return replace(chart, title=title, head=(f"{called.capitalize()} from", *chart.head[1:]))


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


def _questions(periods: Sequence[Day]) -> Chart:
    total = sum_of(each.questions for each in periods)
    seen = [
        Series(name, f"tone-{kind}", tuple(each.questions.of(kind) for each in periods))
        for kind, (name, _) in OUTCOMES.items()
        if total.of(kind)
    ]
    busiest = max(periods, key=lambda each: each.questions.asked)
    summary = (
        f"{plural(total.asked, 'question')}; most on {busiest.day:%A}, {busiest.day.day} "
        f"{busiest.day:%B}, {count(busiest.questions.asked)}."
    )
    return stacked("Questions by day", summary, [each.day for each in periods], seen)


def _votes(periods: Sequence[Day]) -> Chart:
    up, down = tuple(each.up for each in periods), tuple(each.down for each in periods)
    series = [
        Series("Thumbs up", "tone-answered", up),
        Series("Thumbs down", "tone-escalated", down),
    ]
    said = f"{plural(sum(up), 'thumb')} up, {count(sum(down))} down."
    summary = said if sum(up) + sum(down) else "No votes in these days."
    return stacked("Feedback by day", summary, [each.day for each in periods], series)


def sums_by_day(days: Sequence[date], sums: Sequence[UsageSum]) -> Sequence[UsageSum]:
    """Return one sum for each day; zeros for days without a call."""
    by_key = {each.key: each for each in sums}
    return [by_key.get(str(day), UsageSum(str(day), 0, 0, 0, 0.0, 0)) for day in days]


def cost_chart(days: Sequence[date], sums: Sequence[UsageSum]) -> Chart:
    """Return the chart of cost by day."""
    total, calls = sum(each.cost_usd for each in sums), sum(each.calls for each in sums)
    unpriced = sum(each.unpriced_calls for each in sums)
    more = f" {plural(unpriced, 'call')} of unknown price are not in it." if unpriced else ""
    summary = f"{usd(total)} for {plural(calls, 'call')}.{more}" if calls else "No model was asked."
    series = [Series("Cost", "tone-answered", tuple(each.cost_usd for each in sums))]
    return stacked("Cost of models by day, USD", summary, days, series, usd, "{:.4g}".format)
