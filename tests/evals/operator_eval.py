"""Asks Frontdesk, without a model, an operator's questions about its own documentation.

``python -m tests.evals.operator_eval`` indexes ``docs/`` as a folder and asks the 30 questions of
``operator.jsonl``, which were written by somebody who had not read the pages; the labels (the page,
the words that must occur) were added afterwards. It is not measured with the recorded model: every
edit of a page makes new prompts, for which no reply is recorded.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.answering.evaluation.evaluate import ask_all, questions_and_withheld
from bot.answering.evaluation.labelled_questions import load_questions
from bot.answering.evaluation.question_cases import Case
from tests.evals.question_runs import ROOT, bar, opened
from tests.evals.sets import EvalSet

QUESTIONS = Path(__file__).with_name("operator.jsonl")
DOCUMENTATION = EvalSet(
    "Frontdesk documentation", {"DOCS": ROOT / "docs"}, QUESTIONS, trains_gate=False
)
LEAST_SHOWN_RIGHT = 18
"""Of the 30 questions."""


def shown_right(case: Case) -> bool:
    """Tell whether the asker sees an answer that cites a labelled page and has every fact."""
    return case.level is not None and (case.right or case.answered_right)


async def ask_questions() -> Sequence[Case]:
    """Return what became of every question."""
    async with opened(DOCUMENTATION) as found:
        asks = questions_and_withheld(load_questions(QUESTIONS))
        own = [each for each in asks if not each[1]]
        return await ask_all(found.subject(DOCUMENTATION), own, bar("documentation"))


def report(cases: Sequence[Case]) -> str:
    """Return the sums, and a line for each question that was not shown right."""
    shown = sum(shown_right(case) for case in cases)
    sure = sum(case.answered_right for case in cases)
    lines = [f"without a model: {shown} of {len(cases)} shown right, {sure} not as unsure"]
    for case in cases:
        if not shown_right(case):
            state = case.level or case.response
            reasons = f"facts {case.verdict.facts}, page cited {case.verdict.cited}"
            lines.append(f"  {case.row.id}  {state}: {reasons}: {case.row.text}")
    return "\n".join(lines)


def main() -> int:
    """Print the report; 1 when fewer are shown right than the floor says."""
    cases = asyncio.run(ask_questions())
    print(report(cases))
    return int(sum(shown_right(case) for case in cases) < LEAST_SHOWN_RIGHT)


if __name__ == "__main__":
    sys.exit(main())
