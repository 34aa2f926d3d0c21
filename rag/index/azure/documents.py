"""Convert chunks, pages and index facts to index documents, and back; pure."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from rag.index.azure.schema import EMBEDDING, reader_fields
from rag.types import (
    Chunk,
    Fingerprint,
    Page,
    PageSummary,
    Principal,
    Readers,
    Vectors,
    decode_readers,
    encode_readers,
)

Document = dict[str, Any]
StoredDocument = Mapping[str, Any]

CHUNK, PAGE, FACTS, REVISION = "chunk", "page", "facts", "revision"

FACTS_ID = "facts="
"""Key of the facts document. Chunk ids never contain ``=``, so keys with it can't collide."""

CHUNK_FIELDS = (
    "id", "tenant", "space", "page_id", "ordinal", "page_title", "section_title", "breadcrumb",
    "content", "url", "readers", "source_type", "source_id", "document_page", "updated_at",
    "labels", "updated_by",
)  # fmt: skip
"""The fields that chunk_of reads."""

PAGE_FIELDS = (
    "tenant", "space", "page_id", "version", "readers", "page_title", "url", "chunks",
    "source_type", "updated_at",
)  # fmt: skip
"""The fields that page_of and summary_of read."""

REVISION_FIELDS = ("id", "space", "version", "updated_at")
"""The fields that revision_token reads."""

_DIGITS = 8
"""Exceeds the precision of a float32 in a unit vector; every digit is sent as text."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The metadata of an index.

    ``index`` is its own name, which identifies it behind an alias. ``dimensions`` is the length of
    its vectors, 0 while it has no vector field; ``embedder`` is "" until the first vectors.
    ``since`` is when it became the current version, in ISO 8601.
    """

    index: str
    embedder: str = ""
    dimensions: int = 0
    schema: int = 0
    complete: bool = True
    since: str = ""

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(self.embedder, self.dimensions, self.schema)


def page_key(page: Page) -> str:
    """Return the key of a page's own document."""
    place = json.dumps([page.tenant, page.space, page.id]).encode()
    return f"page={hashlib.sha256(place).hexdigest()[:40]}"


def chunk_documents(page: Page, chunks: Sequence[Chunk], vectors: Vectors | None) -> list[Document]:
    """Return the documents of a page's chunks, each with its own readers and vector."""
    permission = permission_fields(page.readers)
    documents = [_chunk_document(chunk, page.version) | permission for chunk in chunks]
    if vectors is not None:
        rounded = np.round(vectors.astype(np.float64), _DIGITS).tolist()
        for document, vector in zip(documents, rounded, strict=True):
            document |= {EMBEDDING: vector, "embedded": True}
    return documents


def page_document(page: Page, chunks: Sequence[Chunk]) -> Document:
    """Return the page's own document, which marks the page as completely written."""
    first = chunks[0] if chunks else None
    return {
        "id": page_key(page),
        "kind": PAGE,
        "tenant": page.tenant,
        "space": page.space,
        "page_id": page.id,
        "version": page.version,
        "page_title": first.title if first else page.id,
        "url": first.url if first else "",
        "source_type": first.source_type if first else "",
        "updated_at": _moment(first.updated_at) if first else None,
        "chunks": len(chunks),
        **permission_fields(page.readers),
    }


def permission_fields(readers: Readers) -> Document:
    """Return the readers, both exactly and as filterable fields."""
    return {"readers": encode_readers(readers), **reader_fields(readers)}


def facts_document(facts: Facts) -> Document:
    """Return the single document of an index's facts."""
    return {"id": FACTS_ID, "kind": FACTS, "version": json.dumps(asdict(facts))}


def revision_document(tenant: str, space: str) -> Document:
    """Return a space's own document with a new revision, which each change of a page writes.

    Its revision is random: writers side by side never write the same one.
    """
    place = json.dumps([tenant, space]).encode()
    return {
        "id": f"revision={hashlib.sha256(place).hexdigest()[:40]}",
        "kind": REVISION,
        "tenant": tenant,
        "space": space,
        "version": uuid.uuid4().hex,
        "updated_at": _moment(datetime.now(UTC)),
        **permission_fields(()),
    }


def revision_token(
    index: str,
    documents: Sequence[StoredDocument],
    readers: frozenset[Principal],
    settled_before: datetime,
) -> str | None:
    """Return the token of the revisions of some spaces and the readers who search them.

    None without any, as in an index that an older version filled, and while one is of
    ``settled_before`` or later: a search may not see yet what was written then.
    """
    changed = [_read_moment(document["updated_at"]) for document in documents]
    if not changed or any(at is None or at >= settled_before for at in changed):
        return None
    revisions = sorted((document["space"], document["version"]) for document in documents)
    token = json.dumps([index, revisions, sorted(readers)])
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def chunk_of(document: StoredDocument) -> Chunk:
    """Return the chunk of a document read with CHUNK_FIELDS."""
    return Chunk(
        id=document["id"],
        tenant=document["tenant"],
        space=document["space"],
        page_id=document["page_id"],
        ordinal=document["ordinal"],
        title=document["page_title"],
        section=document["section_title"],
        breadcrumb=tuple(document["breadcrumb"]),
        text=document["content"],
        url=document["url"],
        readers=decode_readers(document["readers"]),
        source_type=document["source_type"],
        source_id=document["source_id"],
        document_page=document["document_page"],
        updated_at=_read_moment(document["updated_at"]),
        labels=tuple(document["labels"]),
        updated_by=document["updated_by"],
    )


def page_of(document: StoredDocument) -> Page:
    """Return the page of a document read with PAGE_FIELDS."""
    return Page(
        tenant=document["tenant"],
        space=document["space"],
        id=document["page_id"],
        version=document["version"],
        readers=decode_readers(document["readers"]),
    )


def summary_of(document: StoredDocument) -> PageSummary:
    """Return the summary of a page, from a document read with PAGE_FIELDS."""
    return PageSummary(
        space=document["space"],
        id=document["page_id"],
        title=document["page_title"],
        url=document["url"],
        readers=decode_readers(document["readers"]),
        chunks=document["chunks"],
        source_type=document["source_type"],
        updated_at=_read_moment(document["updated_at"]),
    )


def facts_of(document: StoredDocument) -> Facts:
    """Return the facts stored in a facts document."""
    return Facts(**json.loads(document["version"]))


def _chunk_document(chunk: Chunk, version: str) -> Document:
    return {
        "id": chunk.id,
        "kind": CHUNK,
        "tenant": chunk.tenant,
        "space": chunk.space,
        "page_id": chunk.page_id,
        "version": version,
        "page_title": chunk.title,
        "section_title": chunk.section,
        "breadcrumb": list(chunk.breadcrumb),
        "content": chunk.text,
        "url": chunk.url,
        "source_type": chunk.source_type,
        "source_id": chunk.source_id,
        "ordinal": chunk.ordinal,
        "document_page": chunk.document_page,
        "updated_at": _moment(chunk.updated_at),
        "updated_by": chunk.updated_by,
        "labels": list(chunk.labels),
        "embedded": False,
    }


def _moment(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else None


def _read_moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
