"""Build the web application: middleware, platforms, API and pages over the same components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from aiohttp import web
from pydantic_settings import BaseSettings

from bot.answering.explanations.explainer import Explainer
from bot.answering.gate import load_gate
from bot.answering.permitted_views import PrivateAnswers
from bot.answering.visibility import ReadableInIndex
from bot.app.components import CheckComponents, Components, component_checker, gate_path
from bot.app.confluence import ConfluenceDirectory, confluence_checker
from bot.app.documents import DocumentServices, build_document_services
from bot.app.worker import BackgroundWork, DurableEngine, build_background_work
from bot.chat.adapters import ChatContext, load_adapters
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.reindexing import MassDeleteAlert, ReindexRuns
from bot.chat.commands.run_status import RunWatcher
from bot.chat.messages import ListeningPolicy
from bot.domain.ports import Channel, Directory
from bot.domain.settings import Settings
from bot.domain.settings_reference import SettingOrigin
from bot.escalations.casework import Casework, QuestionLinks
from bot.escalations.ports import LinksBack
from bot.observability.metrics import Metrics, mount_metrics
from bot.store.database import Store
from bot.web import api
from bot.web.auth.identity import DIRECTORY
from bot.web.auth.security import continue_trace, mount_security
from bot.web.board import layout as board
from bot.web.board import mount_state_pages, mount_work_pages
from bot.web.board.documents import DocumentPages
from bot.web.chat.routes import mount_chat
from bot.web.forms import upload_limits
from ingestion.config import Settings as IngestionSettings


def build_chat_context(
    settings: Settings,
    parts: Components,
    store: Store,
    *,
    working: BackgroundWork,
    shelves: DocumentServices,
    check_parts: CheckComponents,
    directory: Directory,
) -> ChatContext:
    """Build the services that the chat adapters share; nothing is started."""
    readable = ReadableInIndex(parts.index)
    return ChatContext(
        tenant=settings.tenant,
        directory=directory,
        inbox=working.inbox,
        interactions=store.interactions,
        casework=Casework(cases=working.cases, interactions=store.interactions, readable=readable),
        explaining=Explainer(
            interactions=store.interactions,
            gate=load_gate(settings.confidence_threshold, gate_path(settings)),
            readable=readable,
            public_url=settings.public_url,
        ),
        fuller=PrivateAnswers(readable, public_url=settings.public_url, still=parts.still),
        hearing=ListeningPolicy(store.policies, store.interactions),
        policies=store.policies,
        notes=store.notes,
        audits=store.audits,
        documents=shelves.documents,
        reindexing=shelves.reindexing,
        orders=_build_commands(settings, store, shelves, check_parts, directory),
        check_parts=check_parts,
    )


def _build_commands(
    settings: Settings,
    store: Store,
    shelves: DocumentServices,
    check_parts: CheckComponents,
    directory: Directory,
) -> CommandExecutor:
    return CommandExecutor(
        tenant=settings.tenant,
        reindexing=ReindexRuns(
            tenant=settings.tenant,
            documents=shelves.documents,
            runs=shelves.reindexing,
            audits=store.audits,
        ),
        watch=RunWatcher(shelves.reindexing),
        policies=store.policies,
        directory=directory,
        check_parts=check_parts,
        served=settings.index_spaces,
        models=settings.openai_channel_models,
        usual_model=settings.openai_model,
    )


STATUS: web.AppKey[CheckComponents] = web.AppKey("status")
"""The function that returns the status of all components."""

_FILES_PER_UPLOAD = 10


@dataclass(frozen=True, slots=True)
class _Assembly:
    """The services that API and pages are mounted with."""

    settings: Settings
    parts: Components
    store: Store
    working: BackgroundWork
    shelves: DocumentServices
    office: ChatContext
    channels: Sequence[Channel]


def build(
    settings: Settings,
    parts: Components,
    store: Store,
    engine: DurableEngine,
    *,
    sample: bool = False,
    sources: Mapping[str, SettingOrigin] | None = None,
    ingestion: IngestionSettings | None = None,
    directory: Directory | None = None,
) -> web.Application:
    """Build the web application from all components. Raises SettingInvalid.

    ``ingestion``: the settings of ingestion; without them no wiki is read.

    ``directory``: resolves what colleagues may read (bot.app.confluence); without one, what
    platforms vouch for counts.

    ``sample``: the sample company is served, whose colleagues visitors may play
    (bot.web.auth.demo). ``sources``: the origin of each setting, shown on the board.
    """
    app = web.Application()
    security = mount_security(
        app, settings, sessions=store.sessions, audits=store.audits, sample=sample
    )
    metrics = Metrics()
    app.middlewares.append(continue_trace)
    app.middlewares.insert(0, metrics.time)
    notes = store.notes
    platforms = [(adapter, adapter.connect(settings, notes)) for adapter in load_adapters(settings)]
    channels = [channel for _, channel in platforms]
    directory = app[DIRECTORY] = directory or ConfluenceDirectory()
    working = build_background_work(
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
    shelves = build_document_services(settings, parts, ingestion, held_back)
    check_parts = app[STATUS] = component_checker(
        settings,
        parts,
        store,
        working.keeper,
        channels=channels,
        confluence=confluence_checker(ingestion, shelves),
    )
    office = build_chat_context(
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
    house = _Assembly(settings, parts, store, working, shelves, office, channels)
    waiting = partial(store.counting.waiting_cases, settings.tenant)
    mount_metrics(app, metrics, check_parts=check_parts, cases=waiting)
    _mount_api(app, house)
    _mount_chat(app, house)
    further = [] if ingestion is None else [ingestion]
    _mount_board(app, house, sources or {}, further)
    working.mount(app)
    app.cleanup_ctx.append(shelves.open)
    security.exempt_webhooks(app, metrics.time)
    return app


def _mount_api(app: web.Application, house: _Assembly) -> None:
    settings, store = house.settings, house.store
    api.mount(
        app,
        inbox=house.working.inbox,
        interactions=store.interactions,
        audits=store.audits,
        settings=settings,
        check_parts=house.office.check_parts,
        readable=ReadableInIndex(house.parts.index),
        record=api.RecordApi(
            tenant=settings.tenant,
            searches=store.searches,
            cases=house.working.cases,
            interactions=store.interactions,
            usage=store.usage,
        ),
        documents=api.DocumentsApi(
            tenant=settings.tenant,
            documents=house.shelves.documents,
            reindexing=house.shelves.reindexing,
            audits=store.audits,
            data_dir=settings.data_dir,
            bounds=upload_limits(settings.max_upload_mb),
        ),
    )


def _mount_chat(app: web.Application, house: _Assembly) -> None:
    settings, store = house.settings, house.store
    mount_chat(
        app,
        inbox=house.working.inbox,
        interactions=store.interactions,
        cases=house.working.cases,
        watches=store.watching,
        threads=store.threads,
        gate=load_gate(settings.confidence_threshold, gate_path(settings)),
        pages=house.parts.index,
        readable=ReadableInIndex(house.parts.index),
        tenant=settings.tenant,
        starters=settings.chat_starters,
        placeholder=settings.chat_placeholder,
    )


def _mount_board(
    app: web.Application,
    house: _Assembly,
    sources: Mapping[str, SettingOrigin],
    further: Sequence[BaseSettings],
) -> None:
    settings, store = house.settings, house.store
    board.mount_layout(app)
    _mount_casework(app, house)
    DocumentPages(
        tenant=settings.tenant,
        documents=house.shelves.documents,
        reindexing=house.shelves.reindexing,
        audits=store.audits,
        data_dir=settings.data_dir,
        bounds=upload_limits(settings.max_upload_mb, files=_FILES_PER_UPLOAD),
        schedule=house.shelves.schedule,
    ).mount(app)
    mount_state_pages(
        app,
        record=store,
        settings=settings,
        sources=sources,
        check_parts=house.office.check_parts,
        platforms=house.channels,
        further=further,
    )


def _mount_casework(app: web.Application, house: _Assembly) -> None:
    settings, store, cases = house.settings, house.store, house.working.cases
    readable = ReadableInIndex(house.parts.index)
    linking = {each.platform: each for each in house.channels if isinstance(each, LinksBack)}
    mount_work_pages(
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
