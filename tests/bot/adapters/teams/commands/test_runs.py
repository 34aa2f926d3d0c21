"""A run's card: one, edited now and then, to the end, whatever happens."""

from __future__ import annotations

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.platforms.teams.channel import TeamsChannel
from bot.store.database import Store
from tests.bot.adapters.teams.commands.stage import FAILED, Stage, hurried
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.conversations import chat_of
from tests.bot.adapters.teams.tenant.faults import Fault
from tests.bot.adapters.teams.tenant.names import ALICE, CAROL, GUESTS, HELP, OUTSIDE_GROUP, SHARED
from tests.bot.house import until
from tests.bot.orders.fakes import RUNNING
from tests.bot.shelves import RUN

CHAT = chat_of(ALICE)
MAYBE_TWICE = "orders.run_may_be_shown_twice"


@pytest.fixture
async def stage(teams: FakeTeams, channel: TeamsChannel, store: Store) -> Stage:
    return Stage(teams, channel, store)


async def test_one_card_shows_a_run_from_its_beginning_to_its_end(stage: Stage) -> None:
    async with stage.process() as followers:
        await stage.order(followers)
        begun = await stage.shows("1 of 4 pages")
        assert begun.labels == ["Cancel"]
        assert "25 %" in begun.shown
        assert "Ordered by Alice" in begun.shown
        stage.goes(pages=3)
        await stage.shows("3 of 4 pages")
        stage.ends()
        await stage.shows("Reindexing HR: done")
        await stage.is_over()
        calls = len(stage.teams.calls)
        await hurried(30)

    (post,) = stage.teams.posts_in(HELP)
    assert post.labels == []
    assert "3 changed, 1 page unchanged" in post.shown
    assert post.thread == begun.thread == "1"
    assert len(stage.teams.calls) == calls, "nothing is edited after the end"
    assert stage.elsewhere == []


async def test_a_run_that_is_over_at_once_is_told_once(stage: Stage) -> None:
    stage.ends()
    async with stage.process() as followers:
        await stage.order(followers)
        await stage.is_over()

    assert stage.teams.calls.count("message") == 1
    assert stage.teams.calls.count("update") == 0


@pytest.mark.parametrize("place", [GUESTS, SHARED, OUTSIDE_GROUP])
async def test_where_others_read_along_it_is_shown_directly(stage: Stage, place: str) -> None:
    async with stage.process() as followers:
        await stage.order(followers, place)
        await stage.shows("1 of 4 pages", CHAT)
        stage.ends()
        await stage.shows("done", CHAT)
        await stage.is_over()

    assert stage.teams.posts_in(place) == []
    assert len(stage.teams.posts_in(CHAT)) == 1
    assert stage.elsewhere == ["directly"]


async def test_where_others_read_along_who_has_not_added_the_app_is_told_that_once(
    stage: Stage,
) -> None:
    async with stage.process() as followers:
        await stage.order(followers, GUESTS, by=CAROL)
        for page in range(2, 5):
            stage.goes(pages=page)
            await hurried(4)

    assert stage.teams.messages == []
    assert stage.elsewhere == ["nowhere"]


async def test_a_channel_reads_how_many_pages_failed_but_not_which(stage: Stage) -> None:
    stage.ends(FAILED)
    async with stage.process() as followers:
        await stage.order(followers)
        post = await stage.shows("1 problem")
        await stage.is_over()

    assert "Salaries" not in str(post.activity)
    assert "in a chat with me alone" in post.shown


async def test_who_ordered_reads_in_a_chat_which_pages_failed_and_nothing_in_it_is_live(
    stage: Stage,
) -> None:
    stage.ends(replace(FAILED, page="<at>all</at> *Pay* [x](https://evil.example)"))
    async with stage.process() as followers:
        await stage.order(followers, CHAT)
        post = await stage.shows("1 problem", CHAT)
        await stage.is_over()

    assert "it is damaged. Save it again." in post.shown
    for live in ("<at", "](http", "//evil.example"):
        assert live not in post.shown
    assert stage.elsewhere == []


async def test_a_card_of_which_teams_did_not_say_where_it_is_is_posted_once_more_and_logged(
    stage: Stage,
) -> None:
    stage.teams.fail(Fault(502, after=True))
    with capture_logs() as logged:
        async with stage.process() as followers:
            await stage.order(followers)
            await until(lambda: stage.teams.posts_in(HELP))
            stage.goes(pages=2)
            await stage.shows("2 of 4 pages")
            stage.ends()
            await stage.shows("done")
            await stage.is_over()

    assert len(stage.teams.posts_in(HELP)) == 2
    assert [each["event"] for each in logged].count(MAYBE_TWICE) == 1


async def test_in_doubt_for_long_nothing_more_is_posted_until_the_end(stage: Stage) -> None:
    stage.teams.fail(*[Fault(502, after=True)] * 2)
    async with stage.process() as followers:
        await stage.order(followers)
        for page in range(2, 5):
            stage.goes(pages=page)
            await hurried(4)
        assert stage.teams.calls.count("message") == 2
        stage.ends()
        await stage.shows("done")
        await stage.is_over()

    assert len(stage.teams.posts_in(HELP)) == 3


async def test_what_teams_certainly_did_not_take_leaves_no_doubt(stage: Stage) -> None:
    stage.teams.fail(*[Fault(429, retry_after="3")] * 4)
    with capture_logs() as logged:
        async with stage.process() as followers:
            await stage.order(followers)
            for page in range(2, 5):
                stage.goes(pages=page)
                await hurried(3)
            stage.ends()
            await stage.shows("done")
            await stage.is_over()

    assert len(stage.teams.posts_in(HELP)) == 1
    assert MAYBE_TWICE not in [each["event"] for each in logged]


async def test_an_edit_that_fails_is_left_out_but_the_end_comes(stage: Stage) -> None:
    async with stage.process() as followers:
        await stage.order(followers)
        await stage.shows("1 of 4 pages")
        stage.teams.fail(*[Fault(503)] * 3, call="update")
        stage.ends()
        await stage.shows("done")
        await stage.is_over()

    assert len(stage.teams.posts_in(HELP)) == 1


async def test_the_end_is_told_directly_when_the_card_was_deleted(stage: Stage) -> None:
    async with stage.process() as followers:
        await stage.order(followers)
        post = await stage.shows("1 of 4 pages")
        del stage.teams.visible[post.id]
        stage.ends(FAILED)
        told = await stage.shows("done", CHAT)
        await stage.is_over()

    assert "Salaries of the board" in told.shown
    assert stage.teams.posts_in(HELP) == []


async def test_what_a_stopping_server_leaves_the_next_goes_on_with(stage: Stage) -> None:
    async with stage.process("a") as followers:
        await stage.order(followers)
        await stage.shows("1 of 4 pages")
        await stage.is_noted()
    assert (await stage.noted()).owner == ""
    async with stage.process("b"):
        stage.goes(pages=2)
        await stage.shows("2 of 4 pages")
        stage.ends()
        await stage.shows("done")
        await stage.is_over()

    assert len(stage.teams.posts_in(HELP)) == 1


async def test_what_a_killed_server_left_its_next_start_goes_on_with_at_once(stage: Stage) -> None:
    async with stage.process() as followers:
        await stage.order(followers)
        await stage.shows("1 of 4 pages")
        await stage.is_noted()
        left = await stage.noted()
    await stage.notes().keep(left)
    stage.shelf.runs = [
        replace(RUNNING, state="interrupted", resumed_as=("r2",)),
        replace(RUNNING, id="r2", pages=3),
    ]
    async with stage.process():
        post = await stage.shows("3 of 4 pages")
        assert "It was interrupted and went on" in post.shown
        stage.shelf.runs[1] = replace(RUN, id="r2", changed=2)
        await stage.shows("done")
        await stage.is_over()

    assert len(stage.teams.posts_in(HELP)) == 1


async def test_a_server_killed_between_posting_and_noting_leaves_one_orphan_at_most(
    stage: Stage,
) -> None:
    async with stage.process() as followers:
        await stage.order(followers)
        await stage.shows("1 of 4 pages")
        await stage.is_noted()
        left = await stage.noted()
    await stage.notes().keep(replace(left, posted="", tries=1))
    stage.ends()
    with capture_logs() as logged:
        async with stage.process():
            await stage.shows("done")
            await stage.is_over()

    assert len(stage.teams.posts_in(HELP)) == 2
    assert [each["event"] for each in logged].count(MAYBE_TWICE) == 1


async def test_a_server_killed_before_posting_leaves_no_doubt(stage: Stage) -> None:
    async with stage.process() as followers:
        await stage.order(followers)
        post = await stage.shows("1 of 4 pages")
        left = await stage.noted()
    del stage.teams.visible[post.id]
    await stage.notes().keep(replace(left, posted="", tries=0))
    with capture_logs() as logged:
        async with stage.process():
            await stage.shows("1 of 4 pages")
            stage.ends()
            await stage.is_over()

    assert MAYBE_TWICE not in [each["event"] for each in logged]
