"""Tests of cases of one question over the API: joined, parted, and as each asker reads theirs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.domain.cases import ActDetail, Actor
from bot.domain.interactions import Escalation, Outcome, Reply
from bot.domain.messages import InteractionId, Message, Platform, Thread
from bot.store.database import Store
from tests.fakes.bot_ports import EchoDesk, generic_outcome
from tests.fakes.builders import message
from tests.fakes.durable_inbox import record_answer
from tests.fakes.http_server import BEARER, PAGE_VIEW, TOKEN, Client, serving, settings_for

ESCALATIONS = "/api/v2/escalations"
OLGA = Actor("olga", "", "asker")
TRACE = generic_outcome("").trace


@pytest.fixture
async def escalating(store: Store, tmp_path: Path) -> AsyncIterator[Client]:
    """A server with an admin token, whose bot hands every question over."""

    async def hands_over(asked: Message) -> Outcome:
        return Outcome(Escalation("Noted.", "low_confidence", asked.text), TRACE)

    settings = settings_for(tmp_path, admin_token=TOKEN)
    async with serving(store, settings, desk=EchoDesk(hands_over)) as opened:
        await opened.get("/", headers=PAGE_VIEW)
        yield opened


async def own_case(client: Client) -> InteractionId:
    """Ask as the person whose browser it is."""
    answer = await client.post("/api/v2/ask", json={"question": "my laptop hums"})
    return InteractionId((await answer.json())["interaction_id"])


async def case_of(
    store: Store,
    who: str,
    question: str = "vpn?",
    *,
    before: str = "",
    platform: Platform = "web",
) -> InteractionId:
    """Hand over a question that somebody asked in private, after another one that was answered."""
    thread = Thread(platform, "default", who, f"t-{who}")
    if before:
        first = message(before, message_id=f"before-{who}", person=who)
        await record_answer(
            store, replace(first, thread=thread), Outcome(Reply("No.", "generic"), TRACE)
        )
    asked = replace(message(question, message_id=f"m-{who}", person=who), thread=thread)
    response = Escalation("I'll ask.", "low_confidence", question)
    await record_answer(store, asked, Outcome(response, TRACE))
    return asked.interaction_id


async def done(
    client: Client,
    case: str,
    act: str,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **body: object,
) -> Mapping[str, Any]:
    response = await client.post(f"{ESCALATIONS}/{case}/{act}", json=body, headers=headers or {})
    assert response.status == status, await response.text()
    found: Mapping[str, Any] = await response.json()
    return found


async def test_cases_are_joined_and_parted_over_the_api(store: Store, client: Client) -> None:
    first, second = await case_of(store, "mika"), await case_of(store, "olga", "vpn again?")

    joined = await done(client, second, "join", to=first)
    leading = await (await client.get(f"{ESCALATIONS}/{first}")).json()
    alone = await done(client, second, "split")

    assert (joined["joined_to"], leading["joined_to"], leading["askers"]) == (first, None, 2)
    assert (alone["joined_to"], alone["state"]) == (None, "open")


@pytest.mark.parametrize("to", ["gone", ""])
async def test_nothing_is_joined_to_what_is_not_there(
    store: Store, client: Client, to: str
) -> None:
    case = await case_of(store, "mika")

    await done(client, case, "join", 404, to=to)
    await done(client, "gone", "join", 404, to=case)
    await done(client, "gone", "split", 404)

    kept = await (await client.get(f"{ESCALATIONS}/{case}")).json()
    assert [each["step"] for each in kept["history"]] == ["open"]


async def test_what_can_be_no_one_case_is_refused_with_the_reason(
    store: Store, client: Client
) -> None:
    first, second = await case_of(store, "mika"), await case_of(store, "olga", "vpn again?")
    asked = message("vpn?", message_id="m-ben", channel="C1", person="ben", private=False)
    await record_answer(
        store, asked, Outcome(Escalation("Noted.", "low_confidence", "vpn?"), TRACE)
    )

    itself = await done(client, first, "join", 409, to=first)
    elsewhere = await done(client, asked.interaction_id, "join", 409, to=first)
    own = await done(client, second, "split", 409)
    await done(client, first, "resolve")
    closed = await done(client, second, "join", 409, to=first)

    assert all(each["detail"] for each in (itself, elsewhere, own, closed))


async def test_an_asker_reads_nothing_of_others_who_asked_the_same(
    store: Store, escalating: Client
) -> None:
    mine = await own_case(escalating)
    question = "The parental leave of my twins?"
    theirs = await case_of(store, "olga", question, platform="rest")
    await done(escalating, mine, "join", headers=BEARER, to=theirs)
    await done(escalating, theirs, "note", headers=BEARER, text="Ask the payroll.")
    await done(escalating, theirs, "reply", headers=BEARER, text="It is 12 weeks for twins.")

    own, answer = f"{ESCALATIONS}/{mine}", f"/api/v2/interactions/{mine}"
    texts = [await (await escalating.get(path)).text() for path in (own, answer)]
    seen = await (await escalating.get(own)).json()

    assert (seen["joined_to"], seen["askers"], seen["question"]) == (None, 1, "my laptop hums")
    words = ("olga", "parental", "twins", "payroll", theirs)
    assert not any(each in text for each in words for text in texts)
    assert (await escalating.get(f"{ESCALATIONS}/{theirs}")).status == 404


@pytest.mark.parametrize("act", ["join", "split"])
async def test_an_asker_can_neither_join_nor_part_cases(
    store: Store, escalating: Client, act: str
) -> None:
    mine = await own_case(escalating)
    theirs = await case_of(store, "olga", platform="rest")
    before = await store.escalations.get("default", mine)

    refused = [await done(escalating, mine, act, 409, to=to) for to in (theirs, "gone")]
    await done(escalating, theirs, act, 404, to=mine)

    assert refused[0] == refused[1]
    assert await store.escalations.get("default", mine) == before


async def test_showing_more_asks_and_shows_one_asker_of_a_joined_case(
    store: Store, client: Client
) -> None:
    first = await case_of(store, "mika", before="is the proxy needed?")
    second = await case_of(store, "olga", "vpn again?", before="when is payday?")
    await done(client, second, "join", to=first)
    await done(client, first, "claim", name="Bea")

    asked = (await done(client, second, "ask_more", name="Bea"))["history"][-1]
    about = ActDetail(about=asked["number"])
    await store.escalations.act("default", second, "show_more", OLGA, "", about)
    await done(client, first, "see_more", 409, name="Bea")
    shown = await done(client, second, "see_more", name="Bea")

    assert [each["question"] for each in shown["earlier"]] == ["when is payday?"]
    steps = await store.escalations.steps("default", first)
    assert not {each.step for each in steps} & {"ask_more", "show_more", "see_more"}
