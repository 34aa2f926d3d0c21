from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ingestion.confluence.space_scan import OVERLAP, Watermark
from ingestion.confluence.wiki import PageHead, WikiSpace

ASKED = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
IT = WikiSpace("17", "IT", "It", "https://wiki/IT")


def head(page_id: str, before: timedelta) -> PageHead:
    return PageHead(page_id, "page", "T", "IT", None, 3, ASKED - before, "https://x")


def test_it_is_read_as_it_was_written() -> None:
    mark = Watermark.after(ASKED, IT, [head("1", timedelta(minutes=1))])

    assert Watermark.parse(str(mark)) == mark
    assert mark.since == ASKED - OVERLAP


def test_only_what_the_overlap_shows_again_is_remembered() -> None:
    mark = Watermark.after(ASKED, IT, [head("1", OVERLAP), head("2", OVERLAP * 2)])

    assert mark.seen == {"1": 3}


@pytest.mark.parametrize(
    "text", ["", "17", "null", "{}", '{"asked_at": "2026-11-23T09:00:00", "space": ["1"]}']
)
def test_what_is_none_is_not_taken_for_one(text: str) -> None:
    assert Watermark.parse(text) is None


def test_a_time_without_zone_is_none() -> None:
    text = '{"asked_at": "2026-11-23T09:00:00", "space": ["1", "IT", "It", "u"]}'

    assert Watermark.parse(text) is None
