"""Values that retrieval and answering pass on, and the rules of who may read what; all frozen.

``Readers`` are sets of principals, all of which must be met. The rules fail closed: whoever does
not meet a set does not see the chunk, and no sets at all mean nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NewType

import numpy as np
from numpy.typing import NDArray

Principal = NewType("Principal", str)
"""Who may read: ``everyone``, ``user:ID`` or ``group:ID``."""

EVERYONE = Principal("everyone")

Readers = tuple[frozenset[Principal], ...]
"""Sets that must *all* be met by one of the asker's principals; an empty tuple means nobody."""

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), float32, each row of unit length."""


TokenSigns = NDArray[np.uint8]
"""Shape (tokens, dimensions / 8): the signs of a text's token vectors, eight to a byte."""


@dataclass(frozen=True, slots=True)
class Page:
    """What the index keeps of a page besides its chunks.

    A page is identified by ``(tenant, space, id)``. ``version`` is a fingerprint of everything
    that shapes its chunks, so that equal versions need no work.
    """

    tenant: str
    space: str
    id: str
    version: str
    readers: Readers


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage-sized piece of a page; ``text`` is what quotes must match byte for byte.

    ``id`` is unique in the index and made of ``[A-Za-z0-9_-]`` only. ``breadcrumb`` is
    space, ancestors, title and headings, outermost first: embedded and matched, never quoted.
    ``section`` is the innermost heading or "". ``document_page`` counts from 1 in paged
    documents (PDF), else None. ``source_type`` is the kind of source ("folder", "confluence",
    "upload"), ``source_id`` the document in that source that the text came from. ``updated_by`` is
    the name of who changed it last, "" when unknown.
    """

    id: str
    tenant: str
    space: str
    page_id: str
    ordinal: int
    title: str
    section: str
    breadcrumb: tuple[str, ...]
    text: str
    url: str
    readers: Readers
    source_type: str
    source_id: str
    document_page: int | None = None
    updated_at: datetime | None = None
    labels: tuple[str, ...] = ()
    updated_by: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for, and within which bounds.

    ``vector`` is the unit-length embedding of ``text``, or None for keyword search alone.
    ``tokens`` are the unit-length vectors of its tokens, for an index that compares those too.
    ``spaces`` limits the search (None: all). ``excluded_pages`` are left out of the search and is
    an argument for evaluation only (the withheld run).
    """

    text: str
    tenant: str
    vector: Vectors | None = field(default=None, compare=False, repr=False)
    spaces: frozenset[str] | None = None
    excluded_pages: frozenset[str] = frozenset()
    tokens: Vectors | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that was found, with the index's raw signals by name.

    ``score`` orders passages within one search (higher is better) and means nothing across
    indexes. Signals every index gives where it has them: ``keyword`` (BM25, higher is better),
    ``vector`` (cosine), ``keyword_rank`` and ``vector_rank`` (from 1), and for the best ``pairs``:
    the share of the question's word pairs that the chunk holds. One that compares tokens
    gives ``tokens``: how near, on average, each token of the question has one in the chunk.
    """

    chunk: Chunk
    score: float
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What an index was built with; a difference makes its vectors meaningless."""

    embedder: str
    dimensions: int
    schema: int


@dataclass(frozen=True, slots=True)
class SpaceSummary:
    """What an index holds of a space; ``source_type`` is that of its chunks, "" without any."""

    space: str
    pages: int
    chunks: int
    source_type: str


@dataclass(frozen=True, slots=True)
class PageSummary:
    """What an index tells of a page without its text; ``title`` is the id of one without text."""

    space: str
    id: str
    title: str
    url: str
    readers: Readers
    chunks: int
    source_type: str
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """A verbatim quote: ``chunk.text`` contains ``quote`` byte for byte.

    ``score`` says how well it answers, among the quotes of one answer; 0 where nothing ranks them.
    """

    chunk_id: str
    quote: str
    score: float = 0.0


PartKind = Literal["paragraph", "step", "table", "code"]
"""What form a part of an answer has."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of an answer and the quotes that support it; never without one.

    ``more`` says in our own words what of the page is left out there: it is no quote.
    """

    text: str
    citations: tuple[Citation, ...]
    kind: PartKind = "paragraph"
    more: str = ""


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """What a content filter said of one category, on the way in or out."""

    direction: Literal["input", "output"]
    category: str
    filtered: bool
    severity: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to a model, as recorded. ``cost_micro_usd`` is None where no price is known."""

    purpose: str
    model: str
    prompt: str
    input_tokens: int
    output_tokens: int
    duration_ms: float
    cost_micro_usd: int | None = None
    finish_reason: str = "stop"
    attempts: int = 1
    repaired: bool = False
    filters: tuple[FilterVerdict, ...] = ()


@dataclass(frozen=True, slots=True)
class EmbeddingUse:
    """What embedding took or would take. ``cost_micro_usd`` is None where no price is known.

    ``cut`` counts texts that were longer than the model sees, and lost their end.
    """

    tokens: int = 0
    requests: int = 0
    cost_micro_usd: int | None = None
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of the conversation.

    ``exchange`` is the id of the question and answer that it belongs to, "" where that is not
    known. ``own``: whoever asks now wrote that question.
    """

    role: Literal["user", "assistant"]
    text: str
    exchange: str = ""
    own: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """What the pages say to a question; ``claims`` is empty when they say nothing.

    ``features`` are named signals of retrieval and answer for the gate (rag.answer.confidence).
    ``refusal`` holds the model's or its filter's words when it declined; ``reading`` says how an
    ambiguous question was understood; ``missing`` what of the question the pages do not say.
    """

    question: str
    claims: tuple[Claim, ...]
    passages: tuple[Passage, ...]
    features: Mapping[str, float]
    composer: Literal["extractive", "model", "none"]
    calls: tuple[ModelCall, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    refusal: str | None = None
    dropped_claims: int = 0
    reading: str | None = None
    missing: str | None = None


def minimal_readers(readers: Iterable[frozenset[Principal]]) -> list[frozenset[Principal]]:
    """Return the fewest of these sets that ask the same, in one order whatever order they had.

    Who is in a set is in every larger one, so that those ask nothing more. A set without anybody
    leaves nothing but itself.
    """
    kept: list[frozenset[Principal]] = []
    for names in sorted(set(readers), key=lambda names: (len(names), sorted(names))):
        if not any(smaller <= names for smaller in kept):
            kept.append(names)
    return kept


@dataclass(frozen=True, slots=True)
class AccessScope:
    """Chunks of one tenant and space that the same people may read."""

    id: int
    tenant: str
    space: str
    readers: Readers


def may_read(readers: Readers, principals: frozenset[Principal]) -> bool:
    """Tell whether every set holds one of the principals; no sets at all means nobody."""
    return bool(readers) and all(not names.isdisjoint(principals) for names in readers)


def permitted_scopes(
    scopes: Iterable[AccessScope], question: Question, principals: frozenset[Principal]
) -> list[int]:
    """Return the ids of the scopes that a question may look into, for these principals."""
    return [
        scope.id
        for scope in scopes
        if scope.tenant == question.tenant
        and (question.spaces is None or scope.space in question.spaces)
        and may_read(scope.readers, principals)
    ]
