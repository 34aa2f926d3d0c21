"""Answers whose source has changed, as experts see them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from bot.domain.interactions import Reply
from bot.store.database import Store
from tests.bot.adapters.board.test_escalations import names
from tests.bot.adapters.board.test_questions import plain
from tests.bot.adapters.board.work_app import (
    HR,
    OPEN,
    SECRET,
    SURE,
    TOLD_ALL,
    Shelf,
    ask,
    board,
    source,
)

LIST = "/board/questions/changed"


def cites(*, quote: str = OPEN.text, page_id: str = OPEN.page_id, chunk_id: str = OPEN.id) -> Reply:
    cited = replace(source(OPEN), space="IT", quote=quote, page_id=page_id, chunk_id=chunk_id)
    return replace(SURE, sources=(cited,))


async def test_only_answers_are_listed_whose_quote_is_not_there_any_more(
    store: Store, tmp_path: Path
) -> None:
    there = replace(OPEN, space="IT")
    closed = replace(OPEN, id="p-0", page_id="pay.md", space="IT", readers=(HR,))
    await ask(store, "m1", "still right", response=cites())
    await ask(store, "m2", "now wrong", response=cites(quote="UDP 4500 is blocked."))
    await ask(store, "m3", "deleted since", response=cites(page_id="old.md", chunk_id="x-0"))
    await ask(store, "m4", "closed since", response=cites(page_id="pay.md", chunk_id="p-0"))
    await ask(store, "m5", "never answered")

    async with board(tmp_path, store, Shelf((there, closed))) as desk:
        page = await desk.get(LIST)
        await desk.of("mika").get(LIST, status=403)

    assert names(page) == ["closed since", "deleted since", "now wrong"]
    words = plain(page)
    assert "The page no longer says what was quoted" in words
    assert "The page is gone" in words
    assert "Not everyone may read the page any more" in words


async def test_no_page_is_named_and_an_index_that_is_away_is_said(
    store: Store, tmp_path: Path
) -> None:
    await ask(store, "m1", "what is planned", response=TOLD_ALL)
    async with board(tmp_path, store, Shelf(())) as desk:
        page = await desk.get(LIST)
    async with board(tmp_path, store, Shelf(away=True)) as desk:
        away = plain(await desk.get(LIST))

    assert names(page) == ["what is planned"]
    assert SECRET not in page
    assert "The index can't be read right now" in away
    assert "All that was quoted" not in away


async def test_one_view_looks_at_so_many_answers_and_the_next_goes_on(
    store: Store, tmp_path: Path
) -> None:
    for number in range(60):
        await ask(store, f"m{number}", f"question {number}", response=cites())
    async with board(tmp_path, store, Shelf(())) as desk:
        first = await desk.get(LIST)
        more = re.search(r'href="([^"]*after=[^"]*)"', first)
        assert more
        second = await desk.get(more[1].replace("&amp;", "&"))

    assert len(names(first)) == 50
    assert len(names(second)) == 10
    assert "days=30" in more[1]


async def test_the_days_can_be_chosen(store: Store, tmp_path: Path) -> None:
    await ask(store, "m1", "long ago", response=cites())
    async with board(tmp_path, store, Shelf(())) as desk:
        weeks = await desk.get(f"{LIST}?days=7")

    assert 'href="/board/questions/changed?days=90"' in weeks
