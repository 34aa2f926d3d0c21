"""The bounded dictionary."""

from __future__ import annotations

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
