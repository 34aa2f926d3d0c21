"""Tests of signing in with the admin token and of the limit on wrong tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp.test_utils import make_mocked_request

from bot.domain.messages import Person
from bot.domain.urls import link_to_quote
from bot.domain.users import SignedIn
from bot.store.database import Store
from bot.web.auth.credentials import (
    MAX_WRONG_TOKENS,
    WRONG_TOKEN_PAUSE_SECONDS,
    WRONG_TOKEN_WINDOW_SECONDS,
    AdminTokenCheck,
    WrongTokenLimit,
)
from bot.web.auth.identity import Identities
from tests.fakes.http_server import BEARER, PAGE_VIEW, TOKEN, Client, serving, settings_for
from tests.unit.bot.web.auth.conftest import PUBLIC, own, sign_in_with_token

pytestmark = pytest.mark.attack


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def test_nine_wrong_tokens_hold_nobody_back() -> None:
    wrong = WrongTokenLimit(Clock())
    for _ in range(MAX_WRONG_TOKENS - 1):
        wrong.add()

    assert wrong.held_seconds == 0


def test_ten_within_a_minute_hold_for_a_minute() -> None:
    clock = Clock()
    wrong = WrongTokenLimit(clock)
    for _ in range(MAX_WRONG_TOKENS):
        wrong.add()
        clock.now += 1

    assert 0 < wrong.held_seconds <= WRONG_TOKEN_PAUSE_SECONDS
    clock.now += WRONG_TOKEN_PAUSE_SECONDS
    assert wrong.held_seconds == 0
    wrong.add()
    assert wrong.held_seconds == 0


def test_ten_over_a_longer_time_hold_nobody_back() -> None:
    clock = Clock()
    wrong = WrongTokenLimit(clock)
    for _ in range(3 * MAX_WRONG_TOKENS):
        wrong.add()
        clock.now += WRONG_TOKEN_WINDOW_SECONDS / (MAX_WRONG_TOKENS - 1)

    assert wrong.held_seconds == 0


@dataclass
class RecordedActs:
    """Keeps what was written down."""

    kept: list[tuple[str, str, str, str]] = field(default_factory=list)

    async def append(
        self, tenant: str, actor: str, act: str, subject: str, *, detail: str = ""
    ) -> None:
        self.kept.append((actor, act, subject, detail))


def admin_token_check(
    tmp_path: Path, acts: RecordedActs, token: str | None = TOKEN
) -> AdminTokenCheck:
    identities = Identities(settings_for(tmp_path, admin_token=token))
    return AdminTokenCheck(identities, acts, "default", WrongTokenLimit())


async def test_experts_and_admins_are_written_down_and_askers_are_not(tmp_path: Path) -> None:
    acts = RecordedActs()
    keeper = admin_token_check(tmp_path, acts)

    await keeper.record_sign_in(SignedIn("oidc", "asker", Person("oidc-1", "Anna")))
    await keeper.record_sign_in(SignedIn("oidc", "expert", Person("oidc-2", "Ben")))
    await keeper.record_sign_in(
        SignedIn("oidc", "admin", Person("oidc-3", "Cleo", "c@acme.example"))
    )
    await keeper.record_sign_in(SignedIn("token", "admin"))

    assert acts.kept == [
        ("web:Ben", "sign_in", "oidc-2", "expert"),
        ("web:c@acme.example", "sign_in", "oidc-3", "admin"),
        ("web:admin token", "sign_in", "", "admin"),
    ]


async def test_a_wrong_token_is_written_down_without_it(tmp_path: Path) -> None:
    acts = RecordedActs()
    headers = {"Authorization": "Bearer almost-the-token"}

    assert not await admin_token_check(tmp_path, acts).check_bearer(
        make_mocked_request("GET", "/x", headers=headers)
    )
    assert [kept[:3] for kept in acts.kept] == [("web:unknown", "wrong_token", "/x")]
    assert "almost-the-token" not in str(acts.kept)


async def test_without_an_admin_token_none_is_wrong(tmp_path: Path) -> None:
    acts = RecordedActs()
    keeper = admin_token_check(tmp_path, acts, token=None)

    assert not await keeper.check_bearer(make_mocked_request("GET", "/x", headers=BEARER))
    assert acts.kept == []


async def test_the_page_signs_a_browser_in(public: Client) -> None:
    page = await public.get("/session", headers=PAGE_VIEW)
    signed = await public.post(
        "/session", data={"token": TOKEN}, headers=own(public), allow_redirects=False
    )
    chat = await public.get("/", headers=PAGE_VIEW, allow_redirects=False)
    again = await public.get("/session", headers=PAGE_VIEW, allow_redirects=False)

    assert 'action="/session"' in await page.text()
    assert (signed.status, signed.headers["Location"]) == (303, "/")
    cookie = signed.cookies["frontdesk_session"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert TOKEN not in cookie.value
    assert chat.status == 200
    assert (again.status, again.headers["Location"]) == (303, "/")


async def test_the_page_needs_nothing_inline(client: Client) -> None:
    page = await (await client.get("/session")).text()
    found = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)
    styles = [await client.get(address) for address in found]

    assert "<script" not in page
    assert "style=" not in page
    assert [style.content_type for style in styles] == ["text/css", "text/css"]


async def test_json_signs_in_too(public: Client) -> None:
    signed = await public.post("/session", json={"token": TOKEN})

    assert signed.status == 204
    assert (await public.get("/openapi.json")).status == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [('{"token": "wrong"}', 401), ('{"token": 1}', 422), ("[]", 422), ("{", 400)],
)
async def test_a_wrong_body_signs_nobody_in(public: Client, body: str, status: int) -> None:
    response = await public.post(
        "/session", data=body, headers={"Content-Type": "application/json"}
    )

    assert response.status == status
    assert (await public.get("/openapi.json")).status == 401


async def test_a_wrong_token_is_told_on_the_page(public: Client) -> None:
    response = await public.post("/session", data={"token": "<b>"}, headers=own(public))

    assert response.status == 401
    assert "Wrong admin token" in await response.text()
    assert "<b>" not in await response.text()
    assert "frontdesk_session" not in response.cookies


async def test_another_site_cannot_sign_a_browser_in(public: Client) -> None:
    response = await public.post(
        "/session", data={"token": TOKEN}, headers={"Origin": "https://evil.example"}
    )

    assert response.status == 403


async def test_another_site_cannot_use_a_session(public: Client) -> None:
    assert await sign_in_with_token(public) == 303
    evil = {"Origin": "https://evil.example"}
    form = await public.post("/chat", data={"question": "hi"}, headers=evil)
    plain = await public.post("/chat", data={"question": "hi"})
    read = await public.get("/openapi.json", headers=evil)
    ours = await public.post("/chat", data={"question": "hi"}, headers=own(public))

    assert (form.status, plain.status, read.status, ours.status) == (403, 415, 403, 200)


async def test_without_a_token_the_page_says_how_to_make_one(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, **PUBLIC)) as client:
        page = await client.get("/session")
        posted = await client.post("/session", json={"token": "None"}, headers=BEARER)

        assert page.status == 403
        assert "FRONTDESK_ADMIN_TOKEN=" in await page.text()
        assert posted.status == 401


async def test_behind_tls_cookies_are_of_this_host_and_stay_on_tls(public: Client) -> None:
    tls = {"X-Forwarded-Proto": "https"}
    signed = await public.post("/session", json={"token": TOKEN}, headers=tls)
    cookie = signed.cookies["__Host-frontdesk_session"]
    planted = {"Cookie": f"frontdesk_session={cookie.value}", **tls}
    public.session.cookie_jar.clear()

    assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
    assert "frontdesk_session" not in signed.cookies
    assert (await public.get("/openapi.json", headers=planted)).status == 401


async def test_at_the_public_address_cookies_stay_on_tls_whatever_the_proxy_says(
    store: Store, tmp_path: Path
) -> None:
    address = {"public_url": "https://desk.example"}
    settings = settings_for(tmp_path, admin_token=TOKEN, **PUBLIC, **address)
    async with serving(store, settings) as client:
        signed = await client.post(
            "/session", json={"token": TOKEN}, headers={"Host": "desk.example"}
        )

    assert signed.cookies["__Host-frontdesk_session"]["secure"]


async def test_who_signs_in_goes_on_to_where_they_wanted(public: Client) -> None:
    sent = await public.get("/broken?a=1&b=2", headers=PAGE_VIEW, allow_redirects=False)
    page = await (await public.get(sent.headers["Location"], headers=PAGE_VIEW)).text()
    signed = await public.post(
        "/session",
        data={"token": TOKEN, "next": "/broken?a=1&b=2"},
        headers=own(public),
        allow_redirects=False,
    )
    form = {"token": TOKEN, "next": "//evil.example"}
    away = await public.post("/session", data=form, headers=own(public), allow_redirects=False)

    assert sent.headers["Location"] in {
        "/session?next=/broken?a%3D1%26b%3D2",
        "/session?next=/broken%3Fa%3D1%26b%3D2",
    }
    assert 'value="/broken?a=1&amp;b=2"' in page
    assert signed.headers["Location"] == "/broken?a=1&b=2"
    assert away.headers["Location"] == "/"


@pytest.mark.mended(id="slack-4")
async def test_signing_in_goes_on_to_the_quoted_lines_of_a_page(public: Client) -> None:
    page = link_to_quote("/pages/IT/vpn.md", "c1", ["Open it, & wait: 50 % #1", "\u00e4 " * 70])
    wanted, _, place = page.partition("#")
    sent = await public.get(wanted, headers=PAGE_VIEW, allow_redirects=False)
    (kept,) = parse_qs(urlsplit(sent.headers["Location"]).query)["next"]
    signed = await public.post(
        "/session",
        data={"token": TOKEN, "next": kept},
        headers=own(public),
        allow_redirects=False,
    )

    gone_on, _, there = signed.headers["Location"].partition("#")
    assert parse_qs(urlsplit(gone_on).query) == parse_qs(urlsplit(wanted).query)
    assert there == place


async def test_a_fragment_of_a_page_leads_the_whole_page_to_signing_in(public: Client) -> None:
    shown = f"{own(public)['Origin']}/broken?x=1"
    htmx = {"HX-Request": "true", "HX-Current-URL": shown}
    evil = {"HX-Request": "true", "HX-Current-URL": "https://[evil"}
    response = await public.get("/broken", headers=htmx, allow_redirects=False)
    odd = await public.get("/broken", headers=evil, allow_redirects=False)

    assert (response.status, odd.status) == (401, 401)
    assert response.headers["HX-Redirect"] == "/session?next=/broken%3Fx%3D1"
    assert odd.headers["HX-Redirect"] == "/session"
