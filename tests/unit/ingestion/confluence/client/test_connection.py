"""Where the token is sent and where it is not, and what statuses and headers mean."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from ingestion.confluence.assembly import open_wiki
from ingestion.confluence.client.connection import authorization_header
from ingestion.confluence.client.retry import TryAgain, error_of, json_error
from ingestion.confluence.wiki import WikiAttachment
from ingestion.errors import EndpointGone, NotVisible, SettingInvalid, WikiRefused, WikiUnavailable
from tests.fakes.certificates import certificate_for
from tests.unit.ingestion.confluence.client.local_servers import (
    TOKEN,
    ScriptedServer,
    listing,
    reading,
    scripted_server,
    tunnelling,
)

SPACE = {"id": "1", "key": "IT", "name": "IT", "_links": {"webui": "/spaces/IT"}}
FILE = WikiAttachment(
    id="att9",
    page_id="5",
    name="a.pdf",
    media_type="application/pdf",
    bytes=4,
    version=1,
    updated_at=datetime(2026, 11, 23, tzinfo=UTC),
    url="",
    download="/download/attachments/5/a.pdf",
)


async def spaces(request: web.Request) -> web.Response:
    return listing(SPACE)


async def file(request: web.Request) -> web.Response:
    return web.Response(body=b"%PDF")


def test_a_token_alone_is_bearer_and_basic_with_an_address() -> None:
    assert authorization_header("abc", None) == "Bearer abc"
    assert authorization_header("abc", "rita@acme.example") == "Basic cml0YUBhY21lLmV4YW1wbGU6YWJj"


async def test_a_file_kept_elsewhere_is_fetched_without_the_token(tmp_path: Path) -> None:
    async with scripted_server(file) as media:

        async def answer(request: web.Request) -> web.Response:
            return web.Response(status=302, headers={"Location": f"{media.url}/f?ticket=a%2Fb"})

        async with scripted_server(answer) as site, reading(site.url) as wiki:
            assert await wiki.download(FILE, tmp_path / "file", 100) == 4

    assert site.tokens == [f"Bearer {TOKEN}"]
    assert media.asked == [("/f?ticket=a%2Fb", None)]


async def test_the_token_is_back_when_the_way_leads_home(tmp_path: Path) -> None:
    places: dict[str, ScriptedServer] = {}

    async def home(request: web.Request) -> web.Response:
        if request.path == "/last":
            return web.Response(body=b"%PDF")
        return web.Response(status=307, headers={"Location": f"{places['media'].url}/f"})

    async def media(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": f"{places['home'].url}/last"})

    async with (
        scripted_server(home) as site,
        scripted_server(media) as store,
        reading(site.url) as wiki,
    ):
        places |= {"home": site, "media": store}
        assert await wiki.download(FILE, tmp_path / "file", 100) == 4

    assert store.tokens == [None]
    assert site.tokens == [f"Bearer {TOKEN}", f"Bearer {TOKEN}"]


async def test_a_store_that_wants_a_token_gets_none_and_is_the_files_trouble(
    tmp_path: Path,
) -> None:
    async def closed(request: web.Request) -> web.Response:
        return web.Response(status=401)

    async with scripted_server(closed) as media:

        async def answer(request: web.Request) -> web.Response:
            return web.Response(status=302, headers={"Location": media.url})

        async with scripted_server(answer) as site, reading(site.url) as wiki:
            with pytest.raises(NotVisible, match="sent on"):
                await wiki.download(FILE, tmp_path / "file", 100)

    assert media.tokens == [None]


async def test_the_api_is_not_followed_elsewhere() -> None:
    async with scripted_server(spaces) as login:

        async def answer(request: web.Request) -> web.Response:
            return web.Response(status=302, headers={"Location": f"{login.url}/login"})

        async with scripted_server(answer) as site, reading(site.url) as wiki:
            with pytest.raises(WikiRefused, match=r"sent on to 127\.0\.0\.1.*login page"):
                await wiki.spaces()

    assert login.asked == []


async def test_the_api_is_followed_on_its_own_site() -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/new":
            return listing(SPACE)
        return web.Response(status=301, headers={"Location": "/new"})

    async with scripted_server(answer) as site, reading(site.url) as wiki:
        assert [space.key for space in await wiki.spaces()] == ["IT"]


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("/again", "more than 5 times"),
        ("file:///etc/passwd", "no web address"),
        ("http://[bad", "no web address"),
    ],
)
async def test_a_way_that_leads_nowhere_is_given_up(location: str, said: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": location})

    async with scripted_server(answer) as site, reading(site.url) as wiki:
        with pytest.raises(WikiUnavailable, match=said):
            await wiki.spaces()


async def test_a_file_is_not_followed_from_https_to_http(tmp_path: Path) -> None:
    serves, _ = certificate_for(tmp_path, "localhost")
    async with scripted_server(file) as media:

        async def answer(request: web.Request) -> web.Response:
            return web.Response(status=302, headers={"Location": media.url})

        async with (
            scripted_server(answer, host="localhost", serves=serves) as site,
            reading(site.url, ca_file=str(tmp_path / "chain.pem")) as wiki,
        ):
            with pytest.raises(WikiUnavailable, match="anybody can read"):
                await wiki.download(FILE, tmp_path / "file", 100)

    assert media.asked == []


async def test_no_cookie_is_kept() -> None:
    cookies: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        cookies.append(request.headers.get("Cookie"))
        response = listing(SPACE)
        response.set_cookie("JSESSIONID", "1")
        return response

    async with (
        scripted_server(answer) as site,
        reading(site.url.replace("127.0.0.1", "localhost")) as wiki,
    ):
        await wiki.spaces()
        await wiki.spaces()

    assert cookies == [None, None]


async def test_a_certificate_of_the_companys_own_is_trusted_by_file(tmp_path: Path) -> None:
    serves, _ = certificate_for(tmp_path, "localhost")
    async with scripted_server(spaces, host="localhost", serves=serves) as site:
        async with reading(site.url, ca_file=str(tmp_path / "chain.pem")) as wiki:
            assert [space.key for space in await wiki.spaces()] == ["IT"]
        async with reading(site.url) as wiki:
            with pytest.raises(WikiUnavailable, match="CONFLUENCE_CA_FILE"):
                await wiki.spaces()

    assert len(site.asked) == 1


def test_certificates_that_cant_be_read_are_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate")

    for name in ("none.pem", "no.pem"):
        with pytest.raises(SettingInvalid, match=f"CONFLUENCE_CA_FILE=.*{name}.*PEM"):
            open_wiki(url="https://x.example", token=TOKEN, ca_file=str(tmp_path / name))


async def relays(request: web.Request) -> web.Response:
    """Answer as a proxy that got the site's answer; the target is the whole address."""
    return listing(SPACE)


async def test_a_proxy_is_gone_through_where_the_environment_names_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passwords: list[str | None] = []

    async def relay(request: web.Request) -> web.Response:
        passwords.append(request.headers.get("Proxy-Authorization"))
        return await relays(request)

    async with scripted_server(relay) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//me:p%40ss@"))
        async with reading("http://wiki.acme.example") as wiki:
            assert [space.key for space in await wiki.spaces()] == ["IT"]

    assert proxy.asked == [
        ("http://wiki.acme.example/wiki/api/v2/spaces?limit=250", f"Bearer {TOKEN}")
    ]
    assert passwords == ["Basic bWU6cEBzcw=="]


async def test_a_proxy_sees_only_the_host_of_a_site_over_tls(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serves, _ = certificate_for(tmp_path, "localhost")
    async with (
        scripted_server(spaces, host="localhost", serves=serves) as site,
        tunnelling() as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//me:pass@"))
        async with reading(site.url, ca_file=str(tmp_path / "chain.pem")) as wiki:
            assert [space.key for space in await wiki.spaces()] == ["IT"]

    (head,) = proxy.heads
    assert head.startswith(f"CONNECT {site.url.removeprefix('https://')} ")
    assert "Proxy-Authorization: Basic bWU6cGFzcw==" in head
    assert TOKEN not in head
    assert site.tokens == [f"Bearer {TOKEN}"]


async def test_no_proxy_leads_to_hosts_that_are_excepted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_server(relays) as proxy, scripted_server(spaces) as site:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        async with reading(site.url) as wiki:
            await wiki.spaces()

    assert proxy.asked == []
    assert len(site.asked) == 1


async def test_nothing_of_netrc_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("default login other password wrong\n")
    monkeypatch.setenv("NETRC", str(netrc))
    async with scripted_server(spaces) as site, reading(site.url) as wiki:
        await wiki.spaces()

    assert site.tokens == [f"Bearer {TOKEN}"]


ASKED = "GET /wiki/api/v2/pages/12"


def test_an_answer_is_no_error() -> None:
    assert error_of(200, {}, ASKED) is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, NotVisible),
        (401, WikiRefused),
        (403, NotVisible),
        (404, NotVisible),
        (407, WikiUnavailable),
        (410, EndpointGone),
        (418, WikiUnavailable),
        (204, WikiUnavailable),
        (501, WikiUnavailable),
    ],
)
def test_what_will_not_pass_is_told_apart(status: int, kind: type[Exception]) -> None:
    error = error_of(status, {}, ASKED)

    assert type(error) is kind


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(status: int) -> None:
    error = error_of(status, {"Retry-After": "7"}, ASKED)

    assert isinstance(error, TryAgain)
    assert (error.status, error.wait_seconds) == (status, 7.0)


def test_forbidden_is_told_from_not_there() -> None:
    forbidden, missing = error_of(403, {}, ASKED), error_of(404, {}, ASKED)

    assert isinstance(forbidden, NotVisible)
    assert isinstance(missing, NotVisible)
    assert (forbidden.forbidden, missing.forbidden) == (True, False)


def test_a_captcha_is_told_from_a_wrong_token() -> None:
    denied = {"X-Authentication-Denied-Reason": "CAPTCHA_CHALLENGE; login-url=https://x"}

    assert "captcha" in str(error_of(401, denied, ASKED))
    assert "CONFLUENCE_TOKEN" in str(error_of(401, {}, ASKED))


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("application/json", type(None)),
        ("application/problem+json", type(None)),
        ("text/html", WikiRefused),
        ("text/plain", WikiUnavailable),
    ],
)
def test_a_web_page_is_told_from_what_is_merely_no_json(content_type: str, kind: type) -> None:
    assert type(json_error(content_type, ASKED)) is kind
