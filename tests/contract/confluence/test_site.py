"""A site's changes, its permissions, its search by CQL, and its size."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.confluence.content import Content
from tests.fakes.confluence.faults import Faults
from tests.fakes.confluence.generator import EVENTS, RandomActivity, wiki_site
from tests.fakes.confluence.requests import Edition, Refusal
from tests.fakes.confluence.search import parse
from tests.fakes.confluence.server import GATEWAY, Address, Request, RequestHandler
from tests.fakes.confluence.site import ADMIN, Site

PEOPLE = ("ann", "ben", "cid")
GROUPS = ("red", "blue")


def test_only_writing_touches_the_version(site: Site) -> None:
    page, other = site.create("IT", "Page"), site.create("IT", "Other")
    site.edit(page.id, "<p>2</p>")
    site.move(page.id, other.id)
    site.label(page.id, "how-to")
    site.restrict(page.id, groups=["staff"])
    site.attach(page.id, "a.txt", b"a")
    site.archive(page.id)
    site.restore(page.id)
    assert (page.version, page.parent, page.status) == (2, other.id, "current")


def test_no_two_changes_happen_at_once(site: Site) -> None:
    pages = [site.create("IT", f"Page {n}") for n in range(3)]
    assert len({page.updated for page in pages}) == 3


def test_what_hangs_under_a_page_moves_up_when_it_goes(site: Site) -> None:
    top = site.create("IT", "Top")
    middle = site.create("IT", "Middle", parent=top.id)
    low = site.create("IT", "Low", parent=middle.id)
    site.trash(middle.id)
    assert low.parent == top.id
    site.purge(top.id)
    assert low.parent is None


def test_a_tree_goes_whole_where_that_is_wanted(site: Site) -> None:
    top = site.create("IT", "Top")
    low = site.create("IT", "Low", parent=top.id)
    site.archive(top.id, below=True)
    assert (low.status, low.parent) == ("archived", top.id)


def test_a_subtree_moves_to_another_space_whole(site: Site) -> None:
    top = site.create("IT", "Top")
    low = site.create("IT", "Low", parent=top.id)
    site.move(top.id, None, space="PUB")
    assert (top.space, low.space, low.parent) == ("PUB", "PUB", top.id)
    with pytest.raises(AssertionError):
        site.move(top.id, low.id)


def test_a_file_of_the_same_name_is_a_new_version(site: Site) -> None:
    page = site.create("IT", "Page")
    first = site.attach(page.id, "a.txt", b"1")
    again = site.attach(page.id, "a.txt", b"22")
    assert (again.id, again.version, again.size) == (first.id, 2, 2)
    site.detach(again.id)
    assert page.attachments == {}


def test_every_layer_has_to_let_a_person_in(site: Site) -> None:
    top = site.create("IT", "Top")
    low = site.create("IT", "Low", parent=top.id)
    site.restrict(top.id, users=["rita"])
    site.restrict(low.id, groups=["staff"])
    assert site.may_read("rita", low.id)
    assert not site.may_read("otto", low.id)
    site.leave("rita", "staff")
    assert site.readable("rita") == set()


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


@pytest.fixture
def pages(site: Site) -> dict[str, Content]:
    top = site.create("IT", "Top of it", labels=["how-to", "faq"])
    low = site.create("IT", 'A "quoted" one', parent=top.id)
    include = '<ac:structured-macro ac:schema-version="1" ac:name="include" />'
    return {
        "top": top,
        "low": low,
        "blog": site.create("IT", "News", include, kind="blogpost"),
        "other": site.create("PUB", "Elsewhere", labels=["faq"]),
    }


@pytest.mark.parametrize(
    ("cql", "found"),
    [
        ("space = IT and type = page", "top low"),
        ('space in ("PUB", IT) and type in (page, blogpost)', "top low blog other"),
        ("type=page and not space=IT", "other"),
        ("space != IT", "other"),
        ("label = faq and (space = PUB or label = how-to)", "top other"),
        ("label not in (how-to)", "low blog other"),
        (r'title = "A \"quoted\" one"', "low"),
        ('title ~ "NEWS"', "blog"),
        ('macro in ("include", "excerpt-include")', "blog"),
        ("space = IT order by created desc", "blog low top"),
        ("space = IT order by title asc", "low blog top"),
    ],
)
def test_a_query_finds(site: Site, pages: dict[str, Content], cql: str, found: str) -> None:
    expected = [pages[name].id for name in found.split()]
    assert [c.id for c in parse(cql, site, site.zone).of(site.current())] == expected


def test_pages_are_found_by_id_and_by_what_they_hang_under(
    site: Site, pages: dict[str, Content]
) -> None:
    top = pages["top"].id
    for cql in (f"ancestor = {top}", f"parent={top}", f"id in ({pages['low'].id}, 999)"):
        assert parse(cql, site, site.zone).of(site.current()) == [pages["low"]]


def test_dates_are_to_the_minute_and_in_the_servers_zone(
    site: Site, pages: dict[str, Content]
) -> None:
    zone = ZoneInfo("Asia/Kolkata")
    when = pages["other"].updated.astimezone(zone)
    for since, there in ((when, True), (when + timedelta(minutes=1), False)):
        query = parse(f'lastModified >= "{since:%Y-%m-%d %H:%M}"', site, zone)
        assert bool(query.of([pages["other"]])) == there


@pytest.mark.parametrize(
    "cql",
    [
        "",
        "space =",
        "space = IT and",
        "colour = red",
        "(space = IT",
        'lastmodified >= "2026-11-23 10:00:30"',
        'lastmodified >= "yesterday"',
        "space > IT",
        "space = IT order by colour",
        'title = "open',
        "space in (IT",
    ],
)
def test_what_can_not_be_read_is_refused(site: Site, cql: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(cql, site, site.zone)
    assert refused.value.status == 400


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


def test_the_same_seed_lives_the_same_life() -> None:
    one, other = (RandomActivity.of(wiki_site(pages=40), 9) for _ in range(2))
    assert [one.happens() for _ in range(200)] == [other.happens() for _ in range(200)]


HERE = Address("http://127.0.0.1:1", "/wiki", "")


def test_a_thousand_pages_are_listed_in_parts() -> None:
    site = wiki_site(pages=1_000, spaces=["IT"])
    desk = RequestHandler(site, "cloud", Faults())
    token = f"Bearer {site.people['admin'].token}"
    prefix = "/ex/confluence/11223344-a1b2-4b33-8444-def123456789"
    seen = set()
    for kind in ("pages", "blogposts"):
        following = f"/wiki/api/v2/spaces/{site.spaces['IT'].id}/{kind}?limit=250&status=current"
        while following:
            url = urlsplit(following)
            asked = Request(kind, "GET", prefix + url.path, dict(parse_qsl(url.query)), {})
            route, _ = desk.route("GET", asked.path, HERE.context)
            answer = desk.answer(asked, route, HERE, token, {})
            seen |= {page["id"] for page in answer.body["results"]}
            following = answer.body["_links"].get("next", "")
    assert len(seen) == 1_000


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
