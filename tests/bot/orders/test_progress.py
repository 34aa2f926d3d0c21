from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.commands.run_progress import progress_of, progress_text, text_bar
from bot.chat.commands.run_status import run_status_of
from ingestion.records.types import Failure, Run
from tests.bot.orders.fakes import RUNNING, SLACK
from tests.bot.shelves import RUN

BROKEN = Failure("HR", "broken.pdf", "is encrypted", "Save it without a password.")
BRAKED = Failure("HR", "", "10 of 12 pages are gone", "If they are meant to go, \u2026", True)  # noqa: FBT003 - a value


def text(run: Run) -> str:
    return progress_text(run_status_of(run.id, (run,)), SLACK)


def test_a_run_that_works_is_told_with_a_bar_its_figures_and_what_is_left() -> None:
    run = replace(RUNNING, pages=100, total=400, chunks=1200, working_seconds=60.0)

    assert text(run).splitlines() == [
        "Reindexing HR",
        "\u2588\u2588\u2588\u2588\u2588" + "\u2591" * 15 + " 25 %",
        "100 of 400 pages, 1,200 passages, 20 a second",
        "About 3 min left",
    ]


def test_a_run_over_all_says_where_it_is() -> None:
    run = replace(RUNNING, space=None, at_space="IT", total=0)

    assert text(run).splitlines() == [
        "Reindexing all spaces (now IT)",
        "Looking for what changed \u2026",
    ]


def test_an_end_tells_what_changed_and_what_failed_with_its_cure() -> None:
    run = replace(RUN, added=3, removed=1, unchanged=1200, failed=1, failures=(BROKEN,))

    assert text(run).splitlines() == [
        "Reindexing HR: done, but not all could be read",
        "3 added, 1 removed, 1,200 pages unchanged",
        "1 problem:",
        "- broken.pdf: is encrypted. Save it without a password.",
    ]


def test_an_end_without_changes_says_so() -> None:
    assert text(replace(RUN, unchanged=1)).splitlines() == [
        "Reindexing HR: done",
        "Nothing changed, 1 page unchanged",
    ]


def test_the_brake_is_told_first_with_the_command_that_lets_it_go() -> None:
    failures = (*([BROKEN] * 9), BRAKED)
    told = text(replace(RUN, state="failed", failed=10, failures=failures))

    assert "10 problems, the first of them:\n- The space HR: 10 of 12 pages are gone.\n" in told
    assert told.splitlines()[-1].startswith(
        "If those pages are meant to go: /reindex HR --allow-mass-delete."
    )
    assert "stopped by a problem" in told


def test_a_dry_run_says_that_nothing_was_changed() -> None:
    told = text(replace(RUN, dry_run=True, removed=10, failures=(BRAKED,)))

    assert told.startswith(
        "Dry run over HR: nothing was changed\nA real run would find: 10 removed"
    )
    assert "--allow-mass-delete" in told


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (replace(RUN, state="cancelled"), "cancelled"),
        (replace(RUN, state="failed"), "stopped by a problem"),
        (replace(RUNNING, state="waiting"), "waiting for its turn"),
        (replace(RUNNING, state="interrupted"), "goes on when the server"),
        (replace(RUNNING, state="interrupted", dry_run=True), "order the dry run again"),
    ],
)
def test_each_state_is_told_in_words(run: Run, said: str) -> None:
    assert said in text(run)


def test_the_figures_of_a_resumed_run_say_since_when_they_are() -> None:
    told = replace(run_status_of("r1", (RUN,)), resumed=True)

    assert "interrupted and went on" in progress_text(told, SLACK)


def test_a_run_that_is_gone_is_told_without_figures() -> None:
    assert progress_text(run_status_of("r1", ()), SLACK).splitlines() == [
        "A run that can't be followed any more",
        "I don't know this run any more. What it wrote stays; the list of spaces says how it is.",
    ]


@given(share=st.floats(0, 1, allow_nan=False))
def test_a_bar_is_full_only_when_all_is_done(share: float) -> None:
    bar = text_bar(share)

    assert len(bar.split()[0]) == 20
    assert ("\u2591" not in bar) == (share == 1)


@given(pages=st.integers(0, 10**6), total=st.integers(0, 10**6))
def test_a_share_is_never_more_than_all(pages: int, total: int) -> None:
    shown = progress_of(run_status_of("r1", (replace(RUNNING, pages=pages, total=total),)), SLACK)

    assert shown.share is None or 0 <= shown.share <= 1


def test_where_others_read_along_no_page_is_named_and_the_brake_is() -> None:
    run = replace(RUN, state="failed", failed=2, failures=(BROKEN, BRAKED))
    told = progress_text(run_status_of("r1", (run,)), SLACK, alone=False)

    assert "broken.pdf" not in told
    assert "2 problems; /reindex status tells admins which." in told
    assert "10 of 12 pages are gone" in told
    assert "--allow-mass-delete" in told
