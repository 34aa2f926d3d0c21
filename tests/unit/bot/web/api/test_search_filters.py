"""Tests of questions that name the spaces and the source type to search."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.domain.messages import Policy
from bot.store.database import open_store, sqlite_url
from tests.fakes.http_server import (
    LIKELY,
    LOW,
    PAGES,
    Client,
    serving_application,
    settings_for,
    write_index,
)

SHUT = {"shut.md": f"---\nreaders: [group:admins]\n---\n{PAGES['vpn.md']}"}


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Client]:
    """A whole server: the same page in IT and HR, and in SHUT for admins alone."""
    settings = settings_for(
        tmp_path / "data", confidence_threshold=LOW, index_spaces=frozenset({"HR", "IT", "SHUT"})
    )
    for space, pages in {
        "IT": {"vpn.md": PAGES["vpn.md"]},
        "HR": {"vpn.md": PAGES["vpn.md"]},
        "SHUT": SHUT,
        "OUT": {"vpn.md": PAGES["vpn.md"]},
    }.items():
        await write_index(settings, tmp_path / space, pages, space=space)
    async with await open_store(sqlite_url(settings.data_dir)) as store:
        await store.policies.set(
            settings.tenant, "rest:local", Policy(spaces=frozenset({"HR", "SHUT"})), actor="cli:x"
        )
    async with serving_application(settings) as client:
        yield client


async def ask(client: Client, **body: object) -> dict[str, Any]:
    sent = {"question": LIKELY, "show_pipeline": True, **body}
    response = await client.post("/api/v2/ask", json=sent)
    assert response.status == 200, await response.text()
    return json.loads(await response.text())  # type: ignore[no-any-return]


def spaces_of(told: dict[str, Any]) -> set[str]:
    return {source["space"] for source in (*told["sources"], *told["suggestions"])}


async def test_a_request_narrows_the_spaces_and_never_widens_them(office: Client) -> None:
    whole = await ask(office)
    wider = await ask(office, spaces=["HR", "IT", "OUT"])
    beside = await ask(office, spaces=["IT"])

    assert spaces_of(whole) == spaces_of(wider) == {"HR"}
    assert wider["pipeline"]["search_filters"]["spaces"] == ["HR", "IT", "OUT"]
    assert beside["pipeline"]["passages"] == []


async def test_a_shut_space_is_told_as_one_that_does_not_exist(office: Client) -> None:
    """Neither the answer nor the reasons tell them apart."""
    told = [await ask(office, spaces=[name]) for name in ("SHUT", "OUT", "NONE")]
    changing = ("interaction_id", "conversation_id")
    for each in told:
        each["pipeline"]["timings_ms"] = each["pipeline"]["search_filters"] = None
        for name in changing:
            del each[name]

    assert told[0] == told[1] == told[2]
    assert told[0]["pipeline"]["passages"] == []


async def test_a_request_can_ask_for_a_source_type(office: Client) -> None:
    folder = await ask(office, source_type="folder")
    uploads = await ask(office, source_type="upload")
    kept = await office.get(f"/api/v2/interactions/{uploads['interaction_id']}?show_pipeline=true")

    assert folder["sources"][0]["source_type"] == "folder"
    assert uploads["sources"] == uploads["suggestions"] == []
    assert (await kept.json())["pipeline"]["search_filters"] == {
        "spaces": None,
        "source_type": "upload",
    }
