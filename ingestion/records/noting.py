"""What is known of a space after a run over it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import accumulate

from ingestion.records.types import Failure, Retry, Synced
from ingestion.types import Report

MOST_FAILURES = 100
MOST_AGAIN = 500
"""So many failed pages are looked at again with the changes; more are left to the whole pass."""
TRIES = 5
"""A page that failed so often is left to the whole pass: it has to be mended first."""


def synced_after(
    before: Synced | None,
    report: Report,
    failures: Sequence[Failure],
    begun: datetime,
    ended: datetime,
) -> Synced | None:
    """Return what is known now; None as long as the space was never looked at whole.

    A run over one page says nothing of the others: it only mends what was known of that page. The
    watermark of a run moves on when all that failed in it will be looked at again.
    """
    if report.within is None:
        return Synced(
            begun,
            ended,
            tuple(failures),
            whole_at=begun,
            watermark=_watermark(before, report),
            again=_again(before, report, ()),
        )
    if before is None:
        return None
    within = frozenset(report.within)
    kept = tuple(one for one in before.failures if not _is_within(one.page, within))
    again = tuple(one for one in before.again if not _is_within(one.page, within))
    one_page = report.extent == "page"
    return Synced(
        before.started_at if one_page else begun,
        before.ended_at if one_page else ended,
        (*kept, *failures)[:MOST_FAILURES],
        whole_at=before.whole_at,
        watermark=before.watermark if one_page else _watermark(before, report),
        again=_again(before, report, again),
    )


def to_look_at_again(synced: Synced | None) -> tuple[str, ...]:
    """Return the pages that the next pass over changes looks at, whether they changed or not."""
    if synced is None:
        return ()
    return tuple(one.page for one in synced.again if one.tries < TRIES)


def _watermark(before: Synced | None, report: Report) -> str:
    if len(report.failed) > MOST_AGAIN and report.within is not None and before is not None:
        return before.watermark
    return report.watermark


def _again(before: Synced | None, report: Report, kept: tuple[Retry, ...]) -> tuple[Retry, ...]:
    tries = {one.page: one.tries for one in before.again} if before else {}
    failed = dict.fromkeys(one.page for one in report.failed if not one.page.endswith("/"))
    again = (*kept, *(Retry(page, tries.get(page, 0) + 1) for page in failed))
    return again[:MOST_AGAIN]


def _is_within(page: str, within: Collection[str]) -> bool:
    return any(part in within for part in accumulate(page.split("/"), "{}/{}".format))
