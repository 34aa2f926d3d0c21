"""Where people and channels are reached."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.payloads.references import conversation_in, read_reference
from tests.bot.adapters.teams.home.written import Written
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.names import ALICE, APP_ID, BOB, CAROL, ENTRA, PEOPLE
from tests.bot.adapters.teams.visitor import Visitor

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


def process(written: Written, **changes: Any) -> TeamsChannel:  # noqa: ANN401
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
    places = process(Written(), teams_escalation_channel=PEOPLE).places

    people = await places.people()
    assert people is not None
    assert read_reference(people)["serviceUrl"] == "https://smba.trafficmanager.net/teams/"
    assert conversation_in(people) == PEOPLE


async def test_without_a_channel_to_ask_in_there_is_none() -> None:
    assert await process(Written()).places.people() is None


async def test_what_is_known_is_not_written_again() -> None:
    written = Written()
    first, second = process(written).places, process(written).places
    for _ in range(3):
        await first.note(said(ALICE, "a:1"))
        await second.note(said(ALICE, "a:1"))

    assert written.writes == 2


async def test_a_company_in_two_regions_does_not_write_at_each_message() -> None:
    written = Written()
    places = process(written).places
    for service in ("emea", "amer") * 5:
        await places.note(said(ALICE, "a:1", f"https://smba.trafficmanager.net/{service}/"))

    assert written.writes == 3


async def test_a_chat_is_opened_once_and_then_known_to_all(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor
) -> None:
    await alice.say(alice.chat, "hello")
    opened = await channel.places.open_chat(BOB, user_id="29:bob")
    known = await channel.places.chat_with(BOB)

    assert known == opened == await channel.places.open_chat(BOB, user_id="29:bob")
    assert teams.calls.count("create") == 1


PEOPLE_OF = st.sampled_from([ALICE, BOB, CAROL])
STEPS = st.lists(st.tuples(st.sampled_from(["add", "remove"]), PEOPLE_OF, st.integers(0, 2)))


@given(STEPS)
def test_every_process_knows_a_chat_as_it_was_left_last(steps: list[tuple[str, str, int]]) -> None:
    left: dict[str, str | None] = {}

    async def lived() -> None:
        written = Written()
        processes = [process(written).places for _ in range(3)]
        for number, (what, person, by) in enumerate(steps):
            places, chat = processes[by], f"a:{number}"
            left[person] = chat if what == "add" else None
            if what == "add":
                await places.note(said(person, chat), anew=True)
                await places.note(said(person, chat))
            else:
                await places.forget_chat(person)
        for person, kept in left.items():
            found = [await each.chat_with(person) for each in processes]
            told = {conversation_in(each) if each else None for each in found}
            assert told == {kept}

    asyncio.run(lived())
