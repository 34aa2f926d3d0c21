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
    return [_mean_nearest(question, _signs(chunk)) for chunk in chunks]


def _mean_nearest(question: Vectors, signs: NDArray[np.float32]) -> float:
    """One chunk at a time: what is unpacked stays in the processor's cache."""
    cosines = np.vecdot(question[:, None, :], signs[None, :, :]) / np.sqrt(question.shape[1])
    return float(cosines.max(axis=1).mean())


def _signs(packed: TokenSigns) -> NDArray[np.float32]:
    return np.unpackbits(packed, axis=1).astype(np.float32) * 2 - 1
