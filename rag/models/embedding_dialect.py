"""How a server wants to be asked for vectors, learned from its refusals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from rag.models.dialect import Rejection

Format = Literal["base64", "float"]

_TOO_LONG = ("context length", "too long", "too large", "maximum", "exceed", "less than", "tokens")


@dataclass(frozen=True, slots=True)
class EmbeddingDialect:
    """One way to ask. ``dimensions`` None leaves the length of a vector to the model."""

    format: Format
    dimensions: int | None = None

    def after(self, rejection: Rejection) -> EmbeddingDialect | None:
        """Return what to try next, or None when asking otherwise would not help."""
        about = f"{rejection.param} {rejection.message}".lower()
        if self.format == "base64" and ("encoding_format" in about or "base64" in about):
            return replace(self, format="float")
        if self.dimensions is not None and "dimension" in about:
            return replace(self, dimensions=None)
        return None


def says_too_long(rejection: Rejection) -> bool:
    """Whether a server refuses a text for its length."""
    about = f"{rejection.code} {rejection.message}".lower().replace("_", " ")
    return any(words in about for words in _TOO_LONG)
