"""The answer cache of a whole server, and the settings that its answers depend on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from bot.answering.gate import GATE_FILE
from bot.app.answer_cache import answer_basis
from tests.fakes.http_server import (
    LIKELY,
    LOW,
    Client,
    serving_application,
    settings_for,
    write_index,
)

V2 = "/api/v2"


@asynccontextmanager
async def server(tmp_path: Path, **settings: object) -> AsyncIterator[Client]:
    made = settings_for(
        tmp_path / "data", confidence_threshold=LOW, dev_identities=True, **settings
    )
    await write_index(made, tmp_path / "pages")
    async with serving_application(made) as client:
        yield client


async def ask(client: Client, who: str, *groups: str, path: str = V2) -> dict[str, Any]:
    user = {"id": who, "groups": list(groups)}
    answered = await client.post(f"{path}/ask", json={"question": LIKELY, "user": user})
    assert answered.status == 200
    found: dict[str, Any] = await answered.json()
    return found


async def test_a_colleague_gets_the_saved_answer_with_its_age(tmp_path: Path) -> None:
    async with server(tmp_path, answer_cache=True) as client:
        first = await ask(client, "anna")
        again = await ask(client, "ben")
        admin = await ask(client, "ada", "admins")
        older = await ask(client, "cleo", path="/api/v1")

    assert (first["status"], first["cached_at"], first["remarks"]) == ("answered", None, [])
    assert (again["answer"], again["sources"]) == (first["answer"], first["sources"])
    assert again["cached_at"] is not None
    assert any("less than a minute ago" in each for each in again["remarks"])
    assert admin["cached_at"] is None
    assert older["remarks"] == again["remarks"]


async def test_a_thumb_down_makes_the_next_answer_a_new_one(tmp_path: Path) -> None:
    async with server(tmp_path, answer_cache=True) as client:
        await ask(client, "anna")
        again = await ask(client, "ben")
        path = f"{V2}/interactions/{again['interaction_id']}/feedback"
        judged = await client.put(path, json={"vote": "down", "user": {"id": "ben"}})
        after = await ask(client, "cleo")

    assert judged.status == 200
    assert (again["cached_at"] is None, after["cached_at"]) == (False, None)


async def test_without_the_setting_every_answer_is_composed(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        answers = [await ask(client, who) for who in ("anna", "ben")]

    assert [each["cached_at"] for each in answers] == [None, None]


@pytest.mark.parametrize(("settings", "asked"), [({}, 0), ({"answer_cache": True}, 2)])
async def test_only_with_the_setting_the_record_is_asked(
    tmp_path: Path, settings: dict[str, object], asked: int
) -> None:
    statements: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        async with server(tmp_path, **settings) as client:
            statements.clear()
            await ask(client, "anna")
            used = [each for each in statements if "saved_answers" in each]
    finally:
        event.remove(Engine, "before_cursor_execute", note)

    assert len(used) == asked


def basis(tmp_path: Path, **changes: object) -> str:
    parts: dict[str, Any] = {"embedder": "e@1", "superseded": (), "gate_file": GATE_FILE}
    given = {name: changes.pop(name) for name in tuple(changes) if name in parts}
    return answer_basis(settings_for(tmp_path, **changes), **{**parts, **given})


@pytest.mark.parametrize(
    "changes",
    [
        {"top_k": 6},
        {"model_top_k": 6},
        {"search": "planned"},
        {"similarity_floor": 0.3},
        {"spelling": False},
        {"confidence_threshold": 0.5},
        {"openai_model": "m1"},
        {"wiki_language": "de"},
        {"openai_base_url": "https://models.example.org/v1"},
        {"openai_reasoning_effort": "high"},
        {"azure_search_semantic": True},
        {"embedder": "e@2"},
        {"superseded": ("old",)},
    ],
    ids=str,
)
def test_what_changes_answers_changes_the_basis(tmp_path: Path, changes: dict[str, object]) -> None:
    assert basis(tmp_path, **changes) != basis(tmp_path)


def test_another_gate_file_changes_the_basis(tmp_path: Path) -> None:
    other = tmp_path / "gate.json"
    other.write_text(GATE_FILE.read_text() + " ")

    assert basis(tmp_path, gate_file=other) != basis(tmp_path)


def test_processes_that_answer_alike_share_the_basis(tmp_path: Path) -> None:
    assert basis(tmp_path / "other", port=4000, host="127.0.0.2") == basis(tmp_path)
