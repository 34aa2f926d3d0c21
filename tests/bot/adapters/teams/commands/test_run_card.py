"""What a run's card says, and where it opens."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.chat.commands.run_leases import RunLease
from bot.chat.commands.run_status import RunProblem, RunStatus
from bot.platforms.teams.commands.reindex_runs import link_to_run, run_message
from bot.platforms.teams.rendering.text import ACTIVITY_BUDGET, size
from tests.bot.adapters.teams.tenant.card_rules import problems
from tests.bot.adapters.teams.tenant.cards import attached, labels, words
from tests.bot.adapters.teams.tenant.names import ENTRA, HELP

RUNNING = RunStatus(
    run_id="r1",
    state="running",
    space="HR",
    pages=120,
    total=480,
    chunks=900,
    chunks_per_second=42.0,
    remaining="about two minutes",
)
EVIL = "<at>all</at> **x** [x](https://evil.example) {{DATE(2026,SHORT)}}"


def shown(told: RunStatus, *, name: str = "Alice", alone: bool = False) -> str:
    (card,) = attached(run_message(told, name=name, alone=alone))
    assert problems(card) == []
    return words(card)


def test_a_run_under_way_shows_its_bar_its_pace_and_who_ordered_it() -> None:
    text = shown(RUNNING)

    assert "25 %" in text
    assert "120 of 480 pages" in text
    assert "42 a second" in text
    assert "Ordered by Alice" in text


@pytest.mark.parametrize(("ended", "buttons"), [(False, ["Cancel"]), (True, [])])
def test_only_a_run_that_goes_on_can_be_cancelled(ended: bool, buttons: list[str]) -> None:  # noqa: FBT001 - as it is told
    (card,) = attached(run_message(replace(RUNNING, ended=ended), name="Alice", alone=True))

    assert labels(card) == buttons


@pytest.mark.parametrize("alone", [True, False])
def test_nothing_in_a_card_is_live_and_it_fits(alone: bool) -> None:  # noqa: FBT001 - as it is told
    troubles = tuple(
        RunProblem(EVIL * 50, EVIL * 50, EVIL * 50, EVIL * 50, mass_delete=True) for _ in range(5)
    )
    told = replace(
        RUNNING, state="failed", space=EVIL, troubles=troubles, failed=9, note=EVIL, ended=True
    )
    message = run_message(told, name=EVIL, alone=alone)

    assert size(message) < ACTIVITY_BUDGET
    for live in ("<at", "](http", "://evil", "{{DATE", "**x**"):
        assert live not in shown(told, name=EVIL, alone=alone)


def at(conversation: str, posted: str = "1760000000002") -> RunLease:
    there = {"conversation": {"id": conversation, "tenantId": ENTRA}}
    return RunLease("r1", "alice", "", 1.0, place=json.dumps(there), posted=posted)


def test_a_card_in_a_channel_opens_by_a_link_one_in_a_chat_does_not() -> None:
    url = link_to_run(at(f"{HELP};messageid=1760000000001"))

    assert url is not None
    assert url.startswith("https://teams.microsoft.com/l/message/19%3Ahelp%40thread.tacv2/176000")
    assert "parentMessageId=1760000000001" in url
    assert link_to_run(at("a:alice-and-bot")) is None
