"""The application: doors, platforms, API and pages over the same parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from aiohttp import web
from pydantic_settings import BaseSettings

from bot.adapters import rest
from bot.adapters.board import frame as board
from bot.adapters.board.documents import DocumentPages
from bot.adapters.board.state import mount_state
from bot.adapters.board.working import mount_work
from bot.adapters.web.pages import WebChat
from bot.app.confluence import watching
from bot.app.directory import JoinedDirectory
from bot.app.office import office_of
from bot.app.shelves import Shelves, shelves_of
from bot.app.status import CheckParts, checking
from bot.app.working import Working, working_of
from bot.chat.adapters import ChatContext, load_adapters
from bot.chat.commands.reindexing import MassDeleteAlert
from bot.domain.ports import Channel, Directory
from bot.domain.settings import Settings
from bot.domain.settings_reference import SettingOrigin
from bot.doors.doors import mount_doors
from bot.doors.identity import person_of
from bot.doors.reading import DIRECTORY
from bot.doors.receiving import upload_bounds
from bot.durable.joining import DurableEngine
from bot.escalations.casework import QuestionLinks
from bot.escalations.ports import LinksBack
from bot.escalations.reading import IndexReading
from bot.gating.gate import load_gate
from bot.observing.metrics import Metrics, mount_metrics
from bot.observing.tracing.context import continue_trace
from bot.parts import Parts, gate_path
from bot.store.store import Store
from ingestion.config import Settings as IngestionSettings

STATUS: web.AppKey[CheckParts] = web.AppKey("status")
"""How the application tells the state of its parts."""

_FILES_AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class _House:
    """What API and pages are made of."""

    settings: Settings
    parts: Parts
    store: Store
    working: Working
    shelves: Shelves
    office: ChatContext
    channels: Sequence[Channel]


def build(
    settings: Settings,
    parts: Parts,
    store: Store,
    engine: DurableEngine,
    *,
    sample: bool = False,
    sources: Mapping[str, SettingOrigin] | None = None,
    ingestion: IngestionSettings | None = None,
    directory: Directory | None = None,
) -> web.Application:
    """Join all parts into one application. Raises SettingInvalid.

    ``ingestion``: the settings of what is read into the index; None: no wiki is.

    ``directory``: what colleagues may read (bot.app.directory); None: what platforms vouch for.

    ``sample``: the sample company is served, whose colleagues may be played (bot.doors.demo).
    ``sources``: where each setting comes from, to be shown.
    """
    app = web.Application()
    mount_doors(app, settings, sessions=store.sessions, audits=store.audits, sample=sample)
    metrics = Metrics()
    app.middlewares.append(continue_trace)
    app.middlewares.insert(0, metrics.time)
    notes = store.notes
    platforms = [(adapter, adapter.connect(settings, notes)) for adapter in load_adapters(settings)]
    channels = [channel for _, channel in platforms]
    directory = app[DIRECTORY] = directory or JoinedDirectory()
    working = working_of(
        settings,
        parts,
        store,
        engine,
        channels=channels,
        observers=(metrics,),
        dropped=metrics.dropped,
        directory=directory,
        superseded=() if ingestion is None else ingestion.confluence_superseded_labels,
    )
    metrics.watch(lambda: working.inbox.busy)
    held_back = MassDeleteAlert(tenant=settings.tenant, notes=notes, channels=channels)
    shelves = shelves_of(settings, parts, ingestion, held_back)
    check_parts = app[STATUS] = checking(
        settings,
        parts,
        store,
        working.keeper,
        channels=channels,
        confluence=watching(ingestion, shelves),
    )
    office = office_of(
        settings,
        parts,
        store,
        working=working,
        shelves=shelves,
        check_parts=check_parts,
        directory=directory,
    )
    for adapter, channel in platforms:
        adapter.mount(app, channel, office)
    house = _House(settings, parts, store, working, shelves, office, channels)
    waiting = partial(store.counting.waiting_cases, settings.tenant)
    mount_metrics(app, metrics, check_parts=check_parts, cases=waiting)
    _mount_api(app, house)
    _mount_chat(app, house)
    further = [] if ingestion is None else [ingestion]
    _mount_board(app, house, sources or {}, further)
    working.mount(app)
    app.cleanup_ctx.append(shelves.open)
    return app


def _mount_api(app: web.Application, house: _House) -> None:
    settings, store = house.settings, house.store
    rest.mount(
        app,
        inbox=house.working.inbox,
        interactions=store.interactions,
        audits=store.audits,
        settings=settings,
        check_parts=house.office.check_parts,
        readable=IndexReading(house.parts.index),
        record=rest.RecordApi(
            tenant=settings.tenant,
            searches=store.searches,
            cases=house.working.cases,
            interactions=store.interactions,
            usage=store.usage,
        ),
        documents=rest.DocumentsApi(
            tenant=settings.tenant,
            documents=house.shelves.documents,
            reindexing=house.shelves.reindexing,
            audits=store.audits,
            data_dir=settings.data_dir,
            bounds=upload_bounds(settings.max_upload_mb),
        ),
    )


def _mount_chat(app: web.Application, house: _House) -> None:
    settings, store = house.settings, house.store
    WebChat(
        inbox=house.working.inbox,
        interactions=store.interactions,
        conversations=store.interactions,
        cases=house.working.cases,
        watches=store.watching,
        threads=store.threads,
        gate=load_gate(settings.confidence_threshold, gate_path(settings)),
        pages=house.parts.index,
        readable=IndexReading(house.parts.index),
        identify=person_of,
        tenant=settings.tenant,
        starters=settings.chat_starters,
        placeholder=settings.chat_placeholder,
    ).mount(app)


def _mount_board(
    app: web.Application,
    house: _House,
    sources: Mapping[str, SettingOrigin],
    further: Sequence[BaseSettings],
) -> None:
    settings, store = house.settings, house.store
    board.mount_frame(app)
    _mount_casework(app, house)
    DocumentPages(
        tenant=settings.tenant,
        documents=house.shelves.documents,
        reindexing=house.shelves.reindexing,
        audits=store.audits,
        data_dir=settings.data_dir,
        bounds=upload_bounds(settings.max_upload_mb, files=_FILES_AT_ONCE),
        schedule=house.shelves.schedule,
    ).mount(app)
    mount_state(
        app,
        record=store,
        settings=settings,
        sources=sources,
        check_parts=house.office.check_parts,
        platforms=house.channels,
        further=further,
    )


def _mount_casework(app: web.Application, house: _House) -> None:
    settings, store, cases = house.settings, house.store, house.working.cases
    readable = IndexReading(house.parts.index)
    linking = {each.platform: each for each in house.channels if isinstance(each, LinksBack)}
    mount_work(
        app,
        tenant=settings.tenant,
        works=house.office.casework,
        cases=cases,
        searches=store.searches,
        record=store.interactions,
        readable=readable,
        index=house.parts.index,
        origins=QuestionLinks(store.interactions, linking),
        patience=timedelta(minutes=settings.escalation_ping_minutes),
    )
