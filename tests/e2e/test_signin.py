"""Signing in and out, and being somebody else, in a real Chromium."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import aiohttp_jinja2
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port
from playwright.async_api import Browser, Page, expect

from bot.domain.settings import Settings
from bot.store.database import Store
from bot.web import pages as layout
from bot.web.auth.security import mount_security
from tests.e2e.chromium import NEEDS_AXE, NEEDS_CHROMIUM, PHONE, Look, in_looks, visiting
from tests.e2e.conftest import Served
from tests.fakes.http_server import TOKEN, settings_for
from tests.fakes.openid_provider import CLIENT_ID, FakeIssuer

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    NEEDS_CHROMIUM,
]


@asynccontextmanager
async def serving(store: Store, settings: Settings, *, sample: bool = False) -> AsyncIterator[str]:
    """Serve the frame with an empty page in it."""
    app = web.Application()
    mount_security(app, settings, sessions=store.sessions, audits=store.audits, sample=sample)
    folder = settings.data_dir / "pages"
    for name in ("templates", "static"):
        (folder / name).mkdir(parents=True)
    page = (
        '{% extends "layout.html" %}{% block main %}<h1>Inside</h1><p>{{ role }}</p>{% endblock %}'
    )
    (folder / "templates" / "inside.html").write_text(page)
    layout.add_pages(app, folder)

    async def inside(request: web.Request) -> web.Response:
        return aiohttp_jinja2.render_template("inside.html", request, {})

    app.router.add_get("/", inside)
    app.router.add_get("/deep", inside)
    async with TestServer(app, host="127.0.0.1", port=settings.port) as server:
        yield str(server.make_url("")).rstrip("/")


def exposed(directory: Path, issuer: FakeIssuer, **changes: object) -> Settings:
    port = unused_port()
    address = f"http://127.0.0.1:{port}"
    issuer.redirect_uris.add(f"{address}/session/oidc/callback")
    return settings_for(
        directory,
        host="0.0.0.0",  # noqa: S104 - the case that needs signing in; it listens on loopback
        port=port,
        public_url=address,
        oidc_issuer=issuer.url,
        oidc_client_id=CLIENT_ID,
        oidc_client_secret=issuer.secret,
        **changes,
    )


async def inside(page: Page, path: str) -> None:
    await expect(page.get_by_role("heading", name="Inside")).to_be_visible()
    assert page.url.endswith(path)


@NEEDS_AXE
@in_looks()
async def test_a_colleague_signs_in_and_out(
    store: Store, tmp_path: Path, chromium: Browser, look: Look
) -> None:
    async with FakeIssuer(claims={"groups": ["g-experts"]}).serving() as issuer:
        settings = exposed(tmp_path, issuer, oidc_expert_groups="g-experts", admin_token=TOKEN)
        async with (
            serving(store, settings) as url,
            visiting(chromium, url, look.size, also=issuer.url) as visit,
        ):
            page = visit.page
            await visit.look(look)
            await page.goto(f"{url}/deep?a=1")
            assert "/session?next=" in page.url
            await visit.shuts_nobody_out(f"signin-{look.name}")
            await page.get_by_text("Use the admin token instead").click()
            await visit.shuts_nobody_out(f"signin-token-{look.name}")

            await page.get_by_role("link", name="Sign in with your company account").click()
            await inside(page, "/deep?a=1")
            await expect(page.get_by_text("expert", exact=True)).to_be_visible()
            await page.get_by_text("Anna Berg").click()
            await visit.shuts_nobody_out(f"signed-in-{look.name}")

            await page.get_by_role("button", name="Sign out").click()
            await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
            await page.goto(url)
            await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_a_wrong_token_is_told_and_the_right_one_leads_on(
    store: Store, tmp_path: Path, chromium: Browser
) -> None:
    settings = settings_for(tmp_path, host="0.0.0.0", port=0, admin_token=TOKEN)  # noqa: S104 - it listens on loopback
    async with serving(store, settings) as url, visiting(chromium, url, PHONE) as visit:
        page = visit.page
        await page.goto(f"{url}/deep")
        await page.get_by_label("Admin token").fill("wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("Wrong admin token")
        await visit.picture("signin-wrong")
        visit.troubles.clear()  # the browser notes the 401
        await page.get_by_label("Admin token").fill(TOKEN)
        await page.keyboard.press("Enter")
        await inside(page, "/deep")


@NEEDS_AXE
@in_looks()
async def test_one_can_be_an_invented_colleague(
    store: Store, tmp_path: Path, chromium: Browser, look: Look
) -> None:
    settings = settings_for(tmp_path, port=0)
    async with (
        serving(store, settings, sample=True) as url,
        visiting(chromium, url, look.size) as visit,
    ):
        page = visit.page
        await visit.look(look)
        await page.goto(f"{url}/deep")
        await page.locator("details.me summary").click()
        await visit.shuts_nobody_out(f"demo-{look.name}")
        await page.get_by_role("button", name="Mika").click()
        await inside(page, "/deep")
        await expect(page.locator("details.me summary")).to_contain_text("Mika")
        await expect(page.get_by_text("asker", exact=True)).to_be_visible()
        await page.locator("details.me summary").click()
        await page.get_by_role("button", name="You").click()
        await expect(page.get_by_text("admin", exact=True)).to_be_visible()


@pytest.mark.xdist_group("served")
async def test_of_the_invented_colleagues_each_reads_what_is_theirs(served: Served) -> None:
    question = {"question": "What are the salary bands?", "show_pipeline": True}
    seen = {}
    for persona in ("mika", "ines", "tomas"):
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            form = {"persona": persona}
            headers = {"Origin": served.url}
            async with session.post(f"{served.url}/session/demo", data=form, headers=headers) as on:
                assert on.status == 200
            async with session.post(f"{served.url}/api/v1/ask", json=question) as asked:
                seen[persona] = "salary-bands" in await asked.text()

    assert seen == {"mika": False, "ines": True, "tomas": False}
