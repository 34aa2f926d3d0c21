"""Tests of the page that shows the API."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fakes.http_server import (
    BEARER,
    PAGE_VIEW,
    TOKEN,
    serving_application,
    settings_for,
)

ADDRESS = re.compile(r'(?:src|href)="([^"]+)"')


async def test_the_page_and_its_files_are_this_servers_own(tmp_path: Path) -> None:
    async with serving_application(settings_for(tmp_path)) as client:
        response = await client.get("/docs", headers=PAGE_VIEW)
        page = await response.text()
        files = [await client.get(each) for each in set(ADDRESS.findall(page))]
        other = await client.get("/", headers=PAGE_VIEW)

    policy = response.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "<script>" not in page
    assert "style=" not in page
    assert {each.status for each in files} == {200}
    assert "data:" not in other.headers["Content-Security-Policy"]


@pytest.mark.parametrize("headers", [{}, BEARER], ids=["a stranger", "the token"])
async def test_the_page_is_for_whoever_may_read_the_document(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    settings = settings_for(tmp_path, admin_token=TOKEN, host="10.1.1.1")
    async with serving_application(settings) as client:
        shown = [await client.get(path, headers=headers) for path in ("/docs", "/openapi.json")]

    assert [each.status for each in shown] == ([200, 200] if headers else [401, 401])
