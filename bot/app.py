"""COMPOSITION of the server: every part is joined here, once; it alone knows ingestion."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import structlog
from aiohttp import web

from bot import startup
from bot.adapters import rest
from bot.adapters.board import frame as board
from bot.adapters.board.documents import DocumentPages
from bot.adapters.board.state import mount_state
from bot.adapters.board.working import mount_work
from bot.adapters.web.pages import WebChat
from bot.admission import Admission, VouchedDirectory
from bot.config import Settings
from bot.documents.told import ToldDocuments, ToldReindex, Translation
from bot.doors.doors import mount_doors
from bot.doors.identity import person_of
from bot.doors.receiving import upload_bounds
from bot.durable.joining import DurableEngine, Opened, Surroundings, durable_inbox
from bot.durable.keeper import Keeper
from bot.durable.work import Limits
from bot.errors import DocumentInTheWay, DocumentRefused, DocumentUnknown, StoreUnavailable
from bot.escalations.announcing import AnnouncedCases
from bot.escalations.casework import Casework
from bot.escalations.news import News, utc_now
from bot.escalations.origin import Origins
from bot.escalations.ports import LinksBack
from bot.escalations.reading import IndexReading
from bot.escalations.telling import Teller
from bot.gating.gate import load_gate
from bot.limits.limits import LimitedAdmission
from bot.limits.notices import Notices
from bot.limits.part import limits_part
from bot.limits.usage import use_limits
from bot.observing.audit import Observes
from bot.observing.metrics import Metrics, mount_metrics
from bot.observing.tracing import continue_trace, tracing_part
from bot.parts import Parts, gate_path
from bot.platforms import adapters
from bot.ports import Channel
from bot.records.sums import Swept
from bot.settings.source import Source
from bot.startup import Part
from bot.store import Store, database_url, prepare
from bot.types import Policy
from ingestion.assembly import library_of, open_library
from ingestion.errors import DocumentInTheWay as InTheWay
from ingestion.errors import DocumentRefused as Refused
from ingestion.errors import DocumentUnknown as Unknown
from ingestion.errors import LedgerUnavailable
from ingestion.ledger import Ledger
from ingestion.library import Library
from ingestion.progress import progress_on
from ingestion.report import report_lines
from ingestion.run import Folder, sync_folder
from ingestion.sources import remember
from rag.errors import RagError

log = structlog.get_logger(__name__)

SAMPLE = Path(__file__).parents[1] / "infra" / "sample"
SAMPLE_SPACES = {"SAMPLE-IT": "it", "SAMPLE-HR": "hr"}
STARTERS = (
    "vpn says error 809, what now?",
    "How do I reset my password?",
    "Who approves travel?",
    "Can I talk to a human?",
)


async def reindex_sample(settings: Settings, parts: Parts) -> Sequence[str]:
    """Bring the sample company's pages up to date; once there are others, remove them.

    An invented company's rules must not answer real colleagues.
    """
    indexed = set(await parts.index.spaces(settings.tenant))
    own = sorted(indexed - set(SAMPLE_SPACES))
    if own:
        return await _forget_sample(settings, parts, own)
    ledger = Ledger(settings.data_dir, settings.tenant)
    lines: list[str] = []
    for key, name in SAMPLE_SPACES.items():
        begun, folder = datetime.now(UTC), Folder(SAMPLE / name, key)
        report = await sync_folder(
            folder,
            parts.index,
            parts.embedder,
            tenant=settings.tenant,
            data_dir=settings.data_dir,
            progress=progress_on(sys.stderr),
        )
        await remember(ledger, folder, report, begun)
        lines += report_lines(report)
    return [line for line in lines if line.startswith(("Space", "Failed", "Warning"))]


async def _forget_sample(settings: Settings, parts: Parts, own: Sequence[str]) -> Sequence[str]:
    removed = 0
    for space in SAMPLE_SPACES:
        pages = await parts.index.pages(settings.tenant, space)
        removed += await parts.index.delete_pages(settings.tenant, space, list(pages))
        await Ledger(settings.data_dir, settings.tenant).forget(space)
    gone = f" Its {removed} pages are removed." if removed else ""
    return [f"The sample company is left out, because {', '.join(own)} is indexed.{gone}"]


async def status(settings: Settings, parts: Parts) -> Sequence[Part]:
    """Return what is configured and what is not; quick enough for every readiness probe."""
    name = parts.embedder.name if parts.embedder else None
    return (
        await _knowledge(settings, parts),
        startup.embedder(name, parts.embedder_trouble),
        startup.model(settings),
        startup.slack(settings),
        startup.teams(settings),
        startup.confluence(),
        startup.azure_search(),
        startup.doors(settings),
    )


async def _knowledge(settings: Settings, parts: Parts) -> Part:
    try:
        return startup.knowledge(await parts.index.spaces(settings.tenant))
    except RagError as error:
        return Part("knowledge", "failed", str(error))


REFUSALS: Translation = {
    Unknown: DocumentUnknown,
    InTheWay: DocumentInTheWay,
    Refused: DocumentRefused,
    LedgerUnavailable: StoreUnavailable,
    RagError: StoreUnavailable,
    OSError: StoreUnavailable,
}
"""What ingestion and the disk say, as the bot's own errors."""


STATUS: web.AppKey[rest.CheckParts] = web.AppKey("status")
"""How the application tells the state of its parts."""


def build(
    settings: Settings,
    parts: Parts,
    store: Store,
    engine: DurableEngine,
    *,
    sample: bool = False,
    sources: Mapping[str, Source] | None = None,
) -> web.Application:
    """Join all parts into one application. Raises SettingInvalid.

    ``sample``: the sample company is served, whose colleagues may be played (bot.doors.demo).
    ``sources``: where each setting comes from, to be shown.
    """
    app = web.Application()
    mount_doors(app, settings, sessions=store.sessions, audits=store.audits, sample=sample)
    app.middlewares.append(continue_trace)
    platforms = [(adapter, adapter.connect(settings)) for adapter in adapters(settings)]
    metrics = Metrics()
    app.middlewares.insert(0, metrics.time)
    channels = [channel for _, channel in platforms]
    opened = _inbox(settings, parts, store, engine, channels=channels, observers=(metrics,))
    inbox, keeper = opened.inbox, opened.keeper
    metrics.watch(lambda: inbox.busy)
    news = _news(store, channels, keeper)
    cases = AnnouncedCases(store.escalations, news.hint)
    for adapter, channel in platforms:
        adapter.mount(app, channel, inbox, store.interactions)

    async def check_parts() -> Sequence[Part]:
        limits = await limits_part(settings, store.counting, store.pauses)
        return (*await status(settings, parts), limits, tracing_part(), keeper.part())

    app[STATUS] = check_parts
    library = _library(settings, parts)
    documents = ToldDocuments(library, REFUSALS)
    reindexing = ToldReindex(library.runs, REFUSALS)
    waiting = partial(store.counting.waiting_cases, settings.tenant)
    mount_metrics(app, metrics, check_parts=check_parts, cases=waiting)
    rest.mount(
        app,
        inbox=inbox,
        interactions=store.interactions,
        audits=store.audits,
        settings=settings,
        check_parts=check_parts,
        record=rest.RecordApi(
            tenant=settings.tenant,
            searches=store.searches,
            cases=cases,
            interactions=store.interactions,
            usage=store.usage,
        ),
        documents=rest.DocumentsApi(
            tenant=settings.tenant,
            documents=documents,
            reindexing=reindexing,
            audits=store.audits,
            data_dir=settings.data_dir,
            bounds=upload_bounds(settings.max_upload_mb),
        ),
    )
    WebChat(
        inbox=inbox,
        interactions=store.interactions,
        conversations=store.interactions,
        cases=cases,
        watches=store.watching,
        threads=store.threads,
        gate=load_gate(settings.confidence_threshold, gate_path(settings)),
        pages=parts.index,
        identify=person_of,
        tenant=settings.tenant,
        starters=STARTERS,
    ).mount(app)
    board.mount_frame(app)
    readable = IndexReading(parts.index)
    mount_work(
        app,
        tenant=settings.tenant,
        works=Casework(cases=cases, interactions=store.interactions, readable=readable),
        cases=cases,
        searches=store.searches,
        record=store.interactions,
        readable=readable,
        origins=Origins(
            store.interactions,
            {each.platform: each for each in channels if isinstance(each, LinksBack)},
        ),
        patience=timedelta(minutes=settings.escalation_ping_minutes),
    )
    DocumentPages(
        tenant=settings.tenant,
        documents=documents,
        reindexing=reindexing,
        audits=store.audits,
        data_dir=settings.data_dir,
        bounds=upload_bounds(settings.max_upload_mb, files=10),
    ).mount(app)
    mount_state(
        app,
        record=store,
        settings=settings,
        sources=sources or {},
        check_parts=check_parts,
        platforms=channels,
    )
    app.cleanup_ctx.append(_running(keeper))
    app.cleanup_ctx.append(_looking_after(library))
    app.cleanup_ctx.append(_telling(news))
    app.on_shutdown.append(_draining(keeper, news))
    return app


def _library(settings: Settings, parts: Parts) -> Library:
    return library_of(
        parts.index,
        tenant=settings.tenant,
        data_dir=settings.data_dir,
        largest=upload_bounds(settings.max_upload_mb).bytes,
    )


def _looking_after(library: Library) -> Callable[[web.Application], AsyncIterator[None]]:
    async def run(_: web.Application) -> AsyncIterator[None]:
        async with open_library(library):
            yield

    return run


def executor_of(settings: Settings) -> str:
    """Name this process for the engine: always the same where only one can be."""
    return "local" if settings.database_url is None else str(uuid.uuid4())


def _inbox(
    settings: Settings,
    parts: Parts,
    store: Store,
    engine: DurableEngine,
    *,
    channels: Sequence[Channel],
    observers: Sequence[Observes],
) -> Opened:
    return durable_inbox(
        store,
        engine,
        admission=_admission(settings, store),
        desk=parts.desk,
        channels={each.platform: each for each in channels},
        limits=Limits(concurrency=settings.concurrency, waiting=settings.waiting),
        surroundings=Surroundings(
            alone=settings.database_url is None,
            prepare=partial(prepare, database_url(settings)),
            clean=partial(_clean, settings, store),
            log_questions=settings.log_questions,
            public_url=settings.public_url,
            observers=observers,
        ),
    )


def _admission(settings: Settings, store: Store) -> LimitedAdmission:
    policy = Policy(spaces=settings.index_spaces)
    return LimitedAdmission(
        Admission(store.interactions, VouchedDirectory(), policy, store.policies),
        use=store.counting,
        pauses=store.pauses,
        limits=use_limits(settings),
        notices=Notices(),
    )


async def _clean(settings: Settings, store: Store) -> None:
    now = datetime.now(UTC)
    await store.sessions.sweep(now)
    swept = await store.retention.sweep(now, settings.retention_days)
    if swept != Swept():
        log.info("retention.swept", **asdict(swept))


def _news(store: Store, channels: Sequence[Channel], keeper: Keeper) -> News:
    teller = Teller(
        outbox=store.notices,
        cases=store.escalations,
        recorded=store.interactions,
        channels={each.platform: each for each in channels},
        now=utc_now,
    )
    return News(
        owner=str(uuid.uuid4()),
        outbox=store.notices,
        teller=teller,
        is_open=lambda: keeper.part().state == "ready",
    )


def _draining(keeper: Keeper, news: News) -> Callable[[web.Application], Awaitable[None]]:
    """Finish work before aiohttp cuts off who waits for it, which takes its time-out twice."""

    async def drain(_: web.Application) -> None:
        await asyncio.gather(keeper.drain(), news.stop())

    return drain


def _running(keeper: Keeper) -> Callable[[web.Application], AsyncIterator[None]]:
    async def run(_: web.Application) -> AsyncIterator[None]:
        await keeper.start()
        yield
        await keeper.stop()

    return run


def _telling(news: News) -> Callable[[web.Application], AsyncIterator[None]]:
    async def run(_: web.Application) -> AsyncIterator[None]:
        news.start()
        yield
        await news.stop()

    return run
