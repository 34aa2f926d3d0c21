from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from tests.bot.evaluating.cases import WRONG, case, numbered
from tests.evals.pictures import picture, reliability_line, risk_line

SURE = [numbered(case(confidence=0.9), n) for n in range(30)]
WRONG_ONES = [numbered(case(confidence=0.3, verdict=WRONG), n) for n in range(30, 40)]


def test_the_surest_answers_come_first_in_the_risk_line() -> None:
    line = risk_line("own", "with", [*WRONG_ONES, *SURE])

    assert line.points[0][1] == 0.0
    assert line.points[-1][0] == 1.0
    assert line.points[-1][1] == pytest.approx(0.25)


def test_vetoed_answers_state_no_probability() -> None:
    vetoed = numbered(case(confidence=0.0, verdict=WRONG), 99)

    line = reliability_line("own", "with", [*SURE, vetoed])

    assert {(round(stated, 2), right) for stated, right in line.points} == {(0.9, 1.0)}


def test_a_picture_is_well_formed_and_names_its_lines() -> None:
    line = risk_line("A & B", "without", SURE)

    text = picture("Risk", "coverage", "risk", [line, risk_line("none", "with", [])], even=True)

    root = ET.fromstring(text)  # noqa: S314 - our own text
    assert "A & B" in [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "prefers-color-scheme: dark" in text
