"""A large site, and how much of the machine the local Confluence itself takes."""

from __future__ import annotations

import time
from urllib.parse import parse_qsl, urlsplit

from tests.confluence.answering import Address, Desk, Request
from tests.confluence.faults import Faults
from tests.confluence.growing import wiki_site

HERE = Address("http://127.0.0.1:1", "/wiki", "")


def test_ten_thousand_pages_are_listed_within_a_second_of_its_own() -> None:
    site = wiki_site(pages=10_000, spaces=["IT"])
    desk = Desk(site, "cloud", Faults())
    token = f"Bearer {site.people['admin'].token}"
    prefix = "/ex/confluence/11223344-a1b2-4b33-8444-def123456789"
    began, seen = time.process_time(), set()
    for kind in ("pages", "blogposts"):
        following = f"/wiki/api/v2/spaces/{site.spaces['IT'].id}/{kind}?limit=250&status=current"
        while following:
            url = urlsplit(following)
            asked = Request(kind, "GET", prefix + url.path, dict(parse_qsl(url.query)), {})
            route, _ = desk.route("GET", asked.path, HERE.context)
            answer = desk.answer(asked, route, HERE, token, {})
            seen |= {page["id"] for page in answer.body["results"]}
            following = answer.body["_links"].get("next", "")
    assert len(seen) == 10_000
    assert time.process_time() - began < 1.0


def test_the_same_seed_grows_the_same_site() -> None:
    one, other = (wiki_site(pages=120, seed=3) for _ in range(2))
    assert one.contents == other.contents
    assert one.contents != wiki_site(pages=120, seed=4).contents


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
