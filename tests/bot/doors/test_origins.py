"""Every way around the origin check that we could think of, on a real socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.store.database import Store
from tests.bot.server import PAGE_VIEW, TOKEN, Client, serving, settings_for

PUBLIC = {"host": "0.0.0.0", "public_url": "https://desk.example"}  # noqa: S104 - the case
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
async def test_a_session_is_of_no_use_to_another_origin(
    store: Store, tmp_path: Path, origin: str
) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        await signed_in(client)

        assert await posted(client, Origin=origin) == 403


async def test_another_port_of_this_host_is_another_origin(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        await signed_in(client)

        for origin in ("http://127.0.0.1", "http://127.0.0.1:1", f"http://localhost:{client.port}"):
            assert await posted(client, Origin=origin) == 403


@pytest.mark.parametrize("form", FORMS)
async def test_what_a_form_can_send_needs_an_origin(
    store: Store, tmp_path: Path, form: str
) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        await signed_in(client)
        response = await client.post("/chat", data=b"question=hi", headers={"Content-Type": form})

        assert response.status == 415


async def test_our_public_address_is_taken_whatever_the_host_is(
    store: Store, tmp_path: Path
) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        await signed_in(client)

        assert await posted(client, Origin="https://desk.example") == 200
        assert await posted(client, Origin=f"http://127.0.0.1:{client.port}") == 200


async def test_one_good_origin_does_not_excuse_a_second_one(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        await signed_in(client)
        both = [("Origin", "https://desk.example"), ("Origin", "https://evil.example")]
        response = await client.post("/chat", data={"question": "hi"}, headers=both)

        assert response.status == 403


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_other_methods_are_held_to_it_too(store: Store, tmp_path: Path, method: str) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        await signed_in(client)
        evil = {"Origin": "https://evil.example"}
        path = "/api/v1/interactions/x/feedback"

        assert (await client.request(method, path, headers=evil)).status == 403


async def test_a_local_public_address_lets_no_other_site_in(store: Store, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, public_url="http://localhost:1")
    async with serving(store, settings) as client:
        assert await posted(client, Origin="http://localhost:1") == 403


async def test_reading_changes_nothing(store: Store, tmp_path: Path) -> None:
    """Whatever is routed to GET, called with a session, leaves session and record as they are."""
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        await signed_in(client)
        paths = {
            route.resource.canonical
            for route in client.server.app.router.routes()  # type: ignore[attr-defined]  # the test server's app
            if route.method in {"GET", "HEAD"} and route.resource is not None
        }
        before = await everything(store)
        for path in sorted(paths):
            await client.get(path.replace("{id}", "x"), headers=PAGE_VIEW, allow_redirects=False)

        assert await everything(store) == before
        assert (await client.get("/role")).status == 200


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
    settings = settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)
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
