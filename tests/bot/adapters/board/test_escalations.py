"""The list of what waits: order, filters, counts, and how it keeps itself up to date."""

from __future__ import annotations

import html
import re
from datetime import timedelta

from sqlalchemy import update

from bot.store.database import Store
from bot.store.tables import EscalationRow
from tests.bot.adapters.board.work_app import Desk, ask

LIST = "/board/escalations"
NAME = re.compile(r'class="entry-name"[^>]*>([^<]*)<')
COUNT = re.compile(r'id="tab-(\w+)".*?class="count">(\d+)<', re.DOTALL)


def names(page: str) -> list[str]:
    return [html.unescape(name) for name in NAME.findall(page)]


def counts(page: str) -> dict[str, int]:
    return {tab: int(count) for tab, count in COUNT.findall(page)}


async def escalate(store: Store, name: str, text: str, *, minutes: int = 0) -> str:
    """Record a question that waits for so many minutes; return the path of its case."""
    asked = await ask(store, name, text)
    async with store.transactions.writing() as connection:
        await connection.execute(
            update(EscalationRow)
            .where(EscalationRow.interaction_id == asked.id)
            .values(question=text, opened_at=asked.created_at - timedelta(minutes=minutes))
        )
    return f"{LIST}/{asked.id}"


async def test_who_waits_longest_comes_first_and_too_long_is_marked(
    desk: Desk, store: Store
) -> None:
    await escalate(store, "m1", "Quick one", minutes=5)
    await escalate(store, "m2", "Slow one", minutes=42)

    page = await desk.get(LIST)

    assert names(page) == ["Slow one", "Quick one"]
    assert "Waiting, 42 min" in page.replace("\xa0", " ")
    assert page.count("longer than it should") == 1
    assert "Mika Salo · Slack, channel C1 · Not sure enough" in page


async def test_every_tab_has_its_cases_and_its_count(desk: Desk, store: Store) -> None:
    paths = {
        name: await escalate(store, name, name, minutes=9)
        for name in ("waits", "mine", "bens", "answered", "over", "declined")
    }
    await desk.post(paths["mine"], act="claim")
    await desk.of("ben").post(paths["bens"], act="claim")
    await desk.of("ben").post(paths["answered"], act="reply", reply="So it is.")
    await desk.post(paths["over"], act="resolve")
    await desk.post(paths["declined"], act="decline", reason="Not ours.")

    listed = {
        tab: set(names(await desk.get(f"{LIST}?state={tab}")))
        for tab in ("waiting", "mine", "claimed", "answered", "settled", "all")
    }

    assert listed == {
        "waiting": {"waits"},
        "mine": {"mine"},
        "claimed": {"mine", "bens"},
        "answered": {"answered"},
        "settled": {"over", "declined"},
        "all": set(paths),
    }
    assert counts(await desk.get(LIST)) == {tab: len(each) for tab, each in listed.items()}
    assert "Claimed by Ben Okafor" in await desk.get(f"{LIST}?state=claimed")


async def test_words_narrow_a_list_down(desk: Desk, store: Store) -> None:
    await escalate(store, "m1", "My badge is broken")
    await escalate(store, "m2", "The printer <b> is")

    assert names(await desk.get(f"{LIST}?words=BADGE")) == ["My badge is broken"]
    assert names(await desk.get(f"{LIST}?words=<b>")) == ["The printer <b> is"]
    assert "None of these questions has all of these words" in await desk.get(f"{LIST}?words=zz")


async def test_pages_of_the_list_follow_each_other(desk: Desk, store: Store) -> None:
    for number in range(27):
        await escalate(store, f"m{number}", f"q{number}", minutes=100 - number)

    first = await desk.get(LIST)
    more = re.search(r'href="([^"]+)" rel="next"', first)
    assert more
    second = await desk.get(html.unescape(more[1]))

    assert names(first) + names(second) == [f"q{number}" for number in range(27)]
    assert 'rel="next"' not in second
    assert "Back to the first" in second


async def test_what_is_over_comes_newest_first(desk: Desk, store: Store) -> None:
    for name, minutes in (("old", 9), ("new", 1)):
        await desk.post(await escalate(store, name, name, minutes=minutes), act="resolve")

    assert names(await desk.get(f"{LIST}?state=settled")) == ["new", "old"]


async def test_the_list_is_sent_again_only_when_it_changed(desk: Desk, store: Store) -> None:
    await escalate(store, "m1", "First")
    refresh = re.search(r'hx-get="([^"]+)"', await desk.get(LIST))
    assert refresh
    again = html.unescape(refresh[1])

    await desk.get(again, 204)
    await escalate(store, "m2", "Second")
    fragment = await desk.get(again)

    assert names(fragment) == ["First", "Second"]
    assert "<!doctype html>" not in fragment
    assert counts(fragment)["waiting"] == 2


async def test_an_empty_list_says_what_will_be_in_it(desk: Desk) -> None:
    assert "When a question goes to people, it appears here." in await desk.get(LIST)
    assert "Claim one of those that wait." in await desk.get(f"{LIST}?state=mine")
    assert "Nobody waits" in await desk.get(f"{LIST}?state=nonsense&after=nothing")
