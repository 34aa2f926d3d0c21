"""A run's failures are kept for a retry, and worded with a cure for whoever they concern."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ingestion.confluence.client.retry import error_of
from ingestion.confluence.space_scan import space_not_visible
from ingestion.confluence.wiki import WikiSpace
from ingestion.records.types import Failure, Retry, Synced
from ingestion.runs.tracking import (
    MOST_RETRIES,
    TRIES,
    failure_of,
    pages_to_retry,
    synced_state_after,
)
from ingestion.types import Finding, Report

BEGUN = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
ENDED = BEGUN + timedelta(minutes=1)
EARLIER = BEGUN - timedelta(hours=1)
BROKEN = Finding("7", "is broken")
OLD = Failure("HR", "5", "was broken", "Mend it.")
BEFORE = Synced(EARLIER, EARLIER, (OLD,), whole_at=EARLIER, watermark="w1", again=(Retry("5", 1),))


def after(before: Synced | None, report: Report) -> Synced | None:
    failures = [Failure("HR", one.page, one.reason, "Mend it.") for one in report.failed]
    return synced_state_after(before, report, failures, BEGUN, ENDED)


def test_a_whole_run_says_all_there_is_to_say() -> None:
    known = after(BEFORE, Report("HR", failed=(BROKEN,), watermark="w2"))

    assert known == Synced(
        BEGUN,
        ENDED,
        (Failure("HR", "7", "is broken", "Mend it."),),
        whole_at=BEGUN,
        watermark="w2",
        again=(Retry("7", 1),),
    )


def test_a_run_over_changes_keeps_what_it_did_not_look_at() -> None:
    report = Report("HR", failed=(BROKEN,), watermark="w2", extent="changes", within=("7", "8"))

    known = after(BEFORE, report)

    assert known
    assert (known.started_at, known.whole_at, known.watermark) == (BEGUN, EARLIER, "w2")
    assert [one.page for one in known.failures] == ["5", "7"]
    assert known.again == (Retry("5", 1), Retry("7", 1))


def test_what_was_looked_at_and_went_well_is_no_failure_any_more() -> None:
    known = after(BEFORE, Report("HR", watermark="w2", extent="changes", within=("5",)))

    assert known
    assert (known.failures, known.again) == ((), ())


def test_a_run_over_one_page_moves_no_watermark_and_no_time() -> None:
    report = Report("HR", extent="page", within=("5",), watermark="not of the space")

    known = after(BEFORE, report)

    assert known == Synced(EARLIER, EARLIER, whole_at=EARLIER, watermark="w1")


def test_a_page_of_a_space_that_was_never_read_whole_says_nothing_of_it() -> None:
    assert after(None, Report("HR", extent="page", within=("5",))) is None


def test_a_page_that_fails_again_and_again_is_left_to_the_whole_pass() -> None:
    known: Synced | None = None
    for tries in range(1, TRIES + 1):
        report = Report("HR", failed=(BROKEN,), within=("7",) if known else None, extent="changes")
        known = after(known, report)
        assert known
        assert known.again == (Retry("7", tries),)
        assert pages_to_retry(known) == (("7",) if tries < TRIES else ())


def test_a_watermark_stays_when_more_failed_than_will_be_looked_at_again() -> None:
    many = tuple(Finding(f"{number}", "is broken") for number in range(MOST_RETRIES + 1))
    report = Report(
        "HR", failed=many, watermark="w2", extent="changes", within=tuple(f.page for f in many)
    )

    known = after(BEFORE, report)

    assert known
    assert known.watermark == "w1"
    assert len(known.again) == MOST_RETRIES


def test_what_stands_for_many_pages_is_no_page_to_look_at_again() -> None:
    known = after(None, Report("HR", failed=(Finding("docs/", "cannot be listed"),)))

    assert pages_to_retry(known) == ()
    assert pages_to_retry(None) == ()


SPACE = WikiSpace("1", "IT", "IT", "https://wiki.test/spaces/IT")
UNREACHABLE = "No answer from wiki.test to GET /rest/api/space. Try again later."


@pytest.mark.mended(id="confluence-9")
@pytest.mark.parametrize(
    ("reason", "cure"),
    [
        (str(error_of(401, {}, "GET /rest/api/space")), "CONFLUENCE_TOKEN"),
        (str(error_of(403, {}, "GET /rest/api/space")), "next run"),
        (str(error_of(404, {}, "GET /rest/api/space")), "next run"),
        (str(error_of(503, {}, "GET /rest/api/space")), "Try again"),
        (UNREACHABLE, "Try again"),
        (str(space_not_visible(SPACE)), "CONFLUENCE_TOKEN"),
    ],
    ids=["401", "403", "404", "503", "unreachable", "lost sight"],
)
@pytest.mark.parametrize("page", ["", "65601"])
def test_trouble_with_a_wiki_is_not_put_down_to_a_file(page: str, reason: str, cure: str) -> None:
    told = failure_of("IT", page, reason)

    assert cure in told.cure
    assert "file" not in told.cure
    assert not told.reason.endswith(".")
    assert told.cure.endswith(".")
    assert not told.cure.endswith("..")
