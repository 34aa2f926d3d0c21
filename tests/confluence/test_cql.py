"""Queries: what they find, and what no Confluence can read."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.confluence.call import Refusal
from tests.confluence.content import Content
from tests.confluence.cql import parse
from tests.confluence.site import Site


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
