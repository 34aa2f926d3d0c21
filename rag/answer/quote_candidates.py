"""List the quotable units of passages, and score their match with the question; no I/O.

The score counts the question's words in a unit, rare words more, and whether the unit has the
expected answer type: a number, a time, a person, a place.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rag.text.sentences import Unit, is_heading, split_units, without_markdown
from rag.text.words import stems
from rag.types import Chunk, Passage

_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|half"
    "|once|twice|daily|weekly|biweekly|monthly|quarterly|yearly|annually|unlimited"
)
_CALENDAR = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june"
    "|july|august|september|october|november|december|noon|midnight|quarter"
)

_QUESTION_AND_ANSWER_PATTERNS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        re.compile(
            r"\bhow (?:much|many|long|often|far|soon|big|late|early|old)\b"
            r"|\b(?:cost|price|limit|maximum|minimum|max|min|fee|percent|percentage)\b",
            re.IGNORECASE,
        ),
        re.compile(rf"\d|\b(?:{_NUMBER_WORDS})\b", re.IGNORECASE),
    ),
    (
        re.compile(r"\b(?:when|what time|which day|deadline|due|what date)\b", re.IGNORECASE),
        re.compile(rf"\d|\b(?:{_CALENDAR}|{_NUMBER_WORDS})\b", re.IGNORECASE),
    ),
    (
        re.compile(
            r"\b(?:who|whom|whose|contact|e-?mail|reach|channel|phone|call)\b", re.IGNORECASE
        ),
        re.compile(
            r"\w@\w|#[a-z]|\+?\d[\d() -]{6,}\d|\b[A-Z][a-z]+ [A-Z][a-z]+"
            r"|\b(?:team|desk|office|manager|supervisor|lead|officer)\b"
        ),
    ),
    (
        re.compile(r"\b(?:where|link|url|address|room|website)\b", re.IGNORECASE),
        re.compile(r"https?://|\]\(|#[a-z]|\b(?:at|in|on|under|to) (?:the )?[\"`*]*[A-Z]"),
    ),
)


def expected_answer_types(question: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns of the expected answer type: number, time, person or place; often none."""
    return tuple(
        given for wanted, given in _QUESTION_AND_ANSWER_PATTERNS if wanted.search(question)
    )


def has_answer_type(text: str, wanted: tuple[re.Pattern[str], ...]) -> bool:
    """Return whether a text matches an expected answer type; False when there is none."""
    return any(pattern.search(text) for pattern in wanted)


def asks_for_same_type(question: str, heading: str) -> bool:
    """Return whether heading and question ask for the same type ("How much", "Who to ask")."""
    return any(
        wanted.search(question) and wanted.search(heading)
        for wanted, _ in _QUESTION_AND_ANSWER_PATTERNS
    )


Floats = NDArray[np.float64]

MAX_QUOTE_WORDS = 80
"""Maximum number of words of a quote: a reader would not find the answer in a longer one."""

MAX_CANDIDATES = 60
"""Maximum number of units embedded per question; bounds the time of an answer."""

BREADCRUMB_SHARE = 0.5
"""Weight of a word that occurs in the breadcrumb only."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A quotable unit.

    ``place`` is the rank of its passage and its position among that passage's units; ``shown`` is
    the quote as a reader sees it, ``in_context`` the same below its breadcrumb and lead-in.
    ``heading`` is the one right above it. ``stems`` are those of a unit and its column heads;
    ``breadcrumb`` those of all headings. ``passage_score`` is relative to the best passage, 0..1.
    """

    place: tuple[int, int]
    chunk: Chunk
    unit: Unit
    quote: str
    shown: str
    in_context: str
    heading: str
    passage_score: float
    stems: frozenset[str]
    breadcrumb: frozenset[str]

    @property
    def at(self) -> tuple[str, int, int]:
        """Its chunk's id, and its start and end offsets."""
        return self.chunk.id, self.unit.start, self.unit.end

    @property
    def words(self) -> int:
        return len(self.shown.split())


def candidates_of(passages: Sequence[Passage], first_rank: int = 0) -> tuple[Candidate, ...]:
    """Return every quotable unit of the passages, in the order of the passages."""
    best = max((passage.score for passage in passages), default=0.0)
    return tuple(
        candidate
        for rank, passage in enumerate(passages, start=first_rank)
        for candidate in _of_passage(rank, passage, best)
    )


def coverage_of(question: str, candidates: Sequence[Candidate]) -> Floats:
    """Return each candidate's share of the question's words, weighted by rarity."""
    wanted = frozenset(stems(question))
    weight = _rarity(wanted, candidates)
    total = sum(weight.values()) or 1.0
    return (
        np.array(
            [
                sum(weight[stem] for stem in wanted & candidate.stems)
                + BREADCRUMB_SHARE
                * sum(weight[stem] for stem in (wanted & candidate.breadcrumb) - candidate.stems)
                for candidate in candidates
            ],
            dtype=np.float64,
        )
        / total
    )


def shortlist(
    candidates: Sequence[Candidate], coverage: Floats, most: int
) -> tuple[Candidate, ...]:
    """Return the ``most`` best candidates for embedding, in their order."""
    passage = np.array([candidate.passage_score for candidate in candidates], dtype=np.float64)
    best = np.argsort(-(coverage + passage), kind="stable")[:most]
    return tuple(candidates[i] for i in sorted(int(i) for i in best))


def _of_passage(rank: int, passage: Passage, best: float) -> list[Candidate]:
    score = max(0.0, passage.score) / best if best > 0 else 0.0
    return [
        Candidate(
            place=(rank, at),
            chunk=passage.chunk,
            unit=unit.unit,
            quote=passage.chunk.text[unit.unit.start : unit.unit.end],
            shown=unit.shown,
            in_context=unit.in_context,
            heading=unit.heading,
            passage_score=score,
            stems=unit.stems,
            breadcrumb=unit.breadcrumb,
        )
        for at, unit in _units_of(passage.chunk.breadcrumb[1:], passage.chunk.text)
    ]


@dataclass(frozen=True, slots=True)
class _QuotableUnit:
    """A quotable unit without its question-dependent values."""

    unit: Unit
    shown: str
    in_context: str
    heading: str
    stems: frozenset[str]
    breadcrumb: frozenset[str]


@lru_cache(maxsize=1024)
def _units_of(above: tuple[str, ...], text: str) -> tuple[tuple[int, _QuotableUnit], ...]:
    """Return the quotable units of a text with their positions; cached, because pages recur."""
    units = split_units(text)
    shown = [without_markdown(text[unit.start : unit.end]) for unit in units]
    read: list[tuple[int, _QuotableUnit]] = []
    headings, heads = above, frozenset(stems(" > ".join(above)))
    for at, unit in enumerate(units):
        if unit.kind == "sentence" and is_heading(shown[at]):
            headings = (*above, shown[at])
            heads = frozenset(stems(" > ".join(headings)))
        elif len(shown[at].split()) <= MAX_QUOTE_WORDS:
            columns = shown[unit.header] if unit.header is not None else ""
            context = (" > ".join(headings), _introduced(unit, shown), shown[at])
            read.append(
                (
                    at,
                    _QuotableUnit(
                        unit=unit,
                        shown=shown[at],
                        in_context="\n".join(filter(None, context)),
                        heading=headings[-1] if headings else "",
                        stems=frozenset(stems(f"{columns}\n{shown[at]}")),
                        breadcrumb=heads,
                    ),
                )
            )
    return tuple(read)


def _introduced(unit: Unit, shown: Sequence[str]) -> str:
    return " ".join(shown[at] for at in (unit.lead, unit.header) if at is not None)


def _rarity(wanted: frozenset[str], candidates: Sequence[Candidate]) -> dict[str, float]:
    held = Counter(stem for candidate in candidates for stem in wanted & candidate.stems)
    return {stem: math.log(1 + len(candidates) / (1 + held[stem])) for stem in wanted}
