"""Cloud's two APIs over HTTP."""

from __future__ import annotations

from tests.confluence.asking import Asker
from tests.confluence.site import Site


def ids(found: list[dict[str, object]]) -> list[object]:
    return [each["id"] for each in found]


async def test_only_spaces_that_the_token_may_view_are_listed(rita: Asker) -> None:
    found = await rita.every("/api/v2/spaces", limit="1")
    assert [space["key"] for space in found] == ["IT", "PUB"]


async def test_a_space_is_found_by_key(rita: Asker) -> None:
    found = await rita.every("/api/v2/spaces", keys="HR,PUB")
    assert [space["key"] for space in found] == ["PUB"]


async def test_every_page_of_a_space_is_listed_once(rita: Asker, site: Site) -> None:
    made = [site.create("IT", f"Page {n}").id for n in range(7)]
    path = f"/api/v2/spaces/{site.spaces['IT'].id}/pages"
    assert ids(await rita.every(path, limit="3")) == made


async def test_archived_pages_are_listed_unless_current_ones_are_wanted(
    rita: Asker, site: Site
) -> None:
    kept, old = site.create("IT", "Kept").id, site.create("IT", "Old").id
    site.archive(old)
    path = f"/api/v2/spaces/{site.spaces['IT'].id}/pages"
    assert ids(await rita.every(path)) == [kept, old]
    assert ids(await rita.every(path, status="current")) == [kept]


async def test_what_is_restricted_is_neither_listed_nor_told(rita: Asker, site: Site) -> None:
    parent = site.create("IT", "Secret")
    child = site.create("IT", "Below", parent=parent.id)
    site.restrict(parent.id, users=["admin"])
    assert ids(await rita.every("/api/v2/pages")) == []
    assert await rita.status(f"/api/v2/pages/{child.id}") == 404
    site.unrestrict(parent.id)
    assert (await rita.get(f"/api/v2/pages/{child.id}"))["parentId"] == parent.id


async def test_what_does_not_exist_is_noted(rita: Asker, site: Site) -> None:
    assert await rita.status("/api/v2/pages", spaceKey="IT") == 400
    assert await rita.status("/api/v2/pagez") == 404
    assert len(site.unexpected) == 2
