"""Word the escalation of a question, or ask back: for its topic, or which page is meant.

To pictures without a word the reply is the offer of a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Literal

from bot.answering.grounded_answer import GroundedAnswer, naming_pages
from bot.answering.reply_text import suggestions_of
from bot.answering.routing.intent_rules import names_no_topic
from bot.answering.routing.languages import closing_offered_in, in_askers_language
from bot.answering.routing.message_text import condense
from bot.domain.formatting import option_label
from bot.domain.handoff import (
    ASK_TOPIC,
    ASK_TOPIC_IN_CHANNEL,
    PERSON_REQUEST,
    PICTURE_OFFER,
    HandoffWording,
    asks_topic,
    requested_question,
)
from bot.domain.health import NOTHING_INDEXED
from bot.domain.interactions import (
    Clarification,
    ErrorCode,
    Escalation,
    EscalationReason,
    Outcome,
    Response,
    Route,
    Trace,
)
from bot.domain.messages import Attachment, Inquiry, Intent, file_note
from rag.errors import RagError
from rag.pipeline import Pipeline, Retrieval
from rag.text.words import content_words, stems
from rag.types import Answer, Passage


def escalation_of(
    reason: EscalationReason,
    inquiry: Inquiry,
    route: Route,
    wording: HandoffWording,
    *,
    grounded: GroundedAnswer | None = None,
    error: ErrorCode | None = None,
) -> Escalation:
    """Return the escalation of a routed inquiry; ``grounded`` is what was found, if anything."""
    suggestions = suggestions_of(grounded.retrieval.passages) if grounded else ()
    message, people = inquiry.message, inquiry.policy.people
    if reason == "asked_for_human":
        wording = replace(wording, closing=closing_offered_in(inquiry.history))
    else:
        wording = in_askers_language(wording, route)
    return Escalation(
        text=wording.text(
            reason,
            private=message.private,
            platform=message.thread.platform,
            people=people,
            leaned=any(turn.own and turn.exchange in route.leaned_on for turn in inquiry.history),
        ),
        reason=reason,
        question=_question_for_people(inquiry, route),
        suggestions=() if reason == "nothing_found" else suggestions,
        confidence=grounded.probability if grounded else None,
        consent_needed=message.private and reason != "asked_for_human",
        people=people,
        statement=wording.statement(reason),
        error=error,
    )


def unanswered_reason(
    answer: Answer, pipeline: Pipeline, grounded: GroundedAnswer
) -> Literal["nothing_found", "unsupported", "low_confidence"]:
    """Return why an answer that the gate stopped is not given."""
    if not pipeline.has_relevant_passage(grounded.retrieval):
        return "nothing_found"
    if answer.dropped_claims and not answer.claims:
        return "unsupported"
    return "low_confidence"


async def with_nothing_indexed(
    response: Response,
    inquiry: Inquiry,
    route: Route,
    wording: HandoffWording,
    pipeline: Pipeline,
) -> Response:
    """Return an escalation of what was not found with a note that the index is empty, if it is.

    The note is English, and so is what follows it.
    """
    if not isinstance(response, Escalation) or response.reason != "nothing_found":
        return response
    if await _has_pages(pipeline, inquiry.message.thread.tenant):
        return response
    wording = replace(wording, not_found=NOTHING_INDEXED)
    reworded = escalation_of(response.reason, inquiry, replace(route, language=""), wording)
    return replace(response, text=reworded.text, statement=reworded.statement)


async def _has_pages(pipeline: Pipeline, tenant: str) -> bool:
    try:
        return await pipeline.has_pages(tenant)
    except RagError:
        # Not known: do not claim that the index is empty.
        return True


def ask_topic(inquiry: Inquiry, route: Route) -> Clarification | None:
    """Return a clarification that asks what a person is wanted for; None if that is known.

    The bot asks once: an asker who names no topic again is escalated, so that nobody is stuck. It
    does not ask on the command line.
    """
    message = inquiry.message
    if message.thread.platform == "cli" or not _lacks_topic(inquiry, route):
        return None
    return Clarification(ASK_TOPIC if message.private else ASK_TOPIC_IN_CHANNEL)


def _lacks_topic(inquiry: Inquiry, route: Route) -> bool:
    """Return whether the asker wants a person, names no topic, and was not asked for one."""
    message, text = inquiry.message, inquiry.message.text
    if message.attachments or route.question != condense(text):
        return False
    replies = (turn for turn in inquiry.history if turn.own and turn.role == "assistant")
    asked = any(asks_topic(turn.text) for turn in replies)
    return not asked and (text == PERSON_REQUEST or names_no_topic(text))


def _question_for_people(inquiry: Inquiry, route: Route) -> str:
    """Return the question to escalate, followed by the names of attached files.

    A message such as "a human, please" is preceded by the earlier question that it refers to. The
    text of a pressed button is dropped; text that the asker wrote is kept.
    """
    text = inquiry.message.text
    if named := requested_question(text):
        text = named
    elif route.intent is Intent.HUMAN and not _is_in_message(route.question, text):
        text = route.question if text == PERSON_REQUEST else f"{route.question}\n{text}"
    return f"{text}\n{file_note(inquiry.message.attachments)}".strip()


def _is_in_message(question: str, text: str) -> bool:
    """Return whether a question is, or is part of, the message's text."""
    return question in text or question == condense(text)


_PICTURE_ENDINGS = frozenset(".bmp .gif .heic .heif .jpeg .jpg .png .svg .tif .tiff .webp".split())
_SEEN = {
    1: "They'd see its name and where you asked, not the picture: show it to who answers.",
    2: "They'd see their names and where you asked, not the pictures: show them to who answers.",
}


def picture_offer(inquiry: Inquiry) -> Outcome | None:
    """Return the offer of a person for a message of pictures alone; None for any other.

    What nobody addressed to the bot is no such message, nor is one on the command line, where
    nobody can be asked.
    """
    message = inquiry.message
    if message.text.strip() or message.overheard or message.thread.platform == "cli":
        return None
    if not message.attachments or not all(map(_is_picture, message.attachments)):
        return None
    route = Route(Intent.UNKNOWN, 1.0, "rule", file_note(message.attachments))
    return Outcome(Clarification(_text(message.attachments)), Trace(route, heard=()))


def _text(pictures: Sequence[Attachment]) -> str:
    return f"{PICTURE_OFFER} {_SEEN[min(len(pictures), 2)]} Or tell me in words what it says."


def _is_picture(attachment: Attachment) -> bool:
    told = attachment.media_type.partition(";")[0].strip().lower()
    ending = PurePosixPath(attachment.name.lower()).suffix
    return told.startswith("image/") or (
        told in {"", "application/octet-stream"} and ending in _PICTURE_ENDINGS
    )


_MOST_SUBJECTS = 3
"""Content words of a broad question, at most."""
_LEAST_SCORE_SHARE = 0.75
"""Least score of a candidate, as a share of the best passage's."""
_MOST_OPTIONS = 4


def clarify(
    retrieval: Retrieval, probability: float, *, passes: bool = False
) -> Clarification | None:
    """Return a clarification for a broad question that fits several pages; else None.

    Broad means at most three content words. A page is a candidate when its title or section
    shares one of them, title, section and text together have all of them, and its score is at
    least 0.75 of the best.

    An answer that ``passes`` the gate is replaced only where pages share the question's words in
    title or section (``naming_pages``). Offered are the pages that the words name best, also those
    further down that have all of them in their titles.
    """
    question, passages = retrieval.question, retrieval.passages
    asked = set(stems(question))
    if not asked or len(asked) > _MOST_SUBJECTS or not passages:
        return None
    sharing = naming_pages(question, [each.chunk for each in passages])
    least = _LEAST_SCORE_SHARE * max(passage.score for passage in passages)
    # Reversed, so that the best passage of each page is kept.
    candidates = {
        passage.chunk.page_id: passage
        for passage in reversed(passages)
        if passage.score >= least
        and (passage.chunk.page_id in sharing if passes else _is_about(passage, asked))
    }
    meant = [passage for passage in passages if candidates.get(passage.chunk.page_id) is passage]
    if not meant[1:]:
        return None
    meant += [passage for passage in retrieval.further if passage.score >= least]
    meant.sort(key=lambda passage: _naming_order(passage, question))
    options = tuple(dict.fromkeys(option_label(passage.chunk) for passage in meant))[:_MOST_OPTIONS]
    return Clarification(
        text="That could mean a few things. Which of these is it about?",
        options=options,
        suggestions=suggestions_of(meant),
        confidence=probability,
    )


def _is_about(passage: Passage, asked: set[str]) -> bool:
    chunk = passage.chunk
    named = set(stems(f"{chunk.title} {chunk.section}"))
    return bool(named & asked) and asked <= named | set(stems(chunk.text))


def _naming_order(passage: Passage, question: str) -> int:
    """Return how well a question names a title, 0 for best.

    After the title itself come those with the question's words, then those with their stems alone:
    "Parental leave" is about leave before "Leaving the company" is. A plural is the word itself.
    """
    asked, named = _singular(question), _singular(passage.chunk.title)
    if asked <= named:
        return 0 if asked == named else 1
    return 2 if set(stems(question)) <= set(stems(passage.chunk.title)) else 3


def _singular(text: str) -> set[str]:
    return {word.removesuffix("s") for word in content_words(text)}
