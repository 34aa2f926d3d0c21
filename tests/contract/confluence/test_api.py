"""Cloud's two APIs and Data Center's API over HTTP."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from aiohttp import ClientSession

from tests.contract.confluence.conftest import ApiClient
from tests.fakes.confluence.requests import Json
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site


def ids(found: list[dict[str, object]]) -> list[object]:
    return [each["id"] for each in found]


async def test_only_spaces_that_the_token_may_view_are_listed(rita: ApiClient) -> None:
    found = await rita.every("/api/v2/spaces", limit="1")
    assert [space["key"] for space in found] == ["IT", "PUB"]


async def test_a_space_is_found_by_key(rita: ApiClient) -> None:
    found = await rita.every("/api/v2/spaces", keys="HR,PUB")
    assert [space["key"] for space in found] == ["PUB"]


async def test_every_page_of_a_space_is_listed_once(rita: ApiClient, site: Site) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(7)]
    path = f"/api/v2/spaces/{site.spaces['IT'].id}/pages"
    assert ids(await rita.every(path, limit="3")) == made


async def test_archived_pages_are_listed_unless_current_ones_are_wanted(
    rita: ApiClient, site: Site
) -> None:
    kept, old = site.create("IT", "Kept").id, site.create("IT", "Old").id
    site.archive(old)
    path = f"/api/v2/spaces/{site.spaces['IT'].id}/pages"
    assert ids(await rita.every(path)) == [kept, old]
    assert ids(await rita.every(path, status="current")) == [kept]


async def test_what_is_restricted_is_neither_listed_nor_told(rita: ApiClient, site: Site) -> None:
    parent = site.create("IT", "Secret")
    child = site.create("IT", "Below", parent=parent.id)
    site.restrict(parent.id, users=["admin"])
    assert ids(await rita.every("/api/v2/pages")) == []
    assert await rita.status(f"/api/v2/pages/{child.id}") == 404
    site.unrestrict(parent.id)
    assert (await rita.get(f"/api/v2/pages/{child.id}"))["parentId"] == parent.id


async def test_the_next_part_is_linked_from_the_root_in_body_and_header(
    rita: ApiClient, site: Site
) -> None:
    for number in range(3):
        site.create("IT", f"Page {number}")
    heard = await rita.heard("/api/v2/pages", limit="2")
    links = heard.json()["_links"]
    assert links["base"] == rita.server.url
    assert links["next"].startswith("/wiki/api/v2/pages?")
    assert heard.headers["Link"] == f'<{links["next"]}>; rel="next"'


async def test_the_older_api_links_without_the_context(rita: ApiClient, site: Site) -> None:
    for number in range(3):
        site.create("IT", f"Page {number}")
    told = await rita.get("/rest/api/content/search", cql="space = IT", limit="2")
    assert told["_links"]["next"].startswith("/rest/api/content/search?")
    assert (told["_links"]["context"], told["size"]) == ("/wiki", 2)


async def test_no_more_than_250_are_asked_for(rita: ApiClient) -> None:
    assert await rita.status("/api/v2/spaces", limit="251") == 400
    assert await rita.status("/api/v2/spaces", cursor="nonsense") == 400


async def test_newest_first_is_a_feed_of_changes(rita: ApiClient, site: Site) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(3)]
    site.edit(made[0])
    site.label(made[1], "touches-no-version")
    found = await rita.every("/api/v2/pages", sort="-modified-date", limit="1")
    assert ids(found) == [made[0], made[2], made[1]]


async def test_a_page_has_its_text_labels_and_places(rita: ApiClient, site: Site) -> None:
    folder = site.create("IT", "Folder", kind="folder")
    page = site.create("IT", "Über uns", "<p>Hello</p>", parent=folder.id, labels=["faq"])
    told = await rita.get(
        f"/api/v2/pages/{page.id}", **{"body-format": "storage", "include-labels": "true"}
    )
    above = await rita.get(f"/api/v2/pages/{page.id}/ancestors")
    assert told["body"]["storage"]["value"] == "<p>Hello</p>"
    assert (told["parentId"], told["parentType"]) == (folder.id, "folder")
    assert [label["name"] for label in told["labels"]["results"]] == ["faq"]
    assert told["_links"]["webui"] == f"/spaces/IT/pages/{page.id}/ber+uns"
    assert above["results"] == [{"id": folder.id, "type": "folder"}]


async def test_one_page_is_told_whatever_its_status(rita: ApiClient, site: Site) -> None:
    page = site.create("IT", "Page")
    site.trash(page.id)
    path = f"/api/v2/pages/{page.id}"
    assert (await rita.get(path))["status"] == "trashed"
    assert await rita.status(path, status="current") == 404
    site.purge(page.id)
    assert await rita.status(path) == 404


async def test_a_draft_is_for_its_author_alone(
    rita: ApiClient, admin: ApiClient, site: Site
) -> None:
    path = f"/api/v2/pages/{site.create('IT', 'Draft', by='rita', status='draft').id}"
    assert await rita.status(path) == 404
    assert await rita.status(path, **{"get-draft": "true"}) == 200
    assert await admin.status(path, **{"get-draft": "true"}) == 404


async def test_a_blog_post_is_no_page(rita: ApiClient, site: Site) -> None:
    post = site.create("IT", "News", kind="blogpost")
    assert await rita.status(f"/api/v2/pages/{post.id}") == 404
    assert "parentId" not in await rita.get(f"/api/v2/blogposts/{post.id}")
    listed = await rita.every(f"/api/v2/spaces/{site.spaces['IT'].id}/blogposts")
    assert ids(listed) == [post.id]


async def test_the_old_way_to_a_page_is_gone_for_oauth(
    cloud: LocalConfluence, rita: ApiClient
) -> None:
    page = cloud.site.create("IT", "Page")
    bearer = {"Authorization": f"Bearer {cloud.site.people['rita'].token}"}
    async with ClientSession(headers=bearer) as session:
        for where, status in ((cloud.gateway + "/wiki", 410), (cloud.url, 401)):
            async with session.get(f"{where}/rest/api/content/{page.id}") as answer:
                assert answer.status == status
        async with session.get(f"{cloud.gateway}/wiki/api/v2/pages/{page.id}") as answer:
            assert answer.status == 200
    assert await rita.status(f"/rest/api/content/{page.id}") == 200


async def test_restrictions_and_labels_come_many_at_once(rita: ApiClient, site: Site) -> None:
    page = site.create("IT", "Page", labels=["faq"])
    site.restrict(page.id, users=["rita"], groups=["staff"])
    (told,) = await rita.every(
        "/rest/api/content/search",
        cql="space = IT",
        expand="metadata.labels,restrictions.read.restrictions.user,"
        "restrictions.read.restrictions.group",
    )
    named = told["restrictions"]["read"]["restrictions"]
    assert named["user"]["results"][0]["accountId"] == site.people["rita"].account_id
    assert named["group"]["results"][0]["id"] == site.groups["staff"].id
    assert told["metadata"]["labels"]["results"][0]["name"] == "faq"


async def test_a_restriction_of_many_comes_in_parts(rita: ApiClient, site: Site) -> None:
    page = site.create("IT", "Page")
    many = ["rita", *(site.add_person(f"p{n:03}").handle for n in range(250))]
    site.restrict(page.id, users=many)
    path = f"/rest/api/content/{page.id}/restriction/byOperation/read"
    sizes = []
    for start in ("0", "200"):
        told = await rita.get(path, expand="restrictions.user,restrictions.group", start=start)
        sizes.append(told["restrictions"]["user"]["size"])
        assert told["restrictions"]["group"]["results"] == []
    assert sizes == [200, 51]


async def test_permissions_of_a_space_are_told_among_others(rita: ApiClient, site: Site) -> None:
    told = await rita.every(f"/api/v2/spaces/{site.spaces['PUB'].id}/permissions", limit="1")
    read = [p["principal"]["type"] for p in told if p["operation"]["key"] == "read"]
    assert (read, len(told)) == (["user", "role"], 4)


@pytest.mark.parametrize("principal", [None, {"type": "access_class", "id": "anonymous-users"}])
async def test_those_not_signed_in_may_be_named_otherwise(
    rita: ApiClient, site: Site, principal: Json | None
) -> None:
    rita.server.options["anonymous_principal"] = principal
    told = await rita.every(f"/api/v2/spaces/{site.spaces['PUB'].id}/permissions")
    assert told[-1]["principal"] == principal


async def test_somebodys_permission_can_be_checked(rita: ApiClient, site: Site) -> None:
    page = site.create("IT", "Page")
    site.restrict(page.id, users=["rita"])
    for who, allowed in (("rita", True), ("otto", False)):
        subject = {"type": "user", "identifier": site.people[who].account_id}
        path = f"/rest/api/content/{page.id}/permission/check"
        heard = await rita.post(path, {"subject": subject, "operation": "read"})
        assert heard.json()["hasPermission"] == allowed


async def test_files_are_at_another_host_which_notes_what_it_gets(
    rita: ApiClient, site: Site
) -> None:
    page = site.create("IT", "Page")
    site.attach(page.id, "../../x y.pdf", b"%PDF", size=100_000)
    (file,) = await rita.every(f"/api/v2/pages/{page.id}/attachments")
    path = f"/rest/api/content/{page.id}/child/attachment/{file['id']}/download"
    for way in (path, file["downloadLink"]):
        heard = await rita.heard(way)
        assert heard.status == 302
        async with ClientSession() as stranger, stranger.get(heard.headers["Location"]) as answer:
            assert len(await answer.read()) == file["fileSize"] == 100_000
    media = rita.server.media_requests
    assert [request.authorized for request in media] == [False, False]
    assert not heard.headers["Location"].startswith(rita.server.address.origin)


async def test_files_are_found_by_search(rita: ApiClient, site: Site) -> None:
    page = site.create("IT", "Page")
    file = site.attach(page.id, "a.txt", b"a")
    query = {"cql": "space = IT and type = attachment", "expand": "version,container"}
    (told,) = await rita.every("/rest/api/content/search", **query)
    assert (told["id"], told["container"]["id"]) == (file.id, page.id)
    site.restrict(page.id, users=["otto"])
    assert await rita.every("/rest/api/content/search", **query) == []


async def test_addresses_are_shown_where_their_owners_let_them(rita: ApiClient, site: Site) -> None:
    for handle, shown in (("rita", "rita@acme.example"), ("otto", "")):
        person = site.people[handle]
        told = await rita.get("/rest/api/user", accountId=person.account_id)
        found = await rita.every("/rest/api/search/user", cql=f'user.fullname ~ "{person.email}"')
        assert (told["email"], bool(found)) == (shown, bool(shown))


async def test_people_are_found_with_their_groups(rita: ApiClient, site: Site) -> None:
    (hit,) = await rita.every("/rest/api/search/user", cql='user.fullname ~ "otto"')
    groups = await rita.every("/rest/api/user/memberof", accountId=hit["user"]["accountId"])
    assert [group["id"] for group in groups] == [site.groups["staff"].id]
    assert (await rita.get("/rest/api/group/by-name", name="staff"))["id"] == groups[0]["id"]
    assert await rita.status("/rest/api/group/by-name", name="nobody") == 404
    assert (await rita.get("/rest/api/user/current"))["email"] == "rita@acme.example"


async def test_changes_are_found_after_a_while(rita: ApiClient, site: Site) -> None:
    site.create("IT", "Page")
    rita.server.options["search_lag"] = 60
    assert await rita.every("/rest/api/content/search", cql="space = IT") == []
    site.pass_time(60)
    assert len(await rita.every("/rest/api/content/search", cql="space = IT")) == 1


async def test_who_is_not_signed_in_sees_what_is_open(cloud: LocalConfluence) -> None:
    page = cloud.site.create("PUB", "Page")
    async with ClientSession() as session:
        stranger = ApiClient(session, cloud)
        assert [space["key"] for space in await stranger.every("/api/v2/spaces")] == ["PUB"]
        assert await stranger.status(f"/api/v2/pages/{page.id}") == 200


async def test_what_does_not_exist_is_noted(rita: ApiClient, site: Site) -> None:
    assert await rita.status("/api/v2/pages", spaceKey="IT") == 400
    assert await rita.status("/api/v2/pagez") == 404
    assert len(site.unexpected) == 2


LISTS = ("/rest/api/content", "/rest/api/content/scan")


@pytest.mark.parametrize("path", LISTS)
async def test_current_pages_of_a_space_are_listed_once(
    pat: ApiClient, site: Site, path: str
) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(7)]
    site.archive(site.create("IT", "Old").id)
    site.create("PUB", "Elsewhere")
    found = await pat.every(path, spaceKey="IT", limit="3")
    assert [page["id"] for page in found] == made


async def test_pages_shift_while_they_are_counted_by_start(pat: ApiClient, site: Site) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(4)]
    pat.server.faults.on("content", 2, lambda: site.trash(made[0]))
    found = await pat.every("/rest/api/content", spaceKey="IT", limit="2")
    assert [page["id"] for page in found] == [made[0], made[1], made[3]]


async def test_a_scan_does_not_shift(pat: ApiClient, site: Site) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(4)]
    pat.server.faults.on("scan", 2, lambda: site.trash(made[0]))
    found = await pat.every("/rest/api/content/scan", spaceKey="IT", limit="2")
    assert [page["id"] for page in found] == made


async def test_dates_and_queries_are_in_the_servers_zone(pat: ApiClient, site: Site) -> None:
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


async def test_what_is_in_the_trash_has_to_be_asked_for(pat: ApiClient, site: Site) -> None:
    page = site.create("IT", "Gone")
    site.trash(page.id)
    path = f"/rest/api/content/{page.id}"
    assert await pat.status(path) == 404
    assert (await pat.get(path, status="trashed"))["status"] == "trashed"


async def test_expansions_are_told_as_they_are_asked_for(pat: ApiClient, site: Site) -> None:
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


async def test_permissions_of_a_space_break_an_expansion(pat: ApiClient) -> None:
    assert await pat.status("/rest/api/content", spaceKey="IT", expand="space.permissions") == 500
    assert await pat.status("/rest/api/space/IT", expand="permissions") == 500


async def test_permissions_of_a_space_are_told_since_9_1(pat: ApiClient, site: Site) -> None:
    heard = await pat.heard("/rest/api/space/IT/permissions")
    told = [p for p in heard.json() if p["operation"]["operationKey"] == "read"]
    assert [p["subject"]["type"] for p in told] == ["user", "group"]
    pat.server.options["permissions_for_admins"] = True
    assert await pat.status("/rest/api/space/IT/permissions") == 403
    pat.server.options["old"] = True
    assert await pat.status("/rest/api/space/IT/permissions") == 404
    assert site.unexpected == []


async def test_files_are_handed_out_right_there(pat: ApiClient, site: Site) -> None:
    page = site.create("IT", "Files")
    site.attach(page.id, "a b/ü.txt", b"abc", size=200_000)
    (file,) = await pat.every(f"/rest/api/content/{page.id}/child/attachment", expand="version")
    heard = await pat.heard(file["_links"]["download"])
    assert (heard.status, len(heard.body)) == (200, 200_000)


async def test_people_and_groups_are_known_by_key_and_name(pat: ApiClient, site: Site) -> None:
    told = await pat.get("/rest/api/user", username="otto")
    assert told["userKey"] == site.people["otto"].user_key
    groups = await pat.every("/rest/api/user/memberof", key=told["userKey"])
    assert [group["name"] for group in groups] == ["staff"]
    members = await pat.every("/rest/api/group/staff/member", limit="1")
    assert [member["username"] for member in members] == ["admin", "otto", "rita"]
