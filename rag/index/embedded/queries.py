"""Search the embedded index and read its chunks, each time within one snapshot."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.index.embedded.schema import (
    COLUMNS,
    FINDABLE,
    TABLES,
    chunk_of,
    encode_numbers,
)
from rag.index.embedded.terms import Terms
from rag.index.embedded.vectors import VectorCache, read_facts, token_similarity
from rag.index.hybrid_search import (
    RERANKED,
    Candidate,
    FusionWeights,
    Ranked,
    fts5_match_any,
    fuse,
    limit_per_page,
    query_terms,
    rerank,
    shared_word_pairs,
)
from rag.ports import Vocabulary
from rag.text.spelling import Spelling
from rag.text.words import content_words
from rag.types import (
    BoundedDict,
    Chunk,
    Fingerprint,
    Page,
    Passage,
    Principal,
    Question,
    TokenSigns,
    decode_readers,
    may_read,
    permitted_scopes,
)

CANDIDATES = 100
"""Number of candidates from each search."""

_COUNTS_KEPT = 256
"""Most counts of findable chunks kept: one a revision, set of scopes and filters."""

_KEYWORD_SEARCH = f"""
SELECT words.rowid, -bm25(words, 2.0, 1.0, 1.0) AS score
FROM words JOIN places ON places.chunk = words.rowid
WHERE words MATCH :words AND {FINDABLE}
ORDER BY score DESC, words.rowid
LIMIT :limit
"""  # noqa: S608 - a constant of this module


@dataclass(frozen=True, slots=True)
class _Findable:
    """What a question with some principals may find; excluded are pages, by number."""

    scopes: Sequence[int]
    excluded: Sequence[int]
    source_type: str | None

    @property
    def parameters(self) -> Mapping[str, str | None]:
        """The parameters of ``FINDABLE``."""
        return {
            "scopes": encode_numbers(self.scopes),
            "excluded": encode_numbers(self.excluded),
            "source_type": self.source_type,
        }


FILTERED_OUT = """
SELECT number FROM pages WHERE number NOT IN (
    SELECT places.page FROM chunks JOIN places ON places.chunk = chunks.number
    WHERE (:label IS NULL OR chunks.labels IN (
        SELECT labels FROM (SELECT DISTINCT labels FROM chunks), json_each(labels)
        WHERE lower(value) = lower(:label)))
    AND (:since IS NULL OR datetime(chunks.updated_at) >= datetime(:since))
)
"""
"""The pages of which no chunk has the label, or has been known to change since.

Read from the index chunks_by_label alone: the rows of chunks are long, for they hold the text.
"""


class Reader:
    """Reads over one connection; not to be shared between threads. Called inside a snapshot."""

    def __init__(
        self, connection: sqlite3.Connection, dimensions: int, weights: FusionWeights
    ) -> None:
        self._connection = connection
        self._weights = weights
        self._memory = VectorCache(dimensions)
        self._terms = Terms(connection)
        self._counts = BoundedDict[bytes, int](_COUNTS_KEPT)

    def search(
        self, question: Question, principals: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        found = query_terms(question.text)
        if not found or k < 1:
            return ()
        self.refresh()
        findable = self._findable(question, principals)
        by_word = self._by_word(fts5_match_any(found), findable)
        near = self._near(question, findable)
        ranked = fuse(self._candidates(question, by_word, near), self._weights)
        ranked = limit_per_page(self._refined(question, ranked))[:k]
        chunks = self._chunks([place.candidate.chunk for place in ranked])
        return tuple(_passage(chunks[place.candidate.chunk], place) for place in ranked)

    def refresh(self) -> None:
        """Update the in-memory state to the current snapshot."""
        self._memory.refresh(self._connection)

    def page(
        self, tenant: str, space: str, page_id: str, principals: frozenset[Principal]
    ) -> tuple[Chunk, ...]:
        rows = self._connection.execute(
            f"SELECT {COLUMNS} FROM {TABLES} WHERE places.page = "  # noqa: S608
            "(SELECT number FROM pages WHERE tenant = ? AND space = ? AND id = ?) "
            "ORDER BY chunks.ordinal",
            (tenant, space, page_id),
        )
        chunks = (chunk_of(row) for row in rows)
        return tuple(chunk for chunk in chunks if may_read(chunk.readers, principals))

    def chunks(
        self, tenant: str, ids: Collection[str], principals: frozenset[Principal]
    ) -> dict[str, Chunk]:
        rows = self._connection.execute(
            f"SELECT {COLUMNS} FROM {TABLES} "  # noqa: S608
            "WHERE chunks.id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(ids)),),
        )
        found = [chunk_of(row) for row in rows]
        return {
            chunk.id: chunk
            for chunk in found
            if chunk.tenant == tenant and may_read(chunk.readers, principals)
        }

    def pages(self, tenant: str, space: str) -> dict[str, Page]:
        rows = self._connection.execute(
            "SELECT pages.id, pages.version, scopes.readers FROM pages "
            "JOIN scopes ON scopes.id = pages.scope "
            "WHERE pages.tenant = ? AND pages.space = ? ORDER BY pages.id",
            (tenant, space),
        )
        return {
            page_id: Page(tenant, space, page_id, version, decode_readers(readers))
            for page_id, version, readers in rows
        }

    def spaces(self, tenant: str) -> dict[str, int]:
        rows = self._connection.execute(
            "SELECT scopes.space, count(*) FROM places JOIN scopes ON scopes.id = places.scope "
            "WHERE scopes.tenant = ? GROUP BY scopes.space ORDER BY scopes.space",
            (tenant,),
        )
        return dict(rows.fetchall())

    def fingerprint(self, schema: int) -> Fingerprint | None:
        if not self._connection.execute("SELECT EXISTS (SELECT 1 FROM pages)").fetchone()[0]:
            return None
        facts = read_facts(self._connection)
        return Fingerprint(str(facts["embedder"]), int(facts["dimensions"]), schema)

    def revision(
        self, tenant: str, spaces: frozenset[str] | None, principals: frozenset[Principal]
    ) -> str:
        """Return a token of the scopes that may be searched and the revisions of their spaces.

        Readers of the same scopes share it, whoever they are: they find the same.
        """
        self.refresh()
        question = Question("", tenant, spaces=spaces)
        scopes = permitted_scopes(self._memory.scopes.values(), question, principals)
        rows = self._connection.execute(
            "SELECT space, revision FROM space_revisions WHERE tenant = ? ORDER BY space", (tenant,)
        )
        searched = [row for row in rows if spaces is None or row[0] in spaces]
        token = json.dumps([tenant, sorted(scopes), searched])
        return hashlib.sha256(token.encode()).hexdigest()

    def vocabulary(
        self, question: Question, principals: frozenset[Principal], words: Sequence[str]
    ) -> Vocabulary:
        self.refresh()
        findable = self._findable(question, principals).parameters
        frequencies = {word: self._frequency(word, findable) for word in words}
        return Vocabulary(self._findable_chunks(findable), frequencies)

    def _findable_chunks(self, findable: Mapping[str, str | None]) -> int:
        """Return how many chunks may be found, counted once a revision, set of scopes and filters.

        SQLite looks at every chunk to count them, which took longer than the words' frequencies.
        """
        # A digest, because a filter may leave out the numbers of most pages.
        asked = json.dumps([self._memory.revision, *findable.values()])
        key = hashlib.blake2b(asked.encode(), digest_size=16).digest()
        count = self._counts.get(key)
        if count is None:
            row = self._connection.execute(
                f"SELECT count(*) FROM places WHERE {FINDABLE}",  # noqa: S608
                findable,
            ).fetchone()
            count = self._counts[key] = int(row[0])
        return count

    def _findable(self, question: Question, principals: frozenset[Principal]) -> _Findable:
        scopes = permitted_scopes(self._memory.scopes.values(), question, principals)
        return _Findable(scopes, self._excluded(question), question.source_type)

    def similar_words(
        self, question: Question, principals: frozenset[Principal], words: Sequence[str]
    ) -> dict[str, tuple[Spelling, ...]]:
        self.refresh()
        findable = self._findable(question, principals).parameters
        return self._terms.similar(words, content_words(question.text), findable)

    def name_in(
        self, question: Question, principals: frozenset[Principal], words: Sequence[str]
    ) -> frozenset[str]:
        self.refresh()
        return self._terms.name_in(words, self._findable(question, principals).parameters)

    def _excluded(self, question: Question) -> list[int]:
        """Return the numbers of the pages that the question's filters leave out."""
        numbers = self._filtered_out(question)
        for page_id in question.excluded_pages:
            numbers += (
                row[0]
                for row in self._connection.execute(
                    "SELECT number FROM pages WHERE tenant = ? AND id = ?",
                    (question.tenant, page_id),
                )
            )
        return numbers

    def _filtered_out(self, question: Question) -> list[int]:
        if question.label is None and question.changed_since is None:
            return []
        since = question.changed_since and question.changed_since.isoformat()
        rows = self._connection.execute(FILTERED_OUT, {"label": question.label, "since": since})
        return [number for (number,) in rows]

    def _by_word(self, expression: str, findable: _Findable) -> list[tuple[int, float]]:
        return self._connection.execute(
            _KEYWORD_SEARCH, {**findable.parameters, "words": expression, "limit": CANDIDATES}
        ).fetchall()

    def _near(self, question: Question, findable: _Findable) -> list[tuple[int, float]]:
        if question.vector is None:
            return []
        return self._memory.vectors.nearest(
            question.vector,
            findable.scopes,
            findable.excluded,
            CANDIDATES,
            among=self._of_source_type(findable.source_type),
        )

    def _of_source_type(self, source_type: str | None) -> Sequence[int] | None:
        """Return the numbers of all chunks of a source type; None for None, which is all."""
        if source_type is None:
            return None
        rows = self._connection.execute(
            "SELECT number FROM chunks WHERE source_type = ?", (source_type,)
        )
        return [number for (number,) in rows]

    def _candidates(
        self,
        question: Question,
        by_word: Sequence[tuple[int, float]],
        near: Sequence[tuple[int, float]],
    ) -> list[Candidate]:
        keyword = dict(by_word)
        word_rank = {chunk: rank for rank, (chunk, _) in enumerate(by_word, start=1)}
        near_rank = {chunk: rank for rank, (chunk, _) in enumerate(near, start=1)}
        cosine = dict(near)
        if question.vector is not None:
            cosine |= self._memory.vectors.cosines(question.vector, keyword.keys() - cosine.keys())
        found = encode_numbers(dict.fromkeys((*keyword, *cosine)))
        rows = self._connection.execute(
            "SELECT chunks.number, chunks.id, places.page, chunks.document_page FROM places "
            "JOIN chunks ON chunks.number = places.chunk "
            "WHERE places.chunk IN (SELECT value FROM json_each(?))",
            (found,),
        )
        return [
            Candidate(
                chunk=chunk,
                id=chunk_id,
                page=(page, document_page),
                keyword=keyword.get(chunk),
                vector=cosine.get(chunk),
                keyword_rank=word_rank.get(chunk),
                vector_rank=near_rank.get(chunk),
            )
            for chunk, chunk_id, page, document_page in rows
        ]

    def _refined(self, question: Question, ranked: list[Ranked]) -> list[Ranked]:
        best, others = ranked[:RERANKED], ranked[RERANKED:]
        numbers = [place.candidate.chunk for place in best]
        near = self._closeness(question, numbers)
        pairs = shared_word_pairs(question.text, self._texts(numbers))
        if not near and not pairs:
            return ranked
        return rerank(best, near, pairs, self._weights) + others

    def _closeness(self, question: Question, numbers: Sequence[int]) -> dict[int, float]:
        if question.tokens is None or len(question.tokens) == 0 or not self._memory.dimensions:
            return {}
        signs = self._signs(numbers)
        if not signs:
            return {}
        return dict(
            zip(signs, token_similarity(question.tokens, list(signs.values())), strict=True)
        )

    def _texts(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the keyword-searchable text of chunks, by number."""
        rows = self._connection.execute(
            "SELECT number, breadcrumb || char(10) || text FROM chunks "
            "WHERE number IN (SELECT value FROM json_each(?))",
            (encode_numbers(numbers),),
        )
        return dict(rows.fetchall())

    def _signs(self, numbers: Sequence[int]) -> dict[int, TokenSigns]:
        rows = self._connection.execute(
            "SELECT chunk, signs FROM tokens WHERE chunk IN (SELECT value FROM json_each(?))",
            (encode_numbers(numbers),),
        )
        width = self._memory.dimensions // 8
        return {
            chunk: np.frombuffer(signs, dtype=np.uint8).reshape(-1, width) for chunk, signs in rows
        }

    def _chunks(self, numbers: Sequence[int]) -> dict[int, Chunk]:
        rows = self._connection.execute(
            f"SELECT {COLUMNS}, places.chunk FROM {TABLES} "  # noqa: S608
            "WHERE places.chunk IN (SELECT value FROM json_each(?))",
            (encode_numbers(numbers),),
        )
        return {row[-1]: chunk_of(row) for row in rows}

    def _frequency(self, word: str, findable: Mapping[str, str | None]) -> int:
        (count,) = self._connection.execute(
            "SELECT count(*) FROM words JOIN places ON places.chunk = words.rowid "  # noqa: S608
            f"WHERE words MATCH :words AND {FINDABLE}",
            {**findable, "words": fts5_match_any((word,))},
        ).fetchone()
        return int(count)


def _passage(chunk: Chunk, ranked: Ranked) -> Passage:
    found = ranked.candidate
    signals = {
        "keyword": found.keyword,
        "vector": found.vector,
        "keyword_rank": found.keyword_rank,
        "vector_rank": found.vector_rank,
        "fused": ranked.fused,
        "tokens": ranked.tokens,
        "pairs": ranked.pairs,
    }
    known = {name: float(value) for name, value in signals.items() if value is not None}
    return Passage(chunk=chunk, score=ranked.score, signals=known)
