from __future__ import annotations

import time
from pathlib import Path

import pytest

from bot.identity import SESSION_SECONDS
from bot.store import Store
from tests.bot.server import BEARER, PAGE_VIEW, TOKEN, Client, serving, settings_for

PUBLIC = {"host": "0.0.0.0"}  # noqa: S104 - the case that needs the token


def own(client: Client) -> dict[str, str]:
    return {"Origin": f"http://127.0.0.1:{client.port}"}


async def sign_in(client: Client, token: str = TOKEN) -> int:
    response = await client.post(
        "/session", data={"token": token}, headers=own(client), allow_redirects=False
    )
    return response.status


async def test_the_page_signs_a_browser_in(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        page = await client.get("/session", headers=PAGE_VIEW)
        signed = await client.post(
            "/session", data={"token": TOKEN}, headers=own(client), allow_redirects=False
        )
        chat = await client.get("/", headers=PAGE_VIEW, allow_redirects=False)
        again = await client.get("/session", headers=PAGE_VIEW, allow_redirects=False)

        assert 'action="/session"' in await page.text()
        assert (signed.status, signed.headers["Location"]) == (303, "/")
        cookie = signed.cookies["frontdesk_session"]
        assert cookie["httponly"]
        assert cookie["samesite"] == "Strict"
        assert TOKEN not in cookie.value
        assert chat.status == 200
        assert (again.status, again.headers["Location"]) == (303, "/")


async def test_the_page_needs_nothing_inline(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path)) as client:
        page = await (await client.get("/session")).text()
        style = await client.get("/session/style.css")

    assert "<script" not in page
    assert "style=" not in page
    assert style.content_type == "text/css"


async def test_json_signs_in_too(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        signed = await client.post("/session", json={"token": TOKEN})

        assert signed.status == 204
        assert (await client.get("/openapi.json")).status == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [('{"token": "wrong"}', 401), ('{"token": 1}', 422), ("[]", 422), ("{", 400)],
)
async def test_a_wrong_body_signs_nobody_in(
    store: Store, tmp_path: Path, body: str, status: int
) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        response = await client.post(
            "/session", data=body, headers={"Content-Type": "application/json"}
        )

        assert response.status == status
        assert (await client.get("/openapi.json")).status == 401


async def test_a_wrong_token_is_told_on_the_page(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        response = await client.post("/session", data={"token": "<b>"}, headers=own(client))

        assert response.status == 401
        assert "not the admin token" in await response.text()
        assert "<b>" not in await response.text()
        assert "frontdesk_session" not in response.cookies


async def test_another_site_cannot_sign_a_browser_in(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        response = await client.post(
            "/session", data={"token": TOKEN}, headers={"Origin": "https://evil.example"}
        )

    assert response.status == 403


async def test_another_site_cannot_use_a_session(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        assert await sign_in(client) == 303
        evil = {"Origin": "https://evil.example"}
        form = await client.post("/chat", data={"question": "hi"}, headers=evil)
        plain = await client.post("/chat", data={"question": "hi"})
        read = await client.get("/openapi.json", headers=evil)
        ours = await client.post("/chat", data={"question": "hi"}, headers=own(client))

    assert (form.status, plain.status, read.status, ours.status) == (403, 415, 403, 200)


async def test_signing_out_ends_the_session(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        await sign_in(client)
        ended = await client.post("/session/end", headers=own(client), allow_redirects=False)

        assert (ended.status, ended.headers["Location"]) == (303, "/session")
        assert (await client.get("/openapi.json")).status == 401


async def session_of(client: Client) -> str:
    response = await client.post("/session", json={"token": TOKEN})
    return response.cookies["frontdesk_session"].value


async def status_with(client: Client, session: str) -> int:
    client.session.cookie_jar.clear()
    headers = {"Cookie": f"frontdesk_session={session}"}
    return (await client.get("/openapi.json", headers=headers)).status


async def test_a_forged_session_opens_nothing(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        real = await session_of(client)
        until, _, rest = real.partition("-")
        visitor = (await client.get("/session", headers=PAGE_VIEW)).cookies.get("frontdesk_visitor")

        assert await status_with(client, real) == 200
        for forged in (f"{int(until) + 1}-{rest}", real[:-1], f"{until}-x", "x", ""):
            assert await status_with(client, forged) == 401
        if visitor is not None:
            assert await status_with(client, visitor.value) == 401


async def test_a_session_ends_by_itself(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        session = await session_of(client)
        late = time.time() + SESSION_SECONDS + 1
        monkeypatch.setattr("bot.identity.time.time", lambda: late)

        assert await status_with(client, session) == 401


async def test_a_new_token_ends_the_sessions_of_the_old_one(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        session = await session_of(client)
    changed = settings_for(tmp_path, admin_token=f"{TOKEN}-2", **PUBLIC)
    async with serving(store, changed) as client:
        assert await status_with(client, session) == 401


async def test_a_session_survives_a_restart(store: Store, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)
    async with serving(store, settings) as client:
        session = await session_of(client)
    async with serving(store, settings) as client:
        assert await status_with(client, session) == 200


async def test_without_a_token_the_page_says_how_to_make_one(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, **PUBLIC)) as client:
        page = await client.get("/session")
        posted = await client.post("/session", json={"token": "None"}, headers=BEARER)

        assert page.status == 403
        assert "FRONTDESK_ADMIN_TOKEN=" in await page.text()
        assert posted.status == 401


async def test_behind_tls_cookies_stay_on_tls(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        signed = await client.post(
            "/session", json={"token": TOKEN}, headers={"X-Forwarded-Proto": "https"}
        )

    assert signed.cookies["frontdesk_session"]["secure"]
