"""Data Center's API over HTTP."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.confluence.asking import Asker
from tests.confluence.site import Site

LISTS = ("/rest/api/content", "/rest/api/content/scan")


@pytest.mark.parametrize("path", LISTS)
async def test_current_pages_of_a_space_are_listed_once(pat: Asker, site: Site, path: str) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(7)]
    site.archive(site.create("IT", "Old").id)
    site.create("PUB", "Elsewhere")
    found = await pat.every(path, spaceKey="IT", limit="3")
    assert [page["id"] for page in found] == made


async def test_pages_shift_while_they_are_counted_by_start(pat: Asker, site: Site) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(4)]
    pat.server.faults.on("content", 2, lambda: site.trash(made[0]))
    found = await pat.every("/rest/api/content", spaceKey="IT", limit="2")
    assert [page["id"] for page in found] == [made[0], made[1], made[3]]


async def test_a_scan_does_not_shift(pat: Asker, site: Site) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(4)]
    pat.server.faults.on("scan", 2, lambda: site.trash(made[0]))
    found = await pat.every("/rest/api/content/scan", spaceKey="IT", limit="2")
    assert [page["id"] for page in found] == made


async def test_dates_and_queries_are_in_the_servers_zone(pat: Asker, site: Site) -> None:
    site.zone = ZoneInfo("America/New_York")
    page = site.create("IT", "Late")
    told = await pat.get(f"/rest/api/content/{page.id}", expand="version,history")
    assert told["version"]["when"].startswith("2026-11-23T04:00:")
    assert told["history"]["createdDate"].endswith(".000-05:00")
    local = page.updated.astimezone(site.zone)
    for minutes, there in ((0, True), (1, False)):
        since = f"{local + timedelta(minutes=minutes):%Y-%m-%d %H:%M}"
        found = await pat.every("/rest/api/content/search", cql=f'lastmodified >= "{since}"')
        assert bool(found) == there


async def test_what_is_in_the_trash_has_to_be_asked_for(pat: Asker, site: Site) -> None:
    page = site.create("IT", "Gone")
    site.trash(page.id)
    path = f"/rest/api/content/{page.id}"
    assert await pat.status(path) == 404
    assert (await pat.get(path, status="trashed"))["status"] == "trashed"


async def test_expansions_are_told_as_they_are_asked_for(pat: Asker, site: Site) -> None:
    top = site.create("IT", "Top")
    page = site.create("IT", "Below", "<p>Hello</p>", parent=top.id, labels=["how-to"])
    site.restrict(page.id, users=["rita"], groups=["staff"])
    told = await pat.get(
        f"/rest/api/content/{page.id}",
        expand="body.storage,ancestors,metadata.labels,"
        "restrictions.read.restrictions.user,restrictions.read.restrictions.group",
    )
    restricted = told["restrictions"]["read"]["restrictions"]
    assert told["body"]["storage"]["value"] == "<p>Hello</p>"
    assert [each["id"] for each in told["ancestors"]] == [top.id]
    assert [each["name"] for each in told["metadata"]["labels"]["results"]] == ["how-to"]
    assert restricted["user"]["results"][0]["userKey"] == site.people["rita"].user_key
    assert restricted["group"]["results"][0]["name"] == "staff"
    assert "version" not in told


async def test_permissions_of_a_space_break_an_expansion(pat: Asker) -> None:
    assert await pat.status("/rest/api/content", spaceKey="IT", expand="space.permissions") == 500
    assert await pat.status("/rest/api/space/IT", expand="permissions") == 500


async def test_permissions_of_a_space_are_told_since_9_1(pat: Asker, site: Site) -> None:
    heard = await pat.heard("/rest/api/space/IT/permissions")
    told = [p for p in heard.json() if p["operation"]["operationKey"] == "read"]
    assert [p["subject"]["type"] for p in told] == ["user", "group"]
    pat.server.options["permissions_for_admins"] = True
    assert await pat.status("/rest/api/space/IT/permissions") == 403
    pat.server.options["old"] = True
    assert await pat.status("/rest/api/space/IT/permissions") == 404
    assert site.unexpected == []


async def test_files_are_handed_out_right_there(pat: Asker, site: Site) -> None:
    page = site.create("IT", "Files")
    site.attach(page.id, "a b/ü.txt", b"abc", size=200_000)
    (file,) = await pat.every(f"/rest/api/content/{page.id}/child/attachment", expand="version")
    heard = await pat.heard(file["_links"]["download"])
    assert (heard.status, len(heard.body)) == (200, 200_000)


async def test_people_and_groups_are_known_by_key_and_name(pat: Asker, site: Site) -> None:
    told = await pat.get("/rest/api/user", username="otto")
    assert told["userKey"] == site.people["otto"].user_key
    groups = await pat.every("/rest/api/user/memberof", key=told["userKey"])
    assert [group["name"] for group in groups] == ["staff"]
    members = await pat.every("/rest/api/group/staff/member", limit="1")
    assert [member["username"] for member in members] == ["admin", "otto", "rita"]
