"""Test the card of a reindexing run, from the command to the end, whatever happens."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat.commands.run_leases import RunLease
from bot.chat.commands.run_status import RunStatus
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.reindex_runs import link_to_run, run_message
from bot.platforms.teams.rendering.text import ACTIVITY_BUDGET, size
from bot.store.database import Store
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import Failure, FolderEntry
from tests.fakes.chat_commands import RUNNING
from tests.fakes.chat_context import RUN, MemoryDocuments, document
from tests.fakes.http_server import (
    PAGES,
    serving_application,
    settings_for,
    wait_until,
    write_index,
)
from tests.fakes.scenarios import FAILED, hurried
from tests.fakes.teams.activities import BotTestClient
from tests.fakes.teams.cards import attached, card_problems, labels, words
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import (
    ALICE,
    BOB,
    CAROL,
    ENTRA,
    GUEST,
    GUESTS,
    HELP,
    OUTSIDE_GROUP,
    SHARED,
)
from tests.fakes.teams.people import chat_of
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor
from tests.unit.bot.platforms.teams.commands.conftest import RunScenario

CHAT = chat_of(ALICE)
MAYBE_TWICE = "orders.run_may_be_shown_twice"


@pytest.fixture
async def scenario(teams: FakeTeams, channel: TeamsChannel, store: Store) -> RunScenario:
    return RunScenario(teams, channel, store)


async def test_one_card_shows_a_run_from_its_beginning_to_its_end(scenario: RunScenario) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        begun = await scenario.shows("1 of 4 pages")
        assert begun.labels == ["Cancel"]
        assert "25 %" in begun.shown
        assert "Started by Alice" in begun.shown
        scenario.goes(pages=3)
        await scenario.shows("3 of 4 pages")
        scenario.ends()
        await scenario.shows("Reindexing HR: done")
        await scenario.is_over()
        calls = len(scenario.teams.calls)
        await hurried(30)

    (post,) = scenario.teams.posts_in(HELP)
    assert post.labels == []
    assert "3 changed, 1 page unchanged" in post.shown
    assert post.thread == begun.thread == "1"
    assert len(scenario.teams.calls) == calls, "nothing is edited after the end"
    assert scenario.elsewhere == []


async def test_a_run_that_is_over_at_once_is_told_once(scenario: RunScenario) -> None:
    scenario.ends()
    async with scenario.process() as followers:
        await scenario.order(followers)
        await scenario.is_over()

    assert scenario.teams.calls.count("message") == 1
    assert scenario.teams.calls.count("update") == 0


@pytest.mark.parametrize("place", [GUESTS, SHARED, OUTSIDE_GROUP])
async def test_where_others_read_along_it_is_shown_directly(
    scenario: RunScenario, place: str
) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers, place)
        await scenario.shows("1 of 4 pages", CHAT)
        scenario.ends()
        await scenario.shows("done", CHAT)
        await scenario.is_over()

    assert scenario.teams.posts_in(place) == []
    assert len(scenario.teams.posts_in(CHAT)) == 1
    assert scenario.elsewhere == ["directly"]


async def test_where_others_read_along_who_has_not_added_the_app_is_told_that_once(
    scenario: RunScenario,
) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers, GUESTS, by=CAROL)
        for page in range(2, 5):
            scenario.goes(pages=page)
            await hurried(4)

    assert scenario.teams.messages == []
    assert scenario.elsewhere == ["nowhere"]


async def test_a_channel_reads_how_many_pages_failed_but_not_which(scenario: RunScenario) -> None:
    scenario.ends(FAILED)
    async with scenario.process() as followers:
        await scenario.order(followers)
        post = await scenario.shows("1 problem")
        await scenario.is_over()

    assert "Salaries" not in str(post.activity)
    assert "in a chat with me alone" in post.shown


async def test_who_ordered_reads_in_a_chat_which_pages_failed_and_nothing_in_it_is_live(
    scenario: RunScenario,
) -> None:
    scenario.ends(replace(FAILED, page="<at>all</at> *Pay* [x](https://evil.example)"))
    async with scenario.process() as followers:
        await scenario.order(followers, CHAT)
        post = await scenario.shows("1 problem", CHAT)
        await scenario.is_over()

    assert "it is damaged. Save it again." in post.shown
    for live in ("<at", "](http", "//evil.example"):
        assert live not in post.shown
    assert scenario.elsewhere == []


async def test_a_card_of_which_teams_did_not_say_where_it_is_is_posted_once_more_and_logged(
    scenario: RunScenario,
) -> None:
    scenario.teams.fail(Fault(502, after=True))
    with capture_logs() as logged:
        async with scenario.process() as followers:
            await scenario.order(followers)
            await wait_until(lambda: scenario.teams.posts_in(HELP))
            scenario.goes(pages=2)
            await scenario.shows("2 of 4 pages")
            scenario.ends()
            await scenario.shows("done")
            await scenario.is_over()

    assert len(scenario.teams.posts_in(HELP)) == 2
    assert [each["event"] for each in logged].count(MAYBE_TWICE) == 1


async def test_in_doubt_for_long_nothing_more_is_posted_until_the_end(
    scenario: RunScenario,
) -> None:
    scenario.teams.fail(*[Fault(502, after=True)] * 2)
    async with scenario.process() as followers:
        await scenario.order(followers)
        await wait_until(lambda: scenario.teams.calls.count("message") == 1)
        scenario.goes(pages=2)
        await wait_until(lambda: scenario.teams.calls.count("message") == 2)
        for page in range(3, 5):
            scenario.goes(pages=page)
            await hurried(4)
        assert scenario.teams.calls.count("message") == 2
        scenario.ends()
        await scenario.shows("done")
        await scenario.is_over()

    assert len(scenario.teams.posts_in(HELP)) == 3


async def test_what_teams_certainly_did_not_take_leaves_no_doubt(scenario: RunScenario) -> None:
    scenario.teams.fail(*[Fault(429, retry_after="3")] * 4)
    with capture_logs() as logged:
        async with scenario.process() as followers:
            await scenario.order(followers)
            for page in range(2, 5):
                scenario.goes(pages=page)
                await hurried(3)
            scenario.ends()
            await scenario.shows("done")
            await scenario.is_over()

    assert len(scenario.teams.posts_in(HELP)) == 1
    assert MAYBE_TWICE not in [each["event"] for each in logged]


async def test_an_edit_that_fails_is_left_out_but_the_end_comes(scenario: RunScenario) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
        scenario.teams.fail(*[Fault(503)] * 3, call="update")
        scenario.ends()
        await scenario.shows("done")
        await scenario.is_over()

    assert len(scenario.teams.posts_in(HELP)) == 1


async def test_the_end_is_told_directly_when_the_card_was_deleted(scenario: RunScenario) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        post = await scenario.shows("1 of 4 pages")
        del scenario.teams.visible[post.id]
        scenario.ends(FAILED)
        told = await scenario.shows("done", CHAT)
        await scenario.is_over()

    assert "Salaries of the board" in told.shown
    assert scenario.teams.posts_in(HELP) == []


async def test_what_a_stopping_server_leaves_the_next_goes_on_with(scenario: RunScenario) -> None:
    async with scenario.process("a") as followers:
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
        await scenario.is_noted()
    assert (await scenario.noted()).owner == ""
    async with scenario.process("b"):
        scenario.goes(pages=2)
        await scenario.shows("2 of 4 pages")
        scenario.ends()
        await scenario.shows("done")
        await scenario.is_over()

    assert len(scenario.teams.posts_in(HELP)) == 1


async def test_what_a_killed_server_left_its_next_start_goes_on_with_at_once(
    scenario: RunScenario,
) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
        await scenario.is_noted()
        left = await scenario.noted()
    await scenario.notes().keep(left)
    scenario.shelf.runs = [
        replace(RUNNING, state="interrupted", resumed_as=("r2",)),
        replace(RUNNING, id="r2", pages=3),
    ]
    async with scenario.process():
        post = await scenario.shows("3 of 4 pages")
        assert "It was interrupted and resumed; the figures count from then" in post.shown
        scenario.shelf.runs[1] = replace(RUN, id="r2", changed=2)
        await scenario.shows("done")
        await scenario.is_over()

    assert len(scenario.teams.posts_in(HELP)) == 1


async def test_a_server_killed_between_posting_and_noting_leaves_one_orphan_at_most(
    scenario: RunScenario,
) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
        await scenario.is_noted()
        left = await scenario.noted()
    await scenario.notes().keep(replace(left, posted="", tries=1))
    scenario.ends()
    with capture_logs() as logged:
        async with scenario.process():
            await scenario.shows("done")
            await scenario.is_over()

    assert len(scenario.teams.posts_in(HELP)) == 2
    assert [each["event"] for each in logged].count(MAYBE_TWICE) == 1


async def test_a_server_killed_before_posting_leaves_no_doubt(scenario: RunScenario) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        post = await scenario.shows("1 of 4 pages")
        left = await scenario.noted()
    del scenario.teams.visible[post.id]
    await scenario.notes().keep(replace(left, posted="", tries=0))
    with capture_logs() as logged:
        async with scenario.process():
            await scenario.shows("1 of 4 pages")
            scenario.ends()
            await scenario.is_over()

    assert MAYBE_TWICE not in [each["event"] for each in logged]


RUN_STATUS = RunStatus(
    run_id="r1",
    state="running",
    space="HR",
    pages=120,
    total=480,
    chunks=900,
    chunks_per_second=42.0,
    remaining="about two minutes",
)
EVIL = "<at>all</at> **x** [x](https://evil.example) {{DATE(2026,SHORT)}}"


def shown(told: RunStatus, *, name: str = "Alice", alone: bool = False) -> str:
    (card,) = attached(run_message(told, name=name, alone=alone))
    assert card_problems(card) == []
    return words(card)


def test_a_run_under_way_shows_its_bar_its_pace_and_who_ordered_it() -> None:
    text = shown(RUN_STATUS)

    assert "25 %" in text
    assert "120 of 480 pages" in text
    assert "42 per second" in text
    assert "Started by Alice" in text


@pytest.mark.parametrize(("ended", "buttons"), [(False, ["Cancel"]), (True, [])])
def test_only_a_run_that_goes_on_can_be_cancelled(ended: bool, buttons: list[str]) -> None:  # noqa: FBT001 - as it is told
    (card,) = attached(run_message(replace(RUN_STATUS, ended=ended), name="Alice", alone=True))

    assert labels(card) == buttons


@pytest.mark.parametrize("alone", [True, False])
def test_nothing_in_a_card_is_live_and_it_fits(alone: bool) -> None:  # noqa: FBT001 - as it is told
    troubles = tuple(
        Failure(EVIL * 50, EVIL * 50, EVIL * 50, EVIL * 50, mass_delete=True) for _ in range(5)
    )
    told = replace(
        RUN_STATUS, state="failed", space=EVIL, troubles=troubles, failed=9, note=EVIL, ended=True
    )
    message = run_message(told, name=EVIL, alone=alone)

    assert size(message) < ACTIVITY_BUDGET
    for live in ("<at", "](http", "://evil", "{{DATE", "**x**"):
        assert live not in shown(told, name=EVIL, alone=alone)


def at(conversation: str, posted: str = "1760000000002") -> RunLease:
    there = {"conversation": {"id": conversation, "tenantId": ENTRA}}
    return RunLease("r1", "alice", "", 1.0, place=json.dumps(there), posted=posted)


def test_a_card_in_a_channel_opens_by_a_link_one_in_a_chat_does_not() -> None:
    url = link_to_run(at(f"{HELP};messageid=1760000000001"))

    assert url is not None
    assert url.startswith("https://teams.microsoft.com/l/message/19%3Ahelp%40thread.tacv2/176000")
    assert "parentMessageId=1760000000001" in url
    assert link_to_run(at("a:alice-and-bot")) is None


SOME, MANY = 15, 60
"""Pages that take a second, and a few."""


class Slow(MemoryDocuments):
    """A shelf whose runs do not end by themselves."""

    async def start(self, space: str | None, **how: Any) -> str:  # noqa: ANN401 - as it was ordered
        run_id = await super().start(space, **how)
        self.runs[0] = replace(self.runs[0], state="running", ended_at=None, total=4)
        return run_id


@pytest.fixture
def shelf() -> MemoryDocuments:
    slow = Slow()
    slow.kept["HR", "Leave.md"] = document("HR", "Leave.md")
    return slow


@pytest.fixture
def local() -> FakeTeams:
    """A tenant as the playground is: nothing is signed."""
    return FakeTeams()


@asynccontextmanager
async def serving(teams: FakeTeams, tmp_path: Path) -> AsyncIterator[Settings]:
    made = settings_for(tmp_path, teams_dev_mode=True, teams_admins=f"{ALICE},anna@acme.example")
    await write_index(made, tmp_path / "pages")
    entry = FolderEntry(str(tmp_path / "pages"), (("everyone",),), "https://wiki.example/it")
    await Ledger(sqlite_in(tmp_path), made.tenant).note_folder("IT", entry)
    async with teams.serving():
        yield made


def write_many(pages: Path, many: int = MANY) -> None:
    for number in range(many):
        text = f"# Page {number}\n\n" + f"Line {number} says what is done on day {number}. " * 40
        (pages / f"p{number:03}.md").write_text(text, encoding="utf-8")


async def shows(teams: FakeTeams, words: str, where: str = HELP) -> Sent:
    def found() -> list[Sent]:
        return [post for post in teams.posts_in(where) if words in post.shown]

    await wait_until(found)
    return found()[-1]


async def test_from_the_order_to_the_final_card(local: FakeTeams, tmp_path: Path) -> None:
    async with serving(local, tmp_path) as settings:
        (tmp_path / "pages" / "new.md").write_text("# New\n\nSomething new.\n", encoding="utf-8")
        async with serving_application(settings) as client:
            await Visitor(local, client).say(HELP, "reindex it")
            card = await shows(local, "Reindexing IT: done")

    assert f"1 added, {len(PAGES)} changed" in card.shown
    assert card.labels == []
    assert "I'm reindexing IT" in card.text, "and the card is below it"


async def test_a_run_goes_on_in_the_same_card_after_the_server_was_stopped(
    local: FakeTeams, tmp_path: Path
) -> None:
    async with serving(local, tmp_path) as settings:
        write_many(tmp_path / "pages", SOME)
        async with serving_application(settings) as client:
            await Visitor(local, client).say(HELP, "reindex IT")
            begun = await shows(local, "Reindexing IT")
            assert begun.labels == ["Cancel"]
        async with serving_application(settings):
            card = await shows(local, "Reindexing IT: done")

    assert card.id == begun.id
    assert "It was interrupted and resumed; the figures count from then" in card.shown
    assert len([post for post in local.posts_in(HELP) if post.cards]) == 1


async def test_cancel_stops_the_run_and_the_card_says_so(local: FakeTeams, tmp_path: Path) -> None:
    chat = chat_of(ALICE)
    async with serving(local, tmp_path) as settings:
        write_many(tmp_path / "pages")
        async with serving_application(settings) as client:
            alice = Visitor(local, client)
            await alice.say(chat, "reindex all")
            begun = await shows(local, "Reindexing all spaces", chat)
            await alice.press(begun, "Cancel")
            card = await shows(local, "cancelled", chat)

    assert "Stopping the run for" in alice.told[-1]
    assert card.id == begun.id
    assert card.labels == []


@pytest.mark.parametrize(
    ("person", "said"),
    [(BOB, "Only Frontdesk"), (GUEST, "Only colleagues can do this.")],
)
async def test_who_may_not_order_stops_no_run(
    teams: FakeTeams,
    client: BotTestClient,
    shelf: MemoryDocuments,
    alice: Visitor,
    person: str,
    said: str,
) -> None:
    card = await carded(teams, alice)
    teams.conversations[HELP].members.add(GUEST)
    other = Visitor(teams, client, person)

    await other.press(card, "Cancel")

    assert said in other.told[-1]
    assert shelf.runs[0].active


async def test_a_press_on_a_run_that_is_over_is_told_so(
    teams: FakeTeams, alice: Visitor, shelf: MemoryDocuments, store: Store
) -> None:
    card = await carded(teams, alice)
    shelf.runs.clear()
    await alice.press(card, "Cancel")

    assert "This run has already ended" in alice.told[-1]
    acts = [each.act for each in await store.audits.newest("acme", 9)]
    assert acts == ["reindex"]


async def carded(teams: FakeTeams, alice: Visitor) -> Sent:
    """Order a run; return its card, which stays as it is for some seconds."""
    await alice.say(HELP, "reindex HR")
    await wait_until(lambda: [post for post in teams.posts_in(HELP) if post.labels == ["Cancel"]])
    return next(post for post in teams.posts_in(HELP) if post.cards)
