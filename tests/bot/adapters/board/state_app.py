"""The board's state pages behind real doors, over a real record; parts and platforms are told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.domain.health import ComponentStatus
from bot.domain.settings import Settings
from bot.domain.settings_reference import SettingOrigin
from bot.store.database import Store
from bot.web.auth.security import mount_security
from bot.web.board.layout import mount_layout
from bot.web.board.routes import mount_state_pages

Client = TestClient[web.Request, web.Application]
PARTS = (
    ComponentStatus("knowledge", "ready", "120 chunks (HR 40, IT 80)"),
    ComponentStatus("model", "absent", "answers are verbatim quotes.", "Add OPENAI_MODEL to .env"),
    ComponentStatus("limits", "absent", "nothing is limited.", "Set a rate: docs/limits.md"),
)


@dataclass
class Told:
    """What the parts and the platforms say, and where the settings come from."""

    parts: Sequence[ComponentStatus] = PARTS
    platforms: Sequence[object] = ()
    sources: dict[str, SettingOrigin] = field(default_factory=dict)


@asynccontextmanager
async def state_app(store: Store, settings: Settings, told: Told) -> AsyncIterator[Client]:
    """Serve the pages until the block ends."""
    app = web.Application()
    mount_security(app, settings, sessions=store.sessions, audits=store.audits)
    mount_layout(app)

    async def check_parts() -> Sequence[ComponentStatus]:
        return told.parts

    mount_state_pages(
        app,
        record=store,
        settings=settings,
        sources=told.sources,
        check_parts=check_parts,
        platforms=told.platforms,
    )
    async with TestClient(TestServer(app)) as client:
        client.session.headers["Accept"] = "text/html"
        yield client
