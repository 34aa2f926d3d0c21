"""Test reindexing by command, over a real folder and through the whole application."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from bot.domain.settings import Settings
from bot.store.database import open_store, sqlite_url
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry
from tests.fakes.http_server import (
    PAGES,
    serving_application,
    settings_for,
    wait_until,
    write_index,
)
from tests.fakes.slack.events import SECRET
from tests.fakes.slack.interactions import response_url
from tests.fakes.slack.names import ALICE, ANNA, BOB, GUEST, HELP, SHARED, TEAM, TOKEN
from tests.fakes.slack.posts import Post
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor

SOME, MANY = 15, 60
"""Pages that take a second, and a few."""


@pytest.fixture
async def settings(slack: FakeSlack, tmp_path: Path) -> Settings:
    made = settings_for(
        tmp_path,
        slack_bot_token=TOKEN,
        slack_signing_secret=SECRET,
        slack_api_url=slack.url,
        slack_team_id=TEAM,
        slack_admins=f"{ALICE},anna@acme.example",
    )
    await write_index(made, tmp_path / "pages")
    entry = FolderEntry(str(tmp_path / "pages"), (("everyone",),), "https://wiki.example/it")
    await Ledger(sqlite_in(tmp_path), made.tenant).note_folder("IT", entry)
    return made


@pytest.fixture
def pages(settings: Settings) -> Path:
    return settings.data_dir / "pages"


def write_many(pages: Path, many: int = MANY) -> None:
    for number in range(many):
        text = f"# Page {number}\n\n" + f"Line {number} says what is done on day {number}. " * 40
        (pages / f"p{number:03}.md").write_text(text, encoding="utf-8")


def whispered(slack: FakeSlack, user: str = ALICE) -> str:
    return "\n".join(post.shown for post in slack.whispered(user))


async def shows(slack: FakeSlack, words: str, channel: str = HELP) -> Post:
    def found() -> list[Post]:
        return [post for post in slack.answers(channel) if words in post.shown]

    await wait_until(found)
    return found()[-1]


async def test_from_the_command_to_the_final_message(
    slack: FakeSlack, settings: Settings, pages: Path
) -> None:
    (pages / "new.md").write_text("# New\n\nSomething new.\n", encoding="utf-8")
    async with serving_application(settings) as client:
        answer = await Visitor(slack, client).command(HELP, "/reindex", "it")
        post = await shows(slack, "Reindexing IT: done")

    assert answer.status == 200
    assert "I'm reindexing IT." in whispered(slack)
    assert f"1 added, {len(PAGES)} changed" in post.shown
    assert slack.answers(HELP) == [post]
    assert post.labels == []
    store = await open_store(sqlite_url(settings.data_dir))
    (act,) = await store.audits.newest(settings.tenant, 9)
    await store.close()
    assert (act.actor, act.act, act.subject) == (f"slack:{ALICE}", "reindex", "IT")


async def test_a_dry_run_over_the_space_of_a_page_changes_nothing(
    slack: FakeSlack, settings: Settings, pages: Path
) -> None:
    async with serving_application(settings) as client:
        alice = Visitor(slack, client)
        await alice.command(HELP, "/reindex", "IT")
        await shows(slack, "Reindexing IT: done")
        (pages / "new.md").write_text("# New\n\nSomething new.\n", encoding="utf-8")
        link = "<https://wiki.example/it/vpn.md#x|VPN>"
        await alice.command(HELP, "/reindex", f"{link} \u2014dry-run")
        post = await shows(slack, "Dry run for IT: nothing was changed")
        await alice.command(HELP, "/frontdesk", "status")

    assert "is in the space IT" in whispered(slack)
    assert f"1 added, {len(PAGES)} pages unchanged" in post.shown
    assert f"- IT: {len(PAGES) - 1} pages" in whispered(slack), "one is for admins"


async def test_a_run_goes_on_in_the_same_message_after_the_server_was_stopped(
    slack: FakeSlack, settings: Settings, pages: Path
) -> None:
    write_many(pages, SOME)
    async with serving_application(settings) as client:
        await Visitor(slack, client).command(HELP, "/reindex", "IT")
        begun = await shows(slack, "Reindexing IT")
        assert begun.labels == ["Cancel"]
    async with serving_application(settings):
        post = await shows(slack, "Reindexing IT: done")

    assert slack.answers(HELP) == [begun] == [post]
    assert "It was interrupted and resumed; the figures count from then" in post.shown
    updates = [each.at for each in slack.requests if each.method == "chat.update"]
    assert all(later - earlier >= 1.9 for earlier, later in pairwise(updates))


async def test_of_two_admins_at_once_one_begins_and_the_other_is_shown_how_far_it_is(
    slack: FakeSlack, settings: Settings, pages: Path
) -> None:
    write_many(pages)
    async with serving_application(settings) as client:
        alice, anna = Visitor(slack, client), Visitor(slack, client, ANNA)
        await asyncio.gather(
            alice.command(HELP, "/reindex", "IT"), anna.command(HELP, "/reindex", "all")
        )
        await shows(slack, "Reindexing")
        late = Visitor(slack, client, ANNA)
        await late.command(HELP, "/reindex", "IT")
        await alice.command(HELP, "/reindex", "status")
        await wait_until(
            lambda: (
                "Another run is in progress. Wait until it ends, or stop it"
                in whispered(slack, ANNA)
            )
        )
        await alice.command(HELP, "/reindex", "cancel")
        await shows(slack, "cancelled")

    began = [user for user in (ALICE, ANNA) if "I'm reindexing" in whispered(slack, user)]
    assert len(began) == 1
    assert len(slack.answers(HELP)) == 1
    link = f"https://acme.slack.com/archives/{HELP}/p"
    assert link in whispered(slack, ANNA)
    assert "Stopping the run for" in whispered(slack)


async def test_the_button_stops_a_run_for_admins_alone(
    slack: FakeSlack, settings: Settings, pages: Path
) -> None:
    write_many(pages)
    async with serving_application(settings) as client:
        await Visitor(slack, client).command(HELP, "/reindex", "IT")
        post = await shows(slack, "Reindexing IT")
        await Visitor(slack, client, BOB).click(post, "Cancel")
        await Visitor(slack, client, GUEST).click(post, "Cancel")
        await wait_until(lambda: "SLACK_ADMINS" in whispered(slack, BOB))
        await wait_until(lambda: "Only colleagues" in whispered(slack, GUEST))
        assert post.labels == ["Cancel"]
        await Visitor(slack, client, ANNA).click(post, "Cancel")
        await wait_until(lambda: "What is already indexed is kept" in whispered(slack, ANNA))
        ended = await shows(slack, "cancelled")
        assert ended.labels == []


async def test_the_button_of_a_run_that_is_over_says_so(
    slack: FakeSlack, settings: Settings
) -> None:
    async with serving_application(settings) as client:
        alice = Visitor(slack, client)
        await alice.command(HELP, "/reindex", "IT --dry-run")
        await shows(slack, "Dry run for IT")
        pressed = _press(slack, "r0")
        await alice.door.interact(pressed)
        await wait_until(lambda: "This run has already ended" in whispered(slack))


@pytest.mark.parametrize("text", ["IT", "all", "status", "cancel"])
async def test_who_is_no_admin_reindexes_nothing(
    slack: FakeSlack, settings: Settings, text: str
) -> None:
    async with serving_application(settings) as client:
        await Visitor(slack, client, BOB).command(HELP, "/reindex", text)

    assert "SLACK_ADMINS" in whispered(slack, BOB)
    assert slack.answers(HELP) == []


async def test_in_a_shared_channel_it_is_shown_directly_and_that_is_told(
    slack: FakeSlack, settings: Settings
) -> None:
    async with serving_application(settings) as client:
        alice = Visitor(slack, client)
        await alice.command(SHARED, "/reindex", "all")
        await shows(slack, "Reindexing all spaces: done", alice.direct)
        await wait_until(lambda: "I've sent you a direct message" in whispered(slack))

    assert slack.answers(SHARED) == []


async def test_what_could_not_be_read_is_counted_in_the_channel_and_named_to_admins(
    slack: FakeSlack, settings: Settings, pages: Path
) -> None:
    (pages / "salaries.pdf").write_bytes(b"%PDF-1.4 damaged")
    async with serving_application(settings) as client:
        alice = Visitor(slack, client)
        await alice.command(HELP, "/reindex", "IT")
        post = await shows(slack, "done, but some pages could not be read")
        await alice.command(HELP, "/reindex", "status")
        await alice.command(alice.direct, "/reindex", "IT")
        own = await shows(slack, "done, but some pages could not be read", alice.direct)

    assert "1 problem; admins see it with /reindex status" in post.shown
    assert "salaries" not in post.shown
    assert "salaries.pdf: " in whispered(slack)
    assert "salaries.pdf: " in own.shown


def _press(slack: FakeSlack, run_id: str) -> dict[str, object]:
    return {
        "type": "block_actions",
        "user": {"id": ALICE, "team_id": TEAM},
        "team": {"id": TEAM, "domain": "acme"},
        "container": {"type": "message", "message_ts": "1.4", "channel_id": HELP},
        "channel": {"id": HELP},
        "trigger_id": slack.tickets.trigger(ALICE),
        "response_url": response_url(slack, ALICE, HELP, None),
        "actions": [
            {"type": "button", "action_id": "reindex_cancel", "block_id": "b", "value": run_id}
        ],
    }
