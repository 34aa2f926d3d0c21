"""The people's list, from the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.app.cli import administration
from bot.app.cli.administration import escalations
from bot.domain.cases import Actor
from bot.domain.errors import EscalationTaken, InteractionUnknown
from bot.domain.messages import InteractionId
from bot.domain.settings import Settings
from bot.store.database import Store
from tests.bot.store.filled import add_escalation, add_interaction


@pytest.fixture
def configured(tmp_path: Path, store: Store) -> Settings:
    return Settings(data_dir=tmp_path)


async def add_two(store: Store) -> None:
    for name in ("i1", "i2"):
        await add_interaction(store, name, channel="slack:C1")
        await add_escalation(store, name, asker="anna", question=f"help\nwith \x1b[31m{name}")


async def test_what_waits_is_listed_in_one_line_each(
    configured: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    await add_two(store)

    assert await escalations(configured, done=None, everything=False, limit=10) == 0

    assert capsys.readouterr().out.splitlines() == [
        "i1  2026-11-22 12:00  slack  asked_for_human  help with \ufffd[31mi1",
        "i2  2026-11-22 12:00  slack  asked_for_human  help with \ufffd[31mi2",
    ]


async def test_what_is_done_leaves_the_list_and_an_act(
    configured: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    await add_two(store)

    assert await escalations(configured, done="i1", everything=False, limit=10) == 0
    assert capsys.readouterr().out.startswith(f"Resolved by {administration.operator()} on 20")

    await escalations(configured, done=None, everything=False, limit=10)
    assert "i1  " not in capsys.readouterr().out
    await escalations(configured, done=None, everything=True, limit=10)
    assert f"[resolved by {administration.operator()}] help with" in capsys.readouterr().out
    (act,) = await store.audits.newest("default", 10)
    assert (act.actor, act.subject) == (administration.operator(), "i1")


async def test_a_list_that_is_cut_says_so(
    configured: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    await add_two(store)

    await escalations(configured, done=None, everything=False, limit=1)

    assert capsys.readouterr().out.splitlines()[1] == "… and more; see them with a larger --limit"


async def test_nothing_that_waits_is_said(
    configured: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    await escalations(configured, done=None, everything=False, limit=1)
    await escalations(configured, done=None, everything=True, limit=1)

    assert capsys.readouterr().out.splitlines() == [
        "Nothing waits for a person.",
        "No question ever went to a person.",
    ]


async def test_one_is_shown_with_its_history(
    configured: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    await add_two(store)
    anna = Actor("u1", "Anna", "expert")
    await store.escalations.act("default", InteractionId("i1"), "reply", anna, "Restart\n\x1bit.")
    asker = Actor("anna", "", "asker")
    await store.escalations.act("default", InteractionId("i1"), "reopen", asker)
    await store.notices.remind(datetime.now(UTC) + timedelta(days=1))

    assert await escalations(configured, shown=" i1 ", everything=False, limit=1) == 0

    first, *entries = capsys.readouterr().out.splitlines()
    assert "[reopened] help with" in first
    assert [entry[20:] for entry in entries] == [
        "reply     Anna  Restart \ufffdit.",
        "reopen    the asker",
        "ping",
    ]
    with pytest.raises(InteractionUnknown, match="escalations --all"):
        await escalations(configured, shown="nobody", everything=False, limit=1)


async def test_what_another_has_is_not_done_from_here(configured: Settings, store: Store) -> None:
    await add_two(store)
    anna = Actor("u1", "Anna", "expert")
    await store.escalations.act("default", InteractionId("i1"), "claim", anna)

    with pytest.raises(EscalationTaken, match="Anna has it already"):
        await escalations(configured, done="i1", everything=False, limit=1)


async def test_an_unknown_one_is_refused_with_the_cure(configured: Settings) -> None:
    with pytest.raises(InteractionUnknown, match="escalations --all"):
        await escalations(configured, done="nobody", everything=False, limit=1)
