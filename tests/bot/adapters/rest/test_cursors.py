from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.rest.cursors import place_of, written
from bot.doors.problems import Problem
from bot.records.searching import Place

PLACES = st.builds(
    Place,
    st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - a bound
    st.tuples(st.text(max_size=40)),
)


@given(PLACES)
def test_a_place_comes_back_as_it_went(place: Place) -> None:
    cursor = written(place)

    assert cursor is not None
    assert cursor.replace("-", "").replace("_", "").isalnum()
    assert place_of(cursor, keys=1) == place


def test_the_end_of_a_list_has_no_cursor() -> None:
    assert written(None) is None
    assert place_of(None, keys=1) is None


@given(st.text(alphabet="ABCabc019_-", max_size=60))
def test_what_is_no_cursor_is_told_and_never_breaks(text: str) -> None:
    with pytest.raises(Problem) as raised:
        place_of(text, keys=1)

    assert raised.value.details.status == 422


@pytest.mark.parametrize("keys", [0, 2])
def test_a_place_in_another_list_is_not_taken(keys: int) -> None:
    cursor = written(Place(datetime(2026, 11, 22, tzinfo=UTC), ("1",)))

    with pytest.raises(Problem):
        place_of(cursor, keys=keys)
