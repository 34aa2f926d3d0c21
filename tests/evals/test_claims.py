"""What a page says the other way round is no claim of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evals.claims_eval import lines_of, passing
from tests.evals.copies_eval import chunks_of
from tests.evals.sets import sample
from tests.evals.turning import turned

MOST_PASSING = 0.02


async def test_hardly_a_line_turned_round_passes_as_a_claim(tmp_path: Path) -> None:
    lines = [each for each in lines_of(await chunks_of(sample(tmp_path))) if each.checked().kept]
    made, passed = passing(lines)

    assert made["not put in"] > 200
    assert made["not taken out"] > 50
    too_many = {
        way for way, count in made.items() if len(passed.get(way, ())) > MOST_PASSING * count
    }
    assert not too_many, passed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is open.", [("not put in", "It is not open.")]),
        ("It isn't open.", [("not taken out", "It is open.")]),
        ("You cannot go.", [("not taken out", "You can go.")]),
        ("It is not open and nobody is there.", []),
        ("Open it.", []),
    ],
)
def test_a_statement_is_turned_by_one_denial(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(turned(text)) == expected
