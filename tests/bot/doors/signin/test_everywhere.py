"""The whole application as it is served: who gets through to which route."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.web.auth.security import is_public_path
from tests.bot.doors.signin.desk import settings_with, sign_in
from tests.bot.house import Client, house, write_index
from tests.bot.server import BEARER, PAGE_VIEW, TOKEN
from tests.oidc import FakeIssuer

FOR_ADMINS = re.compile(r"/board/settings|/api/v[12]/(documents|reindex)")
FOR_EXPERTS = re.compile(r"/board|/metrics|/api/v[12]/(interactions|escalations|usage)$")
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
async def client(tmp_path: Path, issuer: FakeIssuer) -> AsyncIterator[Client]:
    settings = settings_with(
        tmp_path,
        issuer,
        admin_token=TOKEN,
        oidc_expert_groups="g-experts",
        oidc_admin_groups="g-admins",
    )
    await write_index(settings, tmp_path / "pages")
    async with house(settings) as served:
        yield served


async def test_nobody_gets_through_to_any_route(client: Client) -> None:
    for method, path in routes(client):
        asked = await client.request(method, path, json={}, allow_redirects=False)
        viewed = await client.request(method, path, headers=PAGE_VIEW, allow_redirects=False)

        assert (method, path, asked.status) == (method, path, 401)
        assert viewed.status in {303, 401, 415}, (method, path)


async def test_each_role_gets_through_to_what_is_theirs(client: Client, issuer: FakeIssuer) -> None:
    reading = [path for method, path in routes(client) if method == "GET"]
    statuses = {}
    for group in ("g-none", "g-experts", "g-admins"):
        issuer.claims = {"groups": [group]}
        client.session.cookie_jar.clear()
        assert (await sign_in(client, issuer)).status == 303
        statuses[group] = {path: await status_of(client, path) for path in reading}

    for path in reading:
        admin = FOR_ADMINS.match(path) is not None
        expert = FOR_EXPERTS.match(path) is not None
        refused = [group for group, found in statuses.items() if found[path] == 403]
        expected = ["g-none", "g-experts"] if admin else ["g-none"] if expert else []
        assert (path, refused) == (path, expected)
    assert not [found for found in statuses.values() if max(found.values()) >= 500]


async def test_an_asker_changes_nothing_on_the_board_and_no_document(
    client: Client, issuer: FakeIssuer
) -> None:
    await sign_in(client, issuer)
    origin = {"Origin": str(client.make_url("/")).rstrip("/")}
    changing = [
        (method, path)
        for method, path in routes(client)
        if method not in {"GET", "HEAD"}
        and re.match(r"/board|/api/v[12]/(documents|reindex)", path)
    ]
    assert len(changing) > 5
    for method, path in changing:
        response = await client.request(method, path, data={"text": "x"}, headers=origin)
        assert (method, path, response.status) == (method, path, 403)


async def test_an_asker_asks_and_reads_what_is_theirs(client: Client, issuer: FakeIssuer) -> None:
    await sign_in(client, issuer)
    own = await (await client.post("/api/v1/ask", json={"question": "vpn error 809"})).json()
    others = await client.post("/api/v1/ask", json={"question": "annual leave?"}, headers=BEARER)
    theirs = (await others.json())["interaction_id"]

    assert (await client.get(f"/api/v1/interactions/{own['interaction_id']}")).status == 200
    assert (await client.get(f"/api/v1/interactions/{theirs}")).status == 404
    assert (await client.get("/", headers=PAGE_VIEW)).status == 200


@pytest.mark.parametrize(("groups", "title"), [([], None), (["admins"], "Rescue account")])
async def test_groups_of_the_token_open_the_pages_of_those_groups(
    client: Client, issuer: FakeIssuer, groups: list[str], title: str | None
) -> None:
    issuer.claims = {"groups": groups}
    await sign_in(client, issuer)
    question = {"question": "where is the zirconium envelope with the rescue password?"}
    asked = await client.post("/api/v1/ask", json={**question, "show_pipeline": True})

    text = await asked.text()
    assert ("4711" in text) is (title is not None)


async def status_of(client: Client, path: str) -> int:
    """Return the status of a page's head; a stream is not waited for."""
    async with client.get(path, headers=PAGE_VIEW, allow_redirects=False) as response:
        return response.status
