"""Measures questions in other languages than the wiki's, with recorded replies of a model.

``python -m tests.evals.languages_eval [--prompts FOLDER]`` writes how well the language of short
questions is told (asked_in.toml), then of the questions of languages.jsonl on the sample company
how many find their page and how many are answered right. Quotations are what counts as an answer.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bot.answering.evaluation.labelled_questions import LabelledQuestion, load_questions
from bot.answering.evaluation.question_cases import Case, ask
from bot.answering.routing.languages import LanguageDetector
from bot.domain.interactions import Outcome, Reply
from bot.domain.messages import Inquiry
from bot.domain.ports import AnswersInquiries, ReportStage
from rag.embedding import word_test
from rag.pipeline import Pipeline
from rag.search_scope import Scope
from tests.evals.question_runs import TENANT, WORK, bar, opened
from tests.evals.recorded.server import Replay, load_replies, replaying
from tests.evals.sets import sample

QUESTIONS = Path(__file__).with_name("languages.jsonl")
SHORT = Path(__file__).with_name("asked_in.toml")
NAME = "sample company languages"
_SEEN = 5


@dataclass
class RememberingDesk:
    """A desk that keeps the outcome of the last inquiry."""

    desk: AnswersInquiries
    last: Outcome | None = None

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.last = await self.desk.handle(inquiry, report)
        return self.last


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its case; pages as found by its translation, and by its own words."""

    row: LabelledQuestion
    case: Case
    outcome: Outcome
    pages: Sequence[str]
    by_own_words: Sequence[str]

    @property
    def language(self) -> str:
        return self.row.tags[0]

    @property
    def translated(self) -> bool:
        reply = self.outcome.response
        return isinstance(reply, Reply) and reply.translation is not None

    def found(self, pages: Sequence[str], within: int) -> bool:
        return not self.row.gold.relevant.isdisjoint(pages[:within])


async def detection(is_word: Callable[[str], bool] | None) -> AsyncIterator[str]:
    """Yield, for each language, how many short questions are told to be in it, and misnamed."""
    detector = LanguageDetector("en", is_word)
    yield _row("short questions", "n", "right", "misnamed")
    for language, texts in tomllib.loads(SHORT.read_text("utf-8")).items():
        told = [await detector.foreign(text) for text in texts]
        right = "" if language == detector.wiki else language
        misnamed = sum(bool(each) and each != right for each in told)
        yield _row(language, len(texts), told.count(right), misnamed)


async def asked(prompts: Path | None) -> tuple[list[Asked], list[str], int]:
    """Ask every question; also return ``detection``, and how many prompts have no reply."""
    one, rows = sample(WORK / "sets"), load_questions(QUESTIONS)
    replay = Replay(NAME, load_replies(NAME), prompts)
    show, done = bar(NAME), []
    async with replaying(replay) as url, opened(one, url) as found:
        desk = RememberingDesk(found.parts.desk)
        subject = replace(found.subject(one), desk=desk)
        for number, row in enumerate(rows, 1):
            case = await ask(subject, row)
            assert desk.last is not None
            pages = [each.page_id for each in desk.last.trace.passages]
            own = await _pages(found.parts.pipeline, row)
            done.append(Asked(row, case, desk.last, _distinct(pages), own))
            replay.next_question()
            show(number, len(rows))
        told = [line async for line in detection(word_test(found.parts.embedder))]
    return done, told, len(replay.missing)


async def _pages(pipeline: Pipeline, row: LabelledQuestion) -> list[str]:
    found = await pipeline.retrieve(row.text, Scope(TENANT, row.principals))
    relevant = found.passages if pipeline.has_relevant_passage(found) else ()
    return _distinct([each.chunk.page_id for each in relevant])


def _distinct(pages: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(pages))


def table(rows: Sequence[Asked]) -> Iterator[str]:
    """Yield a line for each language, and one for all."""
    yield _row("on the sample", "n", "own hit@5", "query", "hit@1", "recall@5", "answered", "right")
    for language in dict.fromkeys(each.language for each in rows):
        yield _summary(language, [each for each in rows if each.language == language])
    yield _summary("all", rows)


def _summary(name: str, rows: Sequence[Asked]) -> str:
    return (
        _row(
            name,
            len(rows),
            sum(each.found(each.by_own_words, _SEEN) for each in rows),
            sum(bool(each.outcome.trace.route.search_query) for each in rows),
            sum(each.found(each.pages, 1) for each in rows),
            sum(each.found(each.pages, _SEEN) for each in rows),
            sum(each.case.answered for each in rows),
            sum(each.case.answered_right for each in rows),
        )
        + f"{sum(each.translated for each in rows):>11} translated"
    )


def _row(*cells: object) -> str:
    first, *rest = map(str, cells)
    return f"{first:<16}" + "".join(f"{cell:>11}" for cell in rest)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 when a reply is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.languages_eval")
    parser.add_argument("--prompts", type=Path, help="a folder for prompts without a reply")
    options = parser.parse_args(arguments)
    rows, told, missing = asyncio.run(asked(options.prompts))
    print("\n".join([*told, "", *table(rows)]))
    if missing:
        print(f"NO REPLY RECORDED  {NAME}: {missing} prompts", file=sys.stderr)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
