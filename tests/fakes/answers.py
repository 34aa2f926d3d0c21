"""Answers by people over a real record, a real index and a real library that syncs in place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.answering.asker_identity import Reader
from bot.answering.visibility import ReadableInIndex
from bot.domain.cases import Actor
from bot.domain.interactions import Interaction, Reply, Source, new_feedback
from bot.domain.messages import InteractionId, Message, Person
from bot.domain.ports import KnowsPublicChannels
from bot.domain.usage import UsageLimits
from bot.learning.answer_drafts import AnswerDrafts, DraftWriter
from bot.learning.answer_library import AnswerLibrary
from bot.learning.answer_review import AnswerReview
from bot.learning.near_answers import NearAnswers
from bot.learning.publishing import Publishes
from bot.learning.question_words import QuestionWords, Viewer
from bot.learning.reviewed_answers import ReviewedAnswer
from bot.store.database import Store
from ingestion.assembly import library_of, open_library
from ingestion.library import Library
from ingestion.records.leases import FileLeases
from ingestion.records.types import Run
from ingestion.sync.sync import Folder, sync_folder, sync_source
from ingestion.types import Progress, Report
from prompts.files import load_prompt
from rag.index.embedded.index import open_index
from rag.ports import ChatModel, Embedder, SearchIndex
from rag.types import ANSWERS_SPACE, EVERYONE, Chunk, Principal, Question, Readers
from tests.fakes import learning
from tests.fakes.builders import ALL

ANNA = Actor("anna", "Anna Lopez", "expert")
BEN = Actor("ben", "Ben Okafor", "expert")
HR = Principal("group:hr")
EVERYBODY = frozenset({EVERYONE})


def viewer(actor: Actor, *principals: Principal) -> Viewer:
    return Viewer(frozenset({actor.id}), Reader(EVERYBODY | frozenset(principals)))


class Directory:
    """Implements bot.domain.ports.Directory: everybody's groups by id."""

    def __init__(self, groups: Mapping[str, Collection[Principal]]) -> None:
        self._groups = groups

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        return EVERYBODY | frozenset(self._groups.get(person.id, ()))


class PublicChannels:
    """Implements KnowsPublicChannels: those channels are public whose name begins with C."""

    async def is_public(self, message: Message) -> bool:
        return message.thread.channel.startswith("C")


@dataclass
class AnswerRoom:
    """Everything around the answers of one company; the time passes by ``ahead``."""

    store: Store
    index: SearchIndex
    data_dir: Path
    embedder: Embedder | None = None
    groups: dict[str, Collection[Principal]] = field(default_factory=dict)
    by_second: bool = False
    model: ChatModel | None = None
    publisher: Publishes | None = None
    signed: str = "IT"
    ahead: timedelta = timedelta(0)
    limits: UsageLimits | None = None
    tenant: str = "default"
    shelf: Library = field(init=False)

    def __post_init__(self) -> None:
        self.shelf = library_of(
            self.index, tenant=self.tenant, data_dir=self.data_dir, work=self._sync
        )

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    @property
    def words(self) -> QuestionWords:
        return QuestionWords(self.store.escalations, self.store.notes, ReadableInIndex(self.index))

    @property
    def library(self) -> AnswerLibrary:
        return AnswerLibrary(
            self.tenant,
            answers=self.store.answers,
            interactions=self.store.interactions,
            library=self.shelf,
            marks=self.store.jobs,
            signed=self.signed,
            now=self.now,
        )

    @property
    def drafts(self) -> AnswerDrafts:
        channels: Mapping[str, KnowsPublicChannels] = {"slack": PublicChannels()}
        prompt = load_prompt("draft_answer")
        return AnswerDrafts(
            self.tenant,
            cases=self.store.escalations,
            interactions=self.store.interactions,
            answers=self.store.answers,
            words=self.words,
            index=self.index,
            directory=Directory(self.groups),
            channels=channels,
            writer=None
            if self.model is None
            else DraftWriter(
                self.model,
                prompt,
                self.store.usage,
                learning.model_allowance(self.store, self.limits),
            ),
            lasts=timedelta(days=180),
            now=self.now,
        )

    @property
    def review(self) -> AnswerReview:
        return AnswerReview(
            self.tenant,
            answers=self.store.answers,
            interactions=self.store.interactions,
            drafts=self.drafts,
            library=self.library,
            near=NearAnswers(self.tenant, self.index, self.embedder),
            workers=self.store.escalations,
            publisher=self.publisher,
            by_second=self.by_second,
            now=self.now,
        )

    async def page(self, name: str, readers: Readers = ALL) -> Chunk:
        """Index a page of the wiki; return its passage."""
        folder = self.data_dir / "wiki"
        folder.mkdir(exist_ok=True)
        named = " and ".join(",".join(sorted(each)) for each in readers)
        (folder / f"{name}.md").write_text(f"---\nreaders: [[{named}]]\n---\n# {name}\n\nText.\n")
        await sync_folder(
            Folder(folder, "WIKI"),
            self.index,
            self.embedder,
            tenant=self.tenant,
            data_dir=self.data_dir,
        )
        anybody = frozenset({EVERYONE, *(name for each in readers for name in each)})
        (found,) = await self.index.page(self.tenant, "WIKI", f"{name}.md", anybody)
        return found

    async def answered_case(
        self,
        text: str = "How do I reset the token?",
        *replies: str,
        person: str = "mika",
        channel: str = "C1",
        found: Sequence[Chunk] = (),
    ) -> InteractionId:
        """Record a question, in private without a channel, that Anna answered by hand."""
        asked = await learning.asked(self.store, text, person, found=found, channel=channel)
        for reply in replies or ("Hold both buttons for ten seconds.",):
            await self.store.escalations.act(self.tenant, asked.id, "reply", ANNA, reply)
        await self.store.escalations.act(self.tenant, asked.id, "resolve", ANNA)
        return asked.id

    async def kept(self, case: InteractionId, **written: object) -> ReviewedAnswer:
        """Keep Anna's draft of a case; ``written`` replaces parts of it."""
        draft, _ = await self.review.draft(case, viewer(ANNA))
        content = replace(draft.content, **written)  # type: ignore[arg-type]  # by name
        return await self.review.keep(case, content, ANNA)

    async def live(self, case: InteractionId | None = None, **written: object) -> ReviewedAnswer:
        """Keep an answer of a case, let Anna approve it, and wait until it is indexed."""
        answer = await self.kept(case or await self.answered_case(), **written)
        given = await self.review.act(
            answer.id, 0, "approve", None, viewer=viewer(ANNA), actor=ANNA
        )
        await self.shelf.runs.settled()
        return given

    async def run(self) -> None:
        """Run the job, and wait for the index."""
        await self.library.run()
        await self.shelf.runs.settled()

    async def found(self, question: str, *principals: Principal) -> Sequence[Chunk]:
        """Return the answers that are found for a question by somebody with these principals."""
        asked = Question(question, self.tenant, spaces=frozenset({ANSWERS_SPACE}))
        passages = await self.index.search(asked, EVERYBODY | frozenset(principals), 5)
        return [each.chunk for each in passages]

    async def cited(self, answer: ReviewedAnswer, person: str) -> Interaction:
        """Record a question of somebody that was answered with an answer."""
        chunk = (await self.index.page(self.tenant, ANSWERS_SPACE, f"{answer.id}.md", EVERYBODY))[0]
        source = Source(
            chunk_id=chunk.id,
            page_id=chunk.page_id,
            title=chunk.title,
            url=chunk.url,
            section="",
            quote=chunk.text,
            document_page=None,
            relevance=1.0,
            source_type=chunk.source_type,
            source_id=chunk.source_id,
        )
        reply = Reply("So [1].", "found", (source,), 0.9, confidence_level="sure")
        return await learning.asked(self.store, "Token?", person, response=reply)

    async def thumb_down(self, answer: ReviewedAnswer, person: str) -> Interaction:
        asked = await self.cited(answer, person)
        await self.store.interactions.rate(new_feedback(asked.id, person, "down"))
        return asked

    async def _sync(self, space: str, progress: Progress, run: Run) -> Report:
        """Do here what a process of its own does otherwise."""
        return await sync_source(
            await self.shelf.sources.source(space),
            self.index,
            self.embedder,
            tenant=self.tenant,
            leases=FileLeases(self.data_dir, self.tenant),
            progress=progress,
        )


@asynccontextmanager
async def answer_room(
    store: Store, data_dir: Path, tenant: str = "default"
) -> AsyncIterator[AnswerRoom]:
    """Open an index and a library until the block ends."""
    index = await open_index(data_dir / "index.sqlite", None)
    room = AnswerRoom(store, index, data_dir, tenant=tenant)
    try:
        async with open_library(room.shelf):
            yield room
    finally:
        await index.close()
