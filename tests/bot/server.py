"""The doors and the API on a real socket, with a small desk behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.answering.visibility import ReadablePassages
from bot.domain.health import ComponentStatus
from bot.domain.ports import AnswersInquiries, Inbox, Interactions
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from bot.web import api
from bot.web.auth.identity import person_of, role_of
from bot.web.auth.security import mount_security
from tests.bot.inboxes import SOON, inbox_over, running
from tests.bot.offices import ReadsEverything
from tests.bot.shelves import documents_api

Client = TestClient[web.Request, web.Application]

TOKEN = "a-token-of-sufficient-length"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PAGE_VIEW = {"Accept": "text/html,application/xhtml+xml"}
PARTS = (ComponentStatus("index", "ready", "25 pages.", ""),)


def settings_for(tmp_path: Path, **changes: object) -> Settings:
    """Settings that no environment changes, but for what a test says."""
    return load_settings(_env_file=None, data_dir=tmp_path, **changes)


def record_api(store: Store, interactions: Interactions | None = None) -> api.RecordApi:
    """The part of the API that is over the record."""
    return api.RecordApi(
        tenant="default",
        searches=store.searches,
        cases=store.escalations,
        interactions=interactions or store.interactions,
        usage=store.usage,
    )


@asynccontextmanager
async def serving(
    store: Store,
    settings: Settings,
    *,
    desk: AnswersInquiries | None = None,
    limits: WorkLimits | None = None,
    parts: Sequence[ComponentStatus] = PARTS,
    ask_seconds: float = 10,
    accepts: Inbox | None = None,
    interactions: Interactions | None = None,
    record: api.RecordApi | None = None,
    documents: api.DocumentsApi | None = None,
    readable: ReadablePassages | None = None,
    sample: bool = False,
) -> AsyncIterator[Client]:
    """Serve until the block ends; ``accepts`` and the next four replace what the API uses."""
    app = web.Application()
    mount_security(app, settings, sessions=store.sessions, audits=store.audits, sample=sample)
    opened = inbox_over(store, desk=desk, limits=limits or SOON)

    async def check_parts() -> Sequence[ComponentStatus]:
        return parts

    api.mount(
        app,
        inbox=accepts or opened.inbox,
        interactions=interactions or store.interactions,
        audits=store.audits,
        settings=settings,
        check_parts=check_parts,
        record=record or record_api(store),
        documents=documents or documents_api(store.audits, settings.data_dir),
        readable=readable or ReadsEverything(),
        ask_seconds=ask_seconds,
    )
    _add_pages(app)
    async with running(opened), TestClient(TestServer(app)) as client:
        yield client


def _add_pages(app: web.Application) -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text=person_of(request).id, content_type="text/html")

    async def role(request: web.Request) -> web.Response:
        return web.Response(text=role_of(request))

    async def form(request: web.Request) -> web.Response:
        return web.Response(text=str((await request.post()).get("question")))

    async def event(request: web.Request) -> web.Response:
        return web.Response(text=f"{len(await request.read())} bytes")

    async def broken(_: web.Request) -> web.Response:
        raise RuntimeError("password=hunter2")

    app.router.add_get("/", page)
    app.router.add_get("/role", role)
    app.router.add_post("/chat", form)
    app.router.add_post("/slack/events", event)
    app.router.add_post("/api/messages", event)
    app.router.add_get("/broken", broken)
