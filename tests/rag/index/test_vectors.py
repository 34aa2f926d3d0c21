import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag.index.embedded.vectors import VectorTable
from rag.types import Vectors

EAST, NORTH = np.eye(2, dtype=np.float32)
OPEN, CLOSED = 1, 2


def table(*chunks: tuple[int, int, int, Vectors]) -> VectorTable:
    filled = VectorTable(2)
    for chunk, page, scope, vector in chunks:
        filled.put(chunk, page, scope, vector)
    return filled


def test_the_nearest_come_first_with_their_cosines() -> None:
    filled = table((1, 1, OPEN, NORTH), (2, 2, OPEN, EAST))

    assert filled.nearest(EAST, [OPEN], [], k=5) == [(2, 1.0), (1, 0.0)]


def test_only_permitted_scopes_and_pages_are_searched() -> None:
    filled = table((1, 1, OPEN, EAST), (2, 2, CLOSED, EAST), (3, 3, OPEN, NORTH))

    assert filled.nearest(EAST, [OPEN], [1], k=5) == [(3, 0.0)]
    assert filled.nearest(EAST, [], [], k=5) == []
    assert filled.nearest(EAST, [99, 0, -1], [], k=5) == []


def test_an_empty_table_finds_nothing() -> None:
    assert VectorTable(2).nearest(EAST, [OPEN], [], k=5) == []
    assert VectorTable(0).cosines(EAST, [1, 2]) == {}


def test_cosines_are_those_of_the_chunks_it_knows() -> None:
    assert table((1, 1, OPEN, EAST)).cosines(EAST, [1, 2]) == {1: 1.0}


def test_equal_cosines_are_in_the_order_of_chunk_numbers() -> None:
    filled = table(*((number, 1, OPEN, EAST) for number in (5, 3, 9)))

    assert [chunk for chunk, _ in filled.nearest(EAST, [OPEN], [], k=3)] == [3, 5, 9]


CHANGES = st.lists(
    st.tuples(st.booleans(), st.integers(1, 8), st.sampled_from([OPEN, CLOSED])), max_size=60
)


@given(CHANGES)
def test_after_any_changes_it_holds_what_was_put_and_not_removed(
    changes: list[tuple[bool, int, int]],
) -> None:
    filled = VectorTable(2)
    expected: dict[int, int] = {}
    for put, chunk, scope in changes:
        if put:
            filled.put(chunk, chunk, scope, EAST)
            expected[chunk] = scope
        else:
            filled.remove(chunk)
            expected.pop(chunk, None)

    assert len(filled) == len(expected)
    for scope in (OPEN, CLOSED):
        found = {chunk for chunk, _ in filled.nearest(EAST, [scope], [], k=20)}
        assert found == {chunk for chunk, kept in expected.items() if kept == scope}


def test_it_grows_beyond_its_first_room() -> None:
    filled = table(*((number, 1, OPEN, NORTH) for number in range(1, 3001)))
    filled.put(3001, 1, OPEN, EAST)

    assert filled.nearest(EAST, [OPEN], [], k=1) == [(3001, 1.0)]
    assert len(filled) == 3001
