"""What only Cloud has: the gateway of OAuth, folders, roles."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.confluence.client.cloud import Permission, space_viewers
from ingestion.confluence.wiki import Subjects, Wiki
from ingestion.errors import WikiRefused
from tests.fakes.confluence.requests import Edition
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site
from tests.unit.ingestion.confluence.client.local_servers import reading


@pytest.fixture
def edition() -> Edition:
    return "cloud"


async def test_all_is_read_behind_the_gateway_too(
    server: LocalConfluence, site: Site, tmp_path: Path
) -> None:
    pages = {site.create("IT", f"Page {number}").id for number in range(260)}
    page = min(pages)
    site.attach(page, "a.pdf", b"0123456789")

    async with reading(server.gateway, token=site.people["rita"].token) as wiki:
        (it,) = await wiki.spaces(["IT"])
        heads = [head async for head in wiki.heads(it)]
        (file,) = await wiki.attachments(page)

        assert {head.id for head in heads} == pages
        assert {marks.id async for marks in wiki.marks(it)} == pages
        assert (await wiki.page(page)).head in heads
        assert all(head.url.startswith(f"{server.url}/spaces/IT/") for head in heads)
        assert await wiki.download(file, tmp_path / "file", 100) == 10
    assert all(request.path.startswith("/ex/confluence/") for request in server.requests)
    assert [request.authorized for request in server.media_requests] == [False]


async def test_a_token_sent_the_wrong_way_is_refused_with_the_cure(server: LocalConfluence) -> None:
    async with reading(server.url, token=server.site.people["rita"].token) as wiki:
        with pytest.raises(WikiRefused, match="CONFLUENCE_EMAIL, which API tokens of Cloud need"):
            await wiki.spaces()


async def test_what_hangs_in_a_folder_says_so(wiki: Wiki, site: Site) -> None:
    top = site.create("IT", "Top").id
    folder = site.create("IT", "Folder", kind="folder", parent=top).id
    page = site.create("IT", "Page", parent=folder).id

    head = await wiki.head(page)

    assert (head.parent_id, head.parent_kind) == (folder, "folder")
    assert await wiki.ancestors(page) == (top, folder)


async def test_the_restrictions_of_a_folder_are_told_as_a_pages(wiki: Wiki, site: Site) -> None:
    folder = site.create("IT", "Folder", kind="folder").id
    site.restrict(folder, groups=["staff"])

    marks = await wiki.marks_of(folder)

    assert marks.readers.groups == {site.groups["staff"].id}
    assert marks.labels == ()


async def test_what_lies_very_deep_is_placed_whole(wiki: Wiki, site: Site) -> None:
    above: list[str] = []
    for number in range(260):
        parent = above[-1] if above else None
        above.append(site.create("IT", f"Page {number}", parent=parent).id)

    assert await wiki.ancestors(above[-1]) == tuple(above[:-1])


def _read(kind: str, number: str | None) -> Permission:
    return Permission.model_validate(
        {
            "principal": {"type": kind, "id": number},
            "operation": {"key": "read", "targetType": "space"},
        }
    )


@pytest.mark.parametrize(
    ("kind", "number", "readers"),
    [
        ("user", "u1", Subjects(users=frozenset({"u1"}))),
        ("group", "g1", Subjects(groups=frozenset({"g1"}))),
        ("user", "anonymous", Subjects(users=frozenset({"anonymous"}))),
        ("role", "anonymous-users", Subjects(anyone=True)),
        ("access_class", "ANONYMOUS_USERS", Subjects(anyone=True)),
        ("anonymous", None, Subjects(anyone=True)),
        ("role", "5a1f", Subjects(unknown=frozenset({"role/5a1f"}))),
        (
            "access_class",
            "all-licensed-users",
            Subjects(unknown=frozenset({"access_class/all-licensed-users"})),
        ),
        ("user", None, Subjects()),
        ("user", "", Subjects()),
    ],
)
def test_only_principals_that_are_understood_let_anybody_in(
    kind: str, number: str | None, readers: Subjects
) -> None:
    assert space_viewers([_read(kind, number)]) == readers


def test_other_permissions_and_nobody_in_particular_let_nobody_in() -> None:
    writes = {
        "principal": {"type": "user", "id": "u"},
        "operation": {"key": "create", "targetType": "page"},
    }
    nobody = {"operation": {"key": "read", "targetType": "space"}}

    told = [Permission.model_validate(each) for each in (writes, nobody)]

    assert space_viewers(told).empty
