"""Build the background work: the inbox with its worker, and the notices to askers."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

import structlog
from aiohttp import web

from bot.answering.admission import Admission
from bot.answering.asker_identity import AskerIdentification
from bot.answering.desk import SupersededMarker
from bot.answering.flood_control import FloodControl
from bot.answering.limit_notices import AskerNotices, RefusalLog
from bot.answering.limits import LimitedAdmission
from bot.answering.visibility import ReadableInIndex, ReadablePassages
from bot.app.components import Components
from bot.app.documents import build_attachments
from bot.domain.capabilities import Introduces
from bot.domain.messages import Message, Platform, Policy
from bot.domain.ports import Admits, AnswersInquiries, Channel, Directory
from bot.domain.record_reports import RetentionResult
from bot.domain.settings import Settings
from bot.domain.usage import usage_limits
from bot.escalations.casework import Casework, NotifyingCases
from bot.escalations.notices import NoticeDelivery, NoticeLoop, utc_now
from bot.inbox.accept import DurableInbox, Engine
from bot.inbox.heartbeat import (
    InboxSupervisor,
    Lease,
    SupervisedEngine,
)
from bot.inbox.in_flight import InFlight
from bot.inbox.outbox import Deliverer, ReplyOutbox
from bot.inbox.worker import MessageAnswerer, MessageWorker, WorkLimits
from bot.observability.request_log import OutcomeObserver, RequestLog
from bot.store.database import Store, database_url, prepare


class DurableEngine(Engine, SupervisedEngine, Protocol):
    """The engine as both the inbox and its supervisor need it."""


@dataclass(frozen=True, slots=True)
class InboxOptions:
    """The options of an inbox.

    ``alone``: a lock keeps other servers away, and the store is a file. ``prepare`` migrates the
    store's schema, ``clean`` deletes expired data. ``hold_back`` raises RateExceeded for messages
    that are not even stored.
    """

    alone: bool
    prepare: Callable[[], Awaitable[None]]
    clean: Callable[[], Awaitable[None]]
    log_questions: bool = True
    public_url: str | None = None
    observers: Sequence[OutcomeObserver] = ()
    hold_back: Callable[[Message], None] | None = None


@dataclass(frozen=True, slots=True)
class BuiltInbox:
    """An inbox, and the supervisor that starts and stops it."""

    inbox: DurableInbox
    supervisor: InboxSupervisor


def build_durable_inbox(
    store: Store,
    engine: DurableEngine,
    *,
    admission: Admits,
    desk: AnswersInquiries,
    channels: Mapping[Platform, Channel],
    limits: WorkLimits,
    options: InboxOptions,
) -> BuiltInbox:
    """Build an inbox with its worker and supervisor; nothing is started."""
    owner = str(uuid.uuid4()) if options.alone else engine.executor
    lease = Lease(store.replicas, owner, alone=options.alone)
    underway = InFlight()
    deliver = Deliverer(channels, store.work, public_url=options.public_url)
    patience = timedelta(hours=limits.delivery_hours)
    work = MessageWorker(
        owner=owner,
        work=store.work,
        answering=MessageAnswerer(admission, desk, deadline_seconds=limits.deadline_seconds),
        deliver=deliver,
        posting=ReplyOutbox(store.work, deliver, alive=lease.holds, patience=patience),
        observers=(RequestLog(log_questions=options.log_questions), *options.observers),
        limits=limits,
        answered=underway.settle,
    )
    inbox = DurableInbox(
        owner=owner,
        worklist=store.work,
        engine=engine,
        work=work,
        underway=underway,
        limits=limits,
        hold_back=options.hold_back,
    )
    supervisor = InboxSupervisor(
        inbox=inbox,
        engine=engine,
        lease=lease,
        deaths=store.replicas,
        prepare=options.prepare,
        clean=options.clean,
        patient=not options.alone,
    )
    return BuiltInbox(inbox, supervisor)


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BackgroundWork:
    """Processes messages and escalations while the server runs."""

    inbox: DurableInbox
    supervisor: InboxSupervisor
    notices: NoticeLoop
    cases: NotifyingCases

    def mount(self, app: web.Application) -> None:
        """Start and stop the background work with the server."""
        app.cleanup_ctx.append(self._supervise)
        app.cleanup_ctx.append(self._send_notices)
        app.on_shutdown.append(self._drain)

    async def _supervise(self, _: web.Application) -> AsyncIterator[None]:
        await self.supervisor.start()
        yield
        await self.supervisor.stop()

    async def _send_notices(self, _: web.Application) -> AsyncIterator[None]:
        self.notices.start()
        yield
        await self.notices.stop()

    async def _drain(self, _: web.Application) -> None:
        """Finish work before aiohttp disconnects its waiters, which takes its timeout twice."""
        await asyncio.gather(self.supervisor.drain(), self.notices.stop())


def build_background_work(
    settings: Settings,
    parts: Components,
    store: Store,
    engine: DurableEngine,
    *,
    channels: Sequence[Channel],
    observers: Sequence[OutcomeObserver],
    directory: Directory,
    dropped: Callable[[Message], None],
    superseded: Collection[str] = (),
) -> BackgroundWork:
    """Build the inbox, the notices and the cases; nothing is started.

    ``superseded`` are the labels of pages that carry a warning; ``dropped`` is called with each
    message that is not even stored.
    """
    desk = SupersededMarker(parts.desk, superseded)
    notices = RefusalLog()
    readable = ReadableInIndex(parts.index)
    admission = _build_admission(settings, store, channels, directory, readable, notices)
    floods = FloodControl(usage_limits(settings), notices, dropped)
    opened = _build_inbox(
        settings,
        desk,
        store,
        engine,
        admission=admission,
        channels=channels,
        observers=observers,
        hold_back=floods.check,
    )
    loop = _build_notices(store, parts, channels, opened.supervisor)
    cases = NotifyingCases(store.escalations, loop.hint)
    return BackgroundWork(opened.inbox, opened.supervisor, loop, cases)


def executor_of(settings: Settings) -> str:
    """Return this process's name for the engine: a fixed one where only one process can run."""
    return "local" if settings.database_url is None else str(uuid.uuid4())


def _build_inbox(
    settings: Settings,
    desk: AnswersInquiries,
    store: Store,
    engine: DurableEngine,
    *,
    admission: LimitedAdmission,
    channels: Sequence[Channel],
    observers: Sequence[OutcomeObserver],
    hold_back: Callable[[Message], None],
) -> BuiltInbox:
    return build_durable_inbox(
        store,
        engine,
        admission=admission,
        desk=desk,
        channels={each.platform: each for each in channels},
        limits=WorkLimits(concurrency=settings.concurrency, waiting=settings.waiting),
        options=InboxOptions(
            alone=settings.database_url is None,
            prepare=partial(prepare, database_url(settings)),
            clean=partial(_delete_expired, settings, store),
            log_questions=settings.log_questions,
            public_url=settings.public_url,
            observers=observers,
            hold_back=hold_back,
        ),
    )


def _build_admission(
    settings: Settings,
    store: Store,
    channels: Sequence[Channel],
    directory: Directory,
    readable: ReadablePassages,
    notices: RefusalLog,
) -> LimitedAdmission:
    introductions = AskerIdentification(
        {each.platform: each for each in channels if isinstance(each, Introduces)},
        open_spaces={
            "slack": frozenset(settings.slack_outsider_spaces),
            "teams": frozenset(settings.teams_outsider_spaces),
        },
        notes=store.notes,
    )
    return LimitedAdmission(
        Admission(
            store.interactions,
            directory,
            Policy(spaces=settings.index_spaces),
            store.policies,
            introductions=introductions,
            reading=build_attachments(channels),
            readable=readable,
            notes=store.notes,
        ),
        use=store.counting,
        pauses=store.pauses,
        limits=usage_limits(settings),
        notices=notices,
        told=AskerNotices(store.notes, frozenset(each.platform for each in channels)),
    )


async def _delete_expired(settings: Settings, store: Store) -> None:
    now = datetime.now(UTC)
    await store.sessions.sweep(now)
    swept = await store.retention.sweep(now, settings.retention_days)
    if swept != RetentionResult():
        log.info("retention.swept", **asdict(swept))


def _build_notices(
    store: Store, parts: Components, channels: Sequence[Channel], supervisor: InboxSupervisor
) -> NoticeLoop:
    teller = NoticeDelivery(
        outbox=store.notices,
        cases=store.escalations,
        works=Casework(
            cases=store.escalations,
            interactions=store.interactions,
            readable=ReadableInIndex(parts.index),
        ),
        recorded=store.interactions,
        channels={each.platform: each for each in channels},
        now=utc_now,
    )
    return NoticeLoop(
        owner=str(uuid.uuid4()),
        outbox=store.notices,
        teller=teller,
        is_open=lambda: supervisor.part().state == "ready",
    )
