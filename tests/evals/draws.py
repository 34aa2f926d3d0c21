"""Which questions the recorded model is asked: fixed draws, since every reply is written by hand.

A question is drawn by the hash of its id, so that one that is added or taken away changes the
draw by one question, and the replies to all others stay in use. Small talk and wishes for a
person are not drawn: the pages have no part in them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.answering.evaluation.evaluate import PlannedQuestion
from bot.answering.evaluation.labelled_questions import LabelledQuestion, QuestionKind
from tests.evals.sets import CONTOSO, HANDBOOK, SAMPLE, SQUAD

_SEED = "2026-11-23"


@dataclass(frozen=True, slots=True)
class Share:
    """How many questions of a kind are asked, and how many of these once more without their pages.

    ``short`` is True for the questions that were written to be short (tag ``short``), and for
    them alone; ``kind`` None takes every kind.
    """

    kind: QuestionKind | None
    asked: int
    withheld: int = 0
    short: bool = False


DRAWS: Mapping[str, tuple[Share, ...]] = {
    SAMPLE: (
        Share(None, 60, short=True),
        Share("answerable", 36, withheld=36),
        Share("near_miss", 20),
        Share("far", 8),
        Share("underspecified", 4),
        Share("multi_turn", 6),
    ),
    CONTOSO: (Share("answerable", 40, withheld=40),),
    SQUAD: (Share("answerable", 50, withheld=50),),
    HANDBOOK: (
        Share("answerable", 110, withheld=55),
        Share("answerable", 40, withheld=20, short=True),
        Share("near_miss", 60),
        Share("far", 20),
        Share("underspecified", 15),
        Share("multi_turn", 30),
    ),
}
"""By the set's name. Of 18F, follow-ups stand apart: the other 320 are the mix of the aims."""


def drawn(shares: Sequence[Share], rows: Sequence[LabelledQuestion]) -> list[PlannedQuestion]:
    """Return what is asked, as many as there are of each share."""
    asks = []
    for share in shares:
        chosen = sorted((row for row in rows if _fits(row, share)), key=_place)[: share.asked]
        asks += [PlannedQuestion(row) for row in chosen]
        asks += [PlannedQuestion(row, withheld=True) for row in chosen if row.has_answer][
            : share.withheld
        ]
    return asks


def _fits(row: LabelledQuestion, share: Share) -> bool:
    return share.kind in {None, row.kind} and share.short == ("short" in row.tags)


def _place(row: LabelledQuestion) -> str:
    return hashlib.sha256(f"{_SEED}/{row.id}".encode()).hexdigest()
