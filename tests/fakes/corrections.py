"""A wiki whose pages change, answers that quote it, and a platform that edits its replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

from bot.answering.admission import VouchedDirectory
from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Delivery, Interaction, Outcome, PostedRef, Reply, Trace
from bot.domain.messages import Intent, Message, Person, Platform
from bot.domain.ports import Channel, Directory
from bot.learning.corrections import CorrectionDelivery, CorrectionLimits
from bot.learning.quote_fates import QuoteFates
from bot.learning.quote_watch import QuoteWatch
from bot.store.database import Store
from ingestion.records.types import Run
from rag.index.embedded.index import EmbeddedIndex
from rag.ports import SearchIndex
from rag.types import Page, Principal, Readers
from tests.fakes.board_app import source
from tests.fakes.builders import ALL, chunk, message, route

_NUMBERS = count(1)


async def nothing_expired(page: str) -> bool:
    del page
    return False


@dataclass
class ListedRuns:
    """Implements ListsActiveRuns; ``ended`` says that a run has ended."""

    runs: list[Run] = field(default_factory=list)

    def ended(self) -> None:
        now = datetime.now(UTC)
        number = len(self.runs)
        self.runs.insert(0, Run(f"r{number}", None, False, False, "test", "done", now))  # noqa: FBT003 - Run's fields

    def begins(self, space: str | None = None) -> None:
        self.ended()
        self.runs[0] = replace(self.runs[0], state="running", space=space)

    def ends(self) -> None:
        self.runs[0] = replace(self.runs[0], state="done")

    async def active(self) -> Sequence[Run]:
        return [each for each in self.runs if each.active]

    async def newest(self, limit: int) -> Sequence[Run]:
        return self.runs[:limit]


@dataclass
class EditingChannel:
    """A channel that edits its replies; ``error`` is raised instead, ``note_error`` for notes."""

    platform: Platform = "slack"
    error: DeliveryFailed | None = None
    note_error: DeliveryFailed | None = None
    edited: list[Delivery] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    async def correct(self, delivery: Delivery, posted: PostedRef) -> None:
        if self.error is not None:
            raise self.error
        self.edited.append(delivery)

    async def note(self, message: Message, text: str) -> None:
        if self.note_error is not None:
            raise self.note_error
        self.notes.append(text)

    async def tell_people(self, text: str) -> None:
        self.told.append(text)


@dataclass
class Wiki:
    """Pages in a real index, of one chunk each."""

    index: EmbeddedIndex
    runs: ListedRuns

    async def write(
        self,
        page: str,
        text: str,
        *,
        space: str = "IT",
        readers: Readers = ALL,
        version: str | None = None,
    ) -> None:
        part = chunk(text, chunk_id=f"{space}-{page}", page_id=page, space=space, readers=readers)
        kept = Page("default", space, page, version or text, readers)
        await self.index.upsert_page(kept, [replace(part, title=page)], None)
        self.runs.ended()

    async def delete(self, *pages: str, space: str = "IT") -> None:
        await self.index.delete_pages("default", space, pages)
        self.runs.ended()

    async def restrict(self, page: str, readers: Readers, *, space: str = "IT") -> None:
        await self.index.set_readers("default", space, page, readers)
        self.runs.ended()


@dataclass
class Corrections:
    """The job over a real record, and time that passes."""

    store: Store
    wiki: Wiki
    channel: EditingChannel = field(default_factory=EditingChannel)
    limits: CorrectionLimits = field(default_factory=lambda: CorrectionLimits(50, 500))
    directory: Directory = field(default_factory=VouchedDirectory)
    ahead: timedelta = timedelta(minutes=1)
    expired: set[str] = field(default_factory=set)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def watch(self) -> QuoteWatch:
        index: SearchIndex = self.wiki.index
        fates = partial(QuoteFates, "default", index, self.directory, self._is_expired)
        delivery = CorrectionDelivery(
            "default",
            record=self.store.corrections,
            interactions=self.store.interactions,
            audits=self.store.audits,
            runs=self.wiki.runs,
            channels={self.channel.platform: _channel(self.channel)},
            fates=fates,
            limits=self.limits,
            public_url=None,
        )
        return QuoteWatch(
            "default",
            record=self.store.corrections,
            marks=self.store.jobs,
            interactions=self.store.interactions,
            index=index,
            runs=self.wiki.runs,
            fates=fates,
            delivery=delivery,
            platforms=[self.channel],
            settled=timedelta(0),
        )

    async def run(self, **later: float) -> None:
        """Run the job until nothing is left to do, after some time has passed."""
        self.ahead += timedelta(**later)
        watch = self.watch()
        while await watch.run(self.now()):
            pass

    async def answer(
        self,
        *quotes: tuple[str, str],
        space: str = "IT",
        platform: Platform = "slack",
        private: bool = False,
        principals: frozenset[Principal] = frozenset(),
    ) -> Interaction:
        """Record a posted answer with quotes of pages."""
        question = replace(
            message("vpn?", message_id=f"q{next(_NUMBERS)}", platform=platform, channel="C1"),
            private=private,
            author=Person("mika", principals=principals),
        )
        sources = tuple(
            replace(
                source(chunk(quote, chunk_id=f"{space}-{page}", page_id=page, title=page)),
                space=space,
                section="",
            )
            for page, quote in quotes
        )
        reply = Reply("It is so [1].", "answer", sources, confidence=0.9)
        opened = await self.store.work.open(question, "me")
        trace = Trace(route(Intent.DOMAIN, "vpn?"), heard=())
        await self.store.work.close(opened, Outcome(reply, trace), last=True)
        await self.store.work.posted(opened.id, PostedRef("C1", f"{next(_NUMBERS)}.1"))
        return await self.recorded(opened)

    async def _is_expired(self, page: str) -> bool:
        return page in self.expired

    async def recorded(self, asked: Interaction) -> Interaction:
        found = await self.store.interactions.get(asked.id)
        assert found is not None
        return found


def _channel(channel: EditingChannel) -> Channel:
    return channel  # type: ignore[return-value]  # only what corrections call
