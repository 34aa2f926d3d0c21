from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.records.ledger import Pass
from ingestion.records.types import Run, Synced
from ingestion.runs.schedule import LONGEST_PAUSE_SECONDS, Begun, Cadence, Next, due, upcoming
from ingestion.types import Extent

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
CADENCE = Cadence(changes=300, whole=1800)
RUN = Run(
    "r", "HR", dry_run=False, allow_mass_delete=False, by="a", state="running", created_at=NOW
)


def found(
    *spaces: str,
    begun: Begun | None = None,
    failed: Collection[tuple[str, Extent]] = (),
    synced: Mapping[str, Synced] | None = None,
    active: Sequence[Run] = (),
    cadence: Cadence = CADENCE,
) -> list[tuple[str, str]]:
    passes = due(
        spaces or ("HR",),
        begun=begun or {},
        failed=failed,
        synced=synced or {},
        active=active,
        cadence=cadence,
        now=NOW,
    )
    return [(each.space, each.extent) for each in passes]


def ago(seconds: float, failures: int = 0) -> Pass:
    return Pass(seconds, "r1", failures)


def test_a_space_that_was_never_read_is_read_whole() -> None:
    assert found() == [("HR", "all")]


def test_without_whole_passes_changes_are_asked_for() -> None:
    assert found(cadence=Cadence(300, 0)) == [("HR", "changes")]


def test_never_is_never() -> None:
    assert found(cadence=Cadence(0, 0)) == []
    assert Cadence(0, 0).never


@pytest.mark.parametrize(
    ("whole", "changes", "expected"),
    [
        (100, 100, []),
        (301, 301, [("HR", "changes")]),
        (1801, 100, [("HR", "all")]),
        (1801, 301, [("HR", "all")]),
        (100, 9999, []),
    ],
)
def test_each_pass_has_its_interval_and_a_whole_one_looks_at_changes_too(
    whole: float, changes: float, expected: list[tuple[str, str]]
) -> None:
    begun: Begun = {("HR", "all"): ago(whole), ("HR", "changes"): ago(changes)}

    assert found(begun=begun) == expected


def test_what_was_read_by_hand_is_not_read_again_at_once() -> None:
    just_now = NOW - timedelta(seconds=10)
    synced = {"HR": Synced(just_now, just_now, whole_at=just_now)}

    assert found(begun={("HR", "all"): ago(9999)}, synced=synced) == []


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (RUN, []),
        (replace(RUN, space=None), []),
        (replace(RUN, space="IT"), [("HR", "all")]),
        (replace(RUN, extent="page", page="/1"), [("HR", "all")]),
    ],
    ids=["over the space", "over all", "over another", "over one page"],
)
def test_a_space_that_is_being_read_has_nothing_due(
    run: Run, expected: list[tuple[str, str]]
) -> None:
    assert found(active=[run]) == expected


def test_each_failure_doubles_the_pause() -> None:
    failed: list[tuple[str, Extent]] = [("HR", "changes")]
    whole: Begun = {("HR", "all"): ago(1000)}

    def after(seconds: float, failures: int) -> list[tuple[str, str]]:
        return found(begun={**whole, ("HR", "changes"): ago(seconds, failures)}, failed=failed)

    assert after(301, 0) == []
    assert after(601, 0) == [("HR", "changes")]
    assert after(601, 1) == []
    assert found(begun={**whole, ("HR", "changes"): ago(301, 3)}) == [("HR", "changes")]


def test_the_longest_overdue_comes_first() -> None:
    begun: Begun = {("A", "all"): ago(1900), ("B", "all"): ago(9000), ("C", "all"): ago(2500)}

    assert [space for space, _ in found("A", "B", "C", begun=begun)] == ["B", "C", "A"]


@given(
    space=st.text(min_size=1),
    since=st.floats(0, 10**6),
    failures=st.integers(0, 10**6),
    every=st.integers(60, 10**5),
)
def test_no_pass_is_late_unless_it_failed_and_then_by_a_bounded_pause(
    space: str, since: float, failures: int, every: int
) -> None:
    over: tuple[str, Extent] = (space, "all")
    cadence, begun = Cadence(0, every), {over: ago(since, failures)}

    on_time = due([space], begun=begun, failed=(), synced={}, active=(), cadence=cadence, now=NOW)
    after_failures = due(
        [space], begun=begun, failed=(over,), synced={}, active=(), cadence=cadence, now=NOW
    )

    assert bool(on_time) or since < every
    assert not on_time or since >= every * 0.9
    assert bool(after_failures) or since < max(every, LONGEST_PAUSE_SECONDS)


def next_of(begun: Begun, failed: Collection[tuple[str, Extent]] = (), **changed: float) -> Next:
    cadence = replace(CADENCE, **changed)
    passes = upcoming(["HR"], begun=begun, failed=failed, synced={}, cadence=cadence, now=NOW)
    return passes["HR"]


def test_the_next_pass_is_the_one_that_is_due_first() -> None:
    begun: Begun = {("HR", "all"): ago(100), ("HR", "changes"): ago(100)}

    assert next_of(begun).extent == "changes"
    assert 170 <= (next_of(begun).at - NOW).total_seconds() <= 200
    assert next_of(begun, changes=0).extent == "all"
    assert next_of({}).at == NOW


def test_a_pass_that_failed_comes_later_and_one_that_never_is_not_at_all() -> None:
    begun: Begun = {("HR", "all"): ago(0), ("HR", "changes"): ago(0)}

    assert next_of(begun, [("HR", "changes")]).at > next_of(begun).at + timedelta(seconds=200)
    assert not upcoming(["HR"], begun=begun, failed=(), synced={}, cadence=Cadence(0, 0), now=NOW)


@given(whole=st.floats(0, 5000), changes=st.floats(0, 5000))
def test_what_comes_next_is_due_exactly_when_it_is_said(whole: float, changes: float) -> None:
    begun: Begun = {("HR", "all"): ago(whole), ("HR", "changes"): ago(changes)}
    waits = (next_of(begun).at - NOW).total_seconds()

    assert bool(found(begun=begun)) == (waits == 0)
