from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ingestion.confluence.rules import Selection
from ingestion.confluence.wiki import PageHead, WikiSpace

NOW = datetime(2026, 11, 23, tzinfo=UTC)
PAGE = PageHead("9", "page", "VPN", "IT", "5", 1, NOW - timedelta(days=30), "https://x")
IT = WikiSpace("1", "IT", "It", "https://x")


def why(selection: Selection, *, labels: tuple[str, ...] = (), head: PageHead = PAGE) -> str:
    return selection.page(head, labels=labels, chain=("1", "5"), now=NOW)


def test_without_settings_all_but_archived_and_personal_spaces_are_read() -> None:
    every = Selection()

    assert every.space(IT) == ""
    assert "archived" in every.space(replace(IT, archived=True))
    assert "personal" in every.space(replace(IT, key="~ann"))
    assert why(every) == ""


def test_a_personal_space_is_read_when_it_is_named() -> None:
    assert Selection(spaces=frozenset({"~ann"})).space(replace(IT, key="~ann")) == ""


def test_spaces_are_taken_and_left_out_by_key() -> None:
    assert Selection(spaces=frozenset({"IT"})).space(IT) == ""
    assert "CONFLUENCE_SPACES" in Selection(spaces=frozenset({"HR"})).space(IT)
    both = Selection(spaces=frozenset({"IT"}), skip_spaces=frozenset({"IT"}))
    assert "CONFLUENCE_SKIP_SPACES" in both.space(IT)


def test_pages_are_taken_and_left_out_by_label() -> None:
    assert why(Selection(labels=frozenset({"public"})), labels=("public", "x")) == ""
    assert "CONFLUENCE_LABELS" in why(Selection(labels=frozenset({"public"})), labels=("x",))
    assert "'x'" in why(Selection(skip_labels=frozenset({"x"})), labels=("x",))


def test_pages_are_taken_and_left_out_with_what_is_below() -> None:
    for place in ("1", "5", "9"):
        assert why(Selection(ancestors=frozenset({place}))) == ""
        assert "CONFLUENCE_SKIP_ANCESTORS" in why(Selection(skip_ancestors=frozenset({place})))
    assert "CONFLUENCE_ANCESTORS" in why(Selection(ancestors=frozenset({"7"})))


def test_pages_are_left_out_by_age() -> None:
    assert why(Selection(oldest=timedelta(days=30))) == ""
    assert "29 days" in why(Selection(oldest=timedelta(days=29)))
