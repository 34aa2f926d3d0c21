"""Fake what learning needs from the record, and questions that the wiki did not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import count

from bot.answering.visibility import ReadablePassages
from bot.domain.interactions import Escalation, Interaction, Outcome, Reply, Response, Route, Trace
from bot.domain.messages import (
    FoundPassage,
    Inquiry,
    Intent,
    InteractionId,
    Message,
    Person,
    Policy,
)
from bot.domain.ports import KnowsPublicChannels, ReportStage
from bot.domain.record_reports import Span
from bot.domain.usage import UsageLimits
from bot.learning.gap_checks import GapChecks, ModelAllowance
from bot.learning.gap_jobs import GapJob
from bot.learning.gap_views import GapViews
from bot.learning.insights import FactCollector, InsightViews, ReadsPages
from bot.learning.question_words import QuestionWords
from bot.store.database import Store
from ingestion.errors import IngestionError
from ingestion.types import PublishableAnswer
from rag.ports import Embedder
from rag.types import Chunk, ModelCall
from tests.fakes.board_app import TwoPageIndex, source
from tests.fakes.builders import message
from tests.fakes.rag_ports import WordEmbedder


class MemoryPublisher:
    """Implements bot.learning.publishing.Publishes in memory; ``refusal`` is raised if set."""

    def __init__(self) -> None:
        self.published: dict[str, PublishableAnswer] = {}
        self.refusal: IngestionError | None = None

    async def publish(self, answer: PublishableAnswer) -> str:
        if self.refusal is not None:
            raise self.refusal
        self.published[answer.id] = answer
        return f"https://wiki.example/answers/{answer.id}"


class MemoryNotes:
    """Implements bot.domain.ports.Notes in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    async def get(self, tenant: str, key: str) -> str | None:
        return self.kept.get((tenant, key))

    async def put(
        self, tenant: str, key: str, text: str, *, interaction_id: InteractionId | None = None
    ) -> None:
        self.kept[tenant, key] = text

    async def first(
        self, tenant: str, key: str, text: str = "", *, interaction_id: InteractionId | None = None
    ) -> bool:
        new = (tenant, key) not in self.kept
        self.kept.setdefault((tenant, key), text)
        return new

    async def remove(self, tenant: str, key: str) -> None:
        self.kept.pop((tenant, key), None)

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:
        found = {key: text for (of, key), text in self.kept.items() if of == tenant}
        return {key: found[key] for key in sorted(found) if key.startswith(prefix)}


class NoWorkers:
    """Implements CaseWorkers: nobody worked on a case."""

    async def workers(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, frozenset[str]]:
        return {}


def gap_views(store: Store, readable: ReadablePassages) -> GapViews:
    words = QuestionWords(store.escalations, store.notes, readable)
    return GapViews("default", store.gap_reports, words, readable)


DAYLIGHT, NIGHT = 24, 0
"""The hour from which a job works at night: one that no day has, and one that always has come."""

_NUMBERS = count(1)
LOW = Escalation("I'll ask.", "low_confidence", "")
GUESS = Reply("Perhaps.", "found", confidence=0.5, confidence_level="unsure")
SURE = replace(GUESS, text="It is.", confidence=0.9, confidence_level="sure")


async def asked(
    store: Store,
    text: str,
    person: str = "mika",
    *,
    response: Response = LOW,
    found: Collection[Chunk] = (),
    channel: str = "",
    intent: Intent = Intent.DOMAIN,
    question: Message | None = None,
) -> Interaction:
    """Record a question, in private or in a channel of Slack, and what became of it."""
    sent = question or replace(
        message(text, message_id=f"gap-{next(_NUMBERS)}", channel=person),
        author=Person(person, person.title()),
    )
    if channel:
        thread = replace(sent.thread, platform="slack", channel=channel)
        sent = replace(sent, thread=thread, private=False)
    passages = tuple(FoundPassage(each.id, each.page_id, each.title, "", {}) for each in found)
    if isinstance(response, Escalation):
        response = replace(response, question=text)
    trace = Trace(Route(intent, 1.0, "rule", text), passages, heard=())
    opened = await store.work.open(sent, "me")
    await store.work.close(opened, Outcome(response, trace), last=True)
    recorded = await store.interactions.get(opened.id)
    assert recorded is not None
    return recorded


class AnswersNow:
    """A desk that is sure of the questions it knows, at the cost of a call; remembers all."""

    def __init__(self, *known: str, page: Chunk | None = None) -> None:
        self.known = set(known)
        self.page = page
        self.inquiries: list[Inquiry] = []

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.inquiries.append(inquiry)
        text = inquiry.message.text
        trace = Trace(
            Route(Intent.DOMAIN, 1.0, "rule", text),
            calls=(ModelCall("answer", "large", "answer@3", 900, 80, 1.0, cost_micro_usd=1_500),),
        )
        return Outcome(self._sure() if text in self.known else LOW, trace)

    def _sure(self) -> Reply:
        return replace(SURE, sources=() if self.page is None else (source(self.page),))


def model_allowance(store: Store, limits: UsageLimits | None = None) -> ModelAllowance:
    return ModelAllowance("default", limits or UsageLimits(), store.counting, store.pauses.current)


def gap_job(
    store: Store,
    *,
    embedder: Embedder | None = None,
    without_vectors: bool = False,
    platforms: Mapping[str, KnowsPublicChannels] | None = None,
    desk: AnswersNow | None = None,
    budget: int = 200,
    limits: UsageLimits | None = None,
    night: int = DAYLIGHT,
) -> GapJob:
    """Return the job as the server runs it, over a real record."""
    checks = GapChecks(
        tenant="default",
        record=store.gaps,
        desk=desk or AnswersNow(),
        policies=store.policies,
        policy=Policy(),
        calls=store.usage,
        allowance=model_allowance(store, limits),
        budget=budget,
    )
    return GapJob(
        "default",
        store.gaps,
        store.jobs,
        embedder=None if without_vectors else embedder or WordEmbedder(),
        platforms=platforms or {},
        checks=checks,
        night=night,
        settled=timedelta(0),
    )


def fact_collector(store: Store) -> FactCollector:
    """Return the job as the server runs it, over a real record."""
    return FactCollector(
        "default",
        store.gaps,
        store.insights,
        store.jobs,
        now=lambda: datetime.now(UTC) + timedelta(seconds=1),
        settled=timedelta(0),
    )


def insight_views(
    store: Store, index: ReadsPages | None = None, zone: tzinfo = UTC
) -> InsightViews:
    pages = index or TwoPageIndex()
    return InsightViews("default", store.statistics, store.insights, pages, zone)


async def collect_facts(store: Store) -> None:
    """Record the facts of all questions."""
    job = fact_collector(store)
    while await job.run():
        pass


async def run(job: GapJob, now: datetime | None = None) -> None:
    """Run the job until it has nothing to do."""
    async with asyncio.timeout(60):
        while await job.run(now or datetime.now(UTC)):
            pass


def span_of_days(days: int = 30) -> Span:
    """Return the days up to now."""
    now = datetime.now(UTC) + timedelta(seconds=1)
    return Span(now - timedelta(days=days), now)
