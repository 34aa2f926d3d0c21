"""The doctor tells how many of those who ask are known in Confluence, and nobody's name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.app.confluence import people_checks
from bot.domain.health import ComponentStatus
from bot.domain.messages import Person
from bot.store.database import open_store, sqlite_url
from tests.bot.server import settings_for
from tests.builders import message
from tests.confluence.faults import login_page
from tests.confluence.server import LocalConfluence
from tests.confluence.site import Site
from tests.confluence.society import ADMIN


async def record(data_dir: Path, *emails: str) -> None:
    """Let people have asked."""
    store = await open_store(sqlite_url(data_dir))
    for number, email in enumerate(emails):
        asked = replace(
            message("vpn?", message_id=str(number)),
            author=Person(f"U-{email}", email=email),
        )
        await store.work.open(asked, "test")
    await store.close()


def site() -> Site:
    made = Site()
    made.add_person("ann", email="ann@acme.example", email_shown=True)
    made.add_person("bob", email="bob@acme.example")
    return made


async def checked(
    server: LocalConfluence, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> ComponentStatus:
    person = server.site.people[ADMIN]
    monkeypatch.setenv("CONFLUENCE_URL", server.url)
    monkeypatch.setenv("CONFLUENCE_EMAIL", person.email)
    monkeypatch.setenv("CONFLUENCE_TOKEN", person.token)
    monkeypatch.setenv("CONFLUENCE_EDITION", "cloud")
    (part,) = await people_checks(settings_for(data_dir))
    assert "acme" not in part.line()
    return part


async def test_the_unmapped_share_is_told_with_its_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(tmp_path, "ann@acme.example", "bob@acme.example", "cyd@acme.example")
    async with LocalConfluence(site()).serving() as server:
        part = await checked(server, tmp_path, monkeypatch)

    assert part.state == "limited"
    assert part.detail == "1 of 3 who asked in 30 days are known; 2 are not (67%)."
    assert "CONFLUENCE_DIRECTORY" in part.cure


async def test_all_known_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with LocalConfluence(site()).serving() as server:
        nobody = await checked(server, tmp_path, monkeypatch)
        await record(tmp_path, "ann@acme.example")
        known = await checked(server, tmp_path, monkeypatch)

    assert (nobody.state, known.state) == ("ready", "ready")
    assert "nobody" in nobody.detail
    assert known.detail == "1 of 1 who asked in 30 days are known"


async def test_trouble_is_no_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await record(tmp_path, "ann@acme.example")
    async with LocalConfluence(site()).serving() as server:
        server.faults.fail_always("*", login_page())
        part = await checked(server, tmp_path, monkeypatch)

    assert part.state == "failed"
    assert "1 could not be looked up" in part.detail
    assert part.cure


async def test_without_confluence_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONFLUENCE_URL", raising=False)
    monkeypatch.delenv("CONFLUENCE_TOKEN", raising=False)
    assert await people_checks(settings_for(tmp_path)) == []
