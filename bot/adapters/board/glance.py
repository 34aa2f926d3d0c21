"""A span of days at a glance: words, tiles and charts; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from bot.adapters.board.amounts import change, count, duration, percent, several, usd
from bot.adapters.board.charts import Chart, Series, stacked
from bot.domain.record_reports import (
    MOST_CASES,
    MOST_QUESTIONS,
    Figures,
    Percentiles,
    QuestionKind,
    UsageSum,
)

SHORTENED = (
    f"There is more than is counted: of a span only the newest {MOST_QUESTIONS:,} questions, as "
    f"many votes, and {MOST_CASES:,} escalations are."
)

ASKED: Mapping[QuestionKind, str] = {
    "answered": "Answered from the wiki",
    "unsure": "A guess, no thumb up",
    "generic": "General",
    "clarified": "Asked back",
    "escalated": "Went to people",
    "offered": "A person offered, not taken",
    "refused": "Refused by a limit",
    "open": "Still open",
}


@dataclass(frozen=True, slots=True)
class Looked:
    """What the record says of some days, and of as many before."""

    days: int
    now: Figures
    then: Figures
    spent: Sequence[UsageSum]
    spent_then: Sequence[UsageSum]


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure, and what it is to be compared with."""

    name: str
    value: str
    note: str
    href: str = ""


def told(looked: Looked) -> dict[str, object]:
    """Return what the page shows of a span."""
    shortened = looked.now.shortened or looked.then.shortened
    return {
        "words": " ".join(_words(looked)),
        "tiles": _tiles(looked),
        "charts": _charts(looked) if looked.now.asked else (),
        "lives": _lives(looked.now),
        "shortened": SHORTENED if shortened else "",
    }


def daily(days: Sequence[date], sums: Sequence[UsageSum]) -> Sequence[UsageSum]:
    """Return one sum for each day, also for those without a call."""
    by_key = {each.key: each for each in sums}
    return [by_key.get(str(day), UsageSum(str(day), 0, 0, 0, 0.0, 0)) for day in days]


def _words(looked: Looked) -> Iterator[str]:
    yield from _asked(looked)
    if overheard := looked.now.of("silent"):
        yield f"Left alone, as nobody had asked the bot: {several(overheard, 'more message')}."


def _asked(looked: Looked) -> Iterator[str]:
    new, old, days = looked.now, looked.then, looked.days
    if not new.asked:
        came = several(old.asked, "question")
        yield f"Nobody asked anything in the last {days} days; in the {days} before it was {came}."
        return
    yield f"In the last {days} days {several(new.asked, 'question')} came in, {_against(looked)}."
    if new.without_person is not None:
        share = percent(new.without_person)
        earlier = old.without_person
        before = "" if earlier is None else f" (before: {percent(earlier)})"
        yield f"Of those that needed the wiki, {share} were answered without a person{before}."
    if new.answering.count:
        yield f"Half of the answers took at most {duration(new.answering.p50)}."


def _against(looked: Looked) -> str:
    now, then, earlier = looked.now.asked, looked.then.asked, f"in the {looked.days} days before"
    if not then:
        return f"none {earlier}"
    return f"as many as {earlier}" if now == then else f"{change(now, then)} than {earlier}"


def _then(looked: Looked, write: Callable[[Figures], str]) -> str:
    return f"before: {write(looked.then)}" if looked.then.asked else "nothing before"


def _tiles(looked: Looked) -> Sequence[Tile]:
    new = looked.now
    cost, unpriced = _cost(looked.spent), sum(each.unpriced_calls for each in looked.spent)
    known = f"before: {usd(_cost(looked.spent_then))}"
    short = f"and {several(unpriced, 'call')} of unknown price"
    return [
        Tile(
            "Questions",
            count(new.asked),
            _then(looked, lambda then: count(then.asked)),
            "/board/questions",
        ),
        Tile(
            "Without a person",
            percent(new.without_person),
            _then(looked, lambda then: percent(then.without_person)),
        ),
        Tile(
            "Went to people",
            count(new.of("escalated")),
            _offered(looked),
            "/board/escalations",
        ),
        Tile("Half answered within", _half(new.answering), _most(new.answering)),
        Tile("Thumbs up", _thumbs(new), _then(looked, _thumbs), "/board/feedback"),
        Tile("Cost of models", usd(cost), short if unpriced else known, "/board/usage"),
    ]


def _offered(looked: Looked) -> str:
    """Tell offers that nobody took from what went to people."""
    offered, earlier = looked.now.of("offered"), _then(looked, lambda x: count(x.of("escalated")))
    return f"{count(offered)} more were offered a person; {earlier}" if offered else earlier


def _cost(sums: Sequence[UsageSum]) -> float:
    return sum(each.cost_usd for each in sums)


def _half(spread: Percentiles) -> str:
    return duration(spread.p50) if spread.count else percent(None)


def _most(spread: Percentiles) -> str:
    return f"95 % within {duration(spread.p95)}" if spread.count else "nothing to time"


def _thumbs(figures: Figures) -> str:
    votes = figures.up + figures.down
    return percent(figures.up / votes if votes else None)


def _charts(looked: Looked) -> Sequence[Chart]:
    figures = looked.now
    return [_questions(figures), _votes(figures), _costs(figures, looked.spent)]


def _questions(figures: Figures) -> Chart:
    days = [each.day for each in figures.days]
    seen = [
        Series(name, f"tone-{kind}", tuple(each.kinds.get(kind, 0) for each in figures.days))
        for kind, name in ASKED.items()
        if figures.of(kind)
    ]
    busiest = max(figures.days, key=lambda each: each.asked)
    summary = (
        f"{several(figures.asked, 'question')}; most on {_on(busiest.day)}, {count(busiest.asked)}."
    )
    return stacked("Questions by day", summary, days, seen)


def _votes(figures: Figures) -> Chart:
    series = [
        Series("Thumbs up", "tone-answered", tuple(each.up for each in figures.days)),
        Series("Thumbs down", "tone-escalated", tuple(each.down for each in figures.days)),
    ]
    up, down = several(figures.up, "thumb"), count(figures.down)
    summary = f"{up} up, {down} down." if figures.up + figures.down else "No votes in these days."
    return stacked("Feedback by day", summary, [each.day for each in figures.days], series)


def _costs(figures: Figures, spent: Sequence[UsageSum]) -> Chart:
    days = [each.day for each in figures.days]
    return cost_chart(days, daily(days, spent))


def cost_chart(days: Sequence[date], sums: Sequence[UsageSum]) -> Chart:
    """Return the cost by day."""
    total, calls = _cost(sums), sum(each.calls for each in sums)
    unpriced = sum(each.unpriced_calls for each in sums)
    more = f" {several(unpriced, 'call')} of unknown price are not in it." if unpriced else ""
    summary = (
        f"{usd(total)} for {several(calls, 'call')}.{more}" if calls else "No model was asked."
    )
    series = [Series("Cost", "tone-answered", tuple(each.cost_usd for each in sums))]
    return stacked("Cost of models by day, USD", summary, days, series, usd, "{:.4g}".format)


def _lives(figures: Figures) -> Sequence[tuple[str, str, str, str]]:
    """Return a row a step: its name, how often it came, and what half and 95 % of them took."""
    steps = [
        ("until somebody claims it", figures.claiming),
        ("until the first reply", figures.replying),
        ("until it is resolved", figures.resolving),
    ]
    return [
        (name, count(each.count), duration(each.p50), duration(each.p95))
        for name, each in steps
        if each.count
    ]


def _on(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B}"
