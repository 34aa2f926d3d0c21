"""A model copies lines in its own ways; hardly a true statement is lost by that."""

from __future__ import annotations

from pathlib import Path

from tests.evals.copies_eval import MOST_LOST, chunks_of, lost_of
from tests.evals.sample import load_pages
from tests.evals.sets import sample


async def test_hardly_any_copy_of_a_line_of_the_sample_is_lost(tmp_path: Path) -> None:
    made, lost, which = lost_of(await chunks_of(sample(tmp_path)))

    assert len(load_pages()) > 40
    assert set(made) == {
        "as stored",
        "as read",
        "full stop added",
        "list mark added",
        "first letter's case",
        "middle left out",
        "two items joined",
        "cells by comma",
    }
    too_many = {kind for kind, count in made.items() if lost[kind] > MOST_LOST * count}
    assert not too_many, [copy.text for copy in which if copy.kind in too_many]
