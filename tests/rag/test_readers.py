from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag.types import Principal, minimal_readers

NAMES = [Principal(name) for name in ("user:a", "user:b", "group:c", "group:d")]
sets = st.lists(st.frozensets(st.sampled_from(NAMES)), max_size=6)


@given(sets, st.frozensets(st.sampled_from(NAMES)))
def test_the_least_sets_let_in_the_same_people(
    readers: list[frozenset[Principal]], asker: frozenset[Principal]
) -> None:
    assert all(one & asker for one in minimal_readers(readers)) == all(
        one & asker for one in readers
    )


@given(sets)
def test_none_of_them_implies_another_and_their_order_is_their_own(
    readers: list[frozenset[Principal]],
) -> None:
    found = minimal_readers(readers)

    assert not any(one <= other for one in found for other in found if one is not other)
    assert found == minimal_readers(reversed(readers))


def test_nobody_stays_alone() -> None:
    assert minimal_readers([frozenset(NAMES), frozenset()]) == [frozenset()]
