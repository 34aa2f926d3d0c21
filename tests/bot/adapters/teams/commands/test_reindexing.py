"""Reindexing by order, over a real folder and through the whole application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.domain.settings import Settings
from bot.store.database import Store
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry
from tests.bot.adapters.teams.activities import Client
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.conversations import chat_of
from tests.bot.adapters.teams.tenant.names import ALICE, BOB, GUEST, HELP
from tests.bot.adapters.teams.tenant.posts import Sent
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.house import PAGES, house, until, write_index
from tests.bot.server import settings_for
from tests.bot.shelves import Shelf, document

MANY = 60
"""Pages that take a few seconds."""


class Slow(Shelf):
    """A shelf whose runs do not end by themselves."""

    async def start(self, space: str | None, **how: Any) -> str:  # noqa: ANN401 - as it was ordered
        run_id = await super().start(space, **how)
        self.runs[0] = replace(self.runs[0], state="running", ended_at=None, total=4)
        return run_id


@pytest.fixture
def shelf() -> Shelf:
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


def write_many(pages: Path) -> None:
    for number in range(MANY):
        text = f"# Page {number}\n\n" + f"Line {number} says what is done on day {number}. " * 40
        (pages / f"p{number:03}.md").write_text(text, encoding="utf-8")


async def shows(teams: FakeTeams, words: str, where: str = HELP) -> Sent:
    def found() -> list[Sent]:
        return [post for post in teams.posts_in(where) if words in post.shown]

    await until(found, seconds=60)
    return found()[-1]


async def test_from_the_order_to_the_final_card(local: FakeTeams, tmp_path: Path) -> None:
    async with serving(local, tmp_path) as settings:
        (tmp_path / "pages" / "new.md").write_text("# New\n\nSomething new.\n", encoding="utf-8")
        async with house(settings) as client:
            await Visitor(local, client).say(HELP, "reindex it")
            card = await shows(local, "Reindexing IT: done")

    assert f"1 added, {len(PAGES)} changed" in card.shown
    assert card.labels == []
    assert "bringing the whole space IT up to date" in card.text, "and the card is below it"


async def test_a_run_goes_on_in_the_same_card_after_the_server_was_stopped(
    local: FakeTeams, tmp_path: Path
) -> None:
    async with serving(local, tmp_path) as settings:
        write_many(tmp_path / "pages")
        async with house(settings) as client:
            await Visitor(local, client).say(HELP, "reindex IT")
            begun = await shows(local, "Reindexing IT")
            assert begun.labels == ["Cancel"]
        async with house(settings):
            card = await shows(local, "Reindexing IT: done")

    assert card.id == begun.id
    assert "It was interrupted and went on" in card.shown
    assert len([post for post in local.posts_in(HELP) if post.cards]) == 1


async def test_cancel_stops_the_run_and_the_card_says_so(local: FakeTeams, tmp_path: Path) -> None:
    chat = chat_of(ALICE)
    async with serving(local, tmp_path) as settings:
        write_many(tmp_path / "pages")
        async with house(settings) as client:
            alice = Visitor(local, client)
            await alice.say(chat, "reindex all")
            begun = await shows(local, "Reindexing all spaces", chat)
            await alice.press(begun, "Cancel")
            card = await shows(local, "cancelled", chat)

    assert "is being stopped. What was written stays." in alice.told[-1]
    assert card.id == begun.id
    assert card.labels == []


@pytest.mark.parametrize(
    ("person", "said"),
    [(BOB, "Only Frontdesk"), (GUEST, "Only colleagues can do this.")],
)
async def test_who_may_not_order_stops_no_run(
    teams: FakeTeams, client: Client, shelf: Shelf, alice: Visitor, person: str, said: str
) -> None:
    card = await carded(teams, alice)
    teams.conversations[HELP].members.add(GUEST)
    other = Visitor(teams, client, person)

    await other.press(card, "Cancel")

    assert said in other.told[-1]
    assert shelf.runs[0].active


async def test_a_press_on_a_run_that_is_over_is_told_so(
    teams: FakeTeams, alice: Visitor, shelf: Shelf, store: Store
) -> None:
    card = await carded(teams, alice)
    shelf.runs.clear()
    await alice.press(card, "Cancel")

    assert "doesn't go on any more" in alice.told[-1]
    acts = [each.act for each in await store.audits.newest("acme", 9)]
    assert acts == ["reindex"]


async def carded(teams: FakeTeams, alice: Visitor) -> Sent:
    """Order a run; return its card, which stays as it is for some seconds."""
    await alice.say(HELP, "reindex HR")
    await until(lambda: [post for post in teams.posts_in(HELP) if post.labels == ["Cancel"]])
    return next(post for post in teams.posts_in(HELP) if post.cards)
