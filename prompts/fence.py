"""Marks around text written by others, which that text cannot contain."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence

_CODE_LENGTH = 16


def unforgeable_code(inputs: Mapping[str, str | Sequence[str]]) -> str:
    """Return 16 hexadecimal digits that occur in none of the inputs.

    Made from the inputs themselves, so that the same question gives the same prompt and nobody
    who writes one of them can know the code, which also depends on all the others.
    """
    texts = tuple(itertools.chain.from_iterable(map(_blocks, inputs.values())))
    return next(code for code in _codes(texts) if not any(code in text for text in texts))


def fenced(name: str, value: str | Sequence[str], code: str) -> str:
    """Put a text, or each of several, between marks that carry the code."""
    if isinstance(value, str):
        return _fence(name, value, code)
    blocks = [_fence(f"{name} {number}", text, code) for number, text in enumerate(value, 1)]
    return "\n".join(blocks) if blocks else _fence(name, "(none)", code)


def _fence(label: str, text: str, code: str) -> str:
    return f"<<{label} {code}>>\n{text}\n<</{label} {code}>>"


def _blocks(value: str | Sequence[str]) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value


def _codes(texts: Sequence[str]) -> Iterator[str]:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    for attempt in itertools.count():
        seed = digest.digest() + attempt.to_bytes(8, "big")
        yield hashlib.sha256(seed).hexdigest()[:_CODE_LENGTH]
