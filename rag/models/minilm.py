"""all-MiniLM-L6-v2 (int8) on onnxruntime: text in, vectors out; synchronous."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from rag.types import TokenSigns, Vectors

DIMENSIONS = 384
MAX_TOKENS = 254
"""What the network was trained on (256), less its two marks for start and end."""

_MAX_CHARACTERS = 32_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What the network makes of a text: a vector for each token, its two marks included."""

    ids: NDArray[np.int64]
    states: Vectors

    def vector(self) -> Vectors:
        """Return the mean of the token vectors at unit length, shape (DIMENSIONS,)."""
        return _unit(self.states.mean(axis=0))

    def tokens(self) -> Vectors:
        """Return the token vectors at unit length, without the marks'."""
        return _unit(self.states[1:-1])

    def token_signs(self) -> TokenSigns:
        """Return the signs of the distinct tokens' mean vectors: 48 bytes a token.

        Measured: they rank passages as well as the vectors themselves, at 1/32 of the room.
        """
        distinct, places = np.unique(self.ids, return_inverse=True)
        sums = np.zeros((len(distinct), DIMENSIONS), dtype=np.float32)
        np.add.at(sums, places, self.states)
        signs: TokenSigns = np.packbits(sums > 0, axis=1)
        return signs


class MiniLM:
    """The network and its tokenizer; safe to call from several threads.

    Texts run one at a time. The network's int8 arithmetic scales each tensor by its extremes, so
    in a batch a text's vector would depend on its neighbours; and on a CPU a batch gains nothing
    (measured: 1, 2 and 4 alike, 16 slower, at three times the memory).
    """

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._start = self._mark("[CLS]")
        self._end = self._mark("[SEP]")
        self._session = onnxruntime.InferenceSession(
            str(weights), _options(), providers=["CPUExecutionProvider"]
        )

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text, without the network's marks; counts simply add up."""
        return len(self._tokenizer.encode(_well_formed(text), add_special_tokens=False).ids)

    def read(self, text: str) -> Reading:
        """Run a text through the network; what goes beyond MAX_TOKENS is not seen."""
        seen = _well_formed(text[:_MAX_CHARACTERS])
        words = self._tokenizer.encode(seen, add_special_tokens=False).ids
        ids = np.array([[self._start, *words[:MAX_TOKENS], self._end]], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        (states,) = self._session.run(None, inputs)
        return Reading(ids[0], np.asarray(states[0], dtype=np.float32))

    def _mark(self, token: str) -> int:
        mark = self._tokenizer.token_to_id(token)
        if mark is None:
            raise ValueError(f"The tokenizer has no {token!r}; it is not the one of this network.")
        return int(mark)


def _options() -> onnxruntime.SessionOptions:
    """One thread a call: calls run side by side, and no pool spins while others want the CPU."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return options


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit


def _well_formed(text: str) -> str:
    """Half a surrogate pair, as broken JSON brings it, is no text to the tokenizer."""
    return text.encode(errors="replace").decode()
