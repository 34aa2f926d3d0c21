"""Tests of seeing more of an asker's conversation over the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.domain.cases import ActDetail, Actor
from bot.domain.interactions import Escalation, Outcome, Reply
from bot.domain.messages import InteractionId
from bot.store.database import Store
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import message
from tests.fakes.durable_inbox import record_answer
from tests.fakes.http_server import Client

MIKA = Actor("mika", "", "asker")


async def case_after(store: Store) -> InteractionId:
    trace = generic_outcome("").trace
    first = message("is the proxy needed?", message_id="m1", person="mika")
    await record_answer(store, first, Outcome(Reply("No.", "generic"), trace))
    asked = message("vpn?", message_id="m2", person="mika")
    escalated = Escalation("I'll ask.", "low_confidence", "vpn?")
    await record_answer(store, asked, Outcome(escalated, trace))
    return asked.interaction_id


async def done(
    client: Client, case: InteractionId, act: str, status: int = 200, name: str = "Bea"
) -> Mapping[str, Any]:
    response = await client.post(f"/api/v2/escalations/{case}/{act}", json={"name": name})
    assert response.status == status, await response.text()
    found: Mapping[str, Any] = await response.json()
    return found


async def test_what_the_asker_agreed_to_is_in_one_reply(store: Store, client: Client) -> None:
    case = await case_after(store)
    await done(client, case, "claim")
    await done(client, case, "see_more", 409)
    request = (await done(client, case, "ask_more"))["history"][-1]["number"]
    await done(client, case, "show_more", 409)
    about = ActDetail(about=request)
    await store.escalations.act("default", case, "show_more", MIKA, "", about)

    shown = await done(client, case, "see_more")
    (earlier,) = shown["earlier"]
    assert (earlier["question"], earlier["answer"]) == ("is the proxy needed?", "No.")
    assert shown["history"][-1]["step"] == "see_more"
    await done(client, case, "see_more", 409)
    read = await (await client.get(f"/api/v2/escalations/{case}")).json()
    assert read["earlier"] is None
