"""Who may read in the Confluence that permission tests compare with, and that it has it all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.confluence.faults import Faults
from tests.fakes.confluence.generator import EVENTS, RandomActivity, wiki_site
from tests.fakes.confluence.requests import Edition
from tests.fakes.confluence.server import GATEWAY, Address, Request, RequestHandler
from tests.fakes.confluence.site import ADMIN, Site

PEOPLE = ("ann", "ben", "cid")
GROUPS = ("red", "blue")


def test_a_restriction_on_a_public_page_shuts_strangers_out(site: Site) -> None:
    page = site.create("PUB", "Page")
    assert site.may_read(None, page.id)
    site.restrict(page.id, groups=["staff"])
    assert not site.may_read(None, page.id)
    assert site.may_read(None, page.id, everyone=["staff"])


def test_nobody_reads_what_is_not_current(site: Site) -> None:
    page = site.create("IT", "Page")
    file = site.attach(page.id, "a.txt", b"1")
    assert site.may_read("rita", f"{page.id}/{file.id}")
    site.archive(page.id)
    assert not site.may_read("rita", page.id)
    assert not site.may_read("rita", f"{page.id}/{file.id}")


def test_nobody_reads_an_archived_space(site: Site) -> None:
    page = site.create("IT", "Page")
    site.archive_space("IT")
    assert not site.may_read("rita", page.id)
    assert site.readable("rita") == set()


NAMED = st.tuples(st.sets(st.sampled_from(PEOPLE)), st.sets(st.sampled_from(GROUPS)))


@given(
    members=st.lists(st.sets(st.sampled_from(PEOPLE)), min_size=2, max_size=2),
    space=NAMED,
    layers=st.lists(NAMED, min_size=1, max_size=4),
)
def test_who_may_read_is_the_intersection_of_all_layers_by_person(
    members: list[set[str]],
    space: tuple[set[str], set[str]],
    layers: list[tuple[set[str], set[str]]],
) -> None:
    site = Site()
    for handle in PEOPLE:
        site.add_person(handle)
    for name, who in zip(GROUPS, members, strict=True):
        site.add_group(name, who)
    site.add_space("S", users=space[0], groups=space[1])
    page = None
    for number, (users, groups) in enumerate(layers):
        page = site.create("S", f"Layer {number}", parent=page.id if page else None)
        site.restrict(page.id, users=users, groups=groups)
    of_group = dict(zip(GROUPS, members, strict=True))

    def named(users: set[str], groups: set[str]) -> set[str]:
        return users.union(*(of_group[group] for group in groups))

    allowed = named(*space) | {ADMIN}
    for users, groups in layers:
        if users or groups:
            allowed &= named(users, groups)
    assert page is not None
    assert {who for who in (*PEOPLE, ADMIN) if site.may_read(who, page.id)} == allowed


PATHS: dict[Edition, tuple[str, ...]] = {
    "cloud": (f"{GATEWAY}/wiki/api/v2/pages", f"{GATEWAY}/wiki/api/v2/blogposts"),
    "data-center": ("/c/rest/api/content?type=page", "/c/rest/api/content?type=blogpost"),
}


def shown(site: Site, edition: Edition, handle: str) -> set[str]:
    """Return the ids of all current pages and blog posts that somebody's token is shown."""
    desk, found = RequestHandler(site, edition, Faults()), set()
    address = Address("http://127.0.0.1:1", "/wiki" if edition == "cloud" else "/c", "")
    for path in PATHS[edition]:
        plain, _, kind = path.partition("?type=")
        query = {"status": "current", "limit": "250"} | ({"type": kind} if kind else {})
        asked = Request("list", "GET", plain, query, {})
        door, _ = desk.route("GET", plain, address.context)
        answer = desk.answer(asked, door, address, f"Bearer {site.people[handle].token}", {})
        assert answer.status == 200, answer.body
        found |= {page["id"] for page in answer.body["results"]}
    return found


@pytest.mark.parametrize("edition", ["cloud", "data-center"])
def test_a_token_is_shown_what_its_owner_may_read(edition: Edition) -> None:
    site = wiki_site(pages=60, people=6)
    life, told = RandomActivity.of(site, 5), []
    for _ in range(150):
        told.append(life.happens())
        for handle in ("admin", "user01", "user04"):
            assert shown(site, edition, handle) == site.readable(handle), told[-5:]
    assert site.readable("admin") == {page.id for page in site.current()}


def test_everything_happens_in_a_long_life() -> None:
    life = RandomActivity.of(wiki_site(pages=60), 1)
    told = [life.happens() for _ in range(1_000)]
    said = " ".join(told)
    for (
        word
    ) in "edit rename move trash archive purge restore restrict unlabel attach leaves".split():
        assert word in said
    assert told.count("nothing") < 50
    assert len(EVENTS) == 11


def test_a_grown_site_has_of_everything() -> None:
    site = wiki_site(pages=600)
    contents = site.contents.values()
    assert len(site.current()) == 600
    assert {c.kind for c in contents} == {"page", "blogpost", "folder"}
    assert any(not c.readers.empty for c in contents)
    assert any(c.attachments for c in contents)
    assert max(len(site.ancestors(c.id)) for c in contents) > 4
    assert site.readable("admin") == {c.id for c in site.current()}
    assert set() < site.readable("user00") < site.readable("admin")
