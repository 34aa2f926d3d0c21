"""Serve the whole application, or its API alone, on a real socket.

The application is built as ``serve`` builds it, over a small index; the API has a small desk
behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.answering.visibility import ReadablePassages
from bot.app.build import build
from bot.app.components import open_components
from bot.domain.health import ComponentStatus
from bot.domain.ports import AnswersInquiries, Inbox, Interactions
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.escalations.casework import Casework
from bot.inbox.ports import Admits
from bot.inbox.worker import WorkLimits
from bot.store.database import Store, open_store, sqlite_url
from bot.web import api
from bot.web.auth.identity import person_of, role_of
from bot.web.auth.security import mount_security
from ingestion.sync.sync import Folder, sync_folder
from rag.index.embedded.index import EmbeddedIndex
from tests.fakes.answers import AnswerRoom
from tests.fakes.bot_ports import MemoryEngine
from tests.fakes.chat_context import ReadsEverything, documents_api, draft_review
from tests.fakes.durable_inbox import SOON, inbox_over, running
from tests.fakes.ingestion import MemoryIndex
from tests.fakes.learning import gap_views, insight_views

Client = TestClient[web.Request, web.Application]

TOKEN = "a-token-of-sufficient-length"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PAGE_VIEW = {"Accept": "text/html,application/xhtml+xml"}
PARTS = (ComponentStatus("index", "ready", "25 pages.", ""),)


def settings_for(tmp_path: Path, **changes: object) -> Settings:
    """Settings that no environment changes, but for what a test says."""
    return load_settings(_env_file=None, data_dir=tmp_path, **changes)


def record_api(
    store: Store,
    interactions: Interactions | None = None,
    readable: ReadablePassages | None = None,
) -> api.RecordApi:
    """The part of the API that is over the record."""
    asked = interactions or store.interactions
    works = Casework(
        cases=store.escalations, interactions=asked, readable=readable or ReadsEverything()
    )
    return api.RecordApi(
        tenant="default",
        searches=store.searches,
        cases=store.escalations,
        works=works,
        interactions=asked,
        usage=store.usage,
    )


def gaps_api(store: Store, readable: ReadablePassages | None = None) -> api.GapsApi:
    views = gap_views(store, readable or ReadsEverything())
    return api.GapsApi(tenant="default", views=views, states=store.gaps)


def answers_api(store: Store, data_dir: Path) -> api.ReviewedAnswersApi:
    """The part of the API for answers by people, over an empty index."""
    room = AnswerRoom(store, cast("EmbeddedIndex", MemoryIndex()), data_dir)
    return api.ReviewedAnswersApi(tenant="default", review=room.review)


def insights_api(store: Store) -> api.InsightsApi:
    return api.InsightsApi(tenant="default", views=insight_views(store))


@asynccontextmanager
async def serving(
    store: Store,
    settings: Settings,
    *,
    desk: AnswersInquiries | None = None,
    admission: Admits | None = None,
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
    security = mount_security(
        app, settings, sessions=store.sessions, audits=store.audits, sample=sample
    )
    opened = inbox_over(store, desk=desk, admission=admission, limits=limits or SOON)

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
        gaps=gaps_api(store, readable),
        answers=answers_api(store, settings.data_dir),
        insights=insights_api(store),
        shadow=api.ShadowApi(draft_review(store)),
        readable=readable or ReadsEverything(),
        ask_seconds=ask_seconds,
    )
    _add_pages(app)
    security.exempt_webhooks(app)
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


PAGES = {
    "vpn.md": "# VPN\n\n## Error 809\n\nError 809 means that the office router blocks UDP port "
    "4500. Plug the cable into the blue socket instead.\n",
    "leave.md": "# Annual leave\n\nEveryone has 28 days of annual leave a year. Book it in the "
    "calendar two weeks ahead.\n",
    "wifi.md": "# Guest Wi-Fi\n\nReception prints a voucher for each guest. It lasts one day.\n",
    "rescue.md": "---\nreaders: [group:admins]\n---\n# Rescue account\n\nThe zirconium envelope "
    "with the rescue password is in the safe of room 4711.\n",
}
LIKELY = "vpn error 809"
LOW = 0.05
"""A threshold that anything sensible passes: what is tested is the way, not the gate."""


async def write_index(
    settings: Settings, folder: Path, pages: Mapping[str, str] = PAGES, *, space: str = "IT"
) -> None:
    """Index pages into a space."""
    _write_pages(folder, pages)
    async with open_components(settings) as parts:
        await sync_folder(
            Folder(folder, space),
            parts.index,
            parts.embedder,
            tenant=settings.tenant,
            data_dir=settings.data_dir,
        )


def _write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


@asynccontextmanager
async def serving_application(settings: Settings) -> AsyncIterator[Client]:
    """Serve until the block ends; what is written stays in the data directory."""
    async with (
        await open_store(sqlite_url(settings.data_dir)) as store,
        open_components(settings, saved=store.saved_answers) as parts,
    ):
        app = build(settings, parts, store, MemoryEngine())
        async with TestClient(TestServer(app, host="127.0.0.1")) as client:
            yield client


async def wait_until(happened: Callable[[], object], *, seconds: float = 120.0) -> None:
    """Wait until something is so. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not happened():  # noqa: ASYNC110 - what happens is in another server
            await asyncio.sleep(0.01)
