"""A run's message: one, edited now and then, to the end, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from structlog.testing import capture_logs

from bot.chat.commands.run_leases import SILENT_SECONDS
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.transport.http import mount
from bot.store.database import Store, prepare, sqlite_url, unopened
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.slack.following import FAILED, Theatre, clock, hurried
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.names import (
    ALICE,
    DIRECT,
    ELSEWHERE,
    HELP,
    SECRET_ROOM,
    SHARED,
)
from tests.bot.house import until
from tests.bot.offices import office_over
from tests.bot.orders.fakes import RUNNING
from tests.bot.shelves import RUN


@pytest.fixture
async def theatre(slack: FakeSlack, channel: SlackChannel, store: Store) -> Theatre:
    slack.now = clock
    return Theatre(slack, channel, store)


async def test_one_message_shows_a_run_from_its_beginning_to_its_end(theatre: Theatre) -> None:
    async with theatre.process() as followers:
        await theatre.order(followers)
        begun = await theatre.shows("1 of 4 pages")
        assert begun.labels == ["Cancel"]
        assert f"<@{ALICE}>" in begun.raw
        theatre.goes(pages=3)
        await theatre.shows("3 of 4 pages")
        theatre.ends()
        await theatre.shows("Reindexing HR: done")
        await theatre.is_over()

    (post,) = theatre.posts()
    assert post.labels == []
    assert "3 changed, 1 page unchanged" in post.shown
    assert theatre.elsewhere == 0


async def test_it_is_changed_every_two_seconds_at_most_and_never_after_its_end(
    theatre: Theatre,
) -> None:
    async with theatre.process() as followers:
        theatre.goes(state="waiting")
        await theatre.order(followers)
        await theatre.shows("waiting for its turn")
        for page in range(1, 4):
            theatre.goes(state="running", pages=page)
            await theatre.shows(f"{page} of 4 pages")
        theatre.ends()
        await theatre.shows("done")
        calls = len(theatre.slack.requests)
        await hurried(30)

    at = [each.at for each in theatre.slack.requests if each.method.startswith("chat.")]
    assert len(at) >= 5
    assert all(later - earlier >= 2.0 for earlier, later in pairwise(at))
    assert len(theatre.slack.requests) == calls


async def test_a_run_that_is_over_at_once_is_told_once(theatre: Theatre) -> None:
    theatre.ends()
    async with theatre.process() as followers:
        await theatre.order(followers)
        await theatre.is_over()

    (post,) = theatre.posts()
    assert post.edited is None
    assert post.labels == []


@pytest.mark.parametrize("place", [ELSEWHERE, SHARED, "D0OTHERS0"])
async def test_where_the_bot_is_not_or_others_read_along_it_is_shown_directly(
    theatre: Theatre, place: str
) -> None:
    async with theatre.process() as followers:
        await theatre.order(followers, place)
        await theatre.shows("1 of 4 pages", DIRECT)
        theatre.ends()
        await theatre.shows("done", DIRECT)
        await theatre.is_over()

    assert theatre.posts(place) == []
    assert len(theatre.posts(DIRECT)) == 1
    assert theatre.elsewhere == 1


@pytest.mark.parametrize("place", [HELP, SECRET_ROOM])
async def test_a_channel_reads_how_many_pages_failed_but_not_which(
    theatre: Theatre, place: str
) -> None:
    theatre.ends(FAILED)
    async with theatre.process() as followers:
        await theatre.order(followers, place)
        post = await theatre.shows("1 problem", place)
        await theatre.is_over()

    assert "Salaries" not in post.raw + str(post.payload)


async def test_who_ordered_reads_directly_which_pages_failed_and_why(theatre: Theatre) -> None:
    theatre.ends(replace(FAILED, page="<!channel> *Pay* <https://evil.example|x>"))
    async with theatre.process() as followers:
        await theatre.order(followers, DIRECT)
        post = await theatre.shows("1 problem", DIRECT)
        await theatre.is_over()

    assert "it is damaged. Save it again." in post.shown
    assert "&lt;!channel&gt;" in post.raw
    assert theatre.elsewhere == 0


async def test_a_message_that_slack_took_without_saying_so_is_not_posted_twice(
    theatre: Theatre,
) -> None:
    theatre.slack.fail("chat.postMessage", Fault(status=500, after=True))
    async with theatre.process() as followers:
        await theatre.order(followers)
        await theatre.shows("1 of 4 pages")
        theatre.ends()
        await theatre.shows("done")
        await theatre.is_over()

    assert len(theatre.posts()) == 1


async def test_an_edit_that_fails_is_left_out_but_the_end_comes(theatre: Theatre) -> None:
    async with theatre.process() as followers:
        await theatre.order(followers)
        await theatre.shows("1 of 4 pages")
        theatre.slack.fail("chat.update", *[Fault(status=503)] * 3)
        theatre.ends()
        await theatre.shows("done")
        await theatre.is_over()

    assert len(theatre.posts()) == 1


async def test_the_end_is_told_directly_when_the_message_was_deleted(theatre: Theatre) -> None:
    async with theatre.process() as followers:
        await theatre.order(followers)
        theatre.slack.posts.remove(await theatre.shows("1 of 4 pages"))
        theatre.goes(pages=2)
        await until(lambda: "chat.update" in theatre.slack.calls)
        theatre.ends(FAILED)
        post = await theatre.shows("done", DIRECT)
        await theatre.is_over()

    assert "Salaries of the board" in post.shown
    assert theatre.posts() == []


async def test_what_a_stopping_server_leaves_the_next_goes_on_with(theatre: Theatre) -> None:
    async with theatre.process("a") as followers:
        await theatre.order(followers)
        await theatre.shows("1 of 4 pages")
    assert (await theatre.noted()).owner == ""
    async with theatre.process("b"):
        theatre.goes(pages=2)
        await theatre.shows("2 of 4 pages")
        theatre.ends()
        await theatre.shows("done")
        await theatre.is_over()

    assert len(theatre.posts()) == 1


async def test_what_a_killed_server_left_its_next_start_goes_on_with_at_once(
    theatre: Theatre,
) -> None:
    async with theatre.process() as followers:
        await theatre.order(followers)
        await theatre.shows("1 of 4 pages")
        left = await theatre.noted()
    await theatre.notes().keep(left)
    theatre.shelf.runs = [
        replace(RUNNING, state="interrupted", resumed_as=("r2",)),
        replace(RUNNING, id="r2", pages=3),
    ]
    async with theatre.process():
        post = await theatre.shows("3 of 4 pages")
        assert "It was interrupted and went on" in post.shown
        theatre.shelf.runs[1] = replace(RUN, id="r2", changed=2)
        await theatre.shows("done")
        await theatre.is_over()

    assert len(theatre.posts()) == 1


async def test_a_server_killed_after_posting_leaves_no_second_message(theatre: Theatre) -> None:
    async with theatre.process() as followers:
        await theatre.order(followers)
        await theatre.shows("1 of 4 pages")
        left = await theatre.noted()
    await theatre.notes().keep(replace(left, posted=""))
    theatre.ends()
    async with theatre.process():
        await theatre.shows("done")
        await theatre.is_over()

    assert len(theatre.posts()) == 1


async def test_of_two_servers_only_one_shows_a_run(theatre: Theatre) -> None:
    async with theatre.process("a") as followers, theatre.process("b"):
        await theatre.order(followers)
        await theatre.shows("1 of 4 pages")
        await hurried(2 * SILENT_SECONDS)
        assert (await theatre.noted()).owner == "a"
        theatre.ends()
        await theatre.shows("done")
        await theatre.is_over()
        edits = theatre.slack.calls.count("chat.update")

    assert len(theatre.posts()) == 1
    assert edits == 1


async def test_a_server_that_was_only_slow_shows_nothing_once_another_has_taken_over(
    theatre: Theatre,
) -> None:
    async with theatre.process("a") as followers:
        await theatre.order(followers)
        await theatre.shows("1 of 4 pages")
        await theatre.notes("b").keep(await theatre.noted())
        theatre.goes(pages=3)
        await hurried(10)
        theatre.ends()
        await hurried(10)

    (post,) = theatre.posts()
    assert "1 of 4 pages" in post.shown
    assert (await theatre.noted()).owner == "b", "it was not released by whom it is not"


async def test_what_is_left_is_looked_for_once_the_record_is_open(
    channel: SlackChannel, tmp_path: Path
) -> None:
    url = sqlite_url(tmp_path)
    record = unopened(url)

    async def opens(_: web.Application) -> AsyncIterator[None]:
        await asyncio.sleep(0.1)
        await prepare(url)
        yield
        await record.close()

    app = web.Application()
    mount(app, channel, office_over(record, KeepingInbox(), tenant="acme"))
    app.cleanup_ctx.append(opens)
    with capture_logs() as logged:
        async with TestClient(TestServer(app, host="127.0.0.1")):
            await asyncio.sleep(0.1)
    assert not [each for each in logged if each["event"].startswith("orders.runs_left")]
