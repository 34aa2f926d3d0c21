"""A desk with an answer cache over a real index, and a record of saved answers in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Literal

from bot.answering.answer_cache import AnswerCache, SavedAnswer
from bot.answering.answer_plan import ModelProfile
from bot.answering.cache_keys import CacheKeys
from bot.answering.desk import Desk
from bot.answering.gate import Judgement, load_gate
from bot.domain.handoff import HandoffWording
from bot.domain.interactions import Outcome, Reply, Route
from bot.domain.messages import NO_MODEL, Inquiry, Intent, InteractionId, Stage
from rag.answer.extractive import ExtractiveComposer
from rag.errors import RagError
from rag.index.embedded.index import EmbeddedIndex, fingerprint_of, open_index
from rag.parts import paragraph
from rag.pipeline import Pipeline
from rag.ports import Composition
from rag.search_scope import Asked
from rag.types import Chunk, Citation, Claim, ModelCall, Passage, Principal, Turn
from tests.fakes.builders import NOON
from tests.fakes.passages import EMBEDDER

CALL = ModelCall("answer", "m1", "answer@1", 900, 90, 1200.0, cost_micro_usd=500)


@dataclass
class MemoryAnswers:
    """The saved answers by key, as the record keeps them."""

    entries: dict[str, SavedAnswer] = field(default_factory=dict)

    async def find(self, tenant: str, key: str, since: datetime) -> SavedAnswer | None:
        del tenant
        found = self.entries.get(key)
        return found if found is not None and found.answered_at > since else None

    def record(self, outcome: Outcome) -> None:
        used = outcome.trace.cache
        if used is not None and used.result == "saved":
            self.entries[used.key] = SavedAnswer(outcome, used.answered_at)


@dataclass
class BestLine:
    """A composer that calls a model, which claims the first line of the best passage."""

    name: Literal["model"] = "model"
    composed: int = 0
    error: RagError | None = None
    missing: str | None = None

    async def compose(
        self,
        question: str,
        passages: Sequence[Passage],
        attached: Sequence[str] = (),
        asked: Asked | None = None,
    ) -> Composition:
        del question, attached, asked
        self.composed += 1
        if self.error is not None:
            raise self.error
        best = passages[0].chunk
        line = best.text.splitlines()[0]
        claim = Claim((paragraph(line),), (Citation(best.id, line),))
        return Composition((claim,), calls=(CALL,), missing=self.missing)


@dataclass
class CachedDesk:
    """A desk and what it works with; ``closed`` are pages that their source has just closed."""

    index: EmbeddedIndex
    saved: MemoryAnswers = field(default_factory=MemoryAnswers)
    composer: BestLine = field(default_factory=BestLine)
    closed: set[str] = field(default_factory=set)
    now: datetime = NOON
    sure: float = 0.9
    hours: int = 24
    rechecked: int = 0

    def desk(self, *, cached: bool = True) -> Desk:
        plain = _profile(Pipeline(self.index, EMBEDDER, ExtractiveComposer(EMBEDDER)))
        with_model = _profile(Pipeline(self.index, EMBEDDER, self.composer))
        return Desk(
            replace(with_model, model="m1"),
            others={NO_MODEL: plain},
            gate=self._judge,
            wording=HandoffWording(not_found="Not there.", uncertain="Not sure."),
            recheck=self,
            cache=self._cache() if cached else None,
        )

    async def handle(self, desk: Desk, asked: Inquiry) -> Outcome:
        """Answer and record."""
        outcome = await desk.handle(asked, _silently)
        self.saved.record(outcome)
        return outcome

    def later(self, **delta: float) -> None:
        self.now += timedelta(**delta)

    async def readable_chunk_ids(
        self, tenant: str, chunks: Sequence[Chunk], readers: frozenset[Principal]
    ) -> frozenset[str]:
        del tenant, readers
        self.rechecked += 1
        return frozenset(each.id for each in chunks if each.page_id not in self.closed)

    def _judge(self, features: Mapping[str, float], name: str) -> Judgement:
        del features
        return Judgement(self.sure, threshold=0.65, unsure_from=0.4, by=name)

    def _cache(self) -> AnswerCache:
        keys = CacheKeys(self.index, load_gate(), basis="b", today=lambda: self._today)
        return AnswerCache(
            self.saved,
            keys,
            self.index,
            hours=self.hours,
            embeds=True,
            recheck=self,
            now=lambda: self.now,
        )

    @property
    def _today(self) -> date:
        return self.now.date()


@asynccontextmanager
async def cached_desk(folder: Path) -> AsyncIterator[CachedDesk]:
    """Open an empty index with a desk over it."""
    index = await open_index(folder / "index.sqlite", fingerprint_of(EMBEDDER))
    try:
        yield CachedDesk(index)
    finally:
        await index.close()


def _profile(pipeline: Pipeline) -> ModelProfile:
    return ModelProfile(route=_route, reply_generically=_greet, pipeline=pipeline)


async def _silently(stage: Stage, pages: int = 0) -> None:
    """Report nothing."""


async def _route(text: str, history: tuple[Turn, ...]) -> Route:
    leaned_on = tuple(InteractionId(turn.exchange) for turn in history if text[:4] == "and ")
    return Route(Intent.DOMAIN, 0.9, "rule", text, leaned_on=leaned_on)


async def _greet(
    route: Route, text: str, history: tuple[Turn, ...]
) -> tuple[Reply, tuple[ModelCall, ...]]:
    del route, text, history
    return Reply(text="Hello!", tone="generic"), ()
