import numpy as np
import pytest

from rag.index.embedded.vectors import token_similarity
from rag.types import TokenSigns, Vectors


def unit(vectors: Vectors) -> Vectors:
    scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def drawn(tokens: int, seed: int) -> Vectors:
    vectors = np.random.default_rng(seed).standard_normal((tokens, 64)).astype(np.float32)
    return unit(vectors)


def signs(vectors: Vectors) -> TokenSigns:
    packed: TokenSigns = np.packbits(vectors > 0, axis=1)
    return packed


def test_each_token_of_the_question_counts_by_its_nearest() -> None:
    question = unit(np.where(drawn(3, seed=1) > 0, 1, -1).astype(np.float32))
    other = signs(drawn(9, seed=2))

    whole, part, none = token_similarity(
        question, [signs(question), np.concatenate([signs(question[:2]), other]), other]
    )

    assert whole == pytest.approx(1.0)
    assert whole > part > none


def test_the_order_is_that_of_the_true_cosines() -> None:
    question = drawn(5, seed=3)
    noise = drawn(5, seed=4)
    chunks = [unit(question + share * noise) for share in (0.2, 0.8, 2.0, 8.0)]

    near = token_similarity(question, [signs(chunk) for chunk in chunks])

    assert near == sorted(near, reverse=True)


def test_chunks_of_any_length_are_kept_apart() -> None:
    question = drawn(2, seed=5)
    chunks = [signs(drawn(length, seed=length)) for length in (1, 40, 3)]

    together = token_similarity(question, chunks)

    assert together == [token_similarity(question, [chunk])[0] for chunk in chunks]
