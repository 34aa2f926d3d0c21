"""Tests of what the start, readiness and the doctor say of Confluence and of known people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from bot.app.confluence import confluence_checker, confluence_checks, people_checks
from bot.app.documents import DocumentServices
from bot.domain.health import ComponentStatus, ConfluenceState, confluence
from bot.domain.messages import Person
from bot.store.database import open_store, sqlite_url
from ingestion.assembly import cadence_of, library_of
from ingestion.config import Settings as IngestionSettings
from ingestion.errors import SourceUnavailable
from ingestion.records.ledger import records_at
from ingestion.records.types import Synced
from ingestion.runs.schedule import Scheduler
from rag.ports import SearchIndex
from tests.fakes.builders import message
from tests.fakes.confluence.faults import login_page
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site
from tests.fakes.http_server import settings_for

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
    part = confluence(ConfluenceState(URL, **known), NOW)  # type: ignore[arg-type]

    assert part.state == "ready"
    assert part.detail.startswith(f"acme.atlassian.net: {said}")


def test_trouble_is_told_and_takes_no_server_out_of_service() -> None:
    part = confluence(ConfluenceState(URL, troubles=("IT: a", "HR: b", "OPS: c")), NOW)

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


class Joined:
    """A server's shelves over records alone, with a schedule that was told of the space IT."""

    def __init__(self, folder: Path) -> None:
        self.records = records_at(folder, "acme")
        self.settings = IngestionSettings(_env_file=None, confluence_url=URL, confluence_token="t")
        cadence = cadence_of(self.settings)
        library = library_of(
            cast("SearchIndex", None), tenant="acme", data_dir=folder, records=self.records
        )
        self.scheduler = Scheduler(library.runs, self.records, self._spaces, cadence)
        self.away = ""
        self.shelves = DocumentServices(
            library,
            self.scheduler,
            self.records,
            None,
        )

    async def part(self) -> ComponentStatus:
        return await confluence_checker(self.settings, self.shelves)()

    async def read(self, ago: timedelta) -> None:
        ended = datetime.now(UTC) - ago
        kept = Synced(ended, ended, whole_at=ended, watermark="w")
        await self.records.ledger.change_synced("IT", lambda _: kept)

    async def _spaces(self) -> Sequence[str]:
        if self.away:
            raise SourceUnavailable(self.away)
        return ("IT",)


@pytest.fixture
def joined(tmp_path: Path) -> Joined:
    return Joined(tmp_path)


async def test_readiness_says_how_far_spaces_were_read(joined: Joined) -> None:
    before = await joined.part()
    await joined.read(timedelta(minutes=2, seconds=10))
    after = await joined.part()

    assert before.detail.endswith("no space was read yet; the first pass begins soon")
    assert (after.state, after.vital) == ("ready", False)
    assert after.detail.startswith("acme.atlassian.net: IT; looked at 2 minutes ago; again in 2")


async def test_readiness_says_that_passes_are_late(joined: Joined) -> None:
    await joined.read(timedelta(hours=2))

    part = await joined.part()

    assert part.state == "limited"
    assert "passes are late" in part.detail


async def test_readiness_says_that_the_site_is_away_until_it_is_back(joined: Joined) -> None:
    await joined.read(timedelta(minutes=1))
    joined.away = "No answer from acme.atlassian.net."
    with pytest.raises(SourceUnavailable):
        await joined.scheduler.begin_due()
    away = await joined.part()
    joined.away = ""
    await joined.scheduler.begin_due()

    assert (away.state, "No answer from" in away.detail) == ("limited", True)
    assert (await joined.part()).state == "ready"


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


async def test_the_unmapped_share_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
