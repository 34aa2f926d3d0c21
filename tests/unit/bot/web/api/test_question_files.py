"""Tests of files that come with a question over the API: taken within limits, gone afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.answering.attachments import MOST_BYTES, MOST_FILES
from bot.answering.escalation_reply import picture_offer
from bot.store.database import Store
from tests.fakes.chat_app import VpnDesk
from tests.fakes.http_server import Client, serving, settings_for, wait_until
from tests.fakes.question_files import (
    LOG,
    PICTURE,
    VPN_LOG,
    File,
    admission_with_files,
    form_with,
    kept_files,
)

ASK = "/api/v2/ask"


@pytest.fixture
def desk() -> VpnDesk:
    return VpnDesk()


@pytest_asyncio.fixture
async def program(store: Store, desk: VpnDesk, tmp_path: Path) -> AsyncIterator[Client]:
    """A program that may say for whom it asks."""
    settings = settings_for(tmp_path, dev_identities=True)
    admission = admission_with_files(store)
    async with serving(store, settings, desk=desk, admission=admission) as client:
        yield client


async def ask(
    client: Client, *files: File, status: int = 200, key: str | None = None, **asked: object
) -> Any:  # noqa: ANN401 - JSON
    """Ask with files; return the body of the response."""
    filled = form_with(*files, ask=json.dumps(asked))
    headers = {} if key is None else {"Idempotency-Key": key}
    response = await client.post(ASK, data=filled, headers=headers)
    assert response.status == status, await response.text()
    return await response.json()


async def test_a_file_is_read_and_not_kept_after_the_answer(
    program: Client, desk: VpnDesk, store: Store
) -> None:
    told = await ask(program, VPN_LOG, question="vpn 809 fails", conversation_id="c-1")

    (inquiry,) = desk.asked
    assert [(each.name, each.text) for each in inquiry.attached] == [("vpn.log", LOG.decode())]
    assert told["answer_type"] == "RAG"
    assert told["conversation_id"] == "c-1"
    assert await kept_files(store) == []


async def test_files_alone_are_a_question_with_their_names(program: Client, desk: VpnDesk) -> None:
    told = await ask(program, VPN_LOG)
    response = await program.get(f"/api/v2/interactions/{told['interaction_id']}")

    assert desk.asked[0].attached
    assert (await response.json())["question"] == "(with vpn.log)"


async def test_a_form_without_files_is_a_question(program: Client, desk: VpnDesk) -> None:
    await ask(program, question=" vpn 809 ", spaces=["IT"])

    message = desk.asked[0].message
    assert message.text == "vpn 809"
    assert message.search_filters.spaces == frozenset({"IT"})


async def test_a_file_of_another_kind_is_not_kept_and_said(
    program: Client, desk: VpnDesk, store: Store
) -> None:
    desk.may_answer.clear()
    asking = asyncio.create_task(ask(program, PICTURE, VPN_LOG, question="vpn 809"))
    await wait_until(lambda: desk.asked)

    assert await kept_files(store) == [1]
    desk.may_answer.set()
    assert "text, logs and PDF only" in " ".join((await asking)["remarks"])


async def test_a_picture_alone_gets_to_the_desk_which_offers_a_person(
    program: Client, desk: VpnDesk
) -> None:
    await ask(program, PICTURE)

    assert picture_offer(desk.asked[0]) is not None


@pytest.mark.parametrize(
    ("files", "status", "told"),
    [
        ([("a.log", b"x" * (MOST_BYTES + 1), "text/plain")], 413, "larger than 2 MB"),
        ([VPN_LOG] * (MOST_FILES + 1), 422, "more than 3"),
    ],
    ids=["too large", "too many"],
)
async def test_files_beyond_the_limits_are_refused(
    program: Client, desk: VpnDesk, store: Store, files: list[File], status: int, told: str
) -> None:
    refused = await ask(program, *files, status=status, question="vpn 809")

    assert told in refused["detail"]
    assert desk.asked == []
    assert await store.work.unfinished() == []


async def test_as_many_files_as_allowed_are_taken_at_their_largest(
    program: Client, desk: VpnDesk
) -> None:
    largest = ("a.log", b"Error 809\n" * (MOST_BYTES // 10), "text/plain")

    await ask(program, *[largest] * MOST_FILES, question="vpn 809")

    assert len(desk.asked[0].message.attachments) == MOST_FILES


@pytest.mark.parametrize(
    ("fields", "field", "status"),
    [
        ({}, "ask", 422),
        ({"ask": "{}"}, "question", 422),
        ({"ask": '{"question": "x", "stream": true}'}, "stream", 422),
        ({"ask": '{"question": "x"}', "user": "anna"}, "user", 422),
        ({"ask": json.dumps({"question": "x" * 4001})}, "question", 422),
        ({"ask": "{"}, None, 400),
    ],
)
async def test_a_mistake_in_the_form_is_told_with_its_field(
    program: Client, fields: dict[str, str], field: str | None, status: int
) -> None:
    response = await program.post(ASK, data=form_with(**fields))
    told = await response.json()

    assert response.status == status
    assert told.get("errors", [{"field": None}])[0]["field"] == field


async def test_a_conversation_of_the_same_name_shows_nobody_elses_file(
    program: Client, desk: VpnDesk
) -> None:
    anna, ben = {"id": "anna"}, {"id": "ben"}
    await ask(program, VPN_LOG, question="vpn 809", conversation_id="c", user=anna)
    await ask(program, question="and then? 809", conversation_id="c", user=ben)

    assert desk.asked[1].history == ()
    assert desk.asked[1].attached == ()


async def test_a_withdrawn_question_takes_its_file_along(
    program: Client, desk: VpnDesk, store: Store
) -> None:
    desk.may_answer.clear()
    asking = asyncio.create_task(ask(program, VPN_LOG, question="vpn 809"))
    await wait_until(lambda: desk.asked)
    asked = desk.asked[0].message.interaction_id
    assert await kept_files(store) == [0]

    response = await program.delete(f"/api/v2/interactions/{asked}")

    assert response.status == 204
    assert await kept_files(store) == []
    asking.cancel()
    desk.may_answer.set()


async def test_a_question_changed_in_time_keeps_its_file(
    program: Client, desk: VpnDesk, store: Store
) -> None:
    desk.may_answer.clear()
    asking = asyncio.create_task(ask(program, VPN_LOG, question="why"))
    await wait_until(lambda: desk.asked)
    asked = desk.asked[0].message.interaction_id

    response = await program.patch(f"/api/v2/interactions/{asked}", json={"question": "why 809"})
    desk.may_answer.set()

    assert response.status == 200
    assert (await asking)["answer_type"] == "RAG"
    assert [each.name for each in desk.asked[-1].attached] == ["vpn.log"]


async def test_the_same_key_with_other_files_is_refused(program: Client, desk: VpnDesk) -> None:
    first = await ask(program, VPN_LOG, key="k", question="vpn 809")
    again = await ask(program, VPN_LOG, key="k", question="vpn 809")
    await ask(program, PICTURE, key="k", status=409, question="vpn 809")

    assert again == first
    assert len(desk.asked) == 1


async def test_a_form_that_a_browser_sends_from_elsewhere_is_refused(
    program: Client, desk: VpnDesk
) -> None:
    for headers in (
        {"Origin": "https://elsewhere.example"},
        {"User-Agent": "Mozilla/5.0"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        filled = form_with(VPN_LOG, ask='{"question": "x"}')
        assert (await program.post(ASK, data=filled, headers=headers)).status in {403, 415}

    assert desk.asked == []
