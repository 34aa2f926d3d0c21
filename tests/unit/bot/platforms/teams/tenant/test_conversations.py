"""Test where people and channels are reached, and where the bot was removed from."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.conversations import Removals
from bot.platforms.teams.payloads.activity import conversation_in, read_reference
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.names import ALICE, APP_ID, BOB, CAROL, ENTRA, PEOPLE
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor
from tests.unit.bot.platforms.teams.tenant.shared_notes import SharedNotes

SERVICE = "https://smba.trafficmanager.net/emea/"


def configured(**changes: Any) -> Settings:  # noqa: ANN401
    return load_settings(
        _env_file=None,
        microsoft_app_id=APP_ID,
        microsoft_app_password="secret",
        microsoft_app_tenant_id=ENTRA,
        tenant="acme",
        **changes,
    )


def process(written: SharedNotes, **changes: Any) -> TeamsChannel:  # noqa: ANN401
    return connect(configured(**changes), written, credentials=CountingCredentials())


def said(person: str, chat: str, service: str = SERVICE) -> dict[str, Any]:
    return {
        "type": "message",
        "serviceUrl": service,
        "channelId": "msteams",
        "from": {"id": f"29:{person}", "aadObjectId": person},
        "recipient": {"id": f"28:{APP_ID}"},
        "conversation": {"id": chat, "conversationType": "personal", "tenantId": ENTRA},
        "channelData": {"tenant": {"id": ENTRA}},
    }


async def test_before_anything_has_arrived_the_configured_service_is_used() -> None:
    people = await process(SharedNotes()).client.conversations.channel(PEOPLE)

    assert read_reference(people)["serviceUrl"] == "https://smba.trafficmanager.net/teams/"
    assert conversation_in(people) == PEOPLE


async def test_what_is_known_is_not_written_again() -> None:
    written = SharedNotes()
    first, second = process(written).client.conversations, process(written).client.conversations
    for _ in range(3):
        await first.note(said(ALICE, "a:1"))
        await second.note(said(ALICE, "a:1"))

    assert written.writes == 2


async def test_a_company_in_two_regions_does_not_write_at_each_message() -> None:
    written = SharedNotes()
    places = process(written).client.conversations
    for service in ("emea", "amer") * 5:
        await places.note(said(ALICE, "a:1", f"https://smba.trafficmanager.net/{service}/"))

    assert written.writes == 3


async def test_a_chat_is_opened_once_and_then_known_to_all(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor
) -> None:
    await alice.say(alice.chat, "hello")
    opened = await channel.client.open_chat(BOB, user_id="29:bob")
    known = await channel.client.conversations.chat_with(BOB)

    assert known == opened == await channel.client.open_chat(BOB, user_id="29:bob")
    assert teams.calls.count("create") == 1


PEOPLE_OF = st.sampled_from([ALICE, BOB, CAROL])
STEPS = st.lists(st.tuples(st.sampled_from(["add", "remove"]), PEOPLE_OF, st.integers(0, 2)))


@given(STEPS)
def test_every_process_knows_a_chat_as_it_was_left_last(steps: list[tuple[str, str, int]]) -> None:
    left: dict[str, str | None] = {}

    async def lived() -> None:
        written = SharedNotes()
        processes = [process(written).client.conversations for _ in range(3)]
        for number, (what, person, by) in enumerate(steps):
            places, chat = processes[by], f"a:{number}"
            left[person] = chat if what == "add" else None
            if what == "add":
                await places.note(said(person, chat), rewrite=True)
                await places.note(said(person, chat))
            else:
                await places.forget_chat(person)
        for person, kept in left.items():
            found = [await each.chat_with(person) for each in processes]
            told = {conversation_in(each) if each else None for each in found}
            assert told == {kept}

    asyncio.run(lived())


HELP, CHAT, GROUP = "19:help@thread.tacv2", "a:alice-and-bot", "19:group@thread.v2"


@pytest.fixture
def notes() -> SharedNotes:
    return SharedNotes()


@pytest.fixture
def here(notes: SharedNotes) -> Removals:
    return Removals(notes, "acme")


async def test_a_place_that_the_bot_was_removed_from_is_gone_for_all_processes(
    here: Removals, notes: SharedNotes
) -> None:
    await here.mark_removed(CHAT, "The bot was removed.")

    assert await here.is_removed(CHAT)
    assert await Removals(notes, "acme").is_removed(CHAT)
    assert not await Removals(notes, "globex").is_removed(CHAT)
    assert not await here.is_removed(HELP)


async def test_what_comes_from_there_shows_that_the_bot_is_back(
    here: Removals, notes: SharedNotes
) -> None:
    elsewhere = Removals(notes, "acme")
    await here.mark_removed(CHAT, "The bot was removed.")
    await elsewhere.clear(CHAT)

    assert not await elsewhere.is_removed(CHAT)
    assert not await here.is_removed(CHAT)
    assert not notes.texts


async def test_a_team_that_the_bot_is_added_to_brings_all_channels_back(here: Removals) -> None:
    for place in (HELP, GROUP, CHAT):
        await here.mark_removed(place, "403")
    await here.clear_added("19:general@thread.tacv2")

    assert [await here.is_removed(place) for place in (HELP, GROUP, CHAT)] == [False, False, True]


async def test_what_comes_from_where_the_bot_is_writes_nothing(
    here: Removals, notes: SharedNotes
) -> None:
    await here.clear(CHAT)
    await here.clear(CHAT)

    assert notes.writes == 0


async def test_while_the_record_is_away_nothing_is_held_back(
    here: Removals, notes: SharedNotes
) -> None:
    await here.mark_removed(CHAT, "403")
    notes.broken = True

    assert not await here.is_removed(CHAT)
    assert not await here.is_removed(HELP)


REMOVAL_STEPS = st.lists(
    st.tuples(st.sampled_from(["gone", "added"]), st.integers(0, 2)), min_size=1
)


@given(REMOVAL_STEPS)
def test_no_process_holds_back_what_another_knows_to_be_there(steps: list[tuple[str, int]]) -> None:
    async def lived() -> list[bool]:
        written = SharedNotes()
        processes = [Removals(written, "acme") for _ in range(3)]
        for what, number in steps:
            each = processes[number]
            await (each.clear_added(CHAT) if what == "added" else each.mark_removed(CHAT, "403"))
        return [await each.is_removed(CHAT) for each in processes]

    told = asyncio.run(lived())
    last, by = steps[-1]
    assert told[by] == (last == "gone")
    assert last == "gone" or not any(told)
