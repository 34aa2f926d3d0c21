"""Frozen value types of retrieval and answering, the access rules for chunks, and `BoundedDict`.

``Readers`` are sets of principals; a reader needs a principal in every set. The rules fail
closed: failing one set hides the chunk, and no sets at all mean that nobody may read it.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Literal, NewType, TypeVar

import numpy as np
from numpy.typing import NDArray

from rag.parts import Block, Omission, Translation, parts_text

Principal = NewType("Principal", str)
"""A user or group that may read: ``everyone``, ``user:ID`` or ``group:ID``."""

EVERYONE = Principal("everyone")

ANSWERS_SPACE = "answers"
"""The space of the answers that people wrote and reviewed."""

ANSWER_SOURCE = "answer"
"""The source type of the chunks in that space."""

STANDARD_LABEL = "standard"
"""The label of answers there that are given before all pages; their other labels are spaces."""

Readers = tuple[frozenset[Principal], ...]
"""Sets that must *each* contain one of the asker's principals; an empty tuple means nobody."""

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), float32, each row of unit length."""


TokenSigns = NDArray[np.uint8]
"""Shape (tokens, dimensions / 8): the signs of a text's token vectors, eight per byte."""


@dataclass(frozen=True, slots=True)
class Page:
    """An indexed page without its chunks, identified by ``(tenant, space, id)``.

    ``version`` is a fingerprint of everything that shapes its chunks: a page whose version is
    unchanged need not be indexed again.
    """

    tenant: str
    space: str
    id: str
    version: str
    readers: Readers


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage-sized piece of a page; quotes must match ``text`` byte for byte.

    ``id`` is unique in the index and made of ``[A-Za-z0-9_-]`` only. ``breadcrumb`` is
    space, ancestors, title and headings, outermost first: embedded and matched, never quoted.
    ``section`` is the innermost heading or "". ``document_page`` counts from 1 in paged
    documents (PDF), else None. ``source_type`` is the kind of source ("folder", "confluence",
    "upload", "answer"), ``source_id`` the document in that source that the text came from.
    ``updated_by`` is the name of the last editor, "" if unknown.
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

    @property
    def trail(self) -> tuple[str, ...]:
        """The breadcrumb without an answer's other wordings, whose premises may be wrong."""
        if self.source_type != ANSWER_SOURCE or self.title not in self.breadcrumb:
            return self.breadcrumb
        return self.breadcrumb[:1] + self.breadcrumb[self.breadcrumb.index(self.title) :]


@dataclass(frozen=True, slots=True)
class Question:
    """A search query and its filters.

    ``vector`` is the unit-length embedding of ``text``, or None for keyword search alone.
    ``tokens`` are the unit-length vectors of its tokens, for an index that compares those too.
    ``spaces`` and ``source_type`` limit the search to chunks that have one of these spaces, and
    this source type (None: all), ``label`` to pages that have it (case-insensitive),
    ``changed_since`` to those known to have changed then or later. ``excluded_pages`` are left out
    of the search; used by evaluation only (the withheld run).
    """

    text: str
    tenant: str
    vector: Vectors | None = field(default=None, compare=False, repr=False)
    spaces: frozenset[str] | None = None
    source_type: str | None = None
    excluded_pages: frozenset[str] = frozenset()
    tokens: Vectors | None = field(default=None, compare=False, repr=False)
    label: str | None = None
    changed_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A search result: a chunk with the index's raw signals by name.

    ``score`` orders passages within one search (higher is better) and can't be compared across
    indexes. Signals, each if available: ``keyword`` (BM25, higher is better), ``vector``
    (cosine), ``keyword_rank`` and ``vector_rank`` (from 1); for the best passages ``pairs``, the
    share of the question's word pairs that the chunk contains; from an index that compares
    tokens ``tokens``, the mean similarity of each question token to the nearest one in the chunk.
    A passage that only a model's own search found has but ``planned``, its rank there (from 1).
    """

    chunk: Chunk
    score: float
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The embedder and schema of an index; vectors of different fingerprints can't be compared."""

    embedder: str
    dimensions: int
    schema: int


@dataclass(frozen=True, slots=True)
class SpaceSummary:
    """The counts of a space in the index; ``source_type`` is that of its chunks, "" if none."""

    space: str
    pages: int
    chunks: int
    source_type: str


@dataclass(frozen=True, slots=True)
class PageSummary:
    """An indexed page without its text; ``title`` is the page id if the page has no text."""

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

    ``score`` ranks the quotes of one answer by how well they answer; 0 if they are not ranked.
    """

    chunk_id: str
    quote: str
    score: float = 0.0


PartKind = Literal["paragraph", "step", "table", "code"]
"""The form in which a composer gives one claim."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of an answer and the quotes that support it, at least one.

    The ``blocks`` name no sources: those are ``citations``. A "step" is one paragraph.
    ``omission`` is what is left out of the page below it.
    """

    blocks: tuple[Block, ...]
    citations: tuple[Citation, ...]
    kind: PartKind = "paragraph"
    omission: Omission | None = None

    @property
    def text(self) -> str:
        """The blocks as text."""
        return parts_text(self.blocks)


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """A content filter's verdict on one category, for the input or the output."""

    direction: Literal["input", "output"]
    category: str
    filtered: bool
    severity: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A recorded model call; ``cost_micro_usd`` is None if no price is known.

    ``model`` is the operator's name of the model if it has one, else the server's, as
    ``answered_by`` ("" if not recorded).
    """

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
    answered_by: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddingUse:
    """The actual or estimated use of an embedder; ``cost_micro_usd`` is None without a price.

    ``cut`` counts texts that were truncated because they exceed the model's limit.
    """

    tokens: int = 0
    requests: int = 0
    cost_micro_usd: int | None = None
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of the conversation.

    ``exchange`` is the id of the question and answer that it belongs to, "" if unknown. ``own``
    is True if the current asker wrote that question.
    """

    role: Literal["user", "assistant"]
    text: str
    exchange: str = ""
    own: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer composed from pages; ``claims`` is empty if they do not answer the question.

    ``features`` are named signals of retrieval and answer for the gate (rag.answer.confidence).
    ``refusal`` is the text of the model or its filter if it declined; ``reading`` how an
    ambiguous question was understood; ``missing`` the part that the pages do not answer.
    ``translation`` is set where the question was translated: the claims are quotations then.
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
    translation: Translation | None = None


def minimal_readers(readers: Iterable[frozenset[Principal]]) -> list[frozenset[Principal]]:
    """Return the smallest equivalent list of reader sets, in a canonical order.

    Supersets of another set are dropped: meeting the smaller set already meets them. An empty
    set is a subset of all, so that it alone remains.
    """
    kept: list[frozenset[Principal]] = []
    for names in sorted(set(readers), key=lambda names: (len(names), sorted(names))):
        if not any(smaller <= names for smaller in kept):
            kept.append(names)
    return kept


def encode_readers(readers: Readers) -> str:
    """Return the readers in a canonical encoding, independent of the order of their sets."""
    return json.dumps(sorted(sorted(names) for names in set(readers)))


@lru_cache(maxsize=1024)
def decode_readers(text: str) -> Readers:
    """Return the readers that encode_readers wrote."""
    return tuple(frozenset(Principal(name) for name in names) for names in json.loads(text))


def check_page(
    page: Page,
    chunks: Sequence[Chunk],
    vectors: Vectors | None,
    tokens: Sequence[TokenSigns] | None,
    dimensions: int,
) -> None:
    """Raise ValueError for chunks of another place or readers, or vectors that do not fit."""
    readers = encode_readers(page.readers)
    for chunk in chunks:
        if (chunk.tenant, chunk.space, chunk.page_id) != (page.tenant, page.space, page.id):
            raise ValueError(f"Chunk {chunk.id!r} does not belong to page {page.id!r}.")
        if encode_readers(chunk.readers) != readers:
            raise ValueError(f"Chunk {chunk.id!r} has other readers than its page {page.id!r}.")
    expected = (len(chunks), dimensions)
    if vectors is not None and vectors.shape != expected:
        raise ValueError(
            f"Page {page.id!r} needs vectors of shape {expected!r}, not {vectors.shape!r}."
        )
    width = dimensions // 8
    if tokens is not None and [one.shape[1:] for one in tokens] != [(width,)] * len(chunks):
        raise ValueError(f"Page {page.id!r} needs {len(chunks)!r} times tokens of {width!r} bytes.")


@dataclass(frozen=True, slots=True)
class AccessScope:
    """A group of chunks with the same tenant, space and readers."""

    id: int
    tenant: str
    space: str
    readers: Readers


def may_read(readers: Readers, principals: frozenset[Principal]) -> bool:
    """Return whether every set contains one of the principals; False if there are no sets."""
    return bool(readers) and all(not names.isdisjoint(principals) for names in readers)


def permitted_scopes(
    scopes: Iterable[AccessScope], question: Question, principals: frozenset[Principal]
) -> list[int]:
    """Return the ids of the scopes that a question with these principals may search."""
    return [
        scope.id
        for scope in scopes
        if scope.tenant == question.tenant
        and (question.spaces is None or scope.space in question.spaces)
        and may_read(scope.readers, principals)
    ]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check of a service; ``detail`` is the outcome, with the remedy.

    ``works`` None: it fails, but questions, or many of them, are answered without it. ``name`` is
    "" for the service itself.
    """

    name: str
    works: bool | None
    detail: str


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class BoundedDict(OrderedDict[_Key, _Value]):
    """A dictionary of at most ``most`` entries; beyond that, the one set longest ago is dropped.

    Setting a key again makes it the newest; reading it does not.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._most:
            self.popitem(last=False)
