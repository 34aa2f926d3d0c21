"""Tests of the board's page of a channel's spaces."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest

from bot.domain.messages import Policy
from bot.store.database import Store
from bot.web.board.channels import ChannelPage
from tests.fakes.board_app import BoardState, Client, state_pages
from tests.fakes.chat_context import MemoryDocuments, document, draft_review
from tests.fakes.http_server import BEARER, TOKEN, settings_for

PATH = "/board/settings/channel"
CHANNEL = "teams:19:a_b&c@thread.tacv2"
CHOICE = re.compile(r'name="spaces" value="(\w+)"( checked)?')
SEEN = re.compile(r'name="seen" value="([^"]*)"')


def indexed() -> MemoryDocuments:
    held = MemoryDocuments()
    for space, readers in (("HR", "group:hr"), ("IT", "everyone"), ("OUT", "everyone")):
        held.kept[space, "a.md"] = document(space, "a.md", readers=readers)
    return held


@pytest.fixture
async def client(store: Store, tmp_path: Path) -> AsyncIterator[Client]:
    settings = settings_for(tmp_path, index_spaces=frozenset({"HR", "IT"}))
    async with state_pages(store, settings, BoardState(documents=indexed())) as opened:
        yield opened


async def page(client: Client, channel: str = CHANNEL) -> str:
    response = await client.get(PATH, params={"channel": channel})
    assert response.status == 200
    return await response.text()


def fields(shown: str, *spaces: str) -> Sequence[tuple[str, str]]:
    """Return the form of a page that was shown, with these spaces chosen."""
    seen = SEEN.search(shown)
    assert seen is not None
    chosen = (("spaces", each) for each in spaces)
    return [("channel", CHANNEL), ("seen", unescape(seen[1])), *chosen]


async def save(client: Client, shown: str, *spaces: str, status: int = 303) -> str:
    return await send(client, fields(shown, *spaces), status)


async def send(client: Client, sent: Sequence[tuple[str, str]], status: int) -> str:
    answered, text = await post(client, sent)
    assert answered == status
    return text


async def post(client: Client, sent: Sequence[tuple[str, str]]) -> tuple[int, str]:
    origin = str(client.make_url("/")).rstrip("/")
    response = await client.post(PATH, data=sent, headers={"Origin": origin}, allow_redirects=False)
    return response.status, await response.text()


async def test_the_spaces_that_are_served_are_offered(client: Client) -> None:
    assert CHOICE.findall(await page(client)) == [("HR", ""), ("IT", "")]


async def test_spaces_are_saved_and_the_rest_of_the_policy_stays(
    store: Store, client: Client
) -> None:
    own = Policy(answers="questions", people="C9", model="gone")
    await store.policies.set("default", CHANNEL, own, actor="cli:x")

    await save(client, await page(client), "IT")

    kept = await store.policies.of("default", CHANNEL)
    assert kept == Policy(frozenset({"IT"}), answers="questions", people="C9", model="gone")
    (act, _) = await store.audits.newest("default", 9)
    assert (act.act, act.subject, act.actor[:6]) == ("set policy", CHANNEL, "board:")
    assert CHOICE.findall(await page(client)) == [("HR", ""), ("IT", " checked")]
    settings = await (await client.get("/board/settings")).text()
    assert f'?channel={quote(CHANNEL, safe="")}"' in settings

    await save(client, await page(client))

    assert await store.policies.of("default", CHANNEL) == own


async def test_a_named_model_of_a_channel_counts_as_configured(
    store: Store, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, openai_model="usual", models={"careful": {"model": "m"}})
    await store.policies.set("default", CHANNEL, Policy(model="careful"), actor="cli:x")
    pages = ChannelPage(
        settings=settings, policies=store.policies, documents=indexed(), drafts=draft_review(store)
    )

    form = await pages._form(CHANNEL)  # noqa: SLF001 - the page shows the spaces alone

    labels = {choice.value: choice.label for choice in form.models}
    assert labels["careful"] == "careful"


async def test_saving_what_is_so_already_is_no_act(store: Store, client: Client) -> None:
    await save(client, await page(client))

    assert await store.policies.of("default", CHANNEL) is None
    assert await store.audits.newest("default", 9) == []


async def test_no_space_at_all_does_not_become_all_of_them(store: Store, client: Client) -> None:
    await store.policies.set("default", CHANNEL, Policy(frozenset()), actor="cli:x")

    await save(client, await page(client))

    assert await store.policies.of("default", CHANNEL) == Policy(frozenset())


async def test_a_change_made_meanwhile_is_told_and_not_overwritten(
    store: Store, client: Client
) -> None:
    shown = await page(client)
    other = Policy(frozenset({"HR"}))
    await store.policies.set("default", CHANNEL, other, actor="cli:x")

    told = await save(client, shown, "IT", status=409)

    assert await store.policies.of("default", CHANNEL) == other
    alert = re.search(r'id="wrong"[^>]*>([^<]*)<', told)
    assert alert is not None
    assert "HR" in alert[1]
    assert CHOICE.findall(told) == [("HR", ""), ("IT", " checked")]
    await save(client, told, "IT")
    assert await store.policies.of("default", CHANNEL) == Policy(frozenset({"IT"}))


async def test_of_two_saves_at_once_one_is_refused(store: Store, client: Client) -> None:
    shown = await page(client)

    statuses = await asyncio.gather(*(post(client, fields(shown, each)) for each in ("HR", "IT")))

    assert sorted(status for status, _ in statuses) == [303, 409]
    saved = "HR" if statuses[0][0] == 303 else "IT"
    assert await store.policies.of("default", CHANNEL) == Policy(frozenset({saved}))


async def test_a_space_that_is_not_offered_can_not_be_chosen(store: Store, client: Client) -> None:
    told = await save(client, await page(client), "OUT", status=422)

    assert "no space OUT" in told
    assert await store.policies.of("default", CHANNEL) is None


@pytest.mark.parametrize("name", ["", "slack", "slack:", ":C1", "slack:a b", "slack:" + "x" * 200])
async def test_what_is_no_channel_is_told(store: Store, client: Client, name: str) -> None:
    shown = await client.get(PATH, params={"channel": name})

    assert shown.status == 422
    await send(client, [("channel", name), ("seen", "null"), ("spaces", "IT")], 422)
    assert await store.policies.all("default") == []


async def test_the_page_is_for_admins_alone(store: Store, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, admin_token=TOKEN)
    async with state_pages(store, settings, BoardState(documents=indexed())) as client:
        statuses = [
            (await client.get(PATH, params={"channel": CHANNEL}, headers=headers)).status
            for headers in ({}, BEARER)
        ]
        await send(client, [("channel", CHANNEL), ("seen", "null"), ("spaces", "IT")], 403)

    assert statuses == [403, 200]
    assert await store.policies.all("default") == []


async def test_a_channel_in_shadow_mode_is_reported_on_and_made_live(
    store: Store, client: Client
) -> None:
    assert "Shadow mode" not in await page(client)
    shadow = Policy(frozenset({"IT"}), "shadow", reviewers=frozenset({"bob-id"}))
    await store.policies.set("default", CHANNEL, shadow, actor="cli:x")
    shown = await page(client)
    assert "drafts go to bob-id" in shown

    for mode, status in (("shadow", 422), ("questions", 303), ("mentions", 409)):
        answered = await client.post(
            f"{PATH}/live",
            data={"channel": CHANNEL, "mode": mode},
            headers={"Origin": str(client.make_url("/")).rstrip("/")},
            allow_redirects=False,
        )
        assert answered.status == status

    assert await store.policies.of("default", CHANNEL) == replace(shadow, answers="questions")
    (act, *_) = await store.audits.newest("default", 1)
    assert act.actor.startswith("board:")
