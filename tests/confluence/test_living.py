"""What a token is shown is what the oracle lets its owner read, whatever happened before."""

from __future__ import annotations

import pytest

from tests.confluence.answering import GATEWAY, Address, Desk, Request
from tests.confluence.call import Edition
from tests.confluence.faults import Faults
from tests.confluence.growing import wiki_site
from tests.confluence.living import EVENTS, Life
from tests.confluence.site import Site

PATHS: dict[Edition, tuple[str, ...]] = {
    "cloud": (f"{GATEWAY}/wiki/api/v2/pages", f"{GATEWAY}/wiki/api/v2/blogposts"),
    "data-center": ("/c/rest/api/content?type=page", "/c/rest/api/content?type=blogpost"),
}


def shown(site: Site, edition: Edition, handle: str) -> set[str]:
    """Return the ids of all current pages and blog posts that somebody's token is shown."""
    desk, found = Desk(site, edition, Faults()), set()
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
    life, told = Life.of(site, 5), []
    for _ in range(150):
        told.append(life.happens())
        for handle in ("admin", "user01", "user04"):
            assert shown(site, edition, handle) == site.readable(handle), told[-5:]
    assert site.readable("admin") == {page.id for page in site.current()}


def test_everything_happens_in_a_long_life() -> None:
    life = Life.of(wiki_site(pages=60), 1)
    told = [life.happens() for _ in range(1_000)]
    said = " ".join(told)
    for (
        word
    ) in "edit rename move trash archive purge restore restrict unlabel attach leaves".split():
        assert word in said
    assert told.count("nothing") < 50
    assert len(EVENTS) == 11


def test_the_same_seed_lives_the_same_life() -> None:
    one, other = (Life.of(wiki_site(pages=40), 9) for _ in range(2))
    assert [one.happens() for _ in range(200)] == [other.happens() for _ in range(200)]
