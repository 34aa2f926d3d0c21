"""Tests of correcting one's reply on the board, and of taking it back."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from bot.domain.cases import ActDetail, Actor, Step
from bot.domain.messages import InteractionId
from bot.store.database import Store
from tests.fakes.board_app import BoardBrowser, ask

ANNA = Actor("anna", "Anna Lopez", "expert")
_CORRECTS = re.compile(r'value="(?:amend|retract):(\d+)"')


async def replied(store: Store, words: str = "Use the <blue> socket.") -> InteractionId:
    case_id = (await ask(store)).id
    await store.escalations.act("default", case_id, "reply", ANNA, words)
    return case_id


def path_of(case_id: InteractionId) -> str:
    return f"/board/escalations/{case_id}"


async def steps_of(store: Store, case_id: InteractionId) -> list[tuple[Step, str, int]]:
    steps = await store.escalations.steps("default", case_id)
    return [(each.step, each.text, each.detail.about) for each in steps][2:]


async def test_a_reply_is_corrected_once(desk: BoardBrowser, store: Store) -> None:
    case_id = await replied(store)
    form: dict[str, Any] = {
        "act": "amend:2",
        "words-2": "Use the\r\nred one.",
        "stood-2": "Use the <blue> socket.",
    }

    for _ in range(2):
        shown = await desk.post(path_of(case_id), **form)

    assert "Use the\nred one." in shown
    assert "blue" not in shown
    assert await steps_of(store, case_id) == [("amend", "Use the\nred one.", 2)]


async def test_a_reply_is_taken_back_and_then_no_more_offered(
    desk: BoardBrowser, store: Store
) -> None:
    case_id = await replied(store)
    assert _CORRECTS.search(await desk.get(path_of(case_id)))

    shown = await desk.post(path_of(case_id), act="retract:2")

    assert [each[0] for each in await steps_of(store, case_id)] == ["retract"]
    assert not _CORRECTS.search(shown)
    case = await store.escalations.get("default", case_id)
    assert case is not None
    assert case.status.state == "claimed"


async def test_nobody_corrects_what_another_said(desk: BoardBrowser, store: Store) -> None:
    case_id = await replied(store)
    ben = desk.of("ben")
    assert not _CORRECTS.search(await ben.get(path_of(case_id)))

    for act in ("amend:2", "retract:2", "amend:1", "retract:99"):
        form: dict[str, Any] = {"act": act, "words-2": "No.", "words-1": "No."}
        await ben.post(path_of(case_id), 409, **form)

    assert await steps_of(store, case_id) == []


async def test_an_empty_correction_is_refused_and_other_words_are_kept(
    desk: BoardBrowser, store: Store
) -> None:
    case_id = await replied(store)
    form: dict[str, Any] = {"act": "amend:2", "words-2": " ", "stood-2": "Use the <blue> socket."}

    refused = html.unescape(await desk.post(path_of(case_id), 409, reply="half", **form))

    assert "The reply is empty." in refused
    assert "half" in refused
    assert await steps_of(store, case_id) == []


async def test_a_correction_typed_and_not_sent_is_kept(desk: BoardBrowser, store: Store) -> None:
    case_id = await replied(store)
    typed: dict[str, Any] = {"words-2": "Use the red one.", "stood-2": "Use the <blue> socket."}

    shown = await desk.post(path_of(case_id), act="note", note="Checked.", **typed)

    assert "Use the red one." in shown
    assert [each[0] for each in await steps_of(store, case_id)] == ["note"]


async def test_what_was_written_in_the_askers_thread_is_corrected_there(
    desk: BoardBrowser, store: Store
) -> None:
    case_id = (await ask(store)).id
    in_thread = ActDetail(in_thread=True)
    await store.escalations.act("default", case_id, "reply", ANNA, "Here.", in_thread)

    assert not _CORRECTS.search(await desk.get(path_of(case_id)))


@pytest.mark.parametrize("act", ["amend", "amend:", "amend:0", "amend:x", "retract:-1", "claim:2"])
async def test_an_act_that_names_no_reply_is_unknown(desk: BoardBrowser, act: str) -> None:
    case_id = await replied(desk.store)

    await desk.post(path_of(case_id), 422, act=act)
