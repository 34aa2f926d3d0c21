from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.board.figures import BOTTOM, LEFT, RIGHT, TOP, Chart, Series, scale, stacked

FIRST = date(2026, 11, 16)


def drawn(*values: tuple[float, ...]) -> Chart:
    days = [FIRST + timedelta(days=n) for n in range(len(values[0]))]
    series = [Series(f"s{n}", f"tone-{n}", each) for n, each in enumerate(values)]
    return stacked("Questions", "Some.", days, series)


def bars(path: str) -> list[tuple[float, float, float, float]]:
    """Return left, right, top and bottom of each bar."""
    found = re.findall(r"M([\d.]+) ([\d.]+)v(-[\d.]+)h([\d.]+)v([\d.]+)z", path)
    numbers = [tuple(map(float, each)) for each in found]
    return [(x, x + width, low + up, low) for x, low, up, width, _ in numbers]


@given(st.floats(0, 1e12, allow_subnormal=False))
def test_a_scale_begins_at_nothing_reaches_the_highest_and_is_short(highest: float) -> None:
    steps = scale(highest)

    assert steps[0] == 0
    assert steps[-1] >= highest * 0.998
    assert 2 <= len(steps) <= 5
    assert steps == tuple(sorted(set(steps)))


@pytest.mark.parametrize(
    ("highest", "steps"),
    [(0, (0, 1)), (1, (0, 1)), (3, (0, 1, 2, 3)), (47, (0, 20, 40, 60)), (0.5, (0, 0.2, 0.4, 0.6))],
)
def test_steps_are_round(highest: float, steps: tuple[float, ...]) -> None:
    assert scale(highest) == pytest.approx(steps)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=90))
def test_every_bar_is_inside_and_stands_on_the_one_below(values: list[tuple[int, int]]) -> None:
    chart = drawn(tuple(a for a, _ in values), tuple(b for _, b in values))

    for shape in chart.shapes:
        for left, right, top, bottom in bars(shape.path):
            assert left >= LEFT - 0.1
            assert right <= RIGHT + 0.1
            assert TOP - 0.2 <= top <= bottom <= BOTTOM + 0.2


def test_series_stand_on_each_other_in_their_order() -> None:
    chart = drawn((3.0, 0.0), (1.0, 2.0))

    ((*_, top, bottom),) = bars(chart.shapes[0].path)
    above, alone = bars(chart.shapes[1].path)
    assert bottom == alone[3] == BOTTOM
    assert above[3] == pytest.approx(top, abs=0.1)


def test_a_day_says_its_figures_and_one_without_says_so() -> None:
    chart = drawn((3.0, 0.0), (1.0, 0.0))

    assert [spot.text for spot in chart.spots] == ["Mon 16 Nov: s0 3, s1 1", "Tue 17 Nov: nothing"]
    assert chart.rows == (("2026-11-16", "3", "1"), ("2026-11-17", "0", "0"))


@pytest.mark.parametrize(("days", "most"), [(7, 7), (30, 4), (90, 4)])
def test_the_last_day_is_named_and_names_do_not_crowd(days: int, most: int) -> None:
    chart = drawn((1.0,) * days)

    last = FIRST + timedelta(days=days - 1)
    assert str(last.day) in chart.names[-1].text
    assert len(chart.names) <= most
