from __future__ import annotations

from pathlib import Path

import pytest

from bot.store.database import Store
from bot.web.auth.cookie_signer import Signer, signing_key
from bot.web.auth.demo import demo_allowed
from tests.bot.server import PAGE_VIEW, TOKEN, Client, serving, settings_for

SLACK = {"slack_bot_token": "xoxb-1", "slack_signing_secret": "s"}
OIDC = {
    "oidc_issuer": "https://id.example",
    "oidc_client_id": "desk",
    "public_url": "https://desk.example",
}
PUBLIC = {"host": "0.0.0.0"}  # noqa: S104 - the case


async def become(client: Client, persona: str, wanted: str = "/") -> tuple[int, str]:
    response = await client.post(
        "/session/demo",
        data={"persona": persona, "next": wanted},
        headers={"Origin": f"http://127.0.0.1:{client.port}"},
        allow_redirects=False,
    )
    return response.status, response.headers.get("Location", "")


async def seen(client: Client) -> tuple[str, str]:
    """Return who the browser's owner is, and as what."""
    who = await (await client.get("/", headers=PAGE_VIEW)).text()
    return who, await (await client.get("/role")).text()


async def test_one_can_be_somebody_else_and_oneself_again(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), sample=True) as client:
        you = await seen(client)
        chosen = {}
        for persona in ("mika", "ines", "tomas"):
            assert await become(client, persona, "/role") == (303, "/role")
            chosen[persona] = await seen(client)
        await become(client, "you")

        assert chosen == {
            "mika": ("demo-mika", "asker"),
            "ines": ("demo-ines", "asker"),
            "tomas": ("demo-tomas", "expert"),
        }
        assert you[0].startswith("visitor-")
        assert you[1] == "admin"
        assert await seen(client) == you


async def test_each_has_a_history_of_their_own(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), sample=True) as client:
        await become(client, "ines")
        asked = await (await client.post("/api/v1/ask", json={"question": "hello"})).json()
        address = f"/api/v1/interactions/{asked['interaction_id']}"
        own = (await client.get(address)).status
        others = []
        for persona in ("mika", "tomas", "you"):
            await become(client, persona)
            others.append((await client.get(address)).status)

    assert own == 200
    assert others == [404, 404, 404]


async def test_what_is_asked_is_answered_from_what_they_may_read(
    store: Store, tmp_path: Path
) -> None:
    readers = {}
    async with serving(store, settings_for(tmp_path), sample=True) as client:
        for persona in ("mika", "ines", "tomas"):
            await become(client, persona)
            asked = await (await client.post("/api/v1/ask", json={"question": "hello"})).json()
            kept = await store.interactions.get(asked["interaction_id"])
            assert kept is not None
            readers[persona] = kept.message.author.principals

    assert readers == {
        "mika": {"everyone", "user:mika"},
        "ines": {"everyone", "user:ines", "group:hr-team"},
        "tomas": {"everyone", "user:tomas", "group:it-admins"},
    }


async def test_a_persona_sees_not_more_where_everybody_is_believed(
    store: Store, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, dev_identities=True)
    async with serving(store, settings, sample=True) as client:
        asked = await (await client.post("/api/v1/ask", json={"question": "hello"})).json()
        await become(client, "mika")

        address = f"/api/v1/interactions/{asked['interaction_id']}"
        assert (await client.get(address)).status == 404


@pytest.mark.parametrize("persona", ["admin", "", "Mika", "../you"])
async def test_nobody_else_can_be_played(store: Store, tmp_path: Path, persona: str) -> None:
    async with serving(store, settings_for(tmp_path), sample=True) as client:
        assert (await become(client, persona))[0] == 422


async def test_choosing_leads_nowhere_else(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), sample=True) as client:
        assert await become(client, "mika", "//evil.example") == (303, "/")


async def test_another_site_cannot_choose(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), sample=True) as client:
        form = {"persona": "tomas"}
        evil = {"Origin": "https://evil.example"}
        posted = await client.post("/session/demo", data=form, headers=evil)
        got = await client.get("/session/demo", params=form)

    assert (posted.status, got.status) == (403, 405)


async def test_a_forged_choice_is_oneself(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), sample=True) as client:
        for forged in ("tomas", "tomas.", "tomas.AAAA", f"tomas.{'A' * 43}"):
            headers = {"Cookie": f"frontdesk_demo={forged}"}
            assert await (await client.get("/role", headers=headers)).text() == "admin"
            assert await (await client.get("/", headers=headers)).text() == "local"


@pytest.mark.parametrize(
    ("changes", "sample"),
    [
        ({}, False),
        (PUBLIC, True),
        (PUBLIC | {"admin_token": TOKEN}, True),
        (SLACK | {"admin_token": TOKEN}, True),
        ({"microsoft_app_id": "app", "admin_token": TOKEN}, True),
        ({"admin_token": TOKEN}, True),
        (OIDC, True),
    ],
    ids=["no sample", "public", "public, token", "slack", "teams", "token", "oidc"],
)
async def test_nowhere_else_is_there_anybody_to_play(
    store: Store, tmp_path: Path, changes: dict[str, object], *, sample: bool
) -> None:
    settings = settings_for(tmp_path, **changes)
    async with serving(store, settings, sample=sample) as client:
        signed = Signer(signing_key(tmp_path / "cookie.key"), "demo").sign("tomas")
        headers = {"Cookie": f"frontdesk_demo={signed}"}
        chosen = (await become(client, "tomas"))[0]
        role = await (await client.get("/role", headers=headers)).text()
        who = await (await client.get("/", headers=headers)).text()

    assert chosen in {401, 403, 404}
    assert role != "expert"
    assert "demo-" not in who


def test_a_settings_file_alone_allows_nothing_elsewhere(tmp_path: Path) -> None:
    assert demo_allowed(settings_for(tmp_path))
    assert not demo_allowed(settings_for(tmp_path, **PUBLIC))
