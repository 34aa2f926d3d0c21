"""How far a wiki's spaces are, and when they are looked at next."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ingestion.records.assembly import Records, records_at
from ingestion.records.types import Failure, Run, Synced
from ingestion.runs.schedule import Cadence
from ingestion.runs.wiki_status import LastFailure, WikiStatus, wiki_status

CADENCE = Cadence(changes=300, whole=1800)
NOW = datetime.now(UTC)
FAILED = Run(
    id="r1",
    space="IT",
    dry_run=False,
    allow_mass_delete=False,
    by="schedule",
    state="failed",
    created_at=NOW,
    ended_at=NOW,
    failures=(Failure("IT", "", "the space was emptied", "Look."),),
)


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return records_at(tmp_path, "acme")


async def read(records: Records, space: str, ended: datetime) -> None:
    synced = Synced(ended, ended, whole_at=ended, watermark="w")
    await records.ledger.change_synced(space, lambda _: synced)


async def told(records: Records, cadence: Cadence = CADENCE) -> WikiStatus:
    return await wiki_status(records, cadence, datetime.now(UTC))


async def test_before_the_first_pass_nothing_is_known(records: Records) -> None:
    assert await told(records) == WikiStatus((), None, None, ())


async def test_the_space_that_was_looked_at_longest_ago_counts(records: Records) -> None:
    await read(records, "IT", NOW - timedelta(minutes=4))
    await read(records, "HR", NOW - timedelta(minutes=9))

    known = await told(records)

    assert known.spaces == ("HR", "IT")
    assert known.looked_at == NOW - timedelta(minutes=9)


async def test_what_is_filled_by_folders_is_no_space_of_the_wiki(records: Records) -> None:
    await records.ledger.change_synced("handbook", lambda _: Synced(NOW, NOW))

    assert (await told(records)).spaces == ()


async def test_a_space_that_was_never_read_to_the_end_keeps_all_from_being_up_to_date(
    records: Records,
) -> None:
    await read(records, "IT", NOW)
    await records.passes.claim("HR", "all", idle_seconds=1, failures=0)

    known = await told(records)

    assert (known.spaces, known.looked_at) == (("HR", "IT"), None)


async def test_the_next_pass_is_the_first_that_comes(records: Records) -> None:
    now = datetime.now(UTC)
    await records.passes.claim("IT", "all", idle_seconds=1, failures=0)
    await records.passes.claim("IT", "changes", idle_seconds=1, failures=0)

    next_at = (await told(records)).next_at

    assert next_at is not None
    assert 240 < (next_at - now).total_seconds() < 310
    assert (await told(records, Cadence(0, 0))).next_at is None


async def test_a_space_that_was_read_by_hand_is_looked_at_again_in_its_turn(
    records: Records,
) -> None:
    now = datetime.now(UTC)
    await read(records, "IT", now)

    next_at = (await told(records)).next_at

    assert next_at is not None
    assert 240 < (next_at - now).total_seconds() < 310


async def test_a_space_that_is_read_no_more_is_not_counted(records: Records) -> None:
    await read(records, "IT", NOW)
    await read(records, "OLD", NOW - timedelta(days=9))

    known = await wiki_status(records, CADENCE, NOW, ["IT"])

    assert (known.spaces, known.looked_at) == (("IT",), NOW)


async def test_a_run_that_failed_is_told_until_the_space_is_read_again(records: Records) -> None:
    await read(records, "IT", NOW - timedelta(minutes=5))
    await records.ledger.begin(FAILED)
    before = (await told(records)).troubles
    await read(records, "IT", NOW + timedelta(seconds=1))

    assert before == (LastFailure("IT", "the space was emptied"),)
    assert (await told(records)).troubles == ()


@pytest.mark.parametrize("change", [{"dry_run": True}, {"page": "7"}, {"state": "cancelled"}])
async def test_runs_that_were_not_to_bring_it_up_to_date_say_nothing(
    records: Records, change: dict[str, object]
) -> None:
    await read(records, "IT", NOW - timedelta(minutes=5))
    await records.ledger.begin(replace(FAILED, **change))  # type: ignore[arg-type]

    assert (await told(records)).troubles == ()


async def test_of_a_run_over_all_only_the_space_that_failed_is_told(records: Records) -> None:
    await read(records, "HR", NOW - timedelta(minutes=5))
    await read(records, "IT", NOW - timedelta(minutes=5))
    await records.ledger.begin(replace(FAILED, space=None))

    assert [one.space for one in (await told(records)).troubles] == ["IT"]
