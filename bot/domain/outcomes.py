"""Classify outcomes for API, record and log, and build the outcomes of unanswered messages.

Pure. Answer type, confidence level and error code of an outcome; the outcomes of refused, queued
and failed messages; whether the text of a refused question is stored, and how a stored one reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, assert_never

from bot.domain.handoff import (
    HANDOFF_OFFER,
    ON_HELP_DESK_LIST,
    PERSON_REQUEST,
    SECTION_OF_PAGE,
    requested_question,
)
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
from bot.domain.texts import Language, join_texts, tr
from rag.errors import IndexMismatch, IndexUnavailable, ModelAnswerInvalid, ModelUnavailable

AnswerType = Literal["GENERIC", "RAG", "CLARIFICATION", "ESCALATION_REQUIRED", "SILENT"]
"""SILENT: recorded and never posted: nobody asked the bot, or the asker was told before."""

NOT_KEPT = "(not kept)"
"""Stored instead of the text of a question that was refused by a limit."""

_LIMIT = "limit:"
BUSY = "More questions are waiting than I can answer. Please ask again in a few minutes."
UNAVAILABLE = "Something on my side isn't working, so I can't answer this right now."
WAITED = "More people are asking than I can answer, and your question has waited too long."
_NOT_TAKEN = "I have an answer, but {platform} did not take it."
_ASK_AGAIN = "Please ask again."
_BY_WORD = "Reply \u201chuman\u201d to ask a person, or ask again later."


DRAFTED = "shadow:drafted"
"""Note of an outcome that was not posted because the bot practises, and would have been."""


def is_draft(outcome: Outcome) -> bool:
    """Return whether reviewers see an outcome as a draft."""
    return DRAFTED in outcome.trace.notes


def as_given(outcome: Outcome) -> Outcome:
    """Return a draft as if it had been posted; any other outcome as it is."""
    return replace(outcome, silent=False) if is_draft(outcome) else outcome


def answer_type(outcome: Outcome) -> AnswerType:
    """Return the answer type.

    A refusal counts as GENERIC, a grounded reply without a source as ESCALATION_REQUIRED.
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
    """Return an answer's confidence level; None if not from the wiki, or not recorded."""
    if answer_type(outcome) != "RAG" or not isinstance(outcome.response, Reply):
        return None
    return outcome.response.confidence_level


def refusal_note(outcome: Outcome) -> str:
    """Return the note of the limit that refused a message, as set by ``refused_outcome``, or ""."""
    notes = outcome.trace.notes
    return next((n.removeprefix(_LIMIT) for n in notes if n.startswith(_LIMIT)), "")


def escalation_reason(outcome: Outcome) -> EscalationReason | None:
    """Return why a question is escalated; None if it is not."""
    response = outcome.response
    if outcome.silent or not isinstance(response, Escalation):
        return None
    return response.reason


def explanation_title(outcome: Outcome) -> str:
    """Return the title of an explanation, also the label of the button that shows it."""
    if outcome.silent:
        return tr("Why no answer")
    match outcome.response:
        case Reply():
            return tr("Why this answer")
        case Clarification():
            return tr("Why a follow-up question")
        case Escalation(reason="asked_for_human"):
            return tr("Why a person")
        case Escalation():
            return tr("Why no answer")


def retrieval_used(outcome: Outcome) -> bool:
    """Return whether the index was searched."""
    return outcome.response.confidence is not None or bool(outcome.trace.passages)


def document_ids(outcome: Outcome) -> tuple[str, ...]:
    """Return the ids of the retrieved pages, best first, without duplicates."""
    return tuple(dict.fromkeys(passage.page_id for passage in outcome.trace.passages))


def error_code(error: Exception) -> ErrorCode:
    """Return the API's code for an error; the error's text is for the log alone."""
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
    """Return the outcome of a message whose processing failed; ``note`` is for the record.

    It is silent, like ``refused_outcome``, if the message did not address the bot.
    """
    return _given_to_people(message, UNAVAILABLE, "unavailable", note, error)


def waited_outcome(message: Message) -> Outcome:
    """Return the outcome of a message that waited longer for its turn than anyone should."""
    note = "It waited longer than FRONTDESK_LONGEST_WAIT_MINUTES."
    return _given_to_people(message, WAITED, "waited", note, "timeout")


def _given_to_people(
    message: Message, why: str, reason: EscalationReason, note: str, error: ErrorCode
) -> Outcome:
    question = message.text
    return Outcome(
        response=Escalation(
            text=f"{why} {HANDOFF_OFFER}" if message.private else why,
            reason=reason,
            question=question,
            consent_needed=message.private,
            statement=why,
            error=error,
        ),
        trace=Trace(
            route=_unrouted(message),
            notes=(note,),
        ),
        silent=message.shows_nothing,
    )


def refused_outcome(message: Message, refusal: Refusal) -> Outcome:
    """Return the outcome of a refused message; the refusal's note is for the operator.

    A refusal meant for one person is silent if a bot asked.
    """
    return Outcome(
        response=Reply(text=refusal.text, tone="generic", refused=True, limit=refusal.limit),
        trace=Trace(route=_unrouted(message), notes=(f"{_LIMIT}{refusal.note}",)),
        silent=message.shows_nothing or refusal.silent or (refusal.ephemeral and message.by_bot),
        ephemeral=refusal.ephemeral,
    )


def busy_outcome(message: Message) -> Outcome:
    """Return the outcome when the queue is full."""
    return refused_outcome(message, Refusal(BUSY, "queue_full", limit=Limit("queue")))


def without_text(message: Message, outcome: Outcome) -> tuple[Message, Outcome]:
    """Return a message and its outcome as stored and logged: without text if refused by a limit."""
    if not outcome.is_kept_without_text:
        return message, outcome
    route = replace(outcome.trace.route, question=NOT_KEPT)
    kept = replace(outcome, trace=replace(outcome.trace, route=route))
    return replace(message, text=NOT_KEPT, attachments=()), kept


def _unrouted(message: Message) -> Route:
    return Route(intent=Intent.UNKNOWN, score=0.0, decided_by="default", question=message.text)


def goes_to_people(message: Message, outcome: Outcome) -> bool:
    """Return whether experts are asked when a platform rejects an answer in every form.

    Not for small talk and refusals, nor in private, where the asker has to agree first.
    """
    if message.private or message.overheard or outcome.silent:
        return False
    response = outcome.response
    if isinstance(response, Reply):
        return not response.refused and response.tone != "generic"
    return isinstance(response, Clarification)


def undelivered_text(message: Message, outcome: Outcome, platform: str) -> str:
    """Return the text posted instead of an answer that ``platform`` rejects in every form."""
    not_taken = _NOT_TAKEN.format(platform=platform)
    response = outcome.response
    asked = isinstance(response, Escalation) and not response.consent_needed
    if asked or goes_to_people(message, outcome):
        return f"{not_taken} {ON_HELP_DESK_LIST}"
    return f"{not_taken} {_BY_WORD if message.private else _ASK_AGAIN}"


def is_unfinished(interaction: Interaction) -> bool:
    """Return whether an interaction must still be answered, posted or withdrawn."""
    if interaction.status in {"working", "cancelling"}:
        return True
    return interaction.status == "done" and interaction.posted is None


PERSON_WISH: Final = tr("I'd like to ask a person, please.")
"""The message of the button that asks for a person, PERSON_REQUEST, as a text."""

_KEPT_TEXTS: Final[Mapping[str, str]] = {
    NOT_KEPT: tr("(not kept)"),
    PERSON_REQUEST: PERSON_WISH,
    SECTION_OF_PAGE: tr("A section of a page in the wiki"),
}
_FILE_NOTE: Final = re.compile(
    r"(?P<words>.*\n)?\(with (?P<names>[^\n]*\.\w{1,5}\b[^\n]*)\)", re.DOTALL
)
"""The names of files (bot.domain.messages.file_note), alone or below a question."""


def as_kept(said: str, language: Language) -> str:
    """Return a message as the record keeps it: a suggested wish for a person in English."""
    return PERSON_REQUEST if said.strip() == language.text(PERSON_WISH) else said


def question_text(kept: str) -> str:
    """Return a question for display: what its asker did not write as a text, else the words.

    The record has English in place of their words: a button's wish, the words for a question that
    was not kept, for files alone and for a section of a page.
    """
    if kept in _KEPT_TEXTS:
        return _KEPT_TEXTS[kept]
    if named := requested_question(kept):
        return join_texts("\n\n", (PERSON_WISH, question_text(named)))
    files = _FILE_NOTE.fullmatch(kept)
    if files is None:
        return kept
    return join_texts("", (files["words"] or "", tr("(with {names})", names=files["names"])))
