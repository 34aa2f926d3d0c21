"""Static files: small on the wire, kept while they are the same."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.web.chat.routes import HERE
from bot.web.pages import layout
from bot.web.pages.layout import Assets

STYLE = "body { margin: 0; }\n" * 50
WHOLE_PAGE_BYTES = 150_000


@pytest.fixture
def assets(tmp_path: Path) -> Assets:
    folder = tmp_path / "static"
    folder.mkdir()
    folder.joinpath("style.css").write_text(STYLE)
    folder.joinpath("dot.bin").write_bytes(b"\x00\x01")
    tmp_path.joinpath("secret.txt").write_text("secret")
    return Assets(folder)


@pytest.fixture
async def client(assets: Assets) -> AsyncIterator[TestClient]:  # type: ignore[type-arg]  # generic only in stubs
    app = web.Application()
    app.router.add_get("/static/{name}", assets.serve)
    async with TestClient(TestServer(app), auto_decompress=False) as opened:
        yield opened


async def test_a_versioned_file_may_be_kept_for_ever(assets: Assets, client: TestClient) -> None:  # type: ignore[type-arg]  # generic only in stubs
    sent = await client.get(assets.link("style.css"))

    assert sent.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert sent.content_type == "text/css"


@pytest.mark.parametrize("address", ["/static/style.css", "/static/style.css?v=old"])
async def test_any_other_version_is_asked_for_each_time(client: TestClient, address: str) -> None:  # type: ignore[type-arg]  # generic only in stubs
    assert (await client.get(address)).headers["Cache-Control"] == "no-cache"


async def test_text_is_packed_for_those_who_can_unpack(client: TestClient) -> None:  # type: ignore[type-arg]  # generic only in stubs
    packed = await client.get("/static/style.css", headers={"Accept-Encoding": "gzip"})
    plain = await client.get("/static/style.css", headers={"Accept-Encoding": "identity"})

    assert gzip.decompress(await packed.read()).decode() == await plain.text() == STYLE
    assert len(await packed.read()) < len(STYLE) / 5
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"


async def test_those_who_have_it_are_told_so(client: TestClient) -> None:  # type: ignore[type-arg]  # generic only in stubs
    tag = (await client.get("/static/style.css")).headers["ETag"]

    again = await client.get("/static/style.css", headers={"If-None-Match": tag})

    assert again.status == 304
    assert await again.read() == b""


async def test_what_cannot_be_packed_is_sent_as_it_is(client: TestClient) -> None:  # type: ignore[type-arg]  # generic only in stubs
    sent = await client.get("/static/dot.bin", headers={"Accept-Encoding": "gzip"})

    assert await sent.read() == b"\x00\x01"


@pytest.mark.parametrize("name", ["none.css", "..%2Fsecret.txt", "..", "%2e%2e%2fsecret.txt"])
async def test_nothing_outside_the_folder_is_sent(client: TestClient, name: str) -> None:  # type: ignore[type-arg]  # generic only in stubs
    sent = await client.get(f"/static/{name}")

    assert sent.status == 404
    assert b"secret" not in await sent.read()


def test_the_version_follows_the_content(tmp_path: Path) -> None:
    file = tmp_path / "a.css"
    links = set()
    for content in ("one", "two", "one"):
        file.write_text(content)
        links.add(Assets(tmp_path).link("a.css"))

    assert len(links) == 2


def test_everything_the_chat_loads_is_light() -> None:
    files = [
        path
        for root in (layout.HERE, HERE)
        for path in (root / "static").iterdir()
        if path.suffix in {".css", ".js", ".svg"}
    ]

    assert sum(path.stat().st_size for path in files) < WHOLE_PAGE_BYTES * 0.7
