"""Simulates a month of the help desk over 18F: ``python -m tests.evals.learning_eval``.

A third of the pages that questions are about are withheld; people who know them answer what is
handed over. Each question is asked in three wordings (its own, a short one and a paraphrase:
``wordings.jsonl``), each in one of the four weeks, in a public channel; a quarter of the withheld
pages is for one group alone, whose members ask in private. The month runs twice, without a model:
with learning off, and with every answer by a person kept, reviewed and indexed at the end of its
day. One in three wrong answers is thumbed down.

Exit status 1 when something is shown or answered outside its readers, or when fewer than .8 of the
withheld questions that were asked three times are found as gaps.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from pydantic import BaseModel
from tqdm import tqdm

from bot.answering.admission import audience_of
from bot.answering.evaluation.labelled_questions import (
    LabelledQuestion,
    holds_facts,
    load_questions,
)
from bot.answering.visibility import ReadableInIndex
from bot.domain.interactions import Escalation, Outcome, Reply, new_feedback
from bot.domain.messages import Inquiry, InteractionId, Message, Person, Stage, Thread
from bot.learning.gaps import GapQuery
from bot.learning.question_words import Viewer
from bot.store.database import Store, open_store, sqlite_url
from ingestion.assembly import open_library
from ingestion.documents.front_matter import split_front_matter
from rag.types import EVERYONE, Principal
from tests.evals.attacks_eval import SHARED
from tests.evals.question_runs import WORK, Opened, opened
from tests.evals.sets import EvalSet
from tests.fakes import learning
from tests.fakes.answers import ANNA, HR, AnswerRoom, PublicChannels, viewer

SEED = 20261124
WEEKS, DAYS = (1, 2, 3, 4), 5
PEOPLE, MEMBERS = 60, 12
"""How many people ask, and how many of them are members of the group."""

THUMBS = 1 / 3
LEAST_FOUND = 0.8
LEAST_OWN_WORDS = 8
WORDINGS = Path(__file__).with_name("wordings.jsonl")


class Wording(BaseModel):
    """Two more wordings of a question of 18F, written without its pages or its answer."""

    id: str
    short: str
    paraphrase: str


@dataclass(frozen=True, slots=True)
class Topic:
    """A question, what a person answers to it ("" where its page is in the wiki), and for whom."""

    row: LabelledQuestion
    wordings: tuple[str, ...]
    answer: str = ""
    restricted: bool = False

    def is_right(self, outcome: Outcome) -> bool:
        """Return whether an answer was given that holds every key fact."""
        given = outcome.response
        return _is_given(outcome) and holds_facts(given.text, self.row.key_facts)


@dataclass(frozen=True, slots=True)
class Asked:
    """One wording, asked by somebody on a day of the month."""

    topic: Topic
    text: str
    week: int
    day: int
    person: int
    thumbs: bool


@dataclass(slots=True)
class Month:
    """What became of each question that was asked, and of what people had answered."""

    outcomes: list[tuple[Asked, Outcome]] = field(default_factory=list)
    kept: int = 0
    leaks: list[str] = field(default_factory=list)
    probes: int = 0
    found: list[bool] = field(default_factory=list)
    purity: float = 0.0


def withheld_pages(rows: Sequence[LabelledQuestion]) -> frozenset[str]:
    """Draw a third of the pages that questions are about."""
    pages = sorted({page for row in rows for page in row.pages})
    return frozenset(random.Random(SEED).sample(pages, len(pages) // 3))  # noqa: S311 - no secret


def written_by_person(page: str, row: LabelledQuestion) -> str:
    """Return the paragraphs of a page that hold the evidence or a key fact of a question."""
    blocks = split_front_matter(page).body.split("\n\n")
    folded = [_folded(each) for each in blocks]
    wanted = [_folded(each) for each in row.evidence]
    chosen = [
        block.strip()
        for block, text in zip(blocks, folded, strict=True)
        if any(each in text or (text and text in each) for each in wanted)
    ]
    rest = [fact for fact in row.key_facts if not holds_facts("\n".join(chosen), (fact,))]
    for fact in rest:
        chosen += [each.strip() for each in blocks if holds_facts(each, (fact,))][:1]
    return "\n\n".join(dict.fromkeys(chosen))


def topics_of(rows: Sequence[LabelledQuestion], pages: Path) -> Sequence[Topic]:
    """Return the questions with their wordings, and a person's answers to the withheld ones."""
    lines = WORDINGS.read_text("utf-8").splitlines()
    known = {each.id: each for each in map(Wording.model_validate_json, lines)}
    gone = withheld_pages(rows)
    restricted = set(sorted(gone)[::4])
    return [_topic(row, known[row.id], gone, restricted, pages) for row in rows]


def _topic(
    row: LabelledQuestion, other: Wording, gone: frozenset[str], restricted: set[str], pages: Path
) -> Topic:
    wordings = (row.text, other.short, other.paraphrase)
    if not row.gold.relevant <= gone:
        return Topic(row, wordings)
    page = (pages / row.pages[0]).read_text("utf-8")
    return Topic(row, wordings, written_by_person(page, row), row.pages[0] in restricted)


def month_of(topics: Sequence[Topic]) -> Sequence[Asked]:
    """Give every wording a week, a day and somebody who asks it; in order of time."""
    chance = random.Random(SEED)  # noqa: S311 - no secret
    asks = []
    for topic in topics:
        people = MEMBERS if topic.restricted else PEOPLE
        askers = chance.sample(range(people), len(topic.wordings))
        weeks = chance.sample(WEEKS, len(topic.wordings))
        for text, week, person in zip(topic.wordings, weeks, askers, strict=True):
            day, thumbs = chance.randrange(DAYS), chance.random() < THUMBS
            asks.append(Asked(topic, text, week, day, person, thumbs))
    chance.shuffle(asks)
    return sorted(asks, key=lambda each: (each.week, each.day))


class Simulation:
    """A company that asks for a month; with ``learns``, people's answers are kept."""

    def __init__(self, store: Store, desk: Opened, room: AnswerRoom, *, learns: bool) -> None:
        self._store = store
        self._desk = desk.parts.desk
        self._room = room
        self._learns = learns
        self._count = 0
        self._today: list[tuple[InteractionId, Topic]] = []
        self.result = Month()

    async def run(self, asks: Sequence[Asked]) -> None:
        """Ask everything in order, and let people answer and review at the end of each day."""
        before = (0, 0)
        for asked in tqdm(asks, desc="learning" if self._learns else "not learning", unit="q"):
            if (asked.week, asked.day) != before:
                await self._end_day()
                before = asked.week, asked.day
            outcome, recorded = await self.ask(
                asked.text, asked.person, private=asked.topic.restricted
            )
            self.result.outcomes.append((asked, outcome))
            if isinstance(outcome.response, Escalation) and asked.topic.answer:
                self._today.append((recorded, asked.topic))
            elif asked.thumbs and _is_given(outcome) and not asked.topic.is_right(outcome):
                vote = new_feedback(recorded, f"p{asked.person}", "down")
                await self._store.interactions.rate(vote)
        await self._end_day()

    async def ask(
        self, text: str, person: int, *, private: bool, member: bool | None = None
    ) -> tuple[Outcome, InteractionId]:
        """Ask in a public channel or in private, and record what becomes of it."""
        self._count += 1
        is_member = person < MEMBERS if member is None else member
        principals = frozenset({EVERYONE, *([HR] if is_member else ())})
        channel = f"D{person}" if private else "C1"
        message = Message(
            id=f"m{self._count}",
            thread=Thread("slack", "default", channel, f"t{self._count}"),
            author=Person(f"p{person}", f"Person {person}", principals=principals),
            text=text,
            received_at=datetime.now(UTC),
            private=private,
        )
        opened_row = await self._store.work.open(message, "eval")
        outcome = await self._desk.handle(Inquiry(message, (), audience_of(message)), _no_stage)
        if isinstance(outcome.response, Escalation):
            # In private a hand-over is offered first: the asker agrees.
            agreed = replace(outcome.response, consent_needed=False)
            outcome = replace(outcome, response=agreed)
        await self._store.work.close(opened_row, outcome, last=True)
        return outcome, opened_row.id

    async def _end_day(self) -> None:
        """Answer today's cases by hand; keep the answers where the company learns."""
        for case, topic in self._today:
            await self._store.escalations.act("default", case, "reply", ANNA, topic.answer)
            await self._store.escalations.act("default", case, "resolve", ANNA)
            if self._learns:
                await self._keep(case, topic)
        self._today.clear()
        await self._room.run()

    async def _keep(self, case: InteractionId, topic: Topic) -> None:
        reads = [HR] if topic.restricted else []
        anna = viewer(ANNA, *reads)
        draft, _ = await self._room.review.draft(case, anna)
        content = draft.content
        if draft.is_asked_anew:
            # The asker's words are theirs: the expert names the matter as the page does.
            page = Path(topic.row.pages[0])
            content = replace(content, question=f"{page.parent.name} {page.stem}".replace("-", " "))
        content = replace(content, chosen=frozenset(reads or [EVERYONE]))
        answer = await self._room.review.keep(case, content, ANNA)
        await self._room.review.act(answer.id, 0, "approve", None, viewer=anna, actor=ANNA)
        self.result.kept += 1

    async def look_for_leaks(self, topics: Sequence[Topic]) -> None:
        """Ask what is restricted where others read along, and look at their lists."""
        closed = [each for each in topics if each.restricted]
        hidden = [text for each in closed for text in _paragraphs(each.answer)]
        for topic in closed:
            for text in topic.wordings:
                for private, member in ((True, False), (False, False), (False, True)):
                    outcome, _ = await self.ask(text, PEOPLE + 1, private=private, member=member)
                    shown = _folded(str(outcome.response))
                    self.result.probes += 1
                    if any(each in shown for each in hidden):
                        self.result.leaks.append(f"answered outside its readers: {text}")
        outsider = viewer(replace(ANNA, id="other"))
        answers, _ = await self._room.review.listed((), outsider, limit=1000)
        listed = str(answers) + await self._shown_gaps(outsider)
        words = [each for topic in closed for each in topic.wordings]
        self.result.leaks += [f"listed: {each}" for each in words if each in listed]
        self.result.leaks += [f"listed: {each}" for each in hidden if each in _folded(listed)]

    async def _shown_gaps(self, reader: Viewer) -> str:
        views = learning.gap_views(self._store, ReadableInIndex(self._room.index))
        query = GapQuery(learning.span_of_days())
        return str(await views.listed(query, reader, limit=1000))

    async def find_gaps(self) -> None:
        """Group what was not answered, and look which withheld questions stand in one gap."""
        embedder = self._room.embedder
        job = learning.gap_job(
            self._store, embedder=embedder, platforms={"slack": PublicChannels()}
        )
        await learning.run(job, datetime.now(UTC) + timedelta(seconds=1))
        await job.regroup()
        assert embedder is not None
        grouped = await self._store.gaps.grouped("default", embedder.name, 100_000)
        asked = await self._store.gaps.asked("default", [each.id for each in grouped])
        gap_of = {asked[each.id].message.text: each.gap for each in grouped if each.id in asked}
        self.result.found, self.result.purity = _found(self.result.outcomes, gap_of)


def _found(
    outcomes: Sequence[tuple[Asked, Outcome]], gap_of: Mapping[str, str | None]
) -> tuple[list[bool], float]:
    """Say for each withheld question whether most of its wordings stand in one gap.

    The second value is the share of a gap's questions that are about its most frequent page.
    """
    topics = {id(asked.topic): asked.topic for asked, _ in outcomes if asked.topic.answer}
    found = []
    for topic in topics.values():
        gaps = Counter(gap_of[each] for each in topic.wordings if gap_of.get(each))
        found.append(bool(gaps) and gaps.most_common(1)[0][1] > len(topic.wordings) / 2)
    pages: dict[str, Counter[str]] = {}
    for asked, _ in outcomes:
        gap = gap_of.get(asked.text)
        if gap:
            pages.setdefault(gap, Counter())[asked.topic.row.pages[0]] += 1
    most = sum(max(each.values()) for each in pages.values())
    return found, most / max(1, sum(each.total() for each in pages.values()))


def _is_given(outcome: Outcome) -> bool:
    given = outcome.response
    return isinstance(given, Reply) and given.confidence_level in {"sure", "partial"}


def _folded(text: str) -> str:
    return " ".join("".join(each if each.isalnum() else " " for each in text.lower()).split())


def _paragraphs(answer: str) -> Sequence[str]:
    """Return the paragraphs that nothing else would say by chance."""
    folded = map(_folded, answer.split("\n\n"))
    return [each for each in folded if len(each.split()) >= LEAST_OWN_WORDS]


async def _no_stage(stage: Stage, found: int = 0, /) -> None:
    del stage, found


def wiki_without(pages: Path, gone: frozenset[str], work: Path) -> Path:
    """Copy the wiki's pages but those that are withheld; return the folder."""
    shutil.rmtree(work, ignore_errors=True)
    for path in sorted(pages.rglob("*.md")):
        name = path.relative_to(pages).as_posix()
        if name not in gone:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, work / name)
    return work


@asynccontextmanager
async def company(one: EvalSet, base: Path, *, learns: bool) -> AsyncIterator[Simulation]:
    """Open a company of its own on a copy of the index."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        shutil.copytree(base, data)
        store = await open_store(sqlite_url(Path(folder)))
        try:
            async with opened(one, data_dir=data) as desk:
                members: dict[str, Collection[Principal]] = {
                    f"p{each}": [HR] for each in range(MEMBERS)
                }
                room = AnswerRoom(store, desk.parts.index, data, desk.parts.embedder, members)
                async with open_library(room.shelf):
                    yield Simulation(store, desk, room, learns=learns)
        finally:
            await store.close()


def share(outcomes: Sequence[tuple[Asked, Outcome]]) -> tuple[int, float, float, float]:
    """Return how many were asked, and the shares answered, answered right, answered wrong."""
    count = len(outcomes)
    given = sum(_is_given(outcome) for _, outcome in outcomes)
    right = sum(asked.topic.is_right(outcome) for asked, outcome in outcomes)
    return count, given / count, right / count, (given - right) / count


def report(title: str, month: Month) -> Iterator[str]:
    """Yield the lines of a table by week: all questions, and those on withheld pages."""
    for name, only in (("all", False), ("on withheld pages", True)):
        for week in WEEKS:
            chosen = [
                each
                for each in month.outcomes
                if each[0].week == week and (each[0].topic.answer or not only)
            ]
            count, given, right, wrong = share(chosen)
            yield (
                f"| {title} | {name} | {week} | {count} | {given:.2f} | {right:.2f} | {wrong:.2f} |"
            )


async def measure(data: Path) -> int:
    """Run both months, print what they gave; return the exit status."""
    source = data / "kb_18f_handbook"
    rows = [
        each
        for each in load_questions(source / "questions.jsonl")
        if each.kind == "answerable" and not each.history
    ]
    topics = topics_of(rows, source / "pages")
    wiki = wiki_without(source / "pages", withheld_pages(rows), WORK / "learning" / "pages")
    one = EvalSet("18F learning", {"18F": wiki}, source / "questions.jsonl", trains_gate=False)
    base = WORK / "learning" / "index"
    shutil.rmtree(base, ignore_errors=True)
    async with opened(one, data_dir=base):
        pass
    asks = month_of(topics)
    months = {}
    for learns in (False, True):
        async with company(one, base, learns=learns) as simulated:
            await simulated.run(asks)
            if learns:
                await simulated.look_for_leaks(topics)
            else:
                await simulated.find_gaps()
            months[learns] = simulated.result
    return _print(topics, months[False], months[True])


def _print(topics: Sequence[Topic], off: Month, on: Month) -> int:
    known = [each for each in topics if each.answer]
    told = sum(holds_facts(each.answer, each.row.key_facts) for each in known)
    print(f"{len(topics)} questions, {len(known)} on withheld pages; people's answers hold all key")
    print(f"facts of {told} of them. {on.kept} answers were kept.\n")
    print("| learning | questions | week | asked | answered | answered right | wrong |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join([*report("off", off), *report("on", on)]))
    found = sum(off.found) / len(off.found)
    print(
        f"\nGaps: {found:.2f} of {len(off.found)} withheld questions, each asked three times, have"
    )
    print(f"most of their wordings in one gap; {off.purity:.2f} of a gap's questions are about one")
    print(f"page. Shown or answered outside its readers, by {on.probes} probes: {len(on.leaks)}.")
    print("\n".join(on.leaks[:20]), file=sys.stderr)
    return 1 if on.leaks or found < LEAST_FOUND else 0


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    # The table alone goes to stdout.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    parser.add_argument("--data", type=Path, default=SHARED, help="the public sets' folder")
    return asyncio.run(measure(parser.parse_args().data))


if __name__ == "__main__":
    sys.exit(main())
