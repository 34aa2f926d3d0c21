"""Tokenize texts word by word, so that each word is tokenized only once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path

from tokenizers import Tokenizer

WORDS_KEPT = 16_384
"""If there are more, all are forgotten."""

_LONGEST_KEPT = 32
"""Characters; longer words are keys or pasted text, which hardly ever come again."""


class WordTokenizer:
    """A BERT tokenizer that remembers the tokens of words; thread-safe.

    Ingestion counts the tokens of a text before it is embedded, and most words of a text have
    occurred before.
    """

    def __init__(self, file: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._kept: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's tokens, without marks such as [CLS].

        Texts are split only at spaces and line breaks, which no token spans. Other white space may
        be a control character to the tokenizer, which joins what is around it.
        """
        words = text.replace("\n", " ").split(" ")
        kept = [self._kept.get(word) for word in words]
        missing = dict.fromkeys(w for w, ids in zip(words, kept, strict=True) if ids is None)
        new = self._tokenized([*missing])
        of_words = (
            new[word] if ids is None else ids for word, ids in zip(words, kept, strict=True)
        )
        return [*chain.from_iterable(of_words)]

    def mark(self, token: str) -> int:
        """Return the id of a mark such as [CLS]."""
        mark = self._tokenizer.token_to_id(token)
        if mark is None:
            raise ValueError(f"The tokenizer has no {token!r}; it is not the one of this network.")
        return int(mark)

    def _tokenized(self, words: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
        """Return the ids of new words, and keep them."""
        if not words:
            return {}
        encoded = self._tokenizer.encode(_well_formed(" ".join(words)), add_special_tokens=False)
        starts = [start for start, _ in encoded.offsets]
        ends = accumulate(len(word) + 1 for word in words)
        bounds = pairwise([0, *(bisect_left(starts, end) for end in ends)])
        ids = encoded.ids
        new = {word: tuple(ids[a:b]) for word, (a, b) in zip(words, bounds, strict=True)}
        self._kept.update((word, new[word]) for word in new if len(word) <= _LONGEST_KEPT)
        if len(self._kept) > WORDS_KEPT:
            self._kept.clear()
        return new


def _well_formed(text: str) -> str:
    """Replace lone surrogates (from broken JSON), which the tokenizer rejects."""
    return text.encode(errors="replace").decode()
