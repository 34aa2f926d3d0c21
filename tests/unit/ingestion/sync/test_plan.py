"""The plan of a run: what is written, removed or narrowed, and when a run is stopped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ingestion.errors import SpaceBlind, TooManyRemoved
from ingestion.sync.plan import (
    Versions,
    interim_readers,
    narrowed_readers_first,
    plan_run,
    removal_error,
)
from ingestion.types import Finding, Listing, Plan, SourcePage
from rag.types import EVERYONE, Page, Principal

ALL = (frozenset({EVERYONE}),)
VERSIONS = Versions("c1")


def page(page_id: str, version: str = "v1") -> SourcePage:
    return SourcePage(page_id, version, ALL, f"/{page_id}")


def stored(page_id: str, version: str = "v1-c1", readers: tuple[()] | None = None) -> Page:
    return Page("acme", "HR", page_id, version, ALL if readers is None else readers)


def planned(listing: Listing, *pages: Page, versions: Versions = VERSIONS) -> Plan:
    return plan_run(listing, {page.id: page for page in pages}, versions)


def brakes(listing: Listing, *pages: Page) -> bool:
    return isinstance(removal_error(planned(listing, *pages), listing, "HR"), TooManyRemoved)


def test_a_plan_is_the_difference() -> None:
    plan = planned(
        Listing((page("new"), page("same"), page("edited", "v2"), page("closed"))),
        stored("same"),
        stored("edited"),
        stored("closed", readers=()),
        stored("gone"),
    )

    assert [p.id for p in plan.added] == ["new"]
    assert [p.id for p in plan.changed] == ["edited"]
    assert [p.id for p in plan.readers_changed] == ["closed"]
    assert plan.removed == ("gone",)
    assert plan.unchanged == 2
    assert [p.id for p in plan.to_write] == ["edited", "new"]


def test_another_way_of_chunking_changes_every_page() -> None:
    plan = planned(Listing((page("a"),)), stored("a", "v1-c0"))

    assert [p.id for p in plan.changed] == ["a"]


def test_without_an_embedder_pages_keep_their_vectors() -> None:
    versions = Versions("c9", any_chunking=True)

    assert planned(Listing((page("a"),)), stored("a"), versions=versions).changed == ()
    assert planned(Listing((page("a", "v2"),)), stored("a"), versions=versions).changed != ()


def test_what_cannot_be_read_now_is_not_removed() -> None:
    listing = Listing((), failed=(Finding("a.md", "x"), Finding("b/", "x")))

    plan = planned(listing, stored("a.md"), stored("b/c.md"), stored("b.md"), stored("bb/x.md"))

    assert plan.removed == ("b.md", "bb/x.md")


@pytest.mark.parametrize(
    ("removed", "indexed", "stops"),
    [(4, 4, False), (5, 5, True), (5, 16, True), (5, 17, False), (30, 100, False), (31, 100, True)],
)
def test_the_brake_needs_a_large_share_and_at_least_five_pages(
    removed: int, indexed: int, *, stops: bool
) -> None:
    listing = Listing(tuple(page(f"{number}") for number in range(removed, indexed)), sure=True)

    assert brakes(listing, *(stored(f"{number}") for number in range(indexed))) is stops


def test_the_brake_says_what_would_go_and_what_to_do() -> None:
    listing = Listing((page("new"),))
    plan = planned(listing, *(stored(f"{number}") for number in range(8)))

    stops = removal_error(plan, listing, "HR")

    assert type(stops) is TooManyRemoved
    assert "8 of 8 pages of space 'HR' (100 %)" in str(stops)
    assert "--allow-mass-delete" in str(stops)


def test_a_source_that_shows_nothing_any_more_is_blind_however_few_pages_there_are() -> None:
    plan = planned(Listing(()), stored("only"))

    assert isinstance(removal_error(plan, Listing(()), "HR"), SpaceBlind)


@pytest.mark.parametrize(
    "listing",
    [
        Listing((), sure=True),
        Listing((), within=("only",)),
        Listing((), skipped=(Finding("only", "has a label that is left out"),)),
    ],
    ids=["our own source", "one page was looked at", "left out on purpose"],
)
def test_a_source_that_is_believed_may_show_nothing(listing: Listing) -> None:
    plan = planned(listing, stored("only"))

    assert plan.removed == ("only",)
    assert removal_error(plan, listing, "HR") is None


def test_an_empty_source_of_an_empty_space_is_not_blind() -> None:
    assert removal_error(planned(Listing(())), Listing(()), "HR") is None


def test_a_partial_listing_removes_only_what_it_looked_at() -> None:
    listing = Listing((page("7"),), within=("7", "8"))

    plan = planned(
        listing, stored("7"), stored("7/att1"), stored("8"), stored("8/att1"), stored("9")
    )

    assert plan.removed == ("7/att1", "8", "8/att1")


def test_what_a_part_lost_is_held_against_the_whole_space() -> None:
    ids = [f"{number}" for number in range(20)]
    few, many = (Listing((), within=tuple(ids[:count])) for count in (6, 7))

    assert not brakes(few, *map(stored, ids))
    assert brakes(many, *map(stored, ids))


def test_one_page_with_many_attachments_is_no_mass_deletion() -> None:
    hanging = [stored(f"1/att{number}") for number in range(9)]
    listing = Listing((page("2"), page("3")), within=("1",))

    indexed = [stored("1"), *hanging, stored("2"), stored("3")]

    assert len(planned(listing, *indexed).removed) == 10
    assert not brakes(listing, *indexed)


def test_pages_are_counted_apart_from_what_hangs_on_them() -> None:
    """31 of 100 pages go; with two attachments on each of the others that is a small share."""
    pages = [stored(f"{number}") for number in range(100)]
    hanging = [stored(f"{number}/att{n}") for number in range(31, 100) for n in (1, 2)]
    kept = [page(each.id) for each in (*pages[31:], *hanging)]

    assert brakes(Listing(tuple(kept)), *pages, *hanging)


def test_attachments_that_all_vanish_from_pages_that_stay_stop_a_run() -> None:
    pages = [stored(f"{number}") for number in range(100)]
    hanging = [stored(f"{number}/att1") for number in range(10)]
    listing = Listing(tuple(page(each.id) for each in pages))

    stops = removal_error(planned(listing, *pages, *hanging), listing, "HR")

    assert "10 of 10 attachments" in str(stops)


@pytest.mark.parametrize(
    ("old", "new", "narrows"),
    [
        (ALL, (), True),
        ((), ALL, False),
        (({"a"},), ALL, False),
        (({"a"},), ({"a", "b"},), False),
        (({"a", "b"},), ({"a"},), True),
        (({"a"},), ({"a"}, {"b"}), True),
        (({"a"}, {"b"}), ({"a"},), False),
        (({"a"},), ({"b"},), True),
    ],
)
def test_who_may_no_longer_read_is_told_from_who_now_may_too(
    old: tuple[set[Principal], ...], new: tuple[set[Principal], ...], *, narrows: bool
) -> None:
    before = Page("acme", "HR", "p", "v", tuple(frozenset(each) for each in old))
    after = SourcePage("p", "v", tuple(frozenset(each) for each in new), "/p")

    narrowed, widened = narrowed_readers_first([after], {"p": before})

    assert (list(narrowed), list(widened)) == (([after], []) if narrows else ([], [after]))


def test_what_hangs_on_a_page_that_cannot_be_looked_at_stays() -> None:
    listing = Listing((), failed=(Finding("1", "is not answered for"),))

    plan = planned(listing, stored("1"), stored("1/att2"), stored("10/att3"))

    assert plan.removed == ("10/att3",)


def test_until_its_text_is_replaced_a_page_is_for_those_who_may_read_both() -> None:
    hr = frozenset({Principal("group:hr")})
    closed = Page("acme", "HR", "redacted", "v1-c1", (hr,))
    open_now, opened = page("redacted", "v2"), page("opened")
    indexed = {"redacted": closed, "opened": replace(closed, id="opened")}

    plan = planned(Listing((open_now, opened)), *indexed.values())

    assert interim_readers(plan, indexed) == [opened]
    narrower = replace(open_now, readers=(frozenset({Principal("user:ann")}),))
    plan = planned(Listing((narrower,)), closed)
    assert interim_readers(plan, indexed)[0].readers == (hr, *narrower.readers)
