"""Build the web application: middleware, platforms, API and pages over the same components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from urllib.parse import urlsplit

from aiohttp import web
from pydantic_settings import BaseSettings

from bot.answering.gate import load_gate
from bot.answering.visibility import ReadableInIndex
from bot.app.chat_context import build_chat_context
from bot.app.component_status import component_checker
from bot.app.components import Components, gate_path
from bot.app.confluence import ConfluenceDirectory, answer_publisher, confluence_checker
from bot.app.directory_names import mount_names
from bot.app.documents import DocumentServices, build_document_services
from bot.app.learning import LearningServices, build_learning, mount_learning_pages
from bot.app.personal_data import build_personal_data, mount_personal_data
from bot.app.worker import BackgroundWork, build_background_work
from bot.chat.adapters import ChatContext, load_adapters
from bot.chat.answer_keeping import AnswerKeeping
from bot.chat.documents import MassDeleteAlert
from bot.domain.health import CheckComponents
from bot.domain.ports import Channel, Directory
from bot.domain.settings import Settings
from bot.domain.settings_loading import SettingOrigin
from bot.escalations.casework import QuestionLinks
from bot.escalations.ports import LinksBack
from bot.inbox.ports import DurableEngine
from bot.learning.publishing import Publishes
from bot.observability.metrics import Metrics, mount_metrics
from bot.store.database import Store
from bot.store.personal_data import PersonalData
from bot.web import api
from bot.web.auth.identity import DIRECTORY
from bot.web.auth.security import continue_trace, mount_security
from bot.web.board import layout as board
from bot.web.board import mount_state_pages, mount_work_pages
from bot.web.board.channels import ChannelPage
from bot.web.board.documents import DocumentPages
from bot.web.chat.cases import OwnCasesPage
from bot.web.chat.routes import mount_chat
from bot.web.forms import upload_limits
from bot.web.languages import UI_LANGUAGE
from bot.web.probes_only import refuse_all_but_probes
from ingestion.config import Settings as IngestionSettings

STATUS: web.AppKey[CheckComponents] = web.AppKey("status")
"""The function that returns the status of all components."""

LEARNING: web.AppKey[LearningServices] = web.AppKey("learning")
"""What learns from use, with its jobs."""

_FILES_PER_UPLOAD = 10


@dataclass(frozen=True, slots=True)
class _Services:
    """What platforms, API and pages are mounted with."""

    settings: Settings
    components: Components
    store: Store
    background: BackgroundWork
    documents: DocumentServices
    context: ChatContext
    learning: LearningServices
    personal: PersonalData
    channels: Sequence[Channel]
    origins: QuestionLinks


def build(
    settings: Settings,
    components: Components,
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
    app[UI_LANGUAGE] = settings.ui_language
    security = mount_security(
        app, settings, sessions=store.sessions, audits=store.audits, sample=sample
    )
    metrics = Metrics()
    app.middlewares.append(continue_trace)
    app.middlewares.insert(0, metrics.time)
    app[DIRECTORY] = directory or ConfluenceDirectory()
    platforms = [(each, each.connect(settings, store.notes)) for each in load_adapters(settings)]
    publisher = answer_publisher(ingestion)
    if publisher is not None:
        app.on_cleanup.append(lambda _: publisher.close())
    services = _build_services(
        settings,
        components,
        store,
        engine,
        channels=[channel for _, channel in platforms],
        metrics=metrics,
        ingestion=ingestion,
        directory=app[DIRECTORY],
        publisher=publisher,
    )
    for adapter, channel in platforms:
        adapter.mount(app, channel, services.context)
    check_parts = app[STATUS] = services.context.check_parts
    waiting = partial(store.counting.waiting_cases, settings.tenant)
    mount_metrics(app, metrics, check_parts=check_parts, cases=waiting)
    _mount_api(app, services)
    _mount_chat(app, services)
    _mount_board(app, services, sources or {}, [] if ingestion is None else [ingestion])
    services.background.mount(app)
    app[LEARNING] = services.learning
    services.learning.mount(app, works=settings.works)
    if components.names is not None:
        is_open = services.background.supervisor.is_ready
        mount_names(app, components.names, settings.tenant, store, ingestion, is_open=is_open)
    app.cleanup_ctx.append(partial(services.documents.open, works=settings.works))
    security.exempt_webhooks(app, metrics.time)
    if not settings.receives:
        app.middlewares.append(refuse_all_but_probes)
    return app


def _wiki_hosts(settings: Settings, wiki: IngestionSettings | None) -> frozenset[str] | None:
    """Return the hosts of pages with readers; None where the wiki's address is not known."""
    if wiki is None:
        return None
    urls = (wiki.confluence_url, settings.public_url)
    return frozenset(urlsplit(each).hostname or "" for each in urls if each)


def _build_services(
    settings: Settings,
    components: Components,
    store: Store,
    engine: DurableEngine,
    *,
    channels: Sequence[Channel],
    metrics: Metrics,
    ingestion: IngestionSettings | None,
    directory: Directory,
    publisher: Publishes | None,
) -> _Services:
    background = build_background_work(
        settings,
        components,
        store,
        engine,
        channels=channels,
        observers=(metrics.answered,),
        dropped=metrics.dropped,
        directory=directory,
        wiki_hosts=_wiki_hosts(settings, ingestion),
    )
    metrics.watch(lambda: background.inbox.busy)
    held_back = MassDeleteAlert(tenant=settings.tenant, notes=store.notes, channels=channels)
    documents = build_document_services(settings, components, ingestion, held_back)
    check_parts = component_checker(
        settings,
        components,
        store,
        background.supervisor,
        channels=channels,
        confluence=confluence_checker(ingestion, documents),
    )
    personal = build_personal_data(settings, store, background.inbox, engine, documents)
    learning = build_learning(
        settings,
        components,
        store,
        channels=channels,
        library=documents.library,
        directory=directory,
        runs=documents.records.ledger,
        publisher=publisher,
        is_open=background.supervisor.is_ready,
        more=(personal.job(),),
    )
    linking = {each.platform: each for each in channels if isinstance(each, LinksBack)}
    origins = QuestionLinks(store.interactions, linking)
    context = build_chat_context(
        settings,
        components,
        store,
        background=background,
        documents=documents,
        check_parts=check_parts,
        directory=directory,
        keeping=AnswerKeeping(settings.tenant, learning.answers, directory),
        origins=origins,
    )
    return _Services(
        settings,
        components,
        store,
        background,
        documents,
        context,
        learning,
        personal,
        channels,
        origins,
    )


def _mount_api(app: web.Application, services: _Services) -> None:
    settings, store = services.settings, services.store
    api.mount(
        app,
        inbox=services.background.inbox,
        interactions=store.interactions,
        audits=store.audits,
        settings=settings,
        check_parts=services.context.check_parts,
        readable=ReadableInIndex(services.components.index),
        gaps=api.GapsApi(tenant=settings.tenant, views=services.learning.gaps, states=store.gaps),
        answers=api.ReviewedAnswersApi(tenant=settings.tenant, review=services.learning.answers),
        insights=api.InsightsApi(tenant=settings.tenant, views=services.learning.insights),
        shadow=api.ShadowApi(services.context.drafts),
        record=api.RecordApi(
            tenant=settings.tenant,
            searches=store.searches,
            cases=services.background.cases,
            works=services.context.casework,
            interactions=store.interactions,
            usage=store.usage,
        ),
        documents=api.DocumentsApi(
            tenant=settings.tenant,
            documents=services.documents.documents,
            reindexing=services.documents.reindexing,
            audits=store.audits,
            data_dir=settings.data_dir,
            bounds=upload_limits(settings.max_upload_mb),
        ),
    )
    api.mount_reference(app)


def _mount_chat(app: web.Application, services: _Services) -> None:
    settings, store = services.settings, services.store
    mount_chat(
        app,
        inbox=services.background.inbox,
        interactions=store.interactions,
        cases=services.background.cases,
        watches=store.watching,
        threads=store.threads,
        gate=load_gate(settings.confidence_threshold, gate_path(settings)),
        pages=services.components.index,
        readable=ReadableInIndex(services.components.index),
        tenant=settings.tenant,
        data_dir=settings.data_dir,
        starters=settings.chat_starters,
        placeholder=settings.placeholder,
    )
    OwnCasesPage(services.context.commands, store.interactions).mount(app)


def _mount_board(
    app: web.Application,
    services: _Services,
    sources: Mapping[str, SettingOrigin],
    further: Sequence[BaseSettings],
) -> None:
    settings, store = services.settings, services.store
    board.mount_layout(app)
    _mount_casework(app, services)
    DocumentPages(
        tenant=settings.tenant,
        documents=services.documents.documents,
        reindexing=services.documents.reindexing,
        audits=store.audits,
        data_dir=settings.data_dir,
        bounds=upload_limits(settings.max_upload_mb, files=_FILES_PER_UPLOAD),
        next_runs=services.documents.next_runs,
    ).mount(app)
    mount_learning_pages(app, settings, services.components, store, services.learning)
    ChannelPage(
        settings=settings,
        policies=store.policies,
        documents=services.documents.documents,
        drafts=services.context.drafts,
    ).mount(app)
    mount_state_pages(
        app,
        record=store,
        settings=settings,
        sources=sources,
        check_parts=services.context.check_parts,
        platforms=services.channels,
        further=further,
    )
    mount_personal_data(app, settings, services.personal, services.learning, further)


def _mount_casework(app: web.Application, services: _Services) -> None:
    settings, store, cases = services.settings, services.store, services.background.cases
    readable = ReadableInIndex(services.components.index)
    mount_work_pages(
        app,
        tenant=settings.tenant,
        works=services.context.casework,
        cases=cases,
        searches=store.searches,
        record=store.interactions,
        readable=readable,
        index=services.components.index,
        origins=services.origins,
        patience=timedelta(minutes=settings.escalation_ping_minutes),
        joins_within=timedelta(days=settings.escalation_join_days),
    )
