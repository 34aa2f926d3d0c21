from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.store.database import Store
from tests.bot.server import TOKEN, Client, serving, settings_for

FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data; boundary=x"
JSON = "application/json"
PUBLIC = {"host": "0.0.0.0"}  # noqa: S104 - the case that strangers reach


async def sent(client: Client, content: str, body: bytes, **headers: str) -> int:
    own = {"Origin": f"http://127.0.0.1:{client.port}", "Content-Type": content, **headers}
    response = await client.post("/session", data=body, headers=own)
    return response.status


@pytest.mark.parametrize(
    ("content", "body"),
    [
        (FORM, b"token=\xff\xfe"),
        (f"{FORM}; charset=zzz", b"token=abc"),
        (f"{FORM}; charset=utf-16", b"token=abc"),
        ("multipart/form-data", b"abc"),
        (PARTS, b"abc"),
        (PARTS, b"--x\r\n\r\nabc\r\n--x--\r\n"),
        (PARTS, b"--x\r\nContent-Disposition: form-data; name=token\r\n" + b"A: b\r\n" * 5000),
        (JSON, b"[" * 100_000),
        (JSON, b'{"token":'),
    ],
)
async def test_what_cannot_be_read_is_the_mistake_of_who_sent_it(
    store: Store, tmp_path: Path, content: str, body: bytes
) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        assert await sent(client, content, body) == 400


@pytest.mark.parametrize("content", [JSON, FORM, PARTS])
async def test_a_body_that_is_not_packed_as_it_says_is_a_mistake_too(
    store: Store, tmp_path: Path, content: str
) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        assert await sent(client, content, b"abcde", **{"Content-Encoding": "gzip"}) == 400


async def test_half_a_character_is_just_a_wrong_token(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        assert await sent(client, JSON, b'{"token": "\\ud800"}') == 401
        assert await sent(client, FORM, b"token=%ed%a0%80") == 401


@pytest.mark.parametrize("cookie", [b"frontdesk_visitor=a.\xff", b"frontdesk_demo=you.\xff"])
async def test_a_cookie_of_odd_bytes_is_nobodys(
    store: Store, tmp_path: Path, cookie: bytes
) -> None:
    async with serving(store, settings_for(tmp_path), sample=True) as client:
        head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nAccept: text/html\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writer.write(head.encode() + b"Connection: close\r\nCookie: " + cookie + b"\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()

    assert answer.startswith(b"HTTP/1.1 200")
