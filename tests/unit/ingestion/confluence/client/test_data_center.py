"""What only Data Center has: older versions, and people without an address."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.confluence.client.data_center import SpacePermissions, space_viewers
from ingestion.confluence.wiki import Subjects, Wiki, WikiAttachment
from ingestion.errors import NotVisible, PageUnreadable
from tests.fakes.confluence.requests import Edition
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site


@pytest.fixture
def edition() -> Edition:
    return "data-center"


async def test_before_7_18_pages_are_listed_by_number(
    wiki: Wiki, server: LocalConfluence, site: Site
) -> None:
    server.options["before_7_18"] = True
    wanted = {site.create("IT", f"Page {number}").id for number in range(260)}
    wanted.add(site.create("IT", "News", kind="blogpost").id)
    (it,) = await wiki.spaces(["IT"])

    assert {head.id async for head in wiki.heads(it)} == wanted
    assert {head.id async for head in wiki.heads(it)} == wanted
    assert server.count("scan") == 1


async def test_a_space_out_of_sight_is_not_taken_for_an_old_confluence(
    wiki: Wiki, server: LocalConfluence
) -> None:
    (it,) = await wiki.spaces(["IT"])
    server.faults.go_blind("IT", how=403)

    with pytest.raises(NotVisible) as unseen:
        [head async for head in wiki.heads(it)]

    assert unseen.value.forbidden
    assert server.count("content") == 0


@pytest.mark.parametrize(
    ("subject", "readers"),
    [
        ({"type": "user", "userKey": "k1", "username": "rita"}, Subjects(users=frozenset({"k1"}))),
        ({"type": "known", "username": "rita"}, Subjects(users=frozenset({"rita"}))),
        ({"type": "group", "name": "staff"}, Subjects(groups=frozenset({"staff"}))),
        ({"type": "anonymous", "displayName": "Anonymous"}, Subjects(anyone=True)),
        ({"type": "unlicensed"}, Subjects()),
        ({"type": "user"}, Subjects()),
        (None, Subjects()),
    ],
)
def test_only_subjects_that_are_understood_let_anybody_in(
    subject: object, readers: Subjects
) -> None:
    reads = {"operation": {"targetType": "space", "operationKey": "read"}, "subject": subject}
    writes = {"operation": {"targetType": "page", "operationKey": "create"}, "subject": subject}

    assert space_viewers(SpacePermissions.model_validate([reads, writes]).root) == readers
    assert space_viewers(SpacePermissions.model_validate([writes]).root).empty


@pytest.mark.parametrize(
    "download", ["", "https://evil.example/download/x", "/rest/api/user", "/download/../admin"]
)
async def test_a_file_that_is_said_to_be_elsewhere_is_not_fetched(
    wiki: Wiki, site: Site, server: LocalConfluence, download: str, tmp_path: Path
) -> None:
    file = WikiAttachment("a", "1", "a.pdf", "", 1, 1, site.now, "", download)

    with pytest.raises(PageUnreadable, match=r"no place where 'a\.pdf'"):
        await wiki.download(file, tmp_path / "file", 100)

    assert server.requests == []
