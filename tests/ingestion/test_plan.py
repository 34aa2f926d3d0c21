from __future__ import annotations

import pytest

from ingestion.plan import Versions, plan_run, removes_too_much, too_many_removed
from ingestion.types import Finding, Listing, Plan, SourcePage
from rag.types import EVERYONE, Page

ALL = (frozenset({EVERYONE}),)
VERSIONS = Versions("c1")


def page(page_id: str, version: str = "v1") -> SourcePage:
    return SourcePage(page_id, version, ALL, f"/{page_id}")


def stored(page_id: str, version: str = "v1-c1", readers: tuple[()] | None = None) -> Page:
    return Page("acme", "HR", page_id, version, ALL if readers is None else readers)


def planned(listing: Listing, *pages: Page, versions: Versions = VERSIONS) -> Plan:
    return plan_run(listing, {page.id: page for page in pages}, versions)


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
    plan = planned(
        Listing(tuple(page(f"{number}") for number in range(removed, indexed))),
        *(stored(f"{number}") for number in range(indexed)),
    )

    assert removes_too_much(plan) is stops


def test_the_brake_says_what_would_go_and_what_to_do() -> None:
    plan = planned(Listing(()), *(stored(f"{number}") for number in range(8)))

    message = str(too_many_removed(plan, "HR"))

    assert "8 of 8 pages of space 'HR' (100 %)" in message
    assert "--allow-mass-delete" in message
