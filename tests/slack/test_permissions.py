"""A thousand generated questions on Slack: nothing shows to those who may not read it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from bot.domain.settings import Settings
from bot.platforms.slack.payloads import actions
from tests.bot.adapters.slack.events import SECRET
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.names import TEAM, TOKEN
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.house import Client, until
from tests.bot.server import settings_for
from tests.whole.application import over_marked_pages
from tests.whole.pages import ALICES, BOBS, SPACES, cases, each_page, readable, shown

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unpaced")]

CASES = 1_000
AT_ONCE = 16
SEED = 20261122
CURIOUS_EACH = 5
ENOUGH = 5
SOME = 10
_GLANCE_SECONDS = 0.05

PERSONS = (names.ALICE, names.BOB, names.ANNA, names.GUEST, names.STRANGER)
ROOMS = (names.HELP, names.SECRET_ROOM, names.SHARED, "direct")
_OWN = {names.ALICE: ALICES, names.BOB: BOBS}
"""The only two who may read more than everyone: a guest's or stranger's address opens nothing."""

OUTSIDERS = (names.GUEST, names.STRANGER)
OPEN = ("FAQ",)
"""What outsiders are answered from, and colleagues where another company reads along."""


def settings_of(slack: FakeSlack, tmp_path: Path) -> Settings:
    return settings_for(
        tmp_path,
        slack_bot_token=TOKEN,
        slack_signing_secret=SECRET,
        slack_api_url=slack.url,
        slack_team_id=TEAM,
        slack_escalation_channel=names.PEOPLE,
        rate_per_user_per_minute=0,
        rate_per_channel_per_minute=0,
        slack_outsider_spaces=OPEN,
    )


@pytest.fixture
async def client(slack: FakeSlack, tmp_path: Path) -> AsyncIterator[Client]:
    async with over_marked_pages(settings_of(slack, tmp_path)) as served:
        yield served


async def ask(
    slack: FakeSlack, client: Client, case: tuple[str, str, str], *, curious: bool
) -> None:
    """Ask; who is ``curious`` asks why as well, and so does a guest who reads along."""
    person, room, text = case
    asker = Visitor(slack, client, person)
    channel = asker.direct if room == "direct" else room
    ts = await asker.say(channel, text, mention=room != "direct")
    async with asyncio.timeout(30):
        while not (said := slack.answers(channel, ts)):  # noqa: ASYNC110 - as until, but seldom
            await asyncio.sleep(_GLANCE_SECONDS)
    if not curious:
        return
    answer = said[-1]
    await pressed(asker, answer, actions.WHY)
    if room != "direct":
        await pressed(Visitor(slack, client, names.GUEST), answer, actions.WHY)


async def pressed(by: Visitor, post: Post, name: str) -> None:
    with suppress(AssertionError):
        await by.click(post, name)


async def test_nothing_shows_to_those_who_may_not_read_it(slack: FakeSlack, client: Client) -> None:
    few = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, case: tuple[str, str, str]) -> None:
        async with few:
            await ask(slack, client, case, curious=number % CURIOUS_EACH == 0)

    drawn = cases(CASES, SEED, persons=PERSONS, rooms=ROOMS)
    asked = [*drawn, *each_page((names.ALICE, names.BOB), "direct")]
    await asyncio.gather(*itertools.starmap(one, enumerate(asked)))
    offers = [post for post in slack.posts if post.only_for and "more that you" in post.shown]
    for offer in offers:
        assert offer.only_for is not None
        await pressed(Visitor(slack, client, offer.only_for), offer, actions.MORE)
    fuller = len(offers)
    await until(lambda: sum(bool(p.only_for) for p in slack.posts) >= 2 * fuller, seconds=30)

    seen: dict[str, set[int]] = {}
    for post in slack.posts:
        if post.by_bot:
            person = audience(post)
            told = shown(json.dumps(post.payload))
            assert told <= may_see(slack, post), (person, post.payload)
            seen.setdefault(person, set()).update(told)
    for view in slack.open_views:
        spaces = OPEN if view.user in OUTSIDERS else SPACES
        told = shown(json.dumps(view.payload))
        assert told <= readable(_OWN.get(view.user, ""), spaces)
    assert fuller > 20
    for outsider in OUTSIDERS:
        assert seen[outsider] == readable("", OPEN), "all that is open to them"
    assert seen[""] == readable("")
    assert seen[names.ALICE] == readable(ALICES), "each may read all that is theirs"
    assert seen[names.BOB] == readable(BOBS)
    assert Counter(view.user for view in slack.open_views)[names.GUEST] > ENOUGH


@pytest.mark.mended(id="slack-2")
async def test_by_default_outsiders_are_shown_no_page(slack: FakeSlack, tmp_path: Path) -> None:
    closed = settings_of(slack, tmp_path).model_copy(update={"slack_outsider_spaces": ()})
    asked = [
        *cases(SOME, SEED, persons=OUTSIDERS, rooms=("direct", names.HELP)),
        *cases(SOME, SEED, persons=(names.ALICE,), rooms=(names.SHARED,)),
    ]
    async with over_marked_pages(closed) as client:
        for person, room, text in asked:
            asker = Visitor(slack, client, person)
            channel = asker.direct if room == "direct" else room
            await asker.say(channel, text, mention=room != "direct")
        told = {(person, room) for person, room, _ in asked}
        await until(lambda: len([post for post in slack.posts if post.by_bot]) >= len(told))

    posts = [post for post in slack.posts if post.by_bot]
    assert not any(shown(json.dumps(post.payload)) for post in posts)
    assert slack.in_channel(names.PEOPLE) == []


def may_see(slack: FakeSlack, post: Post) -> frozenset[int]:
    """Return the pages that may stand in a message: its readers', or what its asker may ask for."""
    person = audience(post)
    there = slack.in_channel(post.channel)
    asked = next((each.user for each in there if each.ts == post.thread_ts), "")
    outside = post.channel == names.SHARED or {person, asked} & set(OUTSIDERS)
    return readable(_OWN.get(person, ""), OPEN if outside else SPACES)


def audience(post: Post) -> str:
    """Return who alone sees a message, "" for a whole channel."""
    if post.only_for:
        return post.only_for
    if post.channel.startswith("D"):
        return f"U{post.channel[1:]}"
    return ""
