from __future__ import annotations

from dataclasses import replace

from bot.chat.commands.reindexing import ReindexRuns
from bot.chat.commands.run_status import current_runs
from bot.chat.commands.types import Done, Refused, ReindexRequest, SpaceByName
from ingestion.records.types import Run
from tests.bot.orders.fakes import RUNNING, MemoryAudits, orderer
from tests.bot.shelves import RUN, Shelf, document

BY = orderer()
KILLED = replace(RUNNING, state="interrupted", resumed_as=("r2",))
SECOND = replace(RUNNING, id="r2", by="start")


def over(*runs: Run) -> tuple[ReindexRuns, Shelf, MemoryAudits]:
    shelf, audits = Shelf(*runs), MemoryAudits()
    shelf.kept["HR", "a.md"] = document("HR", "a.md")
    return (
        ReindexRuns(tenant="default", documents=shelf, runs=shelf, audits=audits),
        shelf,
        audits,
    )


async def test_a_run_is_itself_until_it_was_killed_and_gone_on_with() -> None:
    assert await current_runs(RUNNING, Shelf(RUNNING)) == (RUNNING,)
    assert await current_runs(KILLED, Shelf(KILLED, SECOND)) == (SECOND,)
    third = replace(RUN, id="r3")
    again = replace(SECOND, state="interrupted", resumed_as=("r3", "gone"))
    assert await current_runs(KILLED, Shelf(KILLED, again, third)) == (third,)


async def test_runs_that_name_each_other_end() -> None:
    ring = replace(SECOND, state="interrupted", resumed_as=("r1",))
    assert await current_runs(KILLED, Shelf(KILLED, ring)) == ()


async def test_what_goes_on_with_a_killed_run_is_stopped_by_its_first_id() -> None:
    work, shelf, audits = over(KILLED, SECOND)

    answer = await work.stop("r1", BY)

    assert isinstance(answer, Done)
    assert "run over HR is being stopped" in answer.text
    assert [run.state for run in shelf.runs] == ["interrupted", "cancelled"]
    assert audits.acts == [("slack:U1", "cancel reindex", "r2", "HR")]


async def test_a_run_that_is_over_or_unknown_is_not_stopped() -> None:
    for run_id in ("r1", "r9"):
        work, _, audits = over(RUN)
        answer = await work.stop(run_id, BY)
        assert isinstance(answer, Refused)
        assert "nothing to stop" in answer.text
        assert audits.acts == []


async def test_a_refusal_names_the_run_in_the_way_which_is_also_what_it_resumed() -> None:
    work, _, _ = over(SECOND, KILLED)

    answer = await work.start(ReindexRequest(SpaceByName("HR")), BY)

    assert isinstance(answer, Refused)
    assert answer.run_id == "r2"
    assert await work.is_now("r1", "r2")
    assert not await work.is_now("r2", "r1")
