"""Classify outcomes alike in API, record and log, and build those that the desk did not make.

Pure. Answer type, confidence level and error code of an outcome; the outcomes of refused, queued
and failed messages; whether the text of a refused question is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, assert_never

from bot.domain.handoff import HANDOFF_OFFER, ON_HELP_DESK_LIST
from bot.domain.interactions import (
    Clarification,
    ConfidenceLevel,
    ErrorCode,
    Escalation,
    EscalationReason,
    Interaction,
    Outcome,
    Reply,
    Route,
    Trace,
)
from bot.domain.messages import Intent, Limit, Message, Refusal
from rag.errors import IndexMismatch, IndexUnavailable, ModelAnswerInvalid, ModelUnavailable

AnswerType = Literal["GENERIC", "RAG", "CLARIFICATION", "ESCALATION_REQUIRED", "SILENT"]
"""SILENT: recorded and never posted, for nobody asked the bot, or they were told before."""

NOT_KEPT = "(not kept)"
"""What stands in the record in place of a question that was refused for want of room."""

WITHOUT_TEXT = frozenset(
    {
        "limit:rate_per_user_per_minute",
        "limit:rate_per_channel_per_minute",
        "limit:pause",
        "limit:queue_full",
    }
)
"""Notes of refusals after which nothing can be done with the question but to ask it again."""

_LIMIT = "limit:"
BUSY = "More questions are waiting than I can answer. Please ask again in a few minutes."
UNAVAILABLE = "Something on my side isn't working, so I can't answer this right now."
_NOT_TAKEN = "I have an answer, but {platform} did not take it."
_ASK_AGAIN = "Please ask again."
_BY_WORD = "Reply \u201chuman\u201d to ask a person, or ask again later."


def answer_type(outcome: Outcome) -> AnswerType:
    """Name the kind of answer.

    A refusal counts as generic. A grounded reply without a source is none: it is escalated.
    """
    if outcome.silent:
        return "SILENT"
    response = outcome.response
    match response:
        case Reply(refused=True) | Reply(tone="generic"):
            return "GENERIC"
        case Reply():
            return "RAG" if response.sources else "ESCALATION_REQUIRED"
        case Clarification():
            return "CLARIFICATION"
        case Escalation():
            return "ESCALATION_REQUIRED"
        case _:
            assert_never(response)


def confidence_level(outcome: Outcome) -> ConfidenceLevel | None:
    """Tell how an answer from the wiki was offered; None for anything else, and for old records."""
    if answer_type(outcome) != "RAG" or not isinstance(outcome.response, Reply):
        return None
    return outcome.response.confidence_level


def refusal_note(outcome: Outcome) -> str:
    """Say why a message was not worked on, as ``refused`` noted it; "" where it was."""
    notes = outcome.trace.notes
    return next((n.removeprefix(_LIMIT) for n in notes if n.startswith(_LIMIT)), "")


def escalation_reason(outcome: Outcome) -> EscalationReason | None:
    """Say why a question goes to people; None where it does not."""
    response = outcome.response
    if outcome.silent or not isinstance(response, Escalation):
        return None
    return response.reason


def retrieval_used(outcome: Outcome) -> bool:
    """Tell whether the index was asked."""
    return outcome.response.confidence is not None or bool(outcome.trace.passages)


def document_ids(outcome: Outcome) -> tuple[str, ...]:
    """Return the pages that were retrieved, best first, each once."""
    return tuple(dict.fromkeys(passage.page_id for passage in outcome.trace.passages))


def error_code(error: Exception) -> ErrorCode:
    """Return the code that clients get for an error; its text is for the log alone."""
    match error:
        case IndexUnavailable() | IndexMismatch():
            return "index_unavailable"
        case ModelAnswerInvalid():
            return "model_answer_invalid"
        case ModelUnavailable():
            return "model_unavailable"
        case TimeoutError():
            return "timeout"
        case _:
            return "internal"


def unavailable_outcome(message: Message, note: str, error: ErrorCode = "internal") -> Outcome:
    """Return what is said when no answer could be worked out; ``note`` is for the record.

    Who did not address the bot is told nothing, here as below.
    """
    question = message.text
    return Outcome(
        response=Escalation(
            text=f"{UNAVAILABLE} {HANDOFF_OFFER}" if message.private else UNAVAILABLE,
            reason="unavailable",
            question=question,
            consent_needed=message.private,
            statement=UNAVAILABLE,
            error=error,
        ),
        trace=Trace(
            route=_unrouted(message),
            notes=(note,),
        ),
        silent=message.overheard,
    )


def refused_outcome(message: Message, refusal: Refusal) -> Outcome:
    """Return what is said when a message is not worked on; its note is for the operator.

    What is for a person's eyes alone is never said to a bot.
    """
    return Outcome(
        response=Reply(text=refusal.text, tone="generic", refused=True, limit=refusal.limit),
        trace=Trace(route=_unrouted(message), notes=(f"{_LIMIT}{refusal.note}",)),
        silent=message.overheard or refusal.silent or (refusal.ephemeral and message.by_bot),
        ephemeral=refusal.ephemeral,
    )


def busy_outcome(message: Message) -> Outcome:
    """Return what is said when too many questions are waiting."""
    return refused_outcome(message, Refusal(BUSY, "queue_full", limit=Limit("queue")))


def is_kept_without_text(outcome: Outcome) -> bool:
    """Tell whether a question was refused so that its words are of no use to anybody."""
    response = outcome.response
    refused_so = isinstance(response, Reply) and response.refused
    return refused_so and not WITHOUT_TEXT.isdisjoint(outcome.trace.notes)


def without_text(message: Message, outcome: Outcome) -> tuple[Message, Outcome]:
    """Return a refused question and its outcome as they are kept and logged; others as they are."""
    if not is_kept_without_text(outcome):
        return message, outcome
    route = replace(outcome.trace.route, question=NOT_KEPT)
    kept = replace(outcome, trace=replace(outcome.trace, route=route))
    return replace(message, text=NOT_KEPT, attachments=()), kept


def _unrouted(message: Message) -> Route:
    return Route(intent=Intent.UNKNOWN, score=0.0, decided_by="default", question=message.text)


def goes_to_people(message: Message, outcome: Outcome) -> bool:
    """Tell whether people are asked when a platform takes an answer in no form.

    Not about small talk and refusals, nor in private, where the asker has to agree first.
    """
    if message.private or message.overheard or outcome.silent:
        return False
    response = outcome.response
    if isinstance(response, Reply):
        return not response.refused and response.tone != "generic"
    return isinstance(response, Clarification)


def undelivered_text(message: Message, outcome: Outcome, platform: str) -> str:
    """Return the line that stands for an answer which ``platform`` takes in no form."""
    not_taken = _NOT_TAKEN.format(platform=platform)
    response = outcome.response
    asked = isinstance(response, Escalation) and not response.consent_needed
    if asked or goes_to_people(message, outcome):
        return f"{not_taken} {ON_HELP_DESK_LIST}"
    return f"{not_taken} {_BY_WORD if message.private else _ASK_AGAIN}"


def is_unfinished(interaction: Interaction) -> bool:
    """Tell whether there is still something to do: answer, post or withdraw."""
    if interaction.status in {"working", "cancelling"}:
        return True
    return interaction.status == "done" and interaction.posted is None
