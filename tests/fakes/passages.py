"""Build passages, chunks and pages for tests, and write and search them in an index."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rag.embedding import embedding_text
from rag.ports import Index
from rag.types import EVERYONE, Chunk, Page, Passage, Principal, Question, Readers, Vectors
from tests.fakes.rag_ports import WordEmbedder

ANYONE: Readers = (frozenset({EVERYONE}),)
EMBEDDER = WordEmbedder()
NO_ID = re.compile(r"[^A-Za-z0-9_-]")
"""What a chunk's id is not made of."""


@dataclass(frozen=True)
class Draft:
    """A page on its way into an index; each text is one chunk."""

    id: str
    texts: tuple[str, ...]
    tenant: str = "acme"
    space: str = "it"
    title: str = "Handbook"
    readers: Readers = ANYONE
    version: str = "1"
    document_pages: tuple[int | None, ...] = field(default=())
    source_type: str = "folder"
    labels: tuple[str, ...] = ()
    updated_at: datetime | None = None

    @property
    def page(self) -> Page:
        return Page(self.tenant, self.space, self.id, self.version, self.readers)

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        return tuple(self._chunk(ordinal, text) for ordinal, text in enumerate(self.texts))

    def _chunk(self, ordinal: int, text: str) -> Chunk:
        return Chunk(
            id=NO_ID.sub("_", f"{self.tenant}-{self.space}-{self.id}-{self.version}-{ordinal}"),
            tenant=self.tenant,
            space=self.space,
            page_id=self.id,
            ordinal=ordinal,
            title=self.title,
            section="",
            breadcrumb=(self.space, self.title),
            text=text,
            url=f"https://wiki.example.org/{self.id}",
            readers=self.readers,
            source_type=self.source_type,
            source_id=self.id,
            document_page=self.document_pages[ordinal] if self.document_pages else None,
            labels=self.labels,
            updated_at=self.updated_at,
        )


def draft(page_id: str, *texts: str) -> Draft:
    return Draft(page_id, texts)


async def put(index: Index, *drafts: Draft, vectors: bool = True) -> None:
    for one in drafts:
        texts = [embedding_text(chunk) for chunk in one.chunks]
        await index.upsert_page(
            one.page, one.chunks, await EMBEDDER.embed(texts) if vectors else None
        )


async def ask(
    index: Index,
    text: str,
    *principals: str,
    k: int = 10,
    tenant: str = "acme",
    spaces: frozenset[str] | None = None,
    source_type: str | None = None,
    excluded: frozenset[str] = frozenset(),
    vector: bool = True,
    tokens: Vectors | None = None,
    label: str | None = None,
    changed_since: datetime | None = None,
) -> tuple[Passage, ...]:
    """Search as someone with ``principals``; ``everyone`` is one of them only when named."""
    question = Question(
        text=text,
        tenant=tenant,
        vector=await EMBEDDER.embed_query(text) if vector else None,
        spaces=spaces,
        source_type=source_type,
        excluded_pages=excluded,
        tokens=tokens,
        label=label,
        changed_since=changed_since,
    )
    names = principals or (EVERYONE,)
    return await index.search(question, frozenset(Principal(name) for name in names), k)


def page_ids(passages: tuple[Passage, ...]) -> list[str]:
    return [passage.chunk.page_id for passage in passages]


def passage(
    text: str,
    *,
    page: str = "page.md",
    ordinal: int = 0,
    title: str = "",
    score: float = 1.0,
    signals: Mapping[str, float] | None = None,
    readers: Readers = (frozenset({EVERYONE}),),
) -> Passage:
    """Return a passage of one chunk whose id is made of page and ordinal."""
    chunk = Chunk(
        id=f"{page.replace('.', '-')}-{ordinal}",
        tenant="default",
        space="IT",
        page_id=page,
        ordinal=ordinal,
        title=title,
        section="",
        breadcrumb=("IT", title) if title else ("IT",),
        text=text,
        url=f"/pages/IT/{page}",
        readers=readers,
        source_type="folder",
        source_id=page,
    )
    return Passage(chunk=chunk, score=score, signals=dict(signals or {}))
