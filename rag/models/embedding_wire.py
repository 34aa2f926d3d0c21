"""What embeddings look like on the wire; vectors are taken only when they can be compared."""

from __future__ import annotations

import base64
import binascii

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from rag.types import Vectors


class EmbeddingRow(BaseModel):
    """One vector: numbers, or the bytes of little-endian float32 in base64."""

    index: int
    embedding: list[float] | str


class EmbeddingUsage(BaseModel):
    """Tokens as the server counts them."""

    prompt_tokens: int = Field(0, ge=0)


class EmbeddingReply(BaseModel):
    """One answer of ``/embeddings``; ``model`` is what stands behind an Azure deployment."""

    data: list[EmbeddingRow]
    model: str | None = None
    usage: EmbeddingUsage | None = None


class VectorsInvalid(ValueError):
    """Vectors that cannot be compared; the text says why."""


def read_embeddings(body: bytes) -> EmbeddingReply | None:
    """Parse a response body; None when it is cut, no JSON, or no embeddings."""
    try:
        return EmbeddingReply.model_validate_json(body)
    except ValidationError:
        return None


def vectors_of(reply: EmbeddingReply, texts: int) -> Vectors:
    """Return one vector of unit length a text, in the order of the texts.

    Raises VectorsInvalid for a wrong number of them, vectors of several lengths, numbers that are
    none, and vectors without a direction.
    """
    ordered = sorted(reply.data, key=lambda row: row.index)
    if [row.index for row in ordered] != list(range(texts)):
        raise VectorsInvalid(f"{len(ordered)} vectors came back for {texts} texts")
    rows = [_numbers(row.embedding) for row in ordered]
    if len({row.shape for row in rows}) != 1 or not rows[0].size:
        raise VectorsInvalid("the vectors have different lengths, or none")
    return _unit(np.stack(rows))


def _numbers(embedding: list[float] | str) -> NDArray[np.float64]:
    if not isinstance(embedding, str):
        return np.asarray(embedding, dtype=np.float64)
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(
            np.float64
        )
    except (binascii.Error, ValueError):
        raise VectorsInvalid("a vector is neither numbers nor base64 of float32") from None


def _unit(vectors: NDArray[np.float64]) -> Vectors:
    """Divide each vector by its length, in double precision."""
    if not np.isfinite(vectors).all():
        raise VectorsInvalid("a vector holds something that is no finite number")
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (lengths > 0).all() or not np.isfinite(lengths).all():
        raise VectorsInvalid("a vector is zero, or beyond measure")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
