"""How near a question's tokens come to those of a chunk (late interaction, MaxSim). Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.types import TokenSigns, Vectors


def closeness(question: Vectors, chunks: Sequence[TokenSigns]) -> list[float]:
    """Return for each chunk the mean, over the question's tokens, of the nearest token's cosine.

    A chunk's tokens are known by their signs alone, so the cosines are estimates: good enough to
    order passages, and about a fifth lower than the true ones.

    Args:
        question: Unit-length token vectors, shape (tokens, dimensions); at least one.
        chunks: Signs of each chunk's tokens; at least one token each.
    """
    signs = _signs(np.concatenate(chunks))
    cosines = np.vecdot(question[:, None, :], signs[None, :, :]) / np.sqrt(question.shape[1])
    starts = np.cumsum([0, *(len(chunk) for chunk in chunks[:-1])])
    nearest = np.maximum.reduceat(cosines, starts, axis=1)
    return [float(mean) for mean in nearest.mean(axis=0)]


def _signs(packed: TokenSigns) -> NDArray[np.float32]:
    return np.unpackbits(packed, axis=1).astype(np.float32) * 2 - 1
