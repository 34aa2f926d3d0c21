"""Test the message that follows a reindex run: its content, its edits, and who goes on with it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import SILENT_SECONDS
from bot.chat.commands.run_message import Screen
from bot.chat.commands.run_status import RunStatus
from bot.domain.messages import Platform
from bot.platforms.slack import mount
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.reindex_runs import RunMessages, run_message
from bot.platforms.slack.rendering import blocks_of
from bot.platforms.slack.slash_commands import plain_message
from bot.store.database import Store, prepare, sqlite_url, unopened
from ingestion.records.types import Failure
from tests.fakes.chat_commands import RUNNING
from tests.fakes.chat_context import RUN, MemoryDocuments, chat_context_over
from tests.fakes.desk import KeepingInbox
from tests.fakes.http_server import wait_until
from tests.fakes.scenarios import FAILED, RunOnPlatform, clock, hurried
from tests.fakes.slack.blocks import BLOCK_TYPES, refusal
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import ALICE, DIRECT, ELSEWHERE, HELP, SECRET_ROOM, SHARED
from tests.fakes.slack.posts import Post
from tests.fakes.slack.server import FakeSlack

EVIL = "<!channel> <@U0CEO0000> <https://evil.example|x> &lt;!here&gt; ```*_~ > & "
LIVE = re.compile(r"<(?!@U0ALICE00>)")
names = st.text(max_size=400) | st.just(EVIL * 8)
troubles = st.builds(Failure, names, names, names, names, st.booleans())
runs = st.builds(
    RunStatus,
    run_id=st.just("r1"),
    state=st.sampled_from(["waiting", "running", "done", "failed", "cancelled", "interrupted"]),
    space=st.none() | names,
    at_space=names,
    pages=st.integers(0, 9),
    total=st.integers(0, 9),
    failed=st.integers(0, 10**6),
    troubles=st.lists(troubles, max_size=5).map(tuple),
    note=names,
    ended=st.booleans(),
)


@given(told=runs, alone=st.booleans())
def test_whatever_it_tells_slack_takes_it_and_nothing_is_live(told: RunStatus, alone: bool) -> None:  # noqa: FBT001
    for form in run_message(told, user=ALICE, alone=alone):
        shown = {"text": form.text, "blocks": blocks_of(form) or []}
        assert refusal(shown, BLOCK_TYPES) == ""
        assert len(form.text) <= 4_000
        assert not LIVE.search(str(shown))


@given(st.text(max_size=500) | st.just(EVIL * 300))
def test_whatever_is_said_of_an_order_slack_takes_it_and_nothing_is_live(text: str) -> None:
    form = plain_message(text)
    shown = {"text": form.text or "x", "blocks": blocks_of(form) or []}
    assert refusal(shown, BLOCK_TYPES) == ""
    assert not LIVE.search(str(shown))


@pytest.mark.parametrize("ended", [True, False])
def test_it_can_be_cancelled_until_its_end(*, ended: bool) -> None:
    told = replace(RunStatus(run_id="r1", state="running"), ended=ended)
    kinds = [block["type"] for block in run_message(told, user=ALICE, alone=False)[0].blocks]
    assert ("actions" in kinds) is not ended


def test_who_ordered_is_named_where_others_read_it() -> None:
    told = RunStatus(run_id="r1", state="running")
    for alone in (True, False):
        shown = str(run_message(told, user=ALICE, alone=alone)[0].blocks)
        assert (f"<@{ALICE}>" in shown) is not alone


@dataclass
class RunScenario(RunOnPlatform):
    """One run, and the processes that may show it in the workspace."""

    slack: FakeSlack
    channel: SlackChannel
    store: Store
    shelf: MemoryDocuments = field(default_factory=lambda: MemoryDocuments(RUNNING))
    elsewhere: int = 0
    platform: Platform = "slack"

    @property
    def screen(self) -> Screen:
        return RunMessages(self.channel.client, self.channel, tenant="acme")

    async def order(self, followers: RunFollowers, channel: str = HELP) -> None:
        await followers.begin("r1", user=ALICE, channel=channel, elsewhere=self.gone_elsewhere)

    def gone_elsewhere(self, where: str) -> None:
        self.elsewhere += where == "directly"

    def posts(self, channel: str = HELP) -> list[Post]:
        return self.slack.answers(channel)

    async def shows(self, words: str, channel: str = HELP) -> Post:
        """Wait until a message shows something; return it."""
        await wait_until(lambda: [post for post in self.posts(channel) if words in post.shown])
        return next(post for post in self.posts(channel) if words in post.shown)

    async def is_taken_by(self, owner: str) -> None:
        """Let a process take the run over, also if its owner was just writing a heartbeat."""
        for _ in range(5):
            if (await self.noted()).owner != owner:
                await self.notes(owner).keep(await self.noted())
            await hurried(1)


@pytest.fixture
async def scenario(slack: FakeSlack, channel: SlackChannel, store: Store) -> RunScenario:
    slack.now = clock
    return RunScenario(slack, channel, store)


async def test_one_message_shows_a_run_from_its_beginning_to_its_end(scenario: RunScenario) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        begun = await scenario.shows("1 of 4 pages")
        assert begun.labels == ["Cancel"]
        assert f"<@{ALICE}>" in begun.raw
        scenario.goes(pages=3)
        await scenario.shows("3 of 4 pages")
        scenario.ends()
        await scenario.shows("Reindexing HR: done")
        await scenario.is_over()

    (post,) = scenario.posts()
    assert post.labels == []
    assert "3 changed, 1 page unchanged" in post.shown
    assert scenario.elsewhere == 0


async def test_it_is_changed_every_two_seconds_at_most_and_never_after_its_end(
    scenario: RunScenario,
) -> None:
    async with scenario.process() as followers:
        scenario.goes(state="waiting")
        await scenario.order(followers)
        await scenario.shows("queued")
        for page in range(1, 4):
            scenario.goes(state="running", pages=page)
            await scenario.shows(f"{page} of 4 pages")
        scenario.ends()
        await scenario.shows("done")
        calls = len(scenario.slack.requests)
        await hurried(30)

    at = [each.at for each in scenario.slack.requests if each.method.startswith("chat.")]
    assert len(at) >= 5
    assert all(later - earlier >= 2.0 for earlier, later in pairwise(at))
    assert len(scenario.slack.requests) == calls


async def test_a_run_that_is_over_at_once_is_told_once(scenario: RunScenario) -> None:
    scenario.ends()
    async with scenario.process() as followers:
        await scenario.order(followers)
        await scenario.is_over()

    (post,) = scenario.posts()
    assert post.edited is None
    assert post.labels == []


@pytest.mark.parametrize("place", [ELSEWHERE, SHARED, "D0OTHERS0"])
async def test_where_the_bot_is_not_or_others_read_along_it_is_shown_directly(
    scenario: RunScenario, place: str
) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers, place)
        await scenario.shows("1 of 4 pages", DIRECT)
        scenario.ends()
        await scenario.shows("done", DIRECT)
        await scenario.is_over()

    assert scenario.posts(place) == []
    assert len(scenario.posts(DIRECT)) == 1
    assert scenario.elsewhere == 1


@pytest.mark.parametrize("place", [HELP, SECRET_ROOM])
async def test_a_channel_reads_how_many_pages_failed_but_not_which(
    scenario: RunScenario, place: str
) -> None:
    scenario.ends(FAILED)
    async with scenario.process() as followers:
        await scenario.order(followers, place)
        post = await scenario.shows("1 problem", place)
        await scenario.is_over()

    assert "Salaries" not in post.raw + str(post.payload)


async def test_who_ordered_reads_directly_which_pages_failed_and_why(scenario: RunScenario) -> None:
    scenario.ends(replace(FAILED, page="<!channel> *Pay* <https://evil.example|x>"))
    async with scenario.process() as followers:
        await scenario.order(followers, DIRECT)
        post = await scenario.shows("1 problem", DIRECT)
        await scenario.is_over()

    assert "it is damaged. Save it again." in post.shown
    assert "&lt;!channel&gt;" in post.raw
    assert scenario.elsewhere == 0


async def test_a_message_that_slack_took_without_saying_so_is_not_posted_twice(
    scenario: RunScenario,
) -> None:
    scenario.slack.fail("chat.postMessage", Fault(status=500, after=True))
    async with scenario.process() as followers:
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
        scenario.ends()
        await scenario.shows("done")
        await scenario.is_over()

    assert len(scenario.posts()) == 1


async def test_an_edit_that_fails_is_left_out_but_the_end_comes(scenario: RunScenario) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
        scenario.slack.fail("chat.update", *[Fault(status=503)] * 3)
        scenario.ends()
        await scenario.shows("done")
        await scenario.is_over()

    assert len(scenario.posts()) == 1


async def test_the_end_is_told_directly_when_the_message_was_deleted(scenario: RunScenario) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        scenario.slack.posts.remove(await scenario.shows("1 of 4 pages"))
        scenario.goes(pages=2)
        await wait_until(lambda: "chat.update" in scenario.slack.calls)
        scenario.ends(FAILED)
        post = await scenario.shows("done", DIRECT)
        await scenario.is_over()

    assert "Salaries of the board" in post.shown
    assert scenario.posts() == []


async def test_what_a_stopping_server_leaves_the_next_goes_on_with(scenario: RunScenario) -> None:
    async with scenario.process("a") as followers:
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
    assert (await scenario.noted()).owner == ""
    async with scenario.process("b"):
        scenario.goes(pages=2)
        await scenario.shows("2 of 4 pages")
        scenario.ends()
        await scenario.shows("done")
        await scenario.is_over()

    assert len(scenario.posts()) == 1


async def test_what_a_killed_server_left_its_next_start_goes_on_with_at_once(
    scenario: RunScenario,
) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
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

    assert len(scenario.posts()) == 1


async def test_a_server_killed_after_posting_leaves_no_second_message(
    scenario: RunScenario,
) -> None:
    async with scenario.process() as followers:
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
        left = await scenario.noted()
    await scenario.notes().keep(replace(left, posted=""))
    scenario.ends()
    async with scenario.process():
        await scenario.shows("done")
        await scenario.is_over()

    assert len(scenario.posts()) == 1


async def test_of_two_servers_only_one_shows_a_run(scenario: RunScenario) -> None:
    async with scenario.process("a") as followers, scenario.process("b"):
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
        await hurried(2 * SILENT_SECONDS)
        assert (await scenario.noted()).owner == "a"
        scenario.ends()
        await scenario.shows("done")
        await scenario.is_over()
        edits = scenario.slack.calls.count("chat.update")

    assert len(scenario.posts()) == 1
    assert edits == 1


async def test_a_server_that_was_only_slow_shows_nothing_once_another_has_taken_over(
    scenario: RunScenario,
) -> None:
    async with scenario.process("a") as followers:
        await scenario.order(followers)
        await scenario.shows("1 of 4 pages")
        await scenario.is_taken_by("b")
        scenario.goes(pages=3)
        await hurried(10)
        scenario.ends()
        await hurried(10)

    (post,) = scenario.posts()
    assert "1 of 4 pages" in post.shown
    assert (await scenario.noted()).owner == "b", "it was not released by whom it is not"


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
    mount(app, channel, chat_context_over(record, KeepingInbox(), tenant="acme"))
    app.cleanup_ctx.append(opens)
    with capture_logs() as logged:
        async with TestClient(TestServer(app, host="127.0.0.1")):
            await asyncio.sleep(0.1)
    assert not [each for each in logged if each["event"].startswith("orders.runs_left")]
