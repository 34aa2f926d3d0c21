"""Fakes for ingestion: an index in memory, small PDF and Word files."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import docx
from pypdf import PdfReader, PdfWriter

from rag.types import (
    Chunk,
    Fingerprint,
    Page,
    Passage,
    Principal,
    Question,
    Readers,
    TokenSigns,
    Vectors,
)


class MemoryIndex:
    """An index in a dictionary; remembers every change it was asked for."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str, str], tuple[Page, tuple[Chunk, ...], Vectors | None]] = {}
        self.upserts: list[str] = []
        self.changes: list[str] = []
        self.embedder: Fingerprint | None = None

    async def search(
        self, question: Question, readers: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        words = question.text.lower().split()
        found = [
            Passage(chunk, float(sum(word in chunk.text.lower() for word in words)), {})
            for _, chunks, _ in self.stored.values()
            for chunk in chunks
            if chunk.tenant == question.tenant
            and chunk.readers
            and all(needed & readers for needed in chunk.readers)
        ]
        return tuple(sorted((p for p in found if p.score), key=lambda p: -p.score)[:k])

    async def upsert_page(
        self,
        page: Page,
        chunks: Sequence[Chunk],
        vectors: Vectors | None,
        tokens: Sequence[TokenSigns] | None = None,
    ) -> None:
        assert tokens is None
        assert vectors is None or len(vectors) == len(chunks)
        self.stored[page.tenant, page.space, page.id] = (page, tuple(chunks), vectors)
        self.upserts.append(page.id)
        self.changes.append(f"upsert {page.id}")
        if vectors is not None:
            self.embedder = Fingerprint("words@1", vectors.shape[1], 1)

    async def delete_pages(self, tenant: str, space: str, page_ids: Collection[str]) -> int:
        self.changes += [f"delete {page_id}" for page_id in page_ids]
        return sum(self.stored.pop((tenant, space, p), None) is not None for p in page_ids)

    async def set_readers(self, tenant: str, space: str, page_id: str, readers: Readers) -> None:
        page, chunks, vectors = self.stored[tenant, space, page_id]
        self.stored[tenant, space, page_id] = (
            replace(page, readers=readers),
            tuple(replace(chunk, readers=readers) for chunk in chunks),
            vectors,
        )
        self.changes.append(f"readers {page_id}")

    async def pages(self, tenant: str, space: str) -> Mapping[str, Page]:
        return {
            key[2]: page for key, (page, _, _) in self.stored.items() if key[:2] == (tenant, space)
        }

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for (owner, space, _), (_, chunks, _) in self.stored.items():
            if owner == tenant:
                counts[space] = counts.get(space, 0) + len(chunks)
        return counts

    async def fingerprint(self) -> Fingerprint | None:
        return self.embedder

    def chunks(self, page_id: str | None = None) -> list[Chunk]:
        """Return what is stored, of one page or of all, in order of page and place."""
        kept = (
            chunk
            for (_, _, key), (_, chunks, _) in sorted(self.stored.items())
            for chunk in chunks
            if page_id in {None, key}
        )
        return list(kept)


def pdf(*pages: Iterable[str], size: float = 11.0, headings: Collection[str] = ()) -> bytes:
    """Return a PDF with the given lines on its pages; ``headings`` are printed larger."""
    drawn = []
    for lines in pages:
        shown = [
            f"/F1 {size * 1.6 if line in headings else size:.1f} Tf "
            f"1 0 0 1 72 {720 - 15 * row} Tm ({_escaped(line)}) Tj"
            for row, line in enumerate(lines)
            if line
        ]
        drawn.append(f"BT {' '.join(shown)} ET")
    return pdf_of(drawn)


def pdf_of(drawn: Sequence[str]) -> bytes:
    """Return a PDF of pages as they are drawn; fonts are /F1 and the bold /F2."""
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(drawn)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(drawn)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
    ]
    for number, text in enumerate(drawn):
        content = text.encode("cp1252")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {6 + 2 * number} 0 R "
            f"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    return _file(objects)


def encrypted(plain: bytes) -> bytes:
    """Return a PDF that asks for a password before it shows what the plain one does."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(plain)))
    writer.encrypt(user_password="opensesame", algorithm="AES-256")
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def word(*parts: tuple[str, str]) -> bytes:
    """Return a Word file of (style, text) paragraphs."""
    document = docx.Document()
    for style, text in parts:
        document.add_paragraph(text, style=style)
    return saved(document)


def saved(document: docx.document.Document) -> bytes:
    """Return a Word document's bytes."""
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _file(objects: Sequence[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
    return bytes(out)
