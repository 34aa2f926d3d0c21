"""Test commands in words: who may give them, and what is answered where."""

from __future__ import annotations

import pytest

from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Outcome
from bot.platforms.teams.message_commands import (
    KEPT_SECONDS,
    SAY_WHAT_WAS_WRONG,
    CommandDeduplicator,
)
from bot.store.database import Store
from tests.fakes.chat_context import MemoryDocuments
from tests.fakes.desk import ANSWER, TRACE, KeepingInbox
from tests.fakes.durable_inbox import record_answer
from tests.fakes.http_server import wait_until
from tests.fakes.teams.activities import BotTestClient
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import ALICE, ANNA, GROUP, GUEST, GUESTS, HELP, SHARED
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor
from tests.unit.bot.platforms.teams.commands.conftest import SALARIES

EVIL = '"*<at>all</at>*" [x](https://evil.example)'


def seen(teams: FakeTeams, where: str) -> str:
    return "\n".join(post.shown for post in teams.posts_in(where))


async def test_orders_are_answered_and_never_asked(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox
) -> None:
    for order in ("help", "/status", "Reindex status", "reindex cancel"):
        await alice.say(alice.chat, order)

    shown = seen(teams, alice.chat)
    assert "reindex SPACE --dry-run" in shown
    assert "I'm ready." in shown
    assert "Nothing has been reindexed yet" in shown
    assert "Nothing is being reindexed right now" in shown
    assert inbox.accepted == 0


@pytest.mark.parametrize("text", ["why?", "help?", "status of my laptop", "vpn down?"])
async def test_what_is_no_order_goes_on_as_a_question(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, text: str
) -> None:
    await alice.say(alice.chat, text)

    assert inbox.only.text == text
    assert teams.posts_in(alice.chat) == []


async def test_an_order_in_a_channel_is_answered_in_its_thread(
    teams: FakeTeams, alice: Visitor
) -> None:
    asked = await alice.say(HELP, "help")

    (answer,) = teams.posts_in(HELP)
    assert answer.thread == asked.thread
    assert answer.reply_to == asked.id


async def test_what_nobody_addressed_to_the_bot_is_no_order(
    teams: FakeTeams, alice: Visitor
) -> None:
    teams.hears_all = True
    await alice.say(HELP, "help", mention=False)

    assert teams.posts_in(HELP) == []


async def test_an_order_that_teams_delivers_again_is_carried_out_once(
    teams: FakeTeams, alice: Visitor, shelf: MemoryDocuments
) -> None:
    alice.held = []
    await alice.say(alice.chat, "reindex HR")
    answers = await alice.deliver(*alice.held * 4)

    assert {answer.status for answer in answers} == {200}
    assert len(shelf.runs) == 1
    assert seen(teams, alice.chat).count("I'm reindexing HR") == 1


async def test_while_it_can_not_be_noted_an_order_is_not_carried_out_but_sent_again(
    teams: FakeTeams,
    alice: Visitor,
    shelf: MemoryDocuments,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def away(*_: object, **__: object) -> bool:
        raise StoreUnavailable("The record is away.")

    monkeypatch.setattr(store.notes, "first", away)
    await alice.say(alice.chat, "reindex HR")

    assert alice.answers[-1].status == 503
    assert shelf.runs == []
    assert teams.posts_in(alice.chat) == []


async def test_what_was_ordered_is_remembered_for_a_day(store: Store) -> None:
    now = 1_000.0
    once = CommandDeduplicator(store.notes, "acme", clock=lambda: now)
    assert await once.first("a")
    assert not await once.first("a")
    now += KEPT_SECONDS + 1
    assert await once.first("b")
    assert list(await store.notes.beginning("acme", "teams:ordered:")) == ["teams:ordered:b"]


@pytest.mark.parametrize("text", ["help", "status", "settings", "reindex all", "reindex status"])
async def test_guests_order_nothing(
    teams: FakeTeams, client: BotTestClient, shelf: MemoryDocuments, inbox: KeepingInbox, text: str
) -> None:
    await Visitor(teams, client, GUEST).say(GUESTS, text)

    assert seen(teams, GUESTS).strip() == "Only colleagues can do this."
    assert shelf.runs == []
    assert inbox.accepted == 0


@pytest.mark.parametrize("text", ["settings", "reindex all", "reindex status", "reindex cancel"])
async def test_only_admins_change_what_is_indexed_and_set(
    teams: FakeTeams, bob: Visitor, shelf: MemoryDocuments, text: str
) -> None:
    await bob.say(HELP, text)

    assert "Only Frontdesk" in seen(teams, HELP)
    assert "TEAMS\\_ADMINS" in seen(teams, HELP)
    assert shelf.runs == []


@pytest.mark.parametrize("who", [ALICE, ANNA])
async def test_admins_are_named_by_object_id_or_principal_name_and_what_they_do_is_audited(
    teams: FakeTeams, client: BotTestClient, shelf: MemoryDocuments, store: Store, who: str
) -> None:
    await Visitor(teams, client, who).say(HELP, "reindex hr --dry-run")

    (act,) = await store.audits.newest("acme", 9)
    assert (act.actor, act.act, act.subject) == (f"teams:{who}", "reindex", "HR")
    assert shelf.runs[0].dry_run


async def test_help_tells_admins_more(teams: FakeTeams, alice: Visitor, bob: Visitor) -> None:
    await alice.say(alice.chat, "help")
    await bob.say(bob.chat, "help")

    assert "reindex SPACE" in seen(teams, alice.chat)
    assert "reindex" not in seen(teams, bob.chat)
    assert "status: what I answer from" in seen(teams, bob.chat)


async def test_status_tells_an_admin_alone_the_parts_and_a_channel_what_everyone_may_know(
    teams: FakeTeams, alice: Visitor, shelf: MemoryDocuments
) -> None:
    del shelf.kept["HR", "Leave.md"]
    await alice.say(alice.chat, "status")
    await alice.say(GROUP, "status")

    assert "Components:" in seen(teams, alice.chat)
    assert "Components:" not in seen(teams, GROUP)
    assert "I answer from 1 page in 1 space:" in seen(teams, GROUP)
    assert "HR" not in seen(teams, GROUP)


async def test_a_channel_does_not_read_the_title_of_a_page(
    teams: FakeTeams, alice: Visitor
) -> None:
    await alice.say(HELP, f"reindex {SALARIES.url}")

    assert "That page is in the space HR." in seen(teams, HELP)
    assert "Salaries" not in seen(teams, HELP)


async def test_a_slip_is_told_with_what_can_be_said_and_nothing_in_it_is_live(
    teams: FakeTeams, alice: Visitor
) -> None:
    await alice.say(alice.chat, f"reindex {EVIL}")
    (post,) = teams.posts_in(alice.chat)

    assert "Name one, or all" in post.shown
    for live in ("<at", "](http", " https://evil", "\u201chttps://evil", "\u201c*"):
        assert live not in post.text


async def test_lines_stay_lines(teams: FakeTeams, alice: Visitor) -> None:
    await alice.say(alice.chat, "status")
    (post,) = teams.posts_in(alice.chat)

    assert "in 2 spaces:\n\n- HR: 1 page\n- IT: 1 page\n\n" in post.text


async def test_while_teams_does_not_tell_who_somebody_is_they_are_asked_to_try_again(
    teams: FakeTeams, alice: Visitor, shelf: MemoryDocuments
) -> None:
    teams.fail(Fault(500), call="member")
    await alice.say(alice.chat, "reindex all")

    assert "try again in a minute" in seen(teams, alice.chat)
    assert shelf.runs == []


async def test_what_breaks_is_told_without_its_reason(
    teams: FakeTeams, alice: Visitor, shelf: MemoryDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> str:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(shelf, "start", broken)
    await alice.say(alice.chat, "reindex HR")

    assert alice.answers[-1].status == 200
    assert "try again in a minute" in seen(teams, alice.chat)
    assert "hunter2" not in seen(teams, alice.chat)


async def test_an_answer_that_teams_does_not_take_is_left_and_the_order_is_not_repeated(
    teams: FakeTeams, alice: Visitor, shelf: MemoryDocuments
) -> None:
    teams.fail(Fault(502))
    await alice.say(alice.chat, "reindex HR")
    await wait_until(lambda: shelf.runs)

    assert alice.answers[-1].status == 200
    assert len(shelf.runs) == 1


async def test_an_order_that_is_edited_is_neither_carried_out_again_nor_asked(
    teams: FakeTeams, alice: Visitor, shelf: MemoryDocuments, inbox: KeepingInbox
) -> None:
    ordered = await alice.say(alice.chat, "reindex HR --dry-run")
    await alice.edit(ordered, "reindex HR")

    assert len(shelf.runs) == 1
    assert inbox.accepted == 0
    assert seen(teams, alice.chat).count("Nothing will be changed.") == 1


@pytest.mark.mended(id="teams-6")
@pytest.mark.parametrize("asked", ["/why", "why this answer?"])
async def test_why_is_answered_in_words_where_it_was_asked(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, store: Store, asked: str
) -> None:
    await alice.say(HELP, "vpn *down*?")
    await record_answer(store, inbox.only, Outcome(ANSWER, TRACE))
    await alice.say(HELP, asked)

    (post,) = teams.posts_in(HELP)
    told = post.shown.replace("\\", "")
    assert "vpn *down*?" in told
    assert "I understood this as" in told
    assert inbox.accepted == 1


async def test_a_dialog_below_it_takes_what_was_wrong(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    await alice.say(HELP, "vpn down?")
    await record_answer(store, inbox.only, Outcome(ANSWER, TRACE))
    await alice.say(HELP, "/why")

    (post,) = teams.posts_in(HELP)
    dialog = await alice.open(post, SAY_WHAT_WAS_WRONG)
    assert "vpn down?" in dialog.shown


async def test_somebody_elses_question_is_not_explained(
    teams: FakeTeams, alice: Visitor, bob: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    await bob.say(HELP, "vpn down?")
    await record_answer(store, inbox.only, Outcome(ANSWER, TRACE))
    await alice.say(HELP, "/why")

    (post,) = teams.posts_in(HELP)
    assert "nothing to explain yet" in post.shown


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize("where", [GUESTS, SHARED])
async def test_spaces_are_not_named_where_outsiders_read_along(
    teams: FakeTeams, alice: Visitor, where: str
) -> None:
    await alice.say(where, "status")

    (told,) = teams.posts_in(where)
    assert "IT: 1 page" not in told.shown
    assert "in a personal chat" in told.shown


async def test_colleagues_among_themselves_are_told_them(teams: FakeTeams, alice: Visitor) -> None:
    await alice.say(HELP, "status")

    (told,) = teams.posts_in(HELP)
    assert "IT: 1 page" in told.shown
