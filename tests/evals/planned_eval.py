"""Compares one search with a planned one: ``python -m tests.evals.planned_eval``.

Asks the sample company's questions that need two pages or more, once with ``SEARCH=single`` and
once with ``SEARCH=planned``, with the recorded model. A prompt without a reply fails the run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from bot.answering.evaluation.evaluate import ask_all, questions_and_withheld
from bot.answering.evaluation.labelled_questions import RecordingComposer, load_questions
from bot.answering.evaluation.question_cases import Case
from rag.answer.grounded import GroundedComposer
from rag.ports import Composer, Composition
from rag.search_scope import Asked
from rag.types import Passage
from tests.evals.question_runs import WORK, bar, opened
from tests.evals.recorded.server import Replay, load_replies, replaying
from tests.evals.sets import EvalSet, sample

QUESTIONS = Path(__file__).with_name("multipage.jsonl")
REPLIES = "sample company, several pages"
WAYS = ("single", "planned")


class _SentPages(RecordingComposer):
    """Also records the pages of the passages that fit into the model's context."""

    def __init__(self, composer: Composer) -> None:
        super().__init__(composer)
        self._composer = composer
        self.pages: frozenset[str] = frozenset()

    async def compose(
        self,
        question: str,
        passages: Sequence[Passage],
        attached: Sequence[str] = (),
        asked: Asked | None = None,
    ) -> Composition:
        if isinstance(self._composer, GroundedComposer):
            self.pages = frozenset(each.page_id for each in self._composer.fitting(passages))
        return await super().compose(question, passages, attached, asked)


@dataclass(frozen=True, slots=True)
class Measured:
    """One way's cases, and for each whether the model was sent all pages that it needs."""

    cases: Sequence[Case]
    whole: Sequence[bool]
    missing: int


def multipage_set() -> EvalSet:
    """Return the sample company with the questions that need several pages."""
    return replace(sample(WORK / "sets"), name=REPLIES, questions=QUESTIONS)


async def measure(way: str, prompts: Path | None) -> Measured:
    """Ask every question one way; prompts without a reply go to ``prompts``."""
    replay, one = Replay(REPLIES, load_replies(REPLIES), prompts), multipage_set()
    recorders: list[_SentPages] = []

    def recording(composer: Composer) -> RecordingComposer:
        recorders.append(_SentPages(composer))
        return recorders[-1]

    cases: list[Case] = []
    whole: list[bool] = []
    async with replaying(replay) as url, opened(one, url, recording, search=way) as found:
        show, rows = bar(f"{REPLIES}, {way}"), load_questions(QUESTIONS)
        for done, row in enumerate(rows, 1):
            replay.next_question()
            recorders[0].pages = frozenset()
            cases += await ask_all(found.subject(one), questions_and_withheld([row])[:1])
            whole.append(frozenset(row.pages) <= recorders[0].pages)
            show(done, len(rows))
    return Measured(cases, whole, len(replay.missing))


def table(measured: Sequence[Measured]) -> str:
    """Return the comparison as Markdown."""
    names = ("", *(f"`SEARCH={way}`" for way in WAYS))
    rows: list[tuple[str, Callable[[Measured], str]]] = [
        ("all pages reached the model", lambda each: _share(each.whole)),
        ("composed right", lambda each: _share([case.right for case in each.cases])),
        ("answered", lambda each: _share([case.answered for case in each.cases])),
        ("answered right", lambda each: _share([case.answered_right for case in each.cases])),
        ("model calls a question", lambda each: f"{fmean(c.model_calls for c in each.cases):.2f}"),
        ("tokens a question", lambda each: f"{fmean(map(_tokens, each.cases)):,.0f}"),
    ]
    lines = [names, tuple("---" for _ in names)]
    lines += [(name, *(figure(each) for each in measured)) for name, figure in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _share(held: Sequence[bool]) -> str:
    return f"{sum(held)} of {len(held)}"


def _tokens(case: Case) -> int:
    return case.input_tokens + case.output_tokens


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison; 1 when a reply is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.planned_eval", description=__doc__)
    parser.add_argument("--prompts", type=Path, help="a folder for prompts without a reply")
    options = parser.parse_args(arguments)
    measured = [asyncio.run(measure(way, options.prompts)) for way in WAYS]
    print(table(measured))
    missing = sum(each.missing for each in measured)
    if missing:
        print(f"NO REPLY RECORDED  {missing} prompts: see docs/evaluation.md", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
