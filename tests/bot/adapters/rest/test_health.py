from __future__ import annotations

from pathlib import Path

from bot.domain.health import ComponentStatus
from bot.store.database import Store
from tests.bot.server import BEARER, TOKEN, serving, settings_for

BROKEN = (
    ComponentStatus(
        "index", "failed", "can't read /srv/index.sqlite.", "Run `python -m ingestion`."
    ),
    ComponentStatus("model", "absent", "not configured.", "Set OPENAI_MODEL."),
)


async def test_a_running_process_is_healthy_even_when_a_part_is_broken(
    store: Store, tmp_path: Path
) -> None:
    async with serving(store, settings_for(tmp_path), parts=BROKEN) as client:
        response = await client.get("/health")

        assert response.status == 200
        assert await response.json() == {"status": "ok"}
        assert (await client.head("/health")).status == 200


async def test_all_that_is_needed_is_ready(store: Store, tmp_path: Path) -> None:
    parts = (ComponentStatus("index", "ready", "25 pages."), BROKEN[1])
    async with serving(store, settings_for(tmp_path), parts=parts) as client:
        response = await client.get("/ready")
        body = await response.json()

    assert response.status == 200
    assert body["status"] == "ready"
    assert [part["state"] for part in body["parts"]] == ["ready", "absent"]


async def test_a_broken_platform_is_told_and_the_others_go_on(store: Store, tmp_path: Path) -> None:
    parts = (ComponentStatus("Slack", "failed", "The token is refused.", vital=False),)
    async with serving(store, settings_for(tmp_path), parts=parts) as client:
        response = await client.get("/ready")
        body = await response.json()

    assert (response.status, body["status"]) == (200, "ready")
    assert body["parts"][0]["state"] == "failed"


async def test_a_broken_part_is_told_with_its_cure(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), parts=BROKEN) as client:
        response = await client.get("/ready")
        body = await response.json()

    assert response.status == 503
    assert body["status"] == "not_ready"
    assert body["parts"][0]["cure"] == "Run `python -m ingestion`."


async def test_strangers_learn_the_states_but_not_the_details(store: Store, tmp_path: Path) -> None:
    public = settings_for(tmp_path, admin_token=TOKEN, host="0.0.0.0")  # noqa: S104 - reachable
    async with serving(store, public, parts=BROKEN) as client:
        stranger = await (await client.get("/ready")).json()
        admin = await (await client.get("/ready", headers=BEARER)).json()

    assert stranger["parts"][0] == {
        "name": "index",
        "state": "failed",
        "detail": None,
        "cure": None,
    }
    assert "index.sqlite" in admin["parts"][0]["detail"]


async def test_a_server_on_loopback_that_slack_reaches_tells_strangers_no_details(
    store: Store, tmp_path: Path
) -> None:
    tunnelled = settings_for(tmp_path, slack_bot_token="xoxb-1", slack_signing_secret="s")
    async with serving(store, tunnelled, parts=BROKEN) as client:
        told = await (await client.get("/ready")).json()

    assert {part["detail"] for part in told["parts"]} == {None}
