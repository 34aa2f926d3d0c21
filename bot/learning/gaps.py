"""Gaps: groups of questions that the wiki did not answer; which questions count, and for whom.

A question counts if it was handed over for want of an answer, answered by a guess without a thumb
up, or thumbed down. What is thumbed is looked up when gaps are read, because it may be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bot.domain.interactions import Clarification, Escalation, Interaction, Reply, Trace
from bot.domain.messages import FoundPassage, Intent, InteractionId
from bot.domain.record_reports import Span
from bot.learning.question_words import Spread, person_key
from rag.embedding import QuestionVector
from rag.types import Vectors

GapState = Literal["new", "taken", "page_written", "not_ours", "closed"]
"""new: nobody has looked. taken: somebody writes it up. page_written: so it was said; it is closed
once the questions are answered. not_ours: the wiki need not answer it. closed: its questions are
answered now, until another one is not."""

ChosenState = Literal["new", "taken", "page_written", "not_ours"]
"""What people can say of a gap; a gap closes by itself."""

GAP_STATES: tuple[GapState, ...] = get_args(GapState)
CHOSEN_STATES: tuple[ChosenState, ...] = get_args(ChosenState)

GapCause = Literal["handed_over", "unsure", "thumbed_down"]
"""Why a question is one of a gap. thumbed_down: for that alone."""

MOST_PAGES_A_QUESTION = 5

Pairs = NDArray[np.bool_]
"""A truth value for each pair of questions."""

_FOR_WANT_OF_AN_ANSWER = frozenset({"low_confidence", "nothing_found", "unsupported"})


@dataclass(frozen=True, slots=True)
class PassageRef:
    """A passage that was found for a question, or that answers it."""

    chunk_id: str
    page_id: str

    def as_found(self) -> FoundPassage:
        """Return the passage as it is looked up for its readers."""
        return FoundPassage(self.chunk_id, self.page_id, "", "", {})


@dataclass(frozen=True, slots=True)
class GapQuestion:
    """A question to add to a gap; ``person`` is whom it counts for, "" for a bot.

    ``public`` is None if the platform could not be asked. ``request`` is the interaction by which
    its asker asked for a person, or "".
    """

    id: InteractionId
    tenant: str
    cause: GapCause
    asked_at: datetime
    person: str
    question: str
    public: bool | None
    embedder: str
    vector: bytes
    passages: tuple[PassageRef, ...]
    request: str = ""


@dataclass(frozen=True, slots=True)
class GapMember:
    """A question of a gap, as far as views need it; ``author`` is the id that it was asked under.

    ``vector`` is that of ``embedder``, b"" if there is none.
    """

    id: InteractionId
    gap: str
    author: str
    person: str
    question: str
    request: str
    public: bool
    asked_at: datetime
    embedder: str
    vector: bytes
    passages: tuple[PassageRef, ...]


@dataclass(frozen=True, slots=True)
class GapSummary:
    """A gap with its counts: within a span, in the one ``before`` it, and of all (``total``).

    ``people`` asked in the span. ``state_by`` is who set the state, "" if it came about by itself.
    ``last_at`` is None if no question is left. ``answered_by`` closed the gap.
    """

    id: str
    state: GapState
    state_by: str
    state_at: datetime
    questions: int
    people: int
    before: int
    total: int
    last_at: datetime | None
    answered_by: tuple[PassageRef, ...] = ()


@dataclass(frozen=True, slots=True)
class GapQuery:
    """Which gaps: with questions in a span; in some states (none: all); with words in a question.

    ``recent_first`` orders by the last question instead of by their number.
    """

    span: Span
    states: frozenset[GapState] = frozenset()
    words: str = ""
    recent_first: bool = False


def cause_of(asked: Interaction) -> GapCause | None:
    """Return why a question is one of a gap by its outcome alone; None if it is not."""
    outcome = asked.outcome
    if outcome is None or outcome.silent:
        return None
    response = outcome.response
    if isinstance(response, Escalation) and response.reason in _FOR_WANT_OF_AN_ANSWER:
        return "handed_over"
    unsure = isinstance(response, Reply) and response.confidence_level == "unsure"
    return "unsure" if unsure else None


def can_be_missed(asked: Interaction) -> bool:
    """Return whether a thumb down, or a request for a person, makes a question one of a gap."""
    outcome = asked.outcome
    if outcome is None or outcome.silent or outcome.trace.route.intent is Intent.HUMAN:
        return False
    match outcome.response:
        case Reply(refused=refused, error=error):
            return not refused and error is None
        case Clarification():
            return True
        case Escalation(reason=reason):
            return reason in _FOR_WANT_OF_AN_ANSWER


def asks_for_person(asked: Interaction) -> bool:
    """Return whether somebody asked for a person, perhaps about an earlier question."""
    outcome = asked.outcome
    return (
        outcome is not None
        and not outcome.silent
        and isinstance(outcome.response, Escalation)
        and outcome.response.reason == "asked_for_human"
    )


def passages_of(asked: Interaction) -> tuple[PassageRef, ...]:
    """Return the best passage of each page found for a question, best first."""
    found = asked.outcome.trace.passages if asked.outcome else ()
    best: dict[str, PassageRef] = {}
    for each in found:
        best.setdefault(each.page_id, PassageRef(each.chunk_id, each.page_id))
    return tuple(best.values())[:MOST_PAGES_A_QUESTION]


def asker_of(asked: Interaction) -> str:
    """Return whom a question counts for: one key for a person on all platforms, "" for a bot."""
    return "" if asked.message.by_bot else person_key(asked.message.author)


def stored_vector(vector: Vectors) -> bytes:
    """Return a vector as it is stored with a question."""
    return vector.astype("<f2").tobytes()


def recorded_vector(recorded: QuestionVector | None, embedder: str) -> Vectors | None:
    """Return the vector that was recorded with a question if it is of the present embedder."""
    if recorded is None or recorded.embedder != embedder:
        return None
    try:
        return recorded.unit()
    except ValueError:
        return None


def unit_vectors(stored: Sequence[bytes]) -> Vectors:
    """Return stored vectors of one embedder, shape (questions, dimensions)."""
    vectors = np.frombuffer(b"".join(stored), "<f2").reshape(len(stored), -1).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Vectors = vectors / np.maximum(lengths, np.float32(1e-12))
    return units


SAME = 0.9
"""Least cosine of two wordings of the same question.

Measured on 18F: no two different questions of 64,000 pairs reach .76, and questions that differ in
a name, a diagnosis or a country reach .88; of rewordings with a sentence around them 37 % do.
"""

_WITH_DIGIT = re.compile(r"\S*\d\S*")


def normalised(question: str) -> str:
    """Return a question's words without case, punctuation at its ends and repeated spaces."""
    return " ".join(question.casefold().split()).strip(" .?!\u2026")


def same_question(first: Trace, second: Trace) -> bool:
    """Return whether two questions are the same: in words, or near enough with the same numbers."""
    words = [normalised(each.route.question) for each in (first, second)]
    if words[0] == words[1]:
        return True
    if second.vector is None or _numbers(words[0]) != _numbers(words[1]):
        return False
    before = recorded_vector(first.vector, second.vector.embedder)
    now = recorded_vector(second.vector, second.vector.embedder)
    return before is not None and now is not None and float(before @ now) >= SAME


def spread_of(members: Sequence[GapMember]) -> Mapping[InteractionId, Spread]:
    """Return how far each question of one gap is known.

    The same question is one with the same words, or near enough and with the same numbers. Bots
    are no askers.
    """
    if not members:
        return {}
    words = [normalised(each.question) for each in members]
    same = _equal(words) | (_near(members) & _equal([_numbers(each) for each in words]))
    people = sorted({each.person for each in members} - {""})
    asked = np.array([[each.person == person for person in people] for each in members])
    askers = (same.astype(np.float32) @ asked.reshape(len(members), -1) > 0).sum(axis=1)
    return {
        each.id: Spread(
            int(count),
            public=each.public,
            requests=(InteractionId(each.request),) if each.request else (),
        )
        for each, count in zip(members, askers, strict=True)
    }


def by_nearness(members: Sequence[GapMember]) -> Sequence[GapMember]:
    """Return the questions of one gap, those nearest to its middle first; then newest first."""
    newest = sorted(members, key=lambda each: (each.asked_at, each.id), reverse=True)
    usual = _usual_embedder(newest)
    held = [each for each in newest if usual and each.embedder == usual]
    if not held:
        return newest
    vectors = unit_vectors([each.vector for each in held])
    middle = vectors.mean(axis=0)
    ranked = sorted(zip(-(vectors @ middle), held, strict=True), key=lambda each: float(each[0]))
    return [*(each for _, each in ranked), *(each for each in newest if each not in held)]


def _numbers(words: str) -> str:
    return " ".join(sorted(_WITH_DIGIT.findall(words)))


def _equal(texts: Sequence[str]) -> Pairs:
    """Return which texts are equal."""
    _, codes = np.unique(np.array(texts), return_inverse=True)
    return np.equal(codes[:, None], codes[None, :])


def _near(members: Sequence[GapMember]) -> Pairs:
    """Return which questions' vectors are nearly the same."""
    near = np.zeros((len(members), len(members)), dtype=bool)
    usual = _usual_embedder(members)
    rows = [row for row, each in enumerate(members) if usual and each.embedder == usual]
    if rows:
        vectors = unit_vectors([members[row].vector for row in rows])
        near[np.ix_(rows, rows)] = vectors @ vectors.T >= SAME
    return near


def _usual_embedder(members: Sequence[GapMember]) -> str:
    """Return the embedder of the first question that has a vector, or ""."""
    return next((each.embedder for each in members if each.vector), "")
