"""The board's pages: those for working on questions, and those that show the state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from aiohttp import web
from pydantic_settings import BaseSettings

from bot.answering.visibility import ReadablePassages
from bot.domain.health import CheckComponents
from bot.domain.settings import Settings
from bot.domain.settings_loading import SettingOrigin
from bot.escalations.casework import Casework, QuestionLinks
from bot.escalations.ports import Cases
from bot.store.database import Store
from bot.store.interactions import StoredInteractions
from bot.store.search import StoredSearches
from bot.web.board import health, overview, usage
from bot.web.board import settings as setting
from bot.web.board.case_page import CasePage
from bot.web.board.escalations import EscalationsPage
from bot.web.board.layout import utc_now
from bot.web.board.record_lists import FeedbackPage, QuestionsPage, StaleAnswersPage
from bot.web.board.sessions import SessionsPage
from rag.ports import SearchIndex


def mount_work_pages(
    app: web.Application,
    *,
    tenant: str,
    works: Casework,
    cases: Cases,
    searches: StoredSearches,
    record: StoredInteractions,
    readable: ReadablePassages,
    index: SearchIndex,
    origins: QuestionLinks,
    patience: timedelta,
    joins_within: timedelta,
    clock: Callable[[], datetime] = utc_now,
) -> None:
    """Add the pages for working on questions. Call it after ``mount_layout``.

    Args:
        app: The app that gets the routes.
        tenant: The tenant whose records are shown.
        works: Acts on cases and returns their views.
        cases: The store of cases.
        searches: Finds questions, feedback and counts.
        record: Returns interactions and their feedback.
        readable: Returns which of the found passages a person may read.
        index: Holds the pages, to check whether they still contain a quote.
        origins: Returns a question's link on its platform.
        patience: How long a case may wait before it is shown as late; zero: for ever.
        joins_within: How long similar questions are suggested as one case; zero: never.
        clock: Returns the current time.
    """
    EscalationsPage(
        tenant=tenant, cases=cases, searches=searches, patience=patience, clock=clock
    ).mount(app)
    CasePage(
        tenant=tenant,
        works=works,
        cases=cases,
        origins=origins,
        patience=patience,
        joins_within=joins_within,
        clock=clock,
    ).mount(app)
    StaleAnswersPage(
        tenant=tenant, searches=searches, record=record, index=index, clock=clock
    ).mount(app)
    QuestionsPage(
        tenant=tenant, searches=searches, record=record, cases=cases, readable=readable
    ).mount(app)
    FeedbackPage(tenant=tenant, searches=searches, clock=clock).mount(app)


def mount_state_pages(
    app: web.Application,
    *,
    record: Store,
    settings: Settings,
    sources: Mapping[str, SettingOrigin],
    check_parts: CheckComponents,
    platforms: Sequence[object],
    further: Sequence[BaseSettings] = (),
) -> None:
    """Add the pages that show the state. Call it after ``mount_layout``.

    ``further`` are settings besides this server's own, such as ingestion's.
    """
    tenant, router = settings.tenant, app.router
    overview_page = overview.OverviewPage(
        statistics=record.statistics,
        usage=record.usage,
        check_parts=check_parts,
        tenant=tenant,
        patience=timedelta(minutes=settings.escalation_ping_minutes),
        zone=settings.zone,
    )
    router.add_get(overview.PATH, overview_page.page)
    usage_page = usage.UsagePage(usage=record.usage, tenant=tenant)
    router.add_get(usage.PATH, usage_page.page)
    router.add_get(usage.CSV_PATH, usage_page.csv)
    health_page = health.HealthPage(check_parts=check_parts, platforms=platforms, settings=settings)
    router.add_get(health.PATH, health_page.page)
    router.add_post(health.PATH, health_page.check)
    setting.SettingsPage(
        settings=settings,
        sources=sources,
        pauses=record.pauses,
        acts=record.audits,
        policies=record.policies,
        events=record.webhook_events,
        further=further,
    ).mount(app)
    SessionsPage(tenant, record.sessions).mount(app)
