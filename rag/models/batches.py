"""Which texts are sent together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

MOST_TEXTS = 64
MOST_TOKENS = 250_000
"""Of a request, below the 300,000 that OpenAI takes."""


def batches(
    texts: Sequence[str], count_tokens: Callable[[str], int], most_texts: int = MOST_TEXTS
) -> Iterator[Sequence[str]]:
    """Cut a list into runs that one request takes; a text that is too much alone goes alone."""
    batch: list[str] = []
    total = 0
    for text in texts:
        tokens = count_tokens(text)
        if batch and (len(batch) == most_texts or total + tokens > MOST_TOKENS):
            yield batch
            batch, total = [], 0
        batch.append(text)
        total += tokens
    if batch:
        yield batch
