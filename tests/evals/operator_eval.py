"""Asks Frontdesk an operator's questions about its own documentation.

``python -m tests.evals.operator_eval [--way WAY] [--prompts FOLDER]`` indexes ``docs/`` as a folder
and asks the 30 questions of ``operator.jsonl``, which were written by somebody who had not read
the pages; the labels (the page, the words that must occur) were added afterwards. A page that is
edited makes new prompts: those without a recorded reply are told, and their questions count as not
answered.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.answering.evaluation.evaluate import ask_all, questions_and_withheld
from bot.answering.evaluation.labelled_questions import load_questions
from bot.answering.evaluation.question_cases import Case
from tests.evals.question_runs import ROOT, bar, opened
from tests.evals.recorded.server import MODEL, Replay, load_replies, replaying
from tests.evals.sets import EvalSet

QUESTIONS = Path(__file__).with_name("operator.jsonl")
DOCUMENTATION = EvalSet(
    "Frontdesk documentation", {"DOCS": ROOT / "docs"}, QUESTIONS, trains_gate=False
)
WAYS = ("both", "without", "recorded")
LEAST_SHOWN_RIGHT = 18
"""Of the 30 questions, without a model."""
LEAST_RIGHT = 24
"""Of the 30 questions, answered right with the recorded model."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The cases of one way, and how many of its prompts have no recorded reply."""

    way: str
    cases: Sequence[Case]
    missing: int = 0

    @property
    def shown_right(self) -> int:
        """How many right answers the asker sees, those shown as unsure included."""
        return sum(shown_right(case) for case in self.cases)

    @property
    def answered_right(self) -> int:
        """How many right answers are given as sure or in part."""
        return sum(case.answered_right for case in self.cases)


def shown_right(case: Case) -> bool:
    """Tell whether the asker sees an answer that cites a labelled page and has every fact."""
    return case.level is not None and (case.right or case.answered_right)


async def without_model() -> Asked:
    """Ask every question without a model."""
    async with opened(DOCUMENTATION) as found:
        asks = questions_and_withheld(load_questions(QUESTIONS))
        subject = found.subject(DOCUMENTATION)
        own = [each for each in asks if not each[1]]
        return Asked("without a model", await ask_all(subject, own, bar("documentation")))


async def with_recorded_model(prompts: Path | None) -> Asked:
    """Ask every question with the recorded model; prompts without a reply go to ``prompts``."""
    replay = Replay(DOCUMENTATION.name, load_replies(DOCUMENTATION.name), prompts)
    show = bar(f"documentation, {MODEL} model")

    def advance(done: int, total: int) -> None:
        replay.next_question()
        show(done, total)

    async with replaying(replay) as url, opened(DOCUMENTATION, url) as found:
        asks = questions_and_withheld(load_questions(QUESTIONS))
        own = [each for each in asks if not each[1]]
        cases = await ask_all(found.subject(DOCUMENTATION), own, advance)
    return Asked(f"{MODEL} model", cases, len(replay.missing))


def report(asked: Asked) -> str:
    """Return the sums, and a line for each question that was not shown right."""
    of = len(asked.cases)
    right = f"{asked.shown_right} of {of} shown right, {asked.answered_right} not as unsure"
    lines = [f"{asked.way}: {right}"]
    for case in asked.cases:
        if not shown_right(case):
            state = case.level or case.response
            reasons = f"facts {case.verdict.facts}, page cited {case.verdict.cited}"
            lines.append(f"  {case.row.id}  {state}: {reasons}: {case.row.text}")
    if asked.missing:
        lines.append(f"  {asked.missing} prompts have no recorded reply")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both ways; 1 when fewer are right than the floors say.

    The recorded model is held to its floor only as long as every prompt has its reply.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.evals.operator_eval", description=__doc__
    )
    parser.add_argument("--way", choices=WAYS, default="both", help="with which model to ask")
    parser.add_argument("--prompts", type=Path, help="a folder for prompts without a reply")
    options = parser.parse_args(arguments)
    failed = False
    if options.way != "recorded":
        plain = asyncio.run(without_model())
        print(report(plain))
        failed = plain.shown_right < LEAST_SHOWN_RIGHT
    if options.way != "without":
        recorded = asyncio.run(with_recorded_model(options.prompts))
        print(report(recorded))
        failed |= not recorded.missing and recorded.answered_right < LEAST_RIGHT
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
