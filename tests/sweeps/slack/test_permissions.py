"""Test with generated questions that nothing shows to those who may not read it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.domain.settings import Settings
from bot.platforms.slack.payloads import actions
from tests.fakes.applications import slack_settings
from tests.fakes.http_server import Client, settings_for, wait_until
from tests.fakes.marked_pages import (
    ALICES,
    BOBS,
    SPACES,
    marked_pages_app,
    pages_for,
    pages_in,
    questions_about_each_page,
    random_questions,
)
from tests.fakes.slack import names
from tests.fakes.slack.posts import Post
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor
from tests.sweeps.sizes import sizes

pytestmark = pytest.mark.attack

AT_ONCE = 16
SEED = 20261122
SOME = 10


@dataclass(frozen=True)
class Size:
    """How many questions are drawn, and of how many about each page one is asked as well.

    Of so many, one asks why. At least ``fuller`` are offered more in private, and ``enough`` why's
    of a guest are answered, so that leaks would have been possible. ``complete``: everybody is
    shown all that is theirs.
    """

    cases: int
    about_each: int
    curious_each: int
    fuller: int
    enough: int
    complete: bool


SMOKE = Size(cases=50, about_each=7, curious_each=2, fuller=1, enough=1, complete=False)
WHOLE = Size(cases=1_000, about_each=1, curious_each=5, fuller=21, enough=6, complete=True)
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
        **slack_settings(slack.url),
        slack_escalation_channel=names.PEOPLE,
        rate_per_user_per_minute=0,
        rate_per_channel_per_minute=0,
        slack_outsider_spaces=OPEN,
    )


@pytest.fixture
async def client(slack: FakeSlack, tmp_path: Path) -> AsyncIterator[Client]:
    async with marked_pages_app(settings_of(slack, tmp_path)) as served:
        yield served


async def ask(
    slack: FakeSlack, client: Client, case: tuple[str, str, str], *, curious: bool
) -> None:
    """Ask; who is ``curious`` asks why as well, and so does a guest who reads along."""
    person, room, text = case
    asker = Visitor(slack, client, person)
    channel = asker.direct if room == "direct" else room
    ts = await asker.say(channel, text, mention=room != "direct")
    async with asyncio.timeout(60):
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


@sizes("size", smoke=SMOKE, whole=WHOLE)
async def test_nothing_shows_to_those_who_may_not_read_it(
    size: Size, slack: FakeSlack, client: Client
) -> None:
    few = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, case: tuple[str, str, str]) -> None:
        async with few:
            await ask(slack, client, case, curious=number % size.curious_each == 0)

    drawn = random_questions(size.cases, SEED, persons=PERSONS, rooms=ROOMS)
    each = [*questions_about_each_page((names.ALICE, names.BOB), "direct")]
    asked = [*drawn, *each[:: size.about_each]]
    await asyncio.gather(*itertools.starmap(one, enumerate(asked)))
    offers = [post for post in slack.posts if post.only_for and "more that you" in post.shown]
    for offer in offers:
        assert offer.only_for is not None
        await pressed(Visitor(slack, client, offer.only_for), offer, actions.MORE)
    fuller = len(offers)
    await wait_until(lambda: sum(bool(p.only_for) for p in slack.posts) >= 2 * fuller)

    seen: dict[str, set[int]] = {}
    for post in slack.posts:
        if post.by_bot:
            person = audience(post)
            told = pages_in(json.dumps(post.payload))
            assert told <= may_see(slack, post), (person, post.payload)
            seen.setdefault(person, set()).update(told)
    for view in slack.open_views:
        spaces = OPEN if view.user in OUTSIDERS else SPACES
        told = pages_in(json.dumps(view.payload))
        assert told <= pages_for(_OWN.get(view.user, ""), spaces)
    assert fuller >= size.fuller
    assert Counter(view.user for view in slack.open_views)[names.GUEST] >= size.enough
    due = {"": pages_for(""), **dict.fromkeys(OUTSIDERS, pages_for("", OPEN))}
    due |= {person: pages_for(principal) for person, principal in _OWN.items()}
    for person, pages in due.items():
        assert seen[person] == pages if size.complete else seen[person] & pages, person


@pytest.mark.mended(id="slack-2")
async def test_by_default_outsiders_are_shown_no_page(slack: FakeSlack, tmp_path: Path) -> None:
    closed = settings_of(slack, tmp_path).model_copy(update={"slack_outsider_spaces": ()})
    asked = [
        *random_questions(SOME, SEED, persons=OUTSIDERS, rooms=("direct", names.HELP)),
        *random_questions(SOME, SEED, persons=(names.ALICE,), rooms=(names.SHARED,)),
    ]
    async with marked_pages_app(closed) as client:
        for person, room, text in asked:
            asker = Visitor(slack, client, person)
            channel = asker.direct if room == "direct" else room
            await asker.say(channel, text, mention=room != "direct")
        told = {(person, room) for person, room, _ in asked}
        await wait_until(lambda: len([post for post in slack.posts if post.by_bot]) >= len(told))

    posts = [post for post in slack.posts if post.by_bot]
    assert not any(pages_in(json.dumps(post.payload)) for post in posts)
    assert slack.in_channel(names.PEOPLE) == []


def may_see(slack: FakeSlack, post: Post) -> frozenset[int]:
    """Return the pages that may stand in a message: its readers', or what its asker may ask for."""
    person = audience(post)
    there = slack.in_channel(post.channel)
    asked = next((each.user for each in there if each.ts == post.thread_ts), "")
    outside = post.channel == names.SHARED or {person, asked} & set(OUTSIDERS)
    return pages_for(_OWN.get(person, ""), OPEN if outside else SPACES)


def audience(post: Post) -> str:
    """Return who alone sees a message, "" for a whole channel."""
    if post.only_for:
        return post.only_for
    if post.channel.startswith("D"):
        return f"U{post.channel[1:]}"
    return ""
