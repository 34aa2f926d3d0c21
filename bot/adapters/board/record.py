"""One whole record as its page shows it; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.adapters.board import words
from bot.adapters.board.amounts import duration, several
from bot.adapters.board.figures import Table, tables
from bot.adapters.board.shown import ExchangeView, ResponseView, exchange_views, response_view, said
from bot.answering.gate_file import calibration_in_words
from bot.answering.reply_text import without_missing
from bot.answering.visibility import Visibility
from bot.domain.outcomes import confidence_level
from bot.domain.types import Feedback, Interaction, Outcome, PostedRef

Facts = tuple[tuple[str, str], ...]

_DECIDERS = {
    "rule": "a fixed rule",
    "classifier": "the local classifier",
    "model": "the language model",
    "default": "nobody; it is the default",
}


@dataclass(frozen=True, slots=True)
class JudgementView:
    """What one person said of the answer."""

    up: bool
    person_id: str
    reason: str
    comment: str
    given_at: datetime


@dataclass(frozen=True, slots=True)
class RecordView:
    """A question with all that is known of it, as far as its reader may see it."""

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
    judgements: tuple[JudgementView, ...]
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
    """Return what the page of a record shows, with the scores of the search if ``scored``."""
    message, outcome = asked.message, asked.outcome
    channel = f"{message.thread.platform}:{message.thread.channel}"
    # What was read for it is not recorded, and so neither who may know what it lacks.
    private = without_missing(outcome.private) if outcome and outcome.private else None
    before = exchange_views(earlier, sight)
    return RecordView(
        id=asked.id,
        question=sight.question(asked),
        withdrawn=asked.withdrawn,
        asked_at=asked.created_at,
        who=words.who(message.author.name, message.author.id),
        person_id=message.author.id,
        place=words.place(channel, private=message.private),
        became=words.ended(asked),
        earlier=before,
        response=said(asked, sight),
        private=response_view(private, f"{asked.id}-private", sight) if private else None,
        decision=tuple(_decision(asked, outcome, sight)) if outcome else (),
        delivery=tuple(_delivery(asked)),
        judgements=tuple(_judgement(each) for each in feedback),
        tables=tables(outcome.trace, sight, scored=scored) if outcome else (),
        blind=sight.blind,
    )


def _decision(asked: Interaction, outcome: Outcome, sight: Visibility) -> Iterable[tuple[str, str]]:
    """Say how it was decided what becomes of a question."""
    trace, response = outcome.trace, outcome.response
    route = trace.route
    decider = _DECIDERS[route.decided_by]
    yield "Taken as", f"{words.INTENTS[route.intent]} (by {decider}, {route.score:.2f})"
    if trace.passages:
        yield "Searched for", sight.searched_for(asked)
        pages = len({passage.page_id for passage in trace.passages})
        found = several(len(trace.passages), "passage")
        yield "Read", f"{found} from {several(pages, 'page')}"
    yield from _judged(outcome, sight)
    if response.kind == "escalation":
        yield "Not answered because", words.REASONS[response.reason]
        if response.consent_needed:
            yield "Handed over", "Not at once: a person was offered"
    if response.kind == "reply" and response.refused:
        yield "Refused", "By a limit, a pause, or the model's safety filter; see the notes"


def _judged(outcome: Outcome, sight: Visibility) -> Iterable[tuple[str, str]]:
    """Say how sure an answer was, who said so, and what it lacks."""
    trace, response = outcome.trace, outcome.response
    if response.confidence is not None:
        yield "Confidence", _confidence(response.confidence, trace.threshold)
    if trace.calibration:
        yield "Judged by", calibration_in_words(trace.calibration)
    if level := confidence_level(outcome):
        yield "Offered as", words.OFFERED[level]
    if missing := sight.missing(outcome):
        yield "The wiki doesn't say", missing


def _confidence(confidence: float, threshold: float | None) -> str:
    chance = f"{confidence:.0%} that the answer is right"
    return chance if threshold is None else f"{chance}; answered from {threshold:.0%} up"


def _delivery(asked: Interaction) -> Iterable[tuple[str, str]]:
    """Say whether and when the reply reached the asker."""
    if asked.finished_at is not None:
        took = (asked.finished_at - asked.created_at).total_seconds()
        yield "Worked out", f"{duration(max(0.0, took))} after it was asked"
    yield from _delivered(asked)
    if asked.posting and asked.posted is None:
        yield "Doubt", "An attempt may have got through unseen; it is looked up before the next"
    if asked.attempts and asked.posted is not None:
        yield "Failed attempts", str(asked.attempts)
    if asked.failure:
        yield "Given up", asked.failure
    if asked.revision:
        yield "Edited", several(asked.revision, "time")


def _delivered(asked: Interaction) -> Iterable[tuple[str, str]]:
    if asked.outcome is not None and asked.outcome.silent:
        yield "Delivered", "no: nobody had asked the bot, or they were told before"
    elif asked.posted is not None:
        yield "Delivered", _where(asked, asked.posted)
    elif asked.status == "done":
        tries = several(asked.attempts, "attempt")
        yield "Delivered", f"not yet, after {tries}" if asked.attempts else "not yet"


def _where(asked: Interaction, posted: PostedRef) -> str:
    """Say where the reply is; a page of our own shows it from the record."""
    if asked.message.thread.platform in {"web", "rest"}:
        return "yes"
    return f"to {posted.channel} as {posted.id}"


def _judgement(feedback: Feedback) -> JudgementView:
    return JudgementView(
        up=feedback.vote == "up",
        person_id=feedback.person_id,
        reason=words.judged(feedback.reason),
        comment=feedback.comment or "",
        given_at=feedback.given_at,
    )
