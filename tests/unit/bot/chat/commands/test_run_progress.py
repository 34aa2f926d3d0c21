"""Tests of runs that are watched and told of."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.chat.commands.command_texts import progress_of, progress_text, text_bar
from bot.chat.commands.run_status import (
    PATIENCE_SECONDS,
    REPORT_SECONDS,
    RunStatus,
    RunWatcher,
    run_status_of,
)
from ingestion.records.types import Failure, Run
from tests.fakes.chat_commands import RUNNING, SLACK, ScriptedRuns
from tests.fakes.chat_context import RUN

BROKEN = Failure("HR", "broken.pdf", "is encrypted", "Save it without a password.")
BRAKED = Failure("HR", "", "10 of 12 pages are gone", "If they are meant to go, \u2026", True)  # noqa: FBT003 - a value


def text(run: Run) -> str:
    return progress_text(run_status_of(run.id, (run,)), SLACK)


def test_a_run_that_works_is_told_with_a_bar_its_figures_and_what_is_left() -> None:
    run = replace(RUNNING, pages=100, total=400, chunks=1200, working_seconds=60.0)

    assert text(run).splitlines() == [
        "Reindexing HR",
        "\u2588\u2588\u2588\u2588\u2588" + "\u2591" * 15 + " 25 %",
        "100 of 400 pages, 1,200 passages, 20 per second",
        "Time left: about 3 min",
    ]


def test_a_run_over_all_says_where_it_is() -> None:
    run = replace(RUNNING, space=None, at_space="IT", total=0)

    assert text(run).splitlines() == [
        "Reindexing all spaces (now IT)",
        "Looking for changes \u2026",
    ]


def test_an_end_tells_what_changed_and_what_failed_with_its_cure() -> None:
    run = replace(RUN, added=3, removed=1, unchanged=1200, failed=1, failures=(BROKEN,))

    assert text(run).splitlines() == [
        "Reindexing HR: done, but some pages could not be read",
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

    assert "10 problems, the first ones:\n- HR: 10 of 12 pages are gone.\n" in told
    assert told.splitlines()[-1].startswith(
        "If these pages should be removed: /reindex HR --allow-mass-delete."
    )
    assert "stopped by a problem" in told


def test_a_dry_run_says_that_nothing_was_changed() -> None:
    told = text(replace(RUN, dry_run=True, removed=10, failures=(BRAKED,)))

    assert told.startswith("Dry run for HR: nothing was changed\nA real run would find: 10 removed")
    assert "--allow-mass-delete" in told


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (replace(RUN, state="cancelled"), "cancelled"),
        (replace(RUN, state="failed"), "stopped by a problem"),
        (replace(RUNNING, state="waiting"), "queued"),
        (
            replace(RUNNING, state="interrupted"),
            "It was interrupted and continues when the indexing server is up again",
        ),
        (
            replace(RUNNING, state="interrupted", dry_run=True),
            "It was interrupted. Nothing was changed; start the dry run again",
        ),
    ],
)
def test_each_state_is_told_in_words(run: Run, said: str) -> None:
    assert said in text(run)


def test_the_figures_of_a_resumed_run_say_since_when_they_are() -> None:
    told = replace(run_status_of("r1", (RUN,)), resumed=True)

    assert "It was interrupted and resumed; the figures count from then" in progress_text(
        told, SLACK
    )


def test_a_run_that_is_gone_is_told_without_figures() -> None:
    assert progress_text(run_status_of("r1", ()), SLACK).splitlines() == [
        "A run that can no longer be followed",
        "I no longer know this run. What it indexed is kept; the list of spaces shows the state.",
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
    assert "2 problems; admins see them with /reindex status" in told
    assert "10 of 12 pages are gone" in told
    assert "--allow-mass-delete" in told


Scenes = list[tuple[float, dict[str, Run] | None]]
KILLED = replace(RUNNING, state="interrupted")


async def followed(scenes: Scenes) -> list[tuple[float, RunStatus]]:
    """Return what is told, with the second in which it was."""
    played = ScriptedRuns(scenes)
    watch = RunWatcher(played.get, pause=played.pause, clock=played.clock)
    return [(played.seconds, told) async for told in watch.follow("r1")]


def at(run: Run) -> dict[str, Run]:
    return {run.id: run}


async def test_states_are_told_at_once_and_figures_now_and_then() -> None:
    scenes: Scenes = [(0, at(replace(RUNNING, state="waiting", pages=0)))]
    scenes += [(1 + n / 2, at(replace(RUNNING, pages=n, total=20))) for n in range(20)]
    scenes += [(11, at(replace(RUN, added=20)))]

    told = await followed(scenes)

    assert [(second, each.state, each.pages) for second, each in told] == [
        (0, "waiting", 0),
        (1, "running", 0),
        (3.5, "running", 5),
        (6, "running", 10),
        (8.5, "running", 15),
        (11, "done", 0),
    ]
    assert [each.ended for _, each in told] == [False] * 5 + [True]


async def test_a_run_that_stands_still_is_told_once() -> None:
    assert len(await followed([(0, at(RUNNING)), (60, at(RUN))])) == 2


async def test_a_run_that_had_ended_already_is_told_once_and_that_is_all() -> None:
    assert [(second, told.state) for second, told in await followed([(0, at(RUN))])] == [
        (0, "done")
    ]


async def test_a_killed_run_is_followed_to_the_end_of_what_resumed_it() -> None:
    resumed = replace(KILLED, resumed_as=("r2",))
    second = replace(RUNNING, id="r2", by="start", pages=2)
    again = replace(second, state="interrupted", resumed_as=("r3",))
    done = replace(RUN, id="r3", changed=3)

    told = await followed(
        [
            (0, at(RUNNING)),
            (5, at(KILLED)),
            (10, {"r1": resumed, "r2": second}),
            (15, {"r1": resumed, "r2": again, "r3": done}),
        ]
    )

    assert [(second, each.state, each.resumed) for second, each in told] == [
        (0, "running", False),
        (5, "interrupted", False),
        (10, "running", True),
        (15, "done", True),
    ]
    assert {each.run_id for _, each in told} == {"r1"}
    assert told[-1][1].changed == 3


async def test_a_run_over_all_is_followed_over_the_runs_that_resumed_each_space() -> None:
    resumed = replace(KILLED, space=None, resumed_as=("r2", "r3", "gone"))
    hr = replace(RUN, id="r2", space="HR", added=2)
    it = replace(RUNNING, id="r3", space="IT", pages=3, total=9, at_space="IT")

    told = await followed(
        [
            (0, {"r1": resumed, "r2": hr, "r3": it}),
            (5, {"r1": resumed, "r2": hr, "r3": replace(RUN, id="r3", space="IT", added=9)}),
        ]
    )

    working, ended = (each for _, each in told)
    assert (working.state, working.space, working.at_space) == ("running", None, "IT")
    assert (working.pages, working.total) == (3, 9)
    assert (ended.state, ended.space, ended.added) == ("done", None, 11)


async def test_a_killed_run_that_nobody_goes_on_with_is_given_up_with_a_sentence() -> None:
    told = await followed([(0, at(RUNNING)), (5, at(KILLED))])

    second, last = told[-1]
    assert 5 + PATIENCE_SECONDS - 1 <= second <= 5 + PATIENCE_SECONDS
    assert (last.state, last.ended) == ("interrupted", True)
    assert "start it again to continue" in last.note


async def test_a_killed_dry_run_ends_at_once_for_nothing_resumes_it() -> None:
    ((second, last),) = await followed([(0, at(replace(KILLED, dry_run=True)))])

    assert (second, last.ended) == (0, True)
    assert "Nothing was changed" in last.note


async def test_a_run_that_is_not_known_ends_with_a_plain_sentence() -> None:
    told = await followed([(0, at(RUNNING)), (5, {})])

    assert [each.state for _, each in told] == ["running", "gone"]
    assert told[-1][1].note.startswith(
        "I no longer know this run. What it indexed is kept; the list of spaces shows the state"
    )


async def test_a_ledger_that_is_away_is_waited_for() -> None:
    told = await followed([(0, at(RUNNING)), (5, None), (300, at(RUN))])

    assert [(second, each.state) for second, each in told] == [(0, "running"), (300, "done")]


async def test_a_ledger_that_stays_away_ends_it_with_a_plain_sentence() -> None:
    told = await followed([(0, None)])

    ((second, last),) = told
    assert second == PATIENCE_SECONDS
    assert (last.state, last.ended) == ("gone", True)


async def test_runs_that_resume_one_another_in_a_circle_end_it() -> None:
    circle = replace(KILLED, resumed_as=("r2",))
    told = await followed([(0, {"r1": circle, "r2": replace(circle, id="r2", resumed_as=("r1",))})])

    assert told[-1][1].state == "gone"


STEPS = st.lists(
    st.tuples(
        st.floats(0.1, 20, allow_nan=False),
        st.sampled_from(["waiting", "running", "interrupted", "away"]),
        st.integers(0, 9),
    ),
    max_size=12,
)


@given(steps=STEPS)
async def test_whatever_happens_it_ends_once_and_is_told_seldom(
    steps: list[tuple[float, str, int]],
) -> None:
    seconds, scenes = 0.0, list[tuple[float, dict[str, Run] | None]]([(0, at(RUNNING))])
    for lasts, state, pages in steps:
        seconds += lasts
        run = replace(RUNNING, state=state, pages=pages)  # type: ignore[arg-type]  # "away" is none
        scenes.append((seconds, None if state == "away" else at(run)))
    scenes.append((seconds + 1, at(RUN)))

    told = await followed(scenes)

    assert [each.ended for _, each in told] == [False] * (len(told) - 1) + [True]
    for (before, one), (after, other) in pairwise(told):
        assert one.state != other.state or after - before >= REPORT_SECONDS


async def test_a_ledger_that_is_away_is_logged_once_and_once_that_it_is_back() -> None:
    with capture_logs() as logs:
        await followed([(0, at(RUNNING)), (5, None), (300, at(RUN))])

    assert [line["event"] for line in logs] == [
        "orders.following.troubled",
        "orders.following.well_again",
    ]
