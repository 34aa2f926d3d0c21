"""Passages made by hand, for tests of what is done with them."""

from __future__ import annotations

from collections.abc import Mapping

from rag.types import EVERYONE, Chunk, Passage, Readers


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
