"""How aims are printed, read back and judged over several runs."""

from __future__ import annotations

import pytest

from tests.bench.aims import Aim, Verdict, aims_in, judge, table

AIM = Aim("desk, p95", 17.5, 18.0, "ms")


@pytest.mark.parametrize(
    "aim",
    [
        AIM,
        Aim("questions lost", 0, 0),
        Aim("answers a second", 12.25, 40, least=True),
        Aim("/health among them, longest", 250.5, 200, "ms"),
    ],
)
def test_a_printed_aim_is_read_back(aim: Aim) -> None:
    assert aims_in(f"before\n{aim}\nafter\n") == (aim,)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        ((17.0, 17.5, 30.0), "held"),
        ((17.0, 19.0, 20.0), "within its spread"),
        ((22.0, 22.5, 23.0), "MISSED"),
    ],
)
def test_an_aim_is_missed_beyond_its_spread(measured: tuple[float, ...], verdict: Verdict) -> None:
    runs = [[Aim("desk, p95", each, 18.0, "ms")] for each in measured]

    (judged,) = judge(runs)

    assert judged.verdict == verdict


def test_at_least_is_judged_from_below() -> None:
    (judged,) = judge([[Aim("answers", each, 40.0, least=True)] for each in (41.0, 42.0, 39.0)])

    assert (judged.aim.measured, judged.spread, judged.verdict) == (41.0, 3.0, "held")


def test_an_aim_that_a_run_lacks_is_not_judged() -> None:
    assert judge([[AIM], []]) == ()


def test_the_table_names_each_verdict() -> None:
    shown = table(judge([[AIM, Aim("lost", 1, 0)]]))

    assert [line.split("|")[-2].strip() for line in shown.splitlines()[2:]] == ["held", "MISSED"]
