"""How an outcome is named and counted, the same in the API, the record and the log; pure."""

from __future__ import annotations

from typing import Literal, assert_never

from bot.escalations.handover import OFFERED
from bot.types import (
    Clarification,
    Escalation,
    EscalationReason,
    Intent,
    Interaction,
    Message,
    Outcome,
    Refusal,
    Reply,
    Route,
    Trace,
)

AnswerType = Literal["GENERIC", "RAG", "CLARIFICATION", "ESCALATION_REQUIRED", "SILENT"]
"""SILENT: recorded and never posted, for nobody asked the bot, or they were told before."""

_LIMIT = "limit:"
BUSY = "More questions are waiting than I can answer. Please ask again in a few minutes."
UNAVAILABLE = "Something on my side isn't working, so I can't answer this right now."


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


def unavailable(message: Message, note: str) -> Outcome:
    """Return what is said when no answer could be worked out; ``note`` is for the record.

    Who did not address the bot is told nothing, here as below.
    """
    question = message.text
    return Outcome(
        response=Escalation(
            text=f"{UNAVAILABLE} {OFFERED}" if message.private else UNAVAILABLE,
            reason="unavailable",
            question=question,
            consent_needed=message.private,
        ),
        trace=Trace(
            route=_unrouted(message),
            notes=(note,),
        ),
        silent=message.overheard,
    )


def refused(message: Message, refusal: Refusal) -> Outcome:
    """Return what is said when a message is not worked on; its note is for the operator."""
    return Outcome(
        response=Reply(text=refusal.text, tone="generic", refused=True),
        trace=Trace(route=_unrouted(message), notes=(f"{_LIMIT}{refusal.note}",)),
        silent=message.overheard or refusal.silent,
    )


def busy(message: Message) -> Outcome:
    """Return what is said when too many questions are waiting."""
    return refused(message, Refusal(BUSY, "queue_full"))


def _unrouted(message: Message) -> Route:
    return Route(intent=Intent.UNKNOWN, score=0.0, decided_by="default", question=message.text)


def unfinished(interaction: Interaction) -> bool:
    """Tell whether there is still something to do: answer, post or withdraw."""
    if interaction.status in {"working", "cancelling"}:
        return True
    return interaction.status == "done" and interaction.posted is None
