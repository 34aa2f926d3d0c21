"""Files of people, and the host that they lie on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.bot.adapters.teams.tenant.file_host import ELSEWHERE, HOST, FileFault, FileHost


@pytest.fixture
async def session(file_host: FileHost) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=file_host.connector()) as session:
        yield session


def address(file_host: FileHost, content: bytes = b"words") -> str:
    return str(file_host.share("notes.txt", content)["content"]["downloadUrl"])


async def test_a_file_is_fetched_by_its_real_name_over_tls(
    file_host: FileHost, session: aiohttp.ClientSession
) -> None:
    async with session.get(address(file_host)) as answer:
        assert await answer.read() == b"words"
    (fetched,) = file_host.requests
    assert fetched.host == HOST
    assert "Authorization" not in fetched.headers


async def test_who_follows_a_redirect_is_seen_elsewhere(
    file_host: FileHost, session: aiohttp.ClientSession
) -> None:
    asked = address(file_host)
    file_host.fail(FileFault(moved_to=asked.replace(HOST, ELSEWHERE)))
    async with session.get(asked) as answer:
        assert answer.status == 200
    assert [fetched.host for fetched in file_host.requests] == [HOST, ELSEWHERE]


async def test_a_download_may_break_off(
    file_host: FileHost, session: aiohttp.ClientSession
) -> None:
    file_host.fail(FileFault(kept=2))
    async with session.get(address(file_host)) as answer:
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_a_length_may_be_unknown_and_a_file_gone(
    file_host: FileHost, session: aiohttp.ClientSession
) -> None:
    file_host.fail(FileFault(unannounced=True), FileFault(status=403))
    asked = address(file_host)
    async with session.get(asked) as answer:
        assert answer.content_length is None
        assert await answer.read() == b"words"
    for status in (403, 404):
        file_host.files.clear()
        async with session.get(asked) as answer:
            assert answer.status == status
