"""The bounded dictionary, and vectors as they are recorded."""

from __future__ import annotations

import numpy as np
import pytest

from rag.embedding import QuestionVector
from rag.types import BoundedDict


def test_the_entry_set_longest_ago_makes_room() -> None:
    kept = BoundedDict[str, int](2)
    kept["a"], kept["b"], kept["a"] = 1, 2, 3
    assert kept["b"] == 2
    kept["c"] = 4
    assert kept == {"a": 3, "c": 4}


def test_a_default_is_bounded_too_and_changes_no_order() -> None:
    kept = BoundedDict[str, int](1)
    assert [kept.setdefault("a", 1), kept.setdefault("a", 2)] == [1, 1]
    kept.setdefault("b", 2)
    assert list(kept) == ["b"]


def test_a_recorded_vector_points_the_same_way() -> None:
    vector = np.array([0.6, -0.8, 0.0], dtype=np.float32)

    again = QuestionVector.of("minilm", vector).unit()

    assert float(again @ vector) > 0.999999


@pytest.mark.parametrize("values", ["", "AAAA", "not base64"])
def test_a_damaged_vector_is_refused(values: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - what numpy and base64 say
        QuestionVector("minilm", values).unit()
