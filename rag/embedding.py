"""A question or a page's texts through whatever embedder there is, tokens included where it can."""

from __future__ import annotations

from collections.abc import Sequence

from rag.ports import Embedder, EmbedsTokens, Index, KeepsTokens
from rag.types import Chunk, Page, TokenSigns, Vectors


async def embed_question(
    embedder: Embedder | None, text: str
) -> tuple[Vectors | None, Vectors | None]:
    """Return a question's vector and its tokens' vectors; None for what can't be had."""
    if embedder is None:
        return None, None
    if isinstance(embedder, EmbedsTokens):
        return await embedder.embed_query_tokens(text)
    return await embedder.embed_query(text), None


async def embed_texts(
    embedder: Embedder, texts: Sequence[str]
) -> tuple[Vectors, Sequence[TokenSigns] | None]:
    """Return the texts' vectors, and their tokens from the same run where the embedder can."""
    if isinstance(embedder, EmbedsTokens):
        return await embedder.embed_tokens(texts)
    return await embedder.embed(texts), None


async def store_page(
    index: Index,
    page: Page,
    chunks: Sequence[Chunk],
    vectors: Vectors | None,
    tokens: Sequence[TokenSigns] | None,
) -> None:
    """Replace a page, with its tokens where there are some and the index keeps them."""
    if vectors is not None and tokens is not None and isinstance(index, KeepsTokens):
        await index.upsert_page_with_tokens(page, chunks, vectors, tokens)
    else:
        await index.upsert_page(page, chunks, vectors)
