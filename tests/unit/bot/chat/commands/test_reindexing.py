"""Tests of reindex commands, of runs that were resumed, and of the alert about deletions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.chat.commands.reindexing import ReindexRuns
from bot.chat.commands.run_status import current_runs
from bot.chat.commands.types import (
    AllSpaces,
    Done,
    PageByUrl,
    Refused,
    ReindexCancelRequest,
    ReindexRequest,
    SpaceByName,
    Started,
    Target,
)
from bot.chat.documents import MassDeleteAlert
from bot.domain.errors import DeliveryFailed, StoreUnavailable
from bot.store.database import Store
from ingestion.errors import DocumentInTheWay
from ingestion.library import Space
from ingestion.records.types import Failure, Run
from tests.fakes.chat_commands import RUNNING, MemoryAudits, command_caller
from tests.fakes.chat_context import RUN, MemoryDocuments, document

BY = command_caller()


class Wiki(MemoryDocuments):
    """A shelf with pages of three spaces; of OLD it is not known what fills it."""

    def __init__(self, *runs: Run) -> None:
        super().__init__(*runs)
        for space in ("HR", "IT-Support", "OLD"):
            self.kept[space, "a.md"] = document(space, "a.md")

    def _space(self, name: str, pages: int) -> Space:
        return replace(super()._space(name, pages), reindexable=name != "OLD")


def reindexing(shelf: MemoryDocuments, audits: MemoryAudits | None = None) -> ReindexRuns:
    return ReindexRuns(
        tenant="default", documents=shelf, runs=shelf, audits=audits or MemoryAudits()
    )


async def refused(shelf: MemoryDocuments, target: Target) -> str:
    audits = MemoryAudits()
    answer = await reindexing(shelf, audits).start(ReindexRequest(target), BY)
    assert isinstance(answer, Refused)
    assert audits.acts == []
    assert not [run for run in shelf.runs if run.by == "slack:U1"]
    return answer.text


@pytest.mark.parametrize(
    ("target", "space", "told"),
    [
        (SpaceByName("HR"), "HR", "I'm reindexing HR"),
        (SpaceByName("it-support"), "IT-Support", "I'm reindexing IT-Support"),
        (AllSpaces(), None, "all spaces"),
        (
            PageByUrl("https://desk.example/pages/HR/a.md#top"),
            "HR",
            "\u201ca\u201d is in the space HR. I'm reindexing HR.",
        ),
    ],
)
async def test_what_is_meant_is_begun_audited_and_told(
    target: Target, space: str | None, told: str
) -> None:
    shelf, audits = Wiki(), MemoryAudits()

    answer = await reindexing(shelf, audits).start(ReindexRequest(target), BY)

    assert isinstance(answer, Started)
    assert told in answer.text
    (run,) = shelf.runs
    assert (run.id, run.space, run.by, run.dry_run) == (answer.run_id, space, "slack:U1", False)
    assert audits.acts == [("slack:U1", "reindex", space or "all", "")]


async def test_a_dry_run_promises_to_change_nothing_and_is_audited_as_such() -> None:
    shelf, audits = Wiki(), MemoryAudits()
    order = ReindexRequest(SpaceByName("HR"), dry_run=True, allow_mass_delete=True)

    answer = await reindexing(shelf, audits).start(order, BY)

    assert isinstance(answer, Started)
    assert "Nothing will be changed" in answer.text
    assert shelf.runs[0].dry_run
    assert audits.acts[0][3] == "dry run, mass delete allowed"


async def test_of_an_unknown_space_those_are_named_first_that_are_written_most_alike() -> None:
    said = await refused(Wiki(), SpaceByName("ITsupport"))

    assert "no space \u201cITsupport\u201d" in said
    assert said.index("IT-Support") < said.index("HR")
    assert "OLD" not in said


async def test_a_space_that_nothing_is_known_to_fill_can_not_be_read_again() -> None:
    assert "source of the space OLD is unknown" in await refused(Wiki(), SpaceByName("OLD"))
    assert "source of the space OLD is unknown" in await refused(
        Wiki(), PageByUrl("/pages/OLD/a.md")
    )
    assert "No space can be reindexed yet" in await refused(MemoryDocuments(), SpaceByName("HR"))


class Confluence(Wiki):
    """A wiki that knows where its pages are, also such as are not indexed; it may be away."""

    def __init__(self, *runs: Run, away: bool = False) -> None:
        super().__init__(*runs)
        self.away = away
        page = replace(document("IT-Support", "77"), title="VPN", source="confluence")
        self.kept["IT-Support", "77"] = replace(page, url="https://wiki.example/pages/77")

    async def find_space(self, url: str) -> str | None:
        if self.away:
            raise DocumentInTheWay("Confluence does not answer. Try again in a minute.")
        return "HR" if url == NEW else None


NEW = "https://wiki.example/pages/12345/New"


async def test_a_page_is_read_alone_also_if_it_is_new_or_a_run_is_over_its_space() -> None:
    shelf, audits = Confluence(), MemoryAudits()

    answer = await reindexing(shelf, audits).start(ReindexRequest(PageByUrl(NEW)), BY)

    assert isinstance(answer, Started)
    assert answer.text == (
        "That page is in the space HR. I'm reindexing only that page, with its files."
    )
    (run,) = shelf.runs
    assert (run.space, run.page) == ("HR", NEW)
    assert audits.acts == [("slack:U1", "reindex", "HR", f"page {NEW}")]


async def test_a_page_that_its_wiki_shows_no_more_is_looked_at_by_its_id() -> None:
    shelf = Confluence()

    order = ReindexRequest(PageByUrl("https://wiki.example/pages/77"), dry_run=True)
    answer = await reindexing(shelf).start(order, BY)

    assert isinstance(answer, Started)
    assert "\u201cVPN\u201d is in the space IT-Support. I'm checking what would" in answer.text
    assert [(run.space, run.page, run.dry_run) for run in shelf.runs] == [
        ("IT-Support", "77", True)
    ]


async def test_while_the_wiki_is_away_a_new_page_is_refused_and_a_known_one_is_not() -> None:
    shelf = Confluence(away=True)

    assert (
        await refused(shelf, PageByUrl(NEW)) == "Confluence does not answer. Try again in a minute."
    )
    known = await reindexing(shelf).start(ReindexRequest(PageByUrl("wiki.example/pages/77")), BY)
    assert isinstance(known, Started)


async def test_a_run_over_a_page_is_in_nobodys_way_and_nothing_is_in_its_way() -> None:
    class Passing(Confluence):
        async def start(self, space: str | None, **how: object) -> str:
            return "r9"

    over_a_page = replace(RUNNING, extent="page", page="77")
    whole = await reindexing(Passing(over_a_page)).start(ReindexRequest(SpaceByName("HR")), BY)
    one = await reindexing(Passing(RUNNING)).start(ReindexRequest(PageByUrl(NEW)), BY)

    assert isinstance(whole, Started)
    assert isinstance(one, Started)


@pytest.mark.parametrize(("target", "stopped"), [("HR", "r1"), ("77", "r2"), ("r2", "r2")])
async def test_a_space_means_the_run_over_all_of_it(target: str, stopped: str) -> None:
    shelf = Wiki(RUNNING, replace(RUNNING, id="r2", extent="page", page="77"))

    answer = await reindexing(shelf).cancel(ReindexCancelRequest(target), BY)

    assert isinstance(answer, Done)
    assert [run.id for run in shelf.runs if not run.active] == [stopped]


async def test_a_page_is_named_to_those_alone_who_may_know_of_it() -> None:
    work = reindexing(Wiki(replace(RUN, extent="page", page="https://wiki.example/Salaries")))

    assert "Reindexing one page of HR: done" in (await work.status(LOUD)).text
    assert "Salaries" not in (await work.status(LOUD)).text
    assert "Page: https://wiki.example/Salaries" in (await work.status(BY)).text


async def test_a_page_that_is_none_of_ours_is_told_with_the_way_to_index_a_space() -> None:
    said = await refused(Wiki(), PageByUrl("https://wiki.example/new"))

    assert "I don't know a page at \u201chttps://wiki.example/new\u201d" in said
    assert "/reindex SPACE" in said
    assert "Known spaces: HR, IT-Support." in said


async def test_a_run_in_the_way_is_told_with_how_far_it_is_and_how_to_stop_it() -> None:
    said = await refused(Wiki(replace(RUNNING, space=None, at_space="HR")), SpaceByName("HR"))

    assert "1 of 4 pages" in said
    assert "/reindex cancel all" in said


async def test_a_run_that_was_quicker_is_told_plainly() -> None:
    class Race(Wiki):
        async def newest(self, limit: int) -> list[Run]:
            return []

    answer = await reindexing(Race(RUNNING)).start(ReindexRequest(AllSpaces()), BY)

    assert isinstance(answer, Refused)
    assert "faster" in answer.text


async def test_what_can_not_be_audited_is_not_done() -> None:
    shelf = Wiki()
    work = reindexing(shelf, MemoryAudits(away=True))
    with pytest.raises(StoreUnavailable):
        await work.start(ReindexRequest(SpaceByName("HR")), BY)
    assert shelf.runs == []

    shelf = Wiki(RUNNING)
    with pytest.raises(StoreUnavailable):
        await reindexing(shelf, MemoryAudits(away=True)).cancel(ReindexCancelRequest(), BY)
    assert shelf.runs[0].active


@pytest.mark.parametrize("target", [None, "HR", "hr", "r1"])
async def test_the_run_that_is_meant_is_stopped_and_that_is_audited(target: str | None) -> None:
    shelf, audits = Wiki(RUNNING), MemoryAudits()

    answer = await reindexing(shelf, audits).cancel(ReindexCancelRequest(target), BY)

    assert isinstance(answer, Done)
    assert "Stopping the run for HR" in answer.text
    assert shelf.runs[0].state == "cancelled"
    assert audits.acts == [("slack:U1", "cancel reindex", "r1", "HR")]


@pytest.mark.parametrize(
    ("runs", "target", "said"),
    [
        ((RUN,), None, "Nothing is being reindexed right now."),
        ((RUNNING,), "IT", "No active run matches \u201cIT\u201d"),
        ((RUNNING, replace(RUNNING, id="r2", space="IT")), None, "/reindex cancel r2 (IT)"),
        (
            (RUNNING, replace(RUNNING, id="r2", dry_run=True)),
            "HR",
            "More than one run matches \u201cHR\u201d",
        ),
    ],
)
async def test_what_can_not_be_stopped_is_told_with_what_can(
    runs: tuple[Run, ...], target: str | None, said: str
) -> None:
    shelf, audits = Wiki(*runs), MemoryAudits()

    answer = await reindexing(shelf, audits).cancel(ReindexCancelRequest(target), BY)

    assert isinstance(answer, Refused)
    assert said in answer.text
    assert audits.acts == []
    assert shelf.runs == list(runs)


async def test_the_runs_under_way_are_told_else_the_last_ones() -> None:
    under_way = await reindexing(Wiki(RUNNING, replace(RUN, id="r0", space="IT"))).status(BY)
    ended = await reindexing(Wiki(RUN)).status(BY)
    never = await reindexing(Wiki()).status(BY)

    assert "1 of 4 pages" in under_way.text
    assert "IT" not in under_way.text
    assert ended.text.startswith("Nothing is being reindexed right now. The last runs")
    assert "Reindexing HR: done" in ended.text
    assert "/reindex all" in never.text


HIDDEN = document("BOARD", "Salaries.md", readers="group:board")
LOUD = replace(BY, alone=False)
TROUBLED = replace(
    RUNNING, failed=1, failures=(Failure("HR", "Salaries", "it is damaged", "Mend."),)
)


@pytest.mark.parametrize("url", [HIDDEN.url, "https://wiki.example/nowhere"])
async def test_where_others_read_along_neither_pages_nor_hidden_spaces_are_named(url: str) -> None:
    shelf = Wiki()
    shelf.kept["BOARD", HIDDEN.id] = HIDDEN

    answer = await reindexing(shelf).start(ReindexRequest(PageByUrl(url)), LOUD)
    unknown = await reindexing(shelf).start(ReindexRequest(SpaceByName("BORD")), LOUD)
    alone = await reindexing(shelf).start(ReindexRequest(SpaceByName("BORD")), BY)

    assert "Salaries" not in answer.text
    assert "Known spaces: HR, IT-Support." in unknown.text
    assert "BOARD" in alone.text


async def test_where_others_read_along_a_run_tells_how_many_pages_failed_but_not_which() -> None:
    work = reindexing(Wiki(TROUBLED))
    told = [
        (await work.status(LOUD)).text,
        (await work.start(ReindexRequest(SpaceByName("HR")), LOUD)).text,
    ]

    assert all("1 problem" in text and "Salaries" not in text for text in told)
    assert "Salaries" in (await work.status(BY)).text


KILLED = replace(RUNNING, state="interrupted", resumed_as=("r2",))
SECOND = replace(RUNNING, id="r2", by="start")


def over(*runs: Run) -> tuple[ReindexRuns, MemoryDocuments, MemoryAudits]:
    shelf, audits = MemoryDocuments(*runs), MemoryAudits()
    shelf.kept["HR", "a.md"] = document("HR", "a.md")
    return (
        ReindexRuns(tenant="default", documents=shelf, runs=shelf, audits=audits),
        shelf,
        audits,
    )


async def test_a_run_is_itself_until_it_was_killed_and_gone_on_with() -> None:
    assert await current_runs(RUNNING, MemoryDocuments(RUNNING).get) == (RUNNING,)
    assert await current_runs(KILLED, MemoryDocuments(KILLED, SECOND).get) == (SECOND,)
    third = replace(RUN, id="r3")
    again = replace(SECOND, state="interrupted", resumed_as=("r3", "gone"))
    assert await current_runs(KILLED, MemoryDocuments(KILLED, again, third).get) == (third,)


async def test_runs_that_name_each_other_end() -> None:
    ring = replace(SECOND, state="interrupted", resumed_as=("r1",))
    assert await current_runs(KILLED, MemoryDocuments(KILLED, ring).get) == ()


async def test_what_goes_on_with_a_killed_run_is_stopped_by_its_first_id() -> None:
    work, shelf, audits = over(KILLED, SECOND)

    answer = await work.stop("r1", BY)

    assert isinstance(answer, Done)
    assert "Stopping the run for HR" in answer.text
    assert [run.state for run in shelf.runs] == ["interrupted", "cancelled"]
    assert audits.acts == [("slack:U1", "cancel reindex", "r2", "HR")]


async def test_a_run_that_is_over_or_unknown_is_not_stopped() -> None:
    for run_id in ("r1", "r9"):
        work, _, audits = over(RUN)
        answer = await work.stop(run_id, BY)
        assert isinstance(answer, Refused)
        assert "already ended" in answer.text
        assert audits.acts == []


async def test_a_refusal_names_the_run_in_the_way_which_is_also_what_it_resumed() -> None:
    work, _, _ = over(SECOND, KILLED)

    answer = await work.start(ReindexRequest(SpaceByName("HR")), BY)

    assert isinstance(answer, Refused)
    assert answer.run_id == "r2"
    assert await work.is_now("r1", "r2")
    assert not await work.is_now("r2", "r1")


WHY = "41 of 50 pages would be removed."


class Place:
    """Implements TellsPeople; may be away."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.told: list[str] = []
        self.away = False

    async def tell_people(self, text: str) -> None:
        if self.away:
            raise DeliveryFailed("It is away.")
        self.told.append(text)


class Clock:
    now = datetime(2026, 11, 22, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


async def test_each_platform_is_told_once_a_space_and_day_by_all_processes(store: Store) -> None:
    slack, teams, clock = Place("slack"), Place("teams"), Clock()
    for _ in range(3):
        channels = (slack, object(), teams)
        news = MassDeleteAlert(tenant="acme", notes=store.notes, channels=channels, now=clock)
        await news("HR", WHY)

    assert len(slack.told) == len(teams.told) == 1
    assert "the space HR" in slack.told[0]
    assert "41 of 50 pages would be removed. If" in slack.told[0]
    assert "reindex HR --allow-mass-delete" in slack.told[0]
    await news("IT", WHY)
    clock.now += timedelta(days=1)
    await news("HR", WHY)
    assert len(slack.told) == 3


async def test_what_did_not_get_through_is_told_by_the_next_run(store: Store) -> None:
    slack, teams = Place("slack"), Place("teams")
    news = MassDeleteAlert(tenant="acme", notes=store.notes, channels=(slack, teams), now=Clock())
    slack.away = True
    await news("HR", WHY)
    slack.away = False
    await news("HR", WHY)

    assert (len(slack.told), len(teams.told)) == (1, 1)
