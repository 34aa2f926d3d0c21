"""What people said of the answers."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

from bot.domain.feedback import new_feedback
from bot.domain.interactions import Feedback
from bot.store.database import Store
from tests.bot.adapters.board.test_escalations import names
from tests.bot.adapters.board.test_questions import plain
from tests.bot.adapters.board.work_app import SURE, Desk, ask

LIST = "/board/feedback"


async def judge(store: Store, name: str, vote: str, **more: object) -> None:
    recorded = await ask(store, name, name, response=SURE)
    await store.interactions.rate(new_feedback(recorded.id, "mika", vote, **more))  # type: ignore[arg-type]  # as judgement takes them


async def test_judgements_lead_to_their_record_the_latest_first(desk: Desk, store: Store) -> None:
    await judge(store, "first", "up")
    await judge(store, "second", "down", reason="outdated", comment="That was <2025>.")

    page = await desk.get(LIST)

    assert names(page) == ["second", "first"]
    assert "That was &lt;2025&gt;." in page
    record = re.search(r'class="entry-name" href="(/board/questions/[^"]+)"', page)
    assert record
    assert "second" in await desk.get(record[1])


async def test_who_judged_is_named_where_it_is_who_asked(desk: Desk, store: Store) -> None:
    await judge(store, "own", "up")
    theirs = await ask(store, "theirs", "theirs", response=SURE)
    await store.interactions.rate(new_feedback(theirs.id, "ben", "up"))

    page = plain(await desk.get(LIST))

    assert "Mika Salo \u00b7" in page
    assert "ben \u00b7" in page


async def test_the_list_can_be_narrowed_down(desk: Desk, store: Store) -> None:
    await judge(store, "helped", "up", comment="Thanks!")
    await judge(store, "wrong", "down", reason="wrong")
    await judge(store, "bare", "down")

    assert names(await desk.get(f"{LIST}?vote=up")) == ["helped"]
    assert names(await desk.get(f"{LIST}?vote=down")) == ["bare", "wrong"]
    assert names(await desk.get(f"{LIST}?commented=1")) == ["helped"]
    assert names(await desk.get(f"{LIST}?reason=wrong")) == ["wrong"]
    assert "No feedback fits." in await desk.get(f"{LIST}?reason=other")
    assert len(names(await desk.get(f"{LIST}?reason=nonsense&vote=maybe"))) == 3


async def test_the_reasons_of_the_last_days_are_counted(desk: Desk, store: Store) -> None:
    await judge(store, "up", "up")
    for name in ("w1", "w2"):
        await judge(store, name, "down", reason="wrong")
    await judge(store, "bare", "down")
    old = await ask(store, "old", "old", response=SURE)
    month = datetime.now(UTC) - timedelta(days=31)
    await store.interactions.rate(Feedback(old.id, "mika", "down", month, reason="outdated"))

    words = plain(await desk.get(LIST))

    assert "1 helped · 3 did not help Wrong 2 No reason given 1" in words
    assert "old" in names(await desk.get(LIST))


async def test_a_reason_of_an_older_version_is_shown_as_it_is(desk: Desk, store: Store) -> None:
    recorded = await ask(store, "m1", response=SURE)
    given = Feedback(recorded.id, "mika", "down", datetime.now(UTC), reason="<too_long>")
    await store.interactions.rate(given)

    assert "&lt;too_long&gt;" in await desk.get(LIST)


async def test_pages_follow_each_other(desk: Desk, store: Store) -> None:
    for number in range(27):
        await judge(store, f"m{number}", "up")

    first = await desk.get(LIST)
    more = re.search(r'href="([^"]+)" rel="next"', first)
    assert more
    second = await desk.get(html.unescape(more[1]))

    assert names(first) + names(second) == [f"m{number}" for number in range(26, -1, -1)]


async def test_an_empty_list_says_what_will_be_in_it(desk: Desk) -> None:
    words = plain(await desk.get(LIST))

    assert "Nobody judged an answer." in words
    assert "Thumbs that people give on any platform appear here." in words
