from __future__ import annotations

from collections import Counter

from bot.answering.evaluation.labelled_questions import LabelledQuestion
from tests.bot.evaluating.cases import row
from tests.evals.draws import DRAWS, Share, drawn
from tests.evals.sets import CONTOSO, HANDBOOK, SAMPLE, SQUAD

SHARES = (Share("answerable", 10, withheld=4), Share("far", 2), Share(None, 3, short=True))


def rows(count: int) -> list[LabelledQuestion]:
    answerable = [row(f"a{n}") for n in range(count)]
    far = [row(f"f{n}", "far") for n in range(5)]
    return [*answerable, *far, *(row(f"s{n}", "near_miss", tags=["short"]) for n in range(5))]


def test_a_draw_has_as_many_of_each_share_as_was_written_down() -> None:
    asks = drawn(SHARES, rows(30))

    counts = Counter((ask.row.kind, ask.withheld) for ask in asks)
    assert counts == {
        ("answerable", False): 10,
        ("answerable", True): 4,
        ("far", False): 2,
        ("near_miss", False): 3,
    }


def test_what_is_withheld_is_asked_with_its_pages_too() -> None:
    asks = drawn(SHARES, rows(30))

    asked = {ask.row.id for ask in asks if not ask.withheld}
    assert {ask.row.id for ask in asks if ask.withheld} <= asked


def test_one_question_more_changes_a_draw_by_one_at_most() -> None:
    before = {ask.row.id for ask in drawn(SHARES, rows(30))}
    after = {ask.row.id for ask in drawn(SHARES, rows(31))}

    assert len(after - before) <= 1


def test_the_draws_ask_for_seven_hundred_answers_in_all() -> None:
    sizes = {
        name: sum(share.asked + share.withheld for share in shares)
        for name, shares in DRAWS.items()
    }

    assert sizes == {SAMPLE: 170, CONTOSO: 80, SQUAD: 100, HANDBOOK: 350}
