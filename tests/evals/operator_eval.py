"""Asks Frontdesk an operator's questions about its own documentation.

``python -m tests.evals.operator_eval [--recorded [--prompts FOLDER]]`` indexes ``docs/`` as a
folder and asks the 30 questions of ``operator.jsonl``, which were written by somebody who had not
read the pages; the labels (the page, the words that must occur) were added afterwards. With
``--recorded`` a recorded model answers. Every edit of a page that is found makes a new prompt, for
which no reply is recorded: then the run says how many, and counts those questions as wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.answering.evaluation.evaluate import ask_all, questions_and_withheld
from bot.answering.evaluation.labelled_questions import load_questions
from bot.answering.evaluation.question_cases import Case
from tests.evals.question_runs import ROOT, bar, opened
from tests.evals.recorded.server import Replay, load_replies, replaying
from tests.evals.sets import EvalSet

QUESTIONS = Path(__file__).with_name("operator.jsonl")
DOCUMENTATION = EvalSet(
    "Frontdesk documentation", {"DOCS": ROOT / "docs"}, QUESTIONS, trains_gate=False
)
LEAST_SHOWN_RIGHT = 18
"""Of the 30 questions, without a model."""
LEAST_WITH_MODEL = 24


def shown_right(case: Case) -> bool:
    """Tell whether the asker sees an answer that cites a labelled page and has every fact."""
    return case.level is not None and (case.right or case.answered_right)


async def ask_questions(replay: Replay | None = None) -> Sequence[Case]:
    """Return what became of every question, without a model or with the recorded one."""
    if replay is None:
        return await _ask(None, None)
    async with replaying(replay) as url:
        return await _ask(url, replay)


async def _ask(model_url: str | None, replay: Replay | None) -> Sequence[Case]:
    show = bar("documentation")

    def advance(done: int, total: int) -> None:
        if replay:
            replay.next_question()
        show(done, total)

    async with opened(DOCUMENTATION, model_url) as found:
        asks = questions_and_withheld(load_questions(QUESTIONS))
        own = [each for each in asks if not each[1]]
        return await ask_all(found.subject(DOCUMENTATION), own, advance)


def report(cases: Sequence[Case], model: str) -> str:
    """Return the sums, and a line for each question that was not shown right."""
    shown = sum(shown_right(case) for case in cases)
    sure = sum(case.answered_right for case in cases)
    lines = [f"{model}: {shown} of {len(cases)} shown right, {sure} not as unsure"]
    for case in cases:
        if not shown_right(case):
            state = case.level or case.response
            reasons = f"facts {case.verdict.facts}, page cited {case.verdict.cited}"
            lines.append(f"  {case.row.id}  {state}: {reasons}: {case.row.text}")
    return "\n".join(lines)


def main() -> int:
    """Print the report; 1 when fewer are shown right than the floor says, or a reply is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recorded", action="store_true", help="ask with the recorded model")
    parser.add_argument("--prompts", type=Path, help="a folder for prompts without a reply")
    options = parser.parse_args()
    replay = None
    if options.recorded:
        name = DOCUMENTATION.name
        replay = Replay(name, load_replies(name), options.prompts)
    cases = asyncio.run(ask_questions(replay))
    print(report(cases, "recorded model" if replay else "without a model"))
    missing = len(replay.missing) if replay else 0
    if missing:
        print(f"no reply is recorded for {missing} prompts (docs/evaluation.md)")
    least = LEAST_WITH_MODEL if replay else LEAST_SHOWN_RIGHT
    return int(missing > 0 or sum(shown_right(case) for case in cases) < least)


if __name__ == "__main__":
    sys.exit(main())
