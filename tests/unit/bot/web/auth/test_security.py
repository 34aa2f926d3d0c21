"""Tests of who gets through to which route: tokens, hosts, origins and roles."""

from __future__ import annotations

import io
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientResponse, web

from bot.domain.errors import SettingInvalid
from bot.store.database import Store
from bot.web.auth.security import is_public_path, mount_security
from tests.fakes.http_server import (
    BEARER,
    PAGE_VIEW,
    TOKEN,
    Client,
    serving,
    serving_application,
    settings_for,
    write_index,
)
from tests.fakes.openid_provider import FakeIssuer
from tests.unit.bot.web.auth.conftest import settings_with, sign_in

pytestmark = pytest.mark.attack

SLACK = {"slack_bot_token": "xoxb-1", "slack_signing_secret": "s"}
TEAMS = {"microsoft_app_id": "app"}
PUBLIC = {"host": "0.0.0.0"}  # noqa: S104 - the case that needs the token
ASK = {"question": "hello"}


async def detail(response: ClientResponse) -> str:
    assert response.content_type == "application/problem+json"
    body = await response.json()
    assert body["status"] == response.status
    return f"{body['detail']} {body.get('cure', '')}"


def own(client: Client) -> str:
    return f"http://127.0.0.1:{client.port}"


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
async def test_on_loopback_our_own_names_are_served(client: Client, name: str) -> None:
    response = await client.get("/health", headers={"Host": f"{name}:{client.port}"})

    assert response.status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.:{port}",
        "user@127.0.0.1:{port}",
        "127.0.0.1:{port}/x",
        "127.0.0.1:99999999",
        "[::1",
        "",
    ],
)
async def test_on_loopback_a_name_rebound_to_us_is_refused(client: Client, host: str) -> None:
    for path in ("/", "/health", "/openapi.json", "/nothing"):
        response = await client.get(path, headers={"Host": host.format(port=client.port)})
        assert response.status == 403
        assert "http://127.0.0.1" in await detail(response)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "[::1", ""]
)
async def test_on_loopback_another_sites_requests_are_refused(
    store: Store, client: Client, origin: str
) -> None:
    posted = await client.post("/api/v1/ask", json=ASK, headers={"Origin": origin})
    got = await client.get("/openapi.json", headers={"Origin": origin})
    platform = await client.post("/api/messages", json={}, headers={"Origin": origin})

    assert (posted.status, got.status, platform.status) == (403, 403, 403)
    assert "this server's own pages" in await detail(posted)
    assert await store.work.unfinished() == []


async def test_our_own_page_may_post_forms_and_json(client: Client) -> None:
    headers = {"Origin": own(client)}
    form = await client.post("/chat", data={"question": "hi"}, headers=headers)
    asked = await client.post("/api/v1/ask", json=ASK, headers=headers)

    assert (form.status, await form.text()) == (200, "hi")
    assert asked.status == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
async def test_without_an_origin_only_json_is_taken(client: Client, content_type: str) -> None:
    for path in ("/api/v1/escalations/x/claim", "/chat"):
        response = await client.post(
            path, data=json.dumps(ASK).encode(), headers={"Content-Type": content_type}
        )
        assert response.status == 415
        assert "application/json" in await detail(response)


@pytest.mark.parametrize("change", [SLACK, TEAMS, PUBLIC], ids=["slack", "teams", "public"])
async def test_once_others_can_reach_us_all_but_the_platforms_needs_the_token(
    store: Store, tmp_path: Path, change: dict[str, str]
) -> None:
    settings = settings_for(tmp_path, admin_token=TOKEN, **change)
    async with serving(store, settings) as client:
        for path in ("/openapi.json", "/api/v1/interactions/x", "/nothing", "/broken", "/"):
            response = await client.get(path)
            assert (path, response.status) == (path, 401)
            assert response.headers["WWW-Authenticate"].startswith("Bearer")
            assert "Authorization: Bearer" in await detail(response)
        assert (await client.post("/api/v1/ask", json=ASK)).status == 401
        for path in ("/slack/events", "/api/messages"):
            posted = await client.post(path, data=b"payload=1")
            assert await posted.text() == "9 bytes"
        for path in ("/health", "/ready", "/session"):
            assert (await client.get(path)).status == 200
        asked = await client.post("/api/v1/ask", json=ASK, headers=BEARER)
        assert asked.status == 200


@pytest.mark.parametrize(
    "header",
    ["Bearer wrong-token-of-same-size-xx", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, "é"],
)
async def test_a_wrong_token_opens_nothing(public: Client, header: str) -> None:
    response = await public.get("/openapi.json", headers={"Authorization": header})

    assert response.status == 401


async def test_without_a_token_the_doors_say_how_to_open(store: Store, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, **SLACK)
    async with serving(store, settings) as client:
        response = await client.post("/api/v1/ask", json=ASK, headers=BEARER)
        events = await client.post("/slack/events", data=b"x")
        health = await client.get("/health")

        assert response.status == 403
        assert "FRONTDESK_ADMIN_TOKEN=" in await detail(response)
        assert (events.status, health.status) == (200, 200)


def test_a_token_that_could_be_guessed_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="fewer than 16 characters") as caught:
        mount_security(web.Application(), settings_for(tmp_path, admin_token="hunter2"))

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"host": "::1"}, False),
        ({"teams_dev_mode": True}, False),
        (SLACK, True),
        (TEAMS, True),
        (PUBLIC, True),
        ({"host": "10.1.2.3"}, True),
    ],
)
def test_others_can_reach_us_through_a_platform_or_an_address(
    tmp_path: Path, changes: dict[str, object], *, expected: bool
) -> None:
    assert settings_for(tmp_path, **changes).exposed is expected


async def test_a_browser_without_a_session_is_sent_to_sign_in(public: Client) -> None:
    response = await public.get("/", headers=PAGE_VIEW, allow_redirects=False)

    assert (response.status, response.headers["Location"]) == (303, "/session")


async def test_every_response_carries_the_strict_headers(client: Client) -> None:
    paths = ["/", "/health", "/nothing", "/broken", "/session", "/openapi.json"]
    responses = [await client.get(path) for path in paths]
    responses.append(await client.post("/api/v1/ask", data=b"x"))
    responses.append(await client.get("/", headers={"Host": "evil.example"}))

    for response in responses:
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "same-origin"
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["Server"] == "frontdesk"


async def test_long_bodies_are_refused_before_and_while_they_are_read(client: Client) -> None:
    async def drip() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 100_000

    as_json = {"Content-Type": "application/json"}
    declared = await client.post("/api/v1/ask", data=io.BytesIO(b"x" * 1_100_000), headers=as_json)
    chunked = await client.post("/api/v1/ask", data=drip(), headers=as_json)

    assert (declared.status, chunked.status) == (413, 413)
    for response in (declared, chunked):
        assert "1 MB" in await detail(response)


async def test_errors_never_show_an_exceptions_text(client: Client) -> None:
    response = await client.get("/broken")

    assert response.status == 500
    assert "hunter2" not in await response.text()
    assert (
        "Something went wrong on our side. It has been logged; try again or tell your admin"
        in await detail(response)
    )


async def test_unknown_addresses_and_methods_are_told_apart(client: Client) -> None:
    nothing = await client.get("/nothing")
    wrong = await client.get("/api/v1/ask")

    assert nothing.status == 404
    assert "/openapi.json" in await detail(nothing)
    assert wrong.status == 405
    assert wrong.headers["Allow"] == "POST"
    assert "Allow header" in await detail(wrong)


async def test_each_browser_has_an_id_of_its_own(client: Client) -> None:
    first = await client.get("/", headers=PAGE_VIEW)
    again = await client.get("/", headers=PAGE_VIEW)
    cookie = first.cookies["frontdesk_visitor"]
    client.session.cookie_jar.clear()
    other = await client.get("/", headers=PAGE_VIEW)

    assert (await first.text()).startswith("visitor-")
    assert await first.text() == await again.text()
    assert "frontdesk_visitor" not in again.cookies
    assert await other.text() != await first.text()
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


async def test_a_forged_visitor_is_a_new_one(client: Client) -> None:
    known = (await client.get("/", headers=PAGE_VIEW)).cookies["frontdesk_visitor"].value
    client.session.cookie_jar.clear()
    name, _, mark = known.rpartition(".")
    for forged in (name, f"{name}.", f"visitor-admin.{mark}", f"{known}x", "admin.x"):
        response = await client.get(
            "/", headers={**PAGE_VIEW, "Cookie": f"frontdesk_visitor={forged}"}
        )
        client.session.cookie_jar.clear()
        assert (await response.text()).startswith("visitor-")
        assert await response.text() not in {name, "visitor-admin", "admin"}


async def test_a_client_that_is_no_browser_is_the_local_user(client: Client) -> None:
    assert await (await client.get("/")).text() == "local"


@pytest.mark.parametrize("path", ["/", "/role", "/metrics", "/api/v1/interactions"])
async def test_behind_a_proxy_on_this_machine_nobody_comes_in_as_its_operator(
    store: Store, tmp_path: Path, path: str
) -> None:
    """The proxy may call us 127.0.0.1, as many do; who comes by it is a stranger."""
    settings = settings_for(tmp_path, public_url="https://desk.example", admin_token=TOKEN)
    async with serving(store, settings, sample=True) as client:
        by_proxy = await client.get(path)
        as_public = await client.get(path, headers={"Host": "desk.example"})
        with_token = await client.get("/role", headers=BEARER)

        assert (by_proxy.status, as_public.status) == (401, 401)
        assert await with_token.text() == "admin"


async def test_behind_a_proxy_nobody_may_say_who_they_are(store: Store, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, public_url="https://desk.example", dev_identities=True)
    async with serving(store, settings) as client:
        asked = await client.post("/api/v1/ask", json={**ASK, "user": {"id": "ceo"}})

        assert asked.status == 403


def test_a_public_address_on_this_machine_exposes_nothing(tmp_path: Path) -> None:
    assert not settings_for(tmp_path, public_url="http://localhost:8000").exposed
    assert settings_for(tmp_path, public_url="https://localhost.example").exposed


PUBLIC_ADDRESS = {"host": "0.0.0.0", "public_url": "https://desk.example"}  # noqa: S104 - the case


@pytest.fixture
async def addressed(store: Store, tmp_path: Path) -> AsyncIterator[Client]:
    """A server that has a public address and an admin token."""
    settings = settings_for(tmp_path, admin_token=TOKEN, **PUBLIC_ADDRESS)
    async with serving(store, settings) as opened:
        yield opened


FORMS = ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""]


async def signed_in(client: Client) -> Client:
    """Sign the client in; its jar now has the session, as a browser's would."""
    assert (await client.post("/session", json={"token": TOKEN})).status == 204
    return client


async def posted(client: Client, **headers: str) -> int:
    body = "question=hi"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    response = await client.post("/chat", data=body, headers={**form, **headers})
    return response.status


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "https://evil.example",
        "https://desk.example.evil.example",
        "https://evil.desk.example",
        "https://desk.example:444",
        "http://desk.example",
        "https://desk.example/",
        "https://desk.example@evil.example",
        "https://DESK.example",
        "desk.example",
        "file://",
        "",
        "chrome-extension://abc",
    ],
)
async def test_a_session_is_of_no_use_to_another_origin(addressed: Client, origin: str) -> None:
    await signed_in(addressed)

    assert await posted(addressed, Origin=origin) == 403


async def test_another_port_of_this_host_is_another_origin(addressed: Client) -> None:
    await signed_in(addressed)

    for origin in ("http://127.0.0.1", "http://127.0.0.1:1", f"http://localhost:{addressed.port}"):
        assert await posted(addressed, Origin=origin) == 403


@pytest.mark.parametrize("form", FORMS)
async def test_what_a_form_can_send_needs_an_origin(addressed: Client, form: str) -> None:
    await signed_in(addressed)
    response = await addressed.post("/chat", data=b"question=hi", headers={"Content-Type": form})

    assert response.status == 415


async def test_our_public_address_is_taken_whatever_the_host_is(addressed: Client) -> None:
    await signed_in(addressed)

    assert await posted(addressed, Origin="https://desk.example") == 200
    assert await posted(addressed, Origin=f"http://127.0.0.1:{addressed.port}") == 200


async def test_one_good_origin_does_not_excuse_a_second_one(addressed: Client) -> None:
    await signed_in(addressed)
    both = [("Origin", "https://desk.example"), ("Origin", "https://evil.example")]
    response = await addressed.post("/chat", data={"question": "hi"}, headers=both)

    assert response.status == 403


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_other_methods_are_held_to_it_too(addressed: Client, method: str) -> None:
    await signed_in(addressed)
    evil = {"Origin": "https://evil.example"}
    path = "/api/v1/interactions/x/feedback"

    assert (await addressed.request(method, path, headers=evil)).status == 403


async def test_a_local_public_address_lets_no_other_site_in(store: Store, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, public_url="http://localhost:1")
    async with serving(store, settings) as client:
        assert await posted(client, Origin="http://localhost:1") == 403


async def test_reading_changes_nothing(store: Store, addressed: Client) -> None:
    """Whatever is routed to GET, called with a session, leaves session and record as they are."""
    await signed_in(addressed)
    paths = {
        route.resource.canonical
        for route in addressed.server.app.router.routes()  # type: ignore[attr-defined]  # the test server's app
        if route.method in {"GET", "HEAD"} and route.resource is not None
    }
    before = await everything(store)
    for path in sorted(paths):
        await addressed.get(path.replace("{id}", "x"), headers=PAGE_VIEW, allow_redirects=False)

    assert await everything(store) == before
    assert (await addressed.get("/role")).status == 200


async def everything(store: Store) -> list[object]:
    found: list[object] = []
    async with store.transactions.reading() as connection:
        for table in ("sessions", "audit", "interactions", "feedback", "policies", "pauses"):
            found += (await connection.exec_driver_sql(f"SELECT * FROM {table}")).all()  # noqa: S608 - ours
    return found


@pytest.mark.mended(id="attack-11")
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 403),
        ("desk.example.evil.example", 403),
        ("desk.example:444", 403),
        ("desk.example", 200),
        ("DESK.example:443", 200),
        ("localhost:8080", 200),
    ],
)
async def test_once_it_has_a_public_address_it_has_no_other_name(
    store: Store, tmp_path: Path, host: str, status: int
) -> None:
    settings = settings_for(tmp_path, admin_token=TOKEN, **PUBLIC_ADDRESS)
    async with serving(store, settings) as client:
        page = await client.get("/session", headers={"Host": host, **PAGE_VIEW})
        changed = await client.post(
            "/session",
            data={"token": TOKEN},
            headers={"Host": host, "Origin": f"http://{host}"},
            allow_redirects=False,
        )
        probe = await client.get("/health", headers={"Host": host})

    assert (page.status, probe.status) == (status, 200)
    assert (changed.status == 303) == host.startswith("localhost")


FOR_ADMINS = re.compile(r"/board/(settings|personal-data)|/api/v[12]/(documents|reindex)")
FOR_EXPERTS = re.compile(
    r"/board|/metrics|/api/v[12]/(interactions|escalations|usage|insights|shadow|(gaps|answers)(/.*)?)$"
)
ANY_ID = "00000000-0000-4000-8000-000000000000"


def routes(client: Client) -> list[tuple[str, str]]:
    """Return every route that is not reached without being let in, with its parts filled in."""
    app = client.server.app  # type: ignore[attr-defined]  # the test server's
    found = {
        (route.method, re.sub(r"\{[^}]+\}", ANY_ID, route.resource.canonical))
        for route in app.router.routes()
        if route.resource is not None
    }
    return sorted((method, path) for method, path in found if not is_public_path(path))


@pytest.fixture
async def whole(tmp_path: Path, issuer: FakeIssuer) -> AsyncIterator[Client]:
    settings = settings_with(
        tmp_path,
        issuer,
        admin_token=TOKEN,
        oidc_expert_groups="g-experts",
        oidc_admin_groups="g-admins",
    )
    await write_index(settings, tmp_path / "pages")
    async with serving_application(settings) as served:
        yield served


async def test_nobody_gets_through_to_any_route(whole: Client) -> None:
    for method, path in routes(whole):
        asked = await whole.request(method, path, json={}, allow_redirects=False)
        viewed = await whole.request(method, path, headers=PAGE_VIEW, allow_redirects=False)

        assert (method, path, asked.status) == (method, path, 401)
        assert viewed.status in {303, 401, 415}, (method, path)


async def test_each_role_gets_through_to_what_is_theirs(whole: Client, issuer: FakeIssuer) -> None:
    reading = [path for method, path in routes(whole) if method == "GET"]
    statuses = {}
    for group in ("g-none", "g-experts", "g-admins"):
        issuer.claims = {"groups": [group]}
        whole.session.cookie_jar.clear()
        assert (await sign_in(whole, issuer)).status == 303
        statuses[group] = {path: await status_of(whole, path) for path in reading}

    for path in reading:
        admin = FOR_ADMINS.match(path) is not None
        expert = FOR_EXPERTS.match(path) is not None
        refused = [group for group, found in statuses.items() if found[path] == 403]
        expected = ["g-none", "g-experts"] if admin else ["g-none"] if expert else []
        assert (path, refused) == (path, expected)
    assert not [found for found in statuses.values() if max(found.values()) >= 500]


async def test_an_asker_changes_no_case_or_document(whole: Client, issuer: FakeIssuer) -> None:
    await sign_in(whole, issuer)
    origin = {"Origin": str(whole.make_url("/")).rstrip("/")}
    changing = [
        (method, path)
        for method, path in routes(whole)
        if method not in {"GET", "HEAD"}
        and re.match(r"/board|/api/v[12]/(documents|reindex)", path)
    ]
    assert len(changing) > 5
    for method, path in changing:
        response = await whole.request(method, path, data={"text": "x"}, headers=origin)
        assert (method, path, response.status) == (method, path, 403)


async def test_an_asker_asks_and_reads_what_is_theirs(whole: Client, issuer: FakeIssuer) -> None:
    await sign_in(whole, issuer)
    own = await (await whole.post("/api/v1/ask", json={"question": "vpn error 809"})).json()
    others = await whole.post("/api/v1/ask", json={"question": "annual leave?"}, headers=BEARER)
    theirs = (await others.json())["interaction_id"]

    assert (await whole.get(f"/api/v1/interactions/{own['interaction_id']}")).status == 200
    assert (await whole.get(f"/api/v1/interactions/{theirs}")).status == 404
    assert (await whole.get("/", headers=PAGE_VIEW)).status == 200


@pytest.mark.parametrize(("groups", "title"), [([], None), (["admins"], "Rescue account")])
async def test_groups_of_the_token_open_the_pages_of_those_groups(
    whole: Client, issuer: FakeIssuer, groups: list[str], title: str | None
) -> None:
    issuer.claims = {"groups": groups}
    await sign_in(whole, issuer)
    question = {"question": "where is the zirconium envelope with the rescue password?"}
    asked = await whole.post("/api/v1/ask", json={**question, "show_pipeline": True})

    text = await asked.text()
    assert ("4711" in text) is (title is not None)


async def status_of(client: Client, path: str) -> int:
    """Return the status of a page's head; a stream is not waited for."""
    async with client.get(path, headers=PAGE_VIEW, allow_redirects=False) as response:
        return response.status
