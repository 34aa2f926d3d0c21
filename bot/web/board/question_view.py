"""View model of one question's record: facts, feedback and tables; no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.answering.explanations.signals import (
    CALL_NAMES,
    PASSAGE_SIGNALS,
    TIMING_NAMES,
    format_signal,
    signal_of,
)
from bot.answering.gate import calibration_in_words
from bot.answering.reply_text import without_missing
from bot.answering.visibility import Visibility
from bot.domain.interactions import Feedback, Interaction, Outcome, PostedRef, Route, Trace
from bot.domain.outcomes import confidence_level
from bot.web.board import labels
from bot.web.board.figures import duration, plural, usd
from bot.web.board.responses import (
    ExchangeView,
    ResponseView,
    exchange_views,
    interaction_response,
    response_view,
)
from rag.search_scope import PlannedSearch
from rag.types import FilterVerdict, ModelCall

_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its first ``named`` columns are text, the others figures."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    named: int = 1
    note: str = ""


def trace_tables(
    asked: Interaction, outcome: Outcome, sight: Visibility, *, scored: bool = True
) -> tuple[Table, ...]:
    """Return the non-empty tables of a trace; without ``scored``, no retrieval scores."""
    trace = outcome.trace
    every = (
        _passages(trace, sight, PASSAGE_SIGNALS if scored else {}),
        _searches(sight.explained(asked, outcome).trace.searches),
        _features(trace.features if scored else {}),
        _calls(trace.calls),
        _filters(trace.filters),
        _timings(trace.timings_ms),
        _notes(trace.notes),
    )
    return tuple(table for table in every if table.rows or table.note)


def _passages(trace: Trace, sight: Visibility, scores: Mapping[str, str]) -> Table:
    hidden = sight.hidden(trace.passages)
    return Table(
        title="Passages that were read, best first",
        head=("Page", "Section", *scores.values()),
        rows=tuple(
            (each.title, each.section, *(_three_digits(each.signals.get(name)) for name in scores))
            for each in sight.seen(trace.passages)
        ),
        named=2,
        note=f"{hidden:,} more that you may not read." if hidden else "",
    )


def _searches(searches: Iterable[PlannedSearch]) -> Table:
    return Table(
        title="Further searches of the model",
        head=("Query", "Space", "Label", "Changed since", "Sections found"),
        rows=tuple(map(_search, searches)),
        named=4,
    )


def _search(search: PlannedSearch) -> tuple[str, ...]:
    since = search.changed_since
    return (
        search.query,
        search.space or "",
        search.label or "",
        since.isoformat() if since else "",
        f"{search.found:,}",
    )


def _features(features: Mapping[str, float]) -> Table:
    named = [(signal_of(name), name, value) for name, value in features.items()]
    rows = sorted(
        (signal.name, format_signal(signal, value), name) for signal, name, value in named
    )
    return Table("What the gate weighed", ("Signal", "Value", "Name"), tuple(rows))


def _calls(calls: tuple[ModelCall, ...]) -> Table:
    return Table(
        title="Calls of language models",
        head=("For", "Model", "Prompt", "Tokens in", "Tokens out", "Took", "Cost"),
        rows=tuple(map(_call, calls)),
        named=3,
        note=_call_total(calls),
    )


def _call(call: ModelCall) -> tuple[str, ...]:
    price = call.cost_micro_usd
    return (
        CALL_NAMES.get(call.purpose, call.purpose),
        call.model,
        call.prompt,
        f"{call.input_tokens:,}",
        f"{call.output_tokens:,}",
        f"{call.duration_ms:,.0f} ms",
        "not known" if price is None else usd(price / _MICRO),
    )


def _call_total(calls: tuple[ModelCall, ...]) -> str:
    if not calls:
        return ""
    priced = [call.cost_micro_usd for call in calls if call.cost_micro_usd is not None]
    tokens = sum(call.input_tokens + call.output_tokens for call in calls)
    unpriced = len(calls) - len(priced)
    unknown = f", and {plural(unpriced, 'call')} without a known price" if unpriced else ""
    return f"Together {tokens:,} tokens, {usd(sum(priced) / _MICRO)}{unknown}."


def _filters(verdicts: Iterable[FilterVerdict]) -> Table:
    rows = tuple(
        (each.direction, each.category, each.severity or "", "held back" if each.filtered else "")
        for each in verdicts
    )
    head = ("Direction", "Category", "Severity", "Outcome")
    return Table("What content filters said", head, rows, named=4)


def _timings(timings_ms: Mapping[str, float]) -> Table:
    rows = tuple(
        (TIMING_NAMES.get(name, name), f"{took:,.1f} ms") for name, took in timings_ms.items()
    )
    return Table("How long each step took", ("Step", "Time"), rows)


def _notes(notes: tuple[str, ...]) -> Table:
    return Table("Notes", ("Note",), tuple((note,) for note in notes))


def _three_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


Facts = tuple[tuple[str, str], ...]

_DECIDERS = {
    "rule": "a fixed rule",
    "classifier": "the local classifier",
    "model": "the language model",
    "default": "nobody; it is the default",
}


@dataclass(frozen=True, slots=True)
class FeedbackView:
    """One person's feedback for the answer."""

    up: bool
    person_id: str
    reason: str
    comment: str
    given_at: datetime


@dataclass(frozen=True, slots=True)
class RecordView:
    """A question with its full record, restricted to what the reader may see."""

    id: str
    question: str
    withdrawn: bool
    asked_at: datetime
    who: str
    person_id: str
    place: str
    became: str
    earlier: tuple[ExchangeView, ...]
    response: ResponseView | None
    private: ResponseView | None
    decision: Facts
    delivery: Facts
    judgements: tuple[FeedbackView, ...]
    tables: tuple[Table, ...]
    blind: bool


def record_view(
    asked: Interaction,
    sight: Visibility,
    *,
    earlier: Sequence[Interaction] = (),
    feedback: Sequence[Feedback] = (),
    scored: bool = True,
) -> RecordView:
    """Return the view of a record, with retrieval scores if ``scored``."""
    message, outcome = asked.message, asked.outcome
    channel = f"{message.thread.platform}:{message.thread.channel}"
    # The passages behind ``missing`` are not recorded, so nobody can be checked for reading it.
    private = without_missing(outcome.private) if outcome and outcome.private else None
    before = exchange_views(earlier, sight)
    return RecordView(
        id=asked.id,
        question=sight.question(asked),
        withdrawn=asked.withdrawn,
        asked_at=asked.created_at,
        who=labels.who(message.author.name, message.author.id),
        person_id=message.author.id,
        place=labels.place(channel, private=message.private),
        became=labels.ended(asked),
        earlier=before,
        response=interaction_response(asked, sight),
        private=response_view(private, f"{asked.id}-private", sight) if private else None,
        decision=tuple(_decision_facts(asked, outcome, sight)) if outcome else (),
        delivery=tuple(_delivery_facts(asked)),
        judgements=tuple(_feedback_view(each) for each in feedback),
        tables=trace_tables(asked, outcome, sight, scored=scored) if outcome else (),
        blind=sight.blind,
    )


def _decision_facts(
    asked: Interaction, outcome: Outcome, sight: Visibility
) -> Iterable[tuple[str, str]]:
    """Yield the facts about how the question was handled."""
    trace, response = outcome.trace, outcome.response
    route = trace.route
    decider = _DECIDERS[route.decided_by]
    yield "Taken as", f"{labels.INTENTS[route.intent]} (by {decider}, {route.score:.2f})"
    if trace.passages:
        yield "Searched for", _searched_for(sight.explained(asked, outcome).trace.route)
        pages = len({passage.page_id for passage in trace.passages})
        found = plural(len(trace.passages), "passage")
        yield "Read", f"{found} from {plural(pages, 'page')}"
    yield from _confidence_facts(outcome, sight)
    if response.kind == "escalation":
        yield "Not answered because", labels.REASONS[response.reason]
        if response.consent_needed:
            yield "Handed over", "Not at once: a person was offered"
    if response.kind == "reply" and response.refused:
        yield "Refused", "By a limit, a pause, or the model's safety filter; see the notes"


def _searched_for(route: Route) -> str:
    """Return a question as it was searched for, with its own words if it was translated."""
    if not route.search_query:
        return route.question
    return f"{route.search_query} (translated from: {route.question})"


def _confidence_facts(outcome: Outcome, sight: Visibility) -> Iterable[tuple[str, str]]:
    """Yield the confidence, its calibration, the level and the missing part of an answer."""
    trace, response = outcome.trace, outcome.response
    if response.confidence is not None:
        yield "Confidence", _confidence_text(response.confidence, trace.threshold)
    if trace.calibration:
        yield "Judged by", calibration_in_words(trace.calibration)
    if level := confidence_level(outcome):
        yield "Offered as", labels.OFFERED[level]
    if missing := sight.missing(outcome):
        yield "The wiki doesn't say", missing


def _confidence_text(confidence: float, threshold: float | None) -> str:
    chance = f"{confidence:.0%} that the answer is right"
    return chance if threshold is None else f"{chance}; answered from {threshold:.0%} up"


def _delivery_facts(asked: Interaction) -> Iterable[tuple[str, str]]:
    """Yield whether and when the reply reached the asker."""
    if asked.finished_at is not None:
        took = (asked.finished_at - asked.created_at).total_seconds()
        yield "Worked out", f"{duration(max(0.0, took))} after it was asked"
    yield from _delivered_facts(asked)
    if asked.posting and asked.posted is None:
        yield "Doubt", "An attempt may have got through unseen; it is looked up before the next"
    if asked.attempts and asked.posted is not None:
        yield "Failed attempts", str(asked.attempts)
    if asked.failure:
        yield "Given up", asked.failure
    if asked.revision:
        yield "Edited", plural(asked.revision, "time")


def _delivered_facts(asked: Interaction) -> Iterable[tuple[str, str]]:
    if asked.outcome is not None and asked.outcome.silent:
        yield "Delivered", "no: nobody had asked the bot, or they were told before"
    elif asked.posted is not None:
        yield "Delivered", _delivered_to(asked, asked.posted)
    elif asked.status == "done":
        tries = plural(asked.attempts, "attempt")
        yield "Delivered", f"not yet, after {tries}" if asked.attempts else "not yet"


def _delivered_to(asked: Interaction, posted: PostedRef) -> str:
    """Return where the reply is; web and REST show it from the record."""
    if asked.message.thread.platform in {"web", "rest"}:
        return "yes"
    return f"to {posted.channel} as {posted.id}"


def _feedback_view(feedback: Feedback) -> FeedbackView:
    return FeedbackView(
        up=feedback.vote == "up",
        person_id=feedback.person_id,
        reason=labels.judged(feedback.reason),
        comment=feedback.comment or "",
        given_at=feedback.given_at,
    )
