"""Tests of the page of one's own cases, in the whole application."""

from __future__ import annotations

import uuid
from pathlib import Path

from bot.chat.commands.overview import NO_CASES
from tests.fakes.http_server import Client, serving_application, settings_for, write_index

WANTED = "I want to talk to a person about the blue socket"


async def shown(client: Client) -> str:
    async with client.get("/cases") as response:
        assert response.status == 200
        return await response.text()


async def ask(client: Client, text: str) -> str:
    """Ask in the web chat and wait for the answer; return the conversation."""
    conversation, base = str(uuid.uuid4()), str(client.make_url("/")).rstrip("/")
    headers, form = {"Origin": base, "HX-Request": "true"}, {"question": text}
    async with client.post(f"/chat/{conversation}", data=form, headers=headers) as response:
        exchange = (await response.text()).partition('id="x-')[2].partition('"')[0]
    working = True
    while working:
        async with client.get(f"/chat/{conversation}/{exchange}") as response:
            working = 'class="answer working"' in await response.text()
    return conversation


async def test_the_page_links_each_case_to_its_conversation(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "data")
    await write_index(settings, tmp_path / "pages")
    async with serving_application(settings) as client:
        before = await shown(client)
        conversation = await ask(client, WANTED)
        after = await shown(client)

    assert NO_CASES in before
    assert "- IT: " in before
    assert NO_CASES not in after
    assert f'href="/c/{conversation}"' in after
    assert "waiting, less than a minute ago" in after
