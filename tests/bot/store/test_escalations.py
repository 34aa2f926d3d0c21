"""The people's list."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.errors import InteractionUnknown
from bot.store import Store
from bot.types import Escalation
from tests.bot.fakes import replied
from tests.bot.store.filled import add_escalation, add_interaction
from tests.builders import NOON, message


async def add_waiting(store: Store, name: str, **more: object) -> None:
    await add_interaction(store, name, channel="slack:C1")
    await add_escalation(store, name, **more)


async def test_what_waits_longest_comes_first(store: Store) -> None:
    await add_waiting(store, "late", opened_at=NOON + timedelta(hours=1))
    await add_waiting(store, "early")
    await add_waiting(store, "resolved", state="resolved")

    waiting = await store.escalations.in_state("default", ["open"], 10)

    assert [each.interaction_id for each in waiting] == ["early", "late"]
    assert waiting[0].channel == "slack:C1"
    assert waiting[0].opened_at == NOON
    everything = await store.escalations.in_state("default", ["open", "resolved"], 10)
    assert len(everything) == 3
    assert len(await store.escalations.in_state("default", ["open"], 1)) == 1


async def test_settling_is_kept_with_owner_and_audit(store: Store) -> None:
    await add_waiting(store, "i1")

    settled = await store.escalations.settle("default", "i1", "resolved", owner="cli:anna")

    assert (settled.state, settled.owner) == ("resolved", "cli:anna")
    assert abs(datetime.now(UTC) - settled.changed_at) < timedelta(minutes=1)
    assert await store.escalations.get("default", "i1") == settled
    (act,) = await store.audits.newest("default", 10)
    assert (act.actor, act.act, act.subject) == ("cli:anna", "resolve", "i1")


async def test_settling_at_the_same_time_is_one_act_and_the_first_one_owns_it(
    store: Store,
) -> None:
    await add_waiting(store, "i1")

    settled = await asyncio.gather(
        *(
            store.escalations.settle("default", "i1", "resolved", owner=f"cli:{name}")
            for name in ("anna", "ben", "cleo")
        )
    )

    (act,) = await store.audits.newest("default", 10)
    assert {each.owner for each in settled} == {act.actor}


async def test_what_was_resolved_can_be_opened_again(store: Store) -> None:
    await add_waiting(store, "i1", state="resolved", owner="cli:anna")

    again = await store.escalations.settle("default", "i1", "open", owner=None)

    assert (again.state, again.owner) == ("open", None)


@pytest.mark.parametrize("name", ["nobody", "i\x001", "x" * 70_000])
async def test_an_unknown_one_is_named_with_the_cure(store: Store, name: str) -> None:
    assert await store.escalations.get("default", name) is None

    with pytest.raises(InteractionUnknown, match="escalations --all"):
        await store.escalations.settle("default", name, "resolved", owner="cli:anna")

    assert await store.audits.newest("default", 10) == []


async def test_another_tenants_escalation_is_unknown(store: Store) -> None:
    await add_waiting(store, "i1")

    assert await store.escalations.in_state("other", ["open"], 10) == []
    assert await store.escalations.get("other", "i1") is None
    with pytest.raises(InteractionUnknown):
        await store.escalations.settle("other", "i1", "resolved", owner="cli:anna")


async def test_a_question_of_any_length_and_character_goes_on_the_list(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    question = "please \x00" + "help " * 13_000
    handed = replace(replied(""), response=Escalation("Noted.", "asked_for_human", question))
    await store.work.close(opened, handed, last=True)

    (waiting,) = await store.escalations.in_state("default", ["open"], 10)

    assert waiting.question == question.replace("\x00", "\ufffd")
    assert waiting.interaction_id == opened.id
