"""Faults on demand, in both editions."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Literal

import pytest
from aiohttp import ClientPayloadError, ClientSession, ServerDisconnectedError

from tests.contract.confluence.conftest import ApiClient
from tests.fakes.confluence.faults import (
    ANY,
    cut,
    login_page,
    slow,
    too_many,
    truncated,
    unavailable,
)
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site

SPACES = "/api/v2/spaces"


async def test_a_storm_of_429_ends_and_says_when_to_come_again(rita: ApiClient) -> None:
    rita.server.faults.fail("spaces", too_many("3"), too_many(), unavailable())
    first = await rita.heard(SPACES)
    assert (first.status, first.headers["Retry-After"]) == (429, "3")
    assert "Retry-After" not in (await rita.heard(SPACES)).headers
    assert await rita.status(SPACES) == 503
    assert await rita.status(SPACES) == 200
    assert [request.status for request in rita.server.requests] == [429, 429, 503, 200]


async def test_a_login_page_is_no_json(rita: ApiClient) -> None:
    rita.server.faults.fail_always(ANY, login_page())
    heard = await rita.heard(SPACES)
    assert heard.status == 200
    assert heard.headers["Content-Type"].startswith("text/html")
    rita.server.faults.clear()
    assert await rita.status(SPACES) == 200


async def test_a_connection_is_cut_at_once_or_in_the_midst(rita: ApiClient) -> None:
    # aiohttp itself asks once more when it gets no answer at all.
    rita.server.faults.fail("spaces", cut(), cut(), cut(20))
    for kind in (ServerDisconnectedError, ClientPayloadError):
        with pytest.raises(kind):
            await rita.heard(SPACES)
    assert rita.server.count("spaces") == 3


async def test_json_may_end_too_early(rita: ApiClient) -> None:
    rita.server.faults.fail("spaces", truncated(20))
    with pytest.raises(json.JSONDecodeError):
        (await rita.heard(SPACES)).json()


async def test_a_slow_answer_takes_its_time_and_no_longer_than_the_server(site: Site) -> None:
    server = LocalConfluence(site)
    server.faults.fail(ANY, slow(3600))
    async with server.serving(), ClientSession() as session:
        arrived = asyncio.Event()
        server.faults.on(ANY, 1, arrived.set)
        asking = asyncio.create_task(session.get(f"{server.url}{SPACES}"))
        await arrived.wait()
        assert not asking.done()
        asking.cancel()


@pytest.mark.parametrize(("how", "listed", "told"), [(403, [], 403), (404, [], 404)])
async def test_a_token_goes_blind_half_way(
    rita: ApiClient, site: Site, how: int, listed: list[str], told: int
) -> None:
    page = site.create("IT", "Page")
    path = f"{SPACES}/{site.spaces['IT'].id}/pages"
    rita.server.faults.go_blind("IT", how=403 if how == 403 else 404, after=1)
    assert len(await rita.every(path)) == 1
    assert await rita.status(path) == told
    assert await rita.status(f"/api/v2/pages/{page.id}") == told
    assert await rita.status("/rest/api/content/search", cql="space = IT") == 200
    assert await rita.every("/rest/api/content/search", cql="space = IT") == listed
    assert [space["key"] for space in await rita.every(SPACES)] == ["PUB"]
    rita.server.faults.see_again()
    assert len(await rita.every(path)) == 1


async def test_a_space_may_look_empty(rita: ApiClient, site: Site) -> None:
    page = site.create("IT", "Page")
    rita.server.faults.go_blind(how="empty")
    assert await rita.every(f"{SPACES}/{site.spaces['IT'].id}/pages") == []
    assert await rita.status(f"/api/v2/pages/{page.id}") == 404
    assert [space["key"] for space in await rita.every(SPACES)] == ["IT", "PUB"]


async def test_one_expansion_breaks_for_one_page(
    rita: ApiClient, pat: ApiClient, site: Site
) -> None:
    whole, broken = site.create("IT", "Whole"), site.create("IT", "Broken")
    users = "restrictions.read.restrictions.user"
    for asker in (rita, pat):
        asker.server.faults.break_expansion(users, broken.id)
        path = "/rest/api/content/search"
        both = f"id in ({whole.id}, {broken.id})"
        assert await asker.status(path, cql=both, expand=users) == 500
        assert await asker.status(path, cql=both, expand="version") == 200
        assert await asker.status(path, cql=f"id = {whole.id}", expand=users) == 200


async def test_a_page_is_edited_during_the_crawl(rita: ApiClient, site: Site) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(4)]
    rita.server.faults.on("pages", 2, lambda: site.edit(made[3]))
    found = await rita.every("/api/v2/pages", sort="-modified-date", limit="2")
    assert [page["id"] for page in found] == [made[3], made[2], made[1], made[0]]
    assert site.contents[made[3]].version == 2


async def test_cursors_may_shift(rita: ApiClient, site: Site) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(4)]
    rita.server.options["shifting"] = True
    rita.server.faults.on("pages", 2, lambda: site.trash(made[0]))
    found = await rita.every("/api/v2/pages", limit="2", status="current")
    assert [page["id"] for page in found] == [made[0], made[1], made[3]]


async def test_answers_are_dated_by_the_sites_clock(rita: ApiClient, site: Site) -> None:
    site.now = datetime.fromisoformat("2031-01-02T03:04:05+00:00")
    heard = await rita.heard(SPACES)
    assert parsedate_to_datetime(heard.headers["Date"]) == site.now


async def test_a_wrong_or_revoked_token_is_refused(cloud: LocalConfluence, rita: ApiClient) -> None:
    async with ClientSession(headers={"Authorization": "Bearer wrong"}) as session:
        assert await ApiClient(session, cloud).status(SPACES) == 401
    assert await rita.status(SPACES) == 200
    cloud.revoked.add("rita")
    assert await rita.status(SPACES) == 401


async def test_no_token_is_kept_among_the_requests(rita: ApiClient) -> None:
    await rita.get(SPACES)
    (request,) = rita.server.requests
    assert (request.person, request.kind, request.status) == ("rita", "spaces", 200)
    assert "Authorization" not in request.headers


async def test_the_media_host_fails_on_its_own(rita: ApiClient, site: Site) -> None:
    page = site.create("IT", "Page")
    file = site.attach(page.id, "big.pdf", b"%PDF", size=50_000_000)
    path = f"/rest/api/content/{page.id}/child/attachment/{file.id}/download"
    rita.server.faults.fail("media", unavailable(500), cut(100_000))
    where = (await rita.heard(path)).headers["Location"]
    async with ClientSession() as stranger:
        async with stranger.get(where) as answer:
            assert answer.status == 500
        async with stranger.get(where) as answer:
            assert answer.content_length == 50_000_000
            with pytest.raises(ClientPayloadError):
                await answer.read()
    assert rita.server.count("download") == 1


async def test_answers_may_say_that_the_rate_is_nearly_used_up(rita: ApiClient) -> None:
    rita.server.options["near_limit"] = True
    assert (await rita.heard(SPACES)).headers["X-RateLimit-NearLimit"] == "true"


@pytest.mark.parametrize("status", [403, 404])
async def test_a_space_one_may_not_view_is_refused_by_either_status(
    rita: ApiClient, pat: ApiClient, site: Site, status: Literal[403, 404]
) -> None:
    for asker in (rita, pat):
        asker.server.options["space_refusal"] = status
    assert await rita.status(f"{SPACES}/{site.spaces['HR'].id}/pages") == status
    assert await pat.status("/rest/api/content", spaceKey="HR") == status


async def test_an_old_data_center_has_no_scan(pat: ApiClient, site: Site) -> None:
    pat.server.options["before_7_18"] = True
    assert await pat.status("/rest/api/content/scan", spaceKey="IT") == 404
    assert site.unexpected == []


async def test_drafts_break_restrictions_of_ancestors(pat: ApiClient, site: Site) -> None:
    site.create("IT", "Page")
    asked = {
        "cql": "space = IT",
        "expand": "ancestors.restrictions.read.restrictions.user",
    }
    assert await pat.status("/rest/api/content/search", **asked) == 200
    site.create("IT", "Draft", by="otto", status="draft")
    assert await pat.status("/rest/api/content/search", **asked) == 404


async def test_who_asks_at_once_is_counted(rita: ApiClient) -> None:
    rita.server.faults.fail("spaces", slow(0.3), slow(0.3), slow(0.3))
    await asyncio.gather(*(rita.get(SPACES) for _ in range(3)))
    assert rita.server.most_at_once == 3
