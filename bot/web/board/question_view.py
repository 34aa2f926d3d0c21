"""View model of one question's record: facts, feedback and tables; no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.answering.explanations.notes import note_text
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
from bot.domain.outcomes import confidence_level, question_text
from bot.domain.texts import number_text, tr, trn
from bot.domain.texts.dates import duration
from bot.web.board import labels
from bot.web.board.figures import count, usd
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
        title=tr("Passages read, best first"),
        head=(tr("Page"), tr("Section"), *scores.values()),
        rows=tuple(
            (each.title, each.section, *(_three_digits(each.signals.get(name)) for name in scores))
            for each in sight.seen(trace.passages)
        ),
        named=2,
        note=_hidden_note(hidden) if hidden else "",
    )


def _hidden_note(hidden: int) -> str:
    return trn("{n} more that you can\u2019t read.", "{n} more that you can\u2019t read.", hidden)


def _searches(searches: Iterable[PlannedSearch]) -> Table:
    return Table(
        title=tr("Follow-up searches by the model"),
        head=(
            tr("Query"),
            tr("Space"),
            tr("Label"),
            tr("Changed since"),
            tr("Sections found"),
        ),
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
        count(search.found),
    )


def _features(features: Mapping[str, float]) -> Table:
    named = [(signal_of(name), name, value) for name, value in features.items()]
    rows = sorted(
        (signal.name, format_signal(signal, value), name) for signal, name, value in named
    )
    return Table(tr("Confidence signals"), (tr("Signal"), tr("Value"), tr("Key")), tuple(rows))


def _calls(calls: tuple[ModelCall, ...]) -> Table:
    return Table(
        title=tr("Model calls"),
        head=(
            tr("Purpose"),
            tr("Model"),
            tr("Prompt"),
            tr("Input tokens"),
            tr("Output tokens"),
            tr("Time"),
            tr("Cost"),
        ),
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
        count(call.input_tokens),
        count(call.output_tokens),
        number_text(f"{call.duration_ms:,.0f} ms"),
        tr("unknown") if price is None else usd(price / _MICRO),
    )


def _call_total(calls: tuple[ModelCall, ...]) -> str:
    if not calls:
        return ""
    priced = [call.cost_micro_usd for call in calls if call.cost_micro_usd is not None]
    tokens = sum(call.input_tokens + call.output_tokens for call in calls)
    unpriced = len(calls) - len(priced)
    cost = usd(sum(priced) / _MICRO)
    if not unpriced:
        return tr("Total: {tokens} tokens, {cost}.", tokens=tokens, cost=cost)
    return trn(
        "Total: {tokens} tokens, {cost} plus {n} call with unknown price.",
        "Total: {tokens} tokens, {cost} plus {n} calls with unknown price.",
        unpriced,
        tokens=tokens,
        cost=cost,
    )


def _filters(verdicts: Iterable[FilterVerdict]) -> Table:
    rows = tuple(
        (each.direction, each.category, each.severity or "", tr("blocked") if each.filtered else "")
        for each in verdicts
    )
    head = (tr("Direction"), tr("Category"), tr("Severity"), tr("Outcome"))
    return Table(tr("Content filters"), head, rows, named=4)


def _timings(timings_ms: Mapping[str, float]) -> Table:
    rows = tuple(
        (TIMING_NAMES.get(name, name), number_text(f"{took:,.1f} ms"))
        for name, took in timings_ms.items()
    )
    return Table(tr("Time per step"), (tr("Step"), tr("Time")), rows)


def _notes(notes: tuple[str, ...]) -> Table:
    return Table(tr("Notes"), (tr("Note"),), tuple((note_text(note),) for note in notes))


def _three_digits(value: float | None) -> str:
    return "" if value is None else number_text(f"{value:.3f}")


Facts = tuple[tuple[str, str], ...]

_DECIDERS = {
    "rule": tr("fixed rule"),
    "classifier": tr("local classifier"),
    "model": tr("language model"),
    "default": tr("default"),
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
        question=question_text(sight.question(asked)),
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
    yield (
        tr("Interpreted as"),
        tr(
            "{intent} ({decider}, {score})",
            intent=labels.INTENTS[route.intent],
            decider=decider,
            score=number_text(f"{route.score:.2f}"),
        ),
    )
    if trace.passages:
        yield tr("Searched for"), _searched_for(sight.explained(asked, outcome).trace.route)
        pages = len({passage.page_id for passage in trace.passages})
        read = tr(
            "{passages} from {pages}",
            passages=trn("{n} passage", "{n} passages", len(trace.passages)),
            pages=trn("{n} page", "{n} pages", pages),
        )
        yield tr("Read"), read
    yield from _confidence_facts(outcome, sight)
    if response.kind == "escalation":
        yield tr("Not answered because"), labels.REASONS[response.reason]
        if response.consent_needed:
            yield tr("Handed over"), tr("Not directly: a person was offered")
    if response.kind == "reply" and response.refused:
        yield tr("Rejected"), tr("By a limit, a pause or the model's safety filter; see the notes")


def _searched_for(route: Route) -> str:
    """Return a question as it was searched for, with its own words if it was translated."""
    if not route.search_query:
        return route.question
    return tr(
        "{query} (translated from: {question})",
        query=route.search_query,
        question=route.question,
    )


def _confidence_facts(outcome: Outcome, sight: Visibility) -> Iterable[tuple[str, str]]:
    """Yield the confidence, its calibration, the level and the missing part of an answer."""
    trace, response = outcome.trace, outcome.response
    if response.confidence is not None:
        yield tr("Confidence"), _confidence_text(response.confidence, trace.threshold)
    if trace.calibration:
        yield tr("Calibration"), calibration_in_words(trace.calibration)
    if level := confidence_level(outcome):
        yield tr("Shown as"), labels.OFFERED[level]
    if missing := sight.missing(outcome):
        yield tr("Missing in the wiki"), missing


def _confidence_text(confidence: float, threshold: float | None) -> str:
    if threshold is None:
        return tr("{share} that the answer is correct", share=f"{confidence:.0%}")
    return tr(
        "{share} that the answer is correct; the threshold is {threshold}",
        share=f"{confidence:.0%}",
        threshold=f"{threshold:.0%}",
    )


def _delivery_facts(asked: Interaction) -> Iterable[tuple[str, str]]:
    """Yield whether and when the reply reached the asker."""
    if asked.finished_at is not None:
        took = (asked.finished_at - asked.created_at).total_seconds()
        yield tr("Ready"), tr("{time} after it was asked", time=duration(max(0.0, took)))
    yield from _delivered_facts(asked)
    if asked.posting and asked.posted is None:
        yield (
            tr("Uncertain"),
            tr("An attempt may have gone through unnoticed; this is checked before the next one"),
        )
    if asked.attempts and asked.posted is not None:
        yield tr("Failed attempts"), str(asked.attempts)
    if asked.failure:
        yield tr("Given up"), asked.failure
    if asked.revision:
        yield tr("Edited"), trn("{n} time", "{n} times", asked.revision)


def _delivered_facts(asked: Interaction) -> Iterable[tuple[str, str]]:
    if asked.outcome is not None and asked.outcome.silent:
        yield tr("Delivered"), tr("no: it was not meant for the bot, or the reply was given before")
    elif asked.posted is not None:
        yield tr("Delivered"), _delivered_to(asked, asked.posted)
    elif asked.status == "done":
        not_yet = tr("not yet")
        if asked.attempts:
            not_yet = trn(
                "not yet, after {n} attempt", "not yet, after {n} attempts", asked.attempts
            )
        yield tr("Delivered"), not_yet


def _delivered_to(asked: Interaction, posted: PostedRef) -> str:
    """Return where the reply is; web and REST show it from the record."""
    if asked.message.thread.platform in {"web", "rest"}:
        return tr("yes")
    return tr("to {channel} as {id}", channel=posted.channel, id=posted.id)


def _feedback_view(feedback: Feedback) -> FeedbackView:
    return FeedbackView(
        up=feedback.vote == "up",
        person_id=feedback.person_id,
        reason=labels.judged(feedback.reason),
        comment=feedback.comment or "",
        given_at=feedback.given_at,
    )
