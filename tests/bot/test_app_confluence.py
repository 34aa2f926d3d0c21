"""What the start, readiness and the doctor say of Confluence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.app import confluence_checks
from bot.startup import Wiki, confluence
from tests.confluence.server import LocalConfluence
from tests.confluence.site import ADMIN, Site

NOW = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
URL = "https://acme.atlassian.net/wiki"
FIVE = timedelta(minutes=5)


def test_without_one_the_start_says_how_to_add_it() -> None:
    part = confluence(None, NOW)

    assert part.state == "absent"
    assert "CONFLUENCE_URL and CONFLUENCE_TOKEN" in part.cure


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "no space was read yet; the first pass begins soon"),
        ({"scheduled": False}, "no space was read yet; this server reads nothing by schedule"),
        (
            {"spaces": ("HR", "IT"), "looked_at": NOW - FIVE, "next_at": NOW + FIVE},
            "HR, IT; looked at 5 minutes ago; again in 5 minutes",
        ),
        (
            {"spaces": ("IT",), "looked_at": NOW - timedelta(hours=26), "next_at": NOW},
            "IT; looked at 1 day ago; again soon",
        ),
        ({"spaces": tuple("ABCDEFG"), "scheduled": False}, "A, B, C, D, E and 2 more; this"),
    ],
    ids=["new", "by hand", "well", "due", "many"],
)
def test_the_start_says_how_far_it_was_read(known: dict[str, object], said: str) -> None:
    part = confluence(Wiki(URL, **known), NOW)  # type: ignore[arg-type]

    assert part.state == "ready"
    assert part.detail.startswith(f"acme.atlassian.net: {said}")


def test_trouble_is_told_and_takes_no_server_out_of_service() -> None:
    part = confluence(Wiki(URL, troubles=("IT: a", "HR: b", "OPS: c")), NOW)

    assert (part.state, part.vital) == ("limited", False)
    assert part.detail == "acme.atlassian.net: IT: a HR: b And 1 more: see the board."


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.chdir(tmp_path)
    for name in ("CONFLUENCE_URL", "CONFLUENCE_TOKEN", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


async def test_the_doctor_tries_it_as_ingestion_reads_it(env: pytest.MonkeyPatch) -> None:
    site = Site()
    site.add_space("IT", anonymous=True)
    site.create("IT", "VPN")
    async with LocalConfluence(site, "data-center").serving() as server:
        env.setenv("CONFLUENCE_URL", server.url)
        env.setenv("CONFLUENCE_TOKEN", site.people[ADMIN].token)

        told = {part.name: part for part in await confluence_checks()}

    assert told["Confluence"].state == "ready"
    assert told["Confluence: space IT"].detail == "1 page, open to everyone"
    assert told["Confluence: clock"].state == "limited"


async def test_the_doctor_says_what_is_wrong_with_the_settings(env: pytest.MonkeyPatch) -> None:
    (absent,) = await confluence_checks()
    env.setenv("CONFLUENCE_URL", URL)
    (broken,) = await confluence_checks()

    assert absent.state == "absent"
    assert broken.state == "failed"
    assert "CONFLUENCE_TOKEN is not" in broken.detail
