"""A newcomer's mistakes and a wiki's oddities: a clear line each, and the rest goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ingestion.cli import FAILED, REFUSED
from tests.fakes.confluence.faults import ANY, login_page
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site
from tests.sweeps.syncing.follower import Ended, ingest, settings_for


@dataclass
class Newcomer:
    """Somebody at a command line, in a folder of their own, with a wiki of two good pages."""

    site: Site
    server: LocalConfluence
    folder: Path
    changes: dict[str, str] = field(default_factory=dict)

    async def sync(self, *arguments: str, **changes: str) -> Ended:
        """Run ``python -m ingestion sync`` with the settings and these changes."""
        names = {**settings_for(self.server, self.folder / "data"), **changes}
        ended = await ingest(self.folder, names, "sync", *(arguments or ("--all",)))
        assert "Traceback" not in ended.said
        assert names["CONFLUENCE_TOKEN"] not in ended.said
        return ended


@pytest.fixture
async def newcomer(tmp_path: Path) -> AsyncIterator[Newcomer]:
    site = Site()
    site.add_space("IT", anonymous=True)
    site.create("IT", "VPN", "<p>Install the client first.</p>")
    site.create("IT", "Mail", "<p>Ask the desk.</p>")
    async with LocalConfluence(site).serving() as server:
        yield Newcomer(site, server, tmp_path)


async def test_a_wrong_address_is_named_with_the_setting(newcomer: Newcomer) -> None:
    elsewhere = newcomer.server.url.replace("/wiki", "/jira")

    ended = await newcomer.sync(CONFLUENCE_URL=elsewhere, CONFLUENCE_EDITION="data-center")

    assert ended.code in {FAILED, REFUSED}
    assert "CONFLUENCE_URL" in ended.said
    assert ended.out == ""


async def test_a_token_that_is_not_taken_is_named(newcomer: Newcomer) -> None:
    ended = await newcomer.sync(CONFLUENCE_TOKEN="mistyped")

    assert ended.code in {FAILED, REFUSED}
    assert "CONFLUENCE_TOKEN" in ended.err.splitlines()[-1]


async def test_a_page_to_log_in_at_is_no_empty_wiki(newcomer: Newcomer) -> None:
    assert (await newcomer.sync()).code == 0
    newcomer.server.faults.fail_always(ANY, login_page())

    ended = await newcomer.sync()

    assert ended.code in {FAILED, REFUSED}
    assert "log" in ended.said.lower()
    newcomer.server.faults.clear()
    assert "2 unchanged" in (await newcomer.sync()).line("Space IT:")


async def test_a_space_that_is_not_there_is_said_with_what_to_check(newcomer: Newcomer) -> None:
    ended = await newcomer.sync("ITT")

    assert ended.code == 2
    assert "'ITT'" in ended.said
    assert "key" in ended.said


async def test_a_file_whose_name_leads_elsewhere_stays_where_files_are(newcomer: Newcomer) -> None:
    page = newcomer.site.create("IT", "Notes", "<p>Attached.</p>").id
    file = newcomer.site.attach(page, "../../x", b"Words.", media_type="text/plain").id
    named = newcomer.site.attach(page, "../../y.txt", b"Other words.").id
    before = {*newcomer.folder.parent.rglob("*")}

    ended = await newcomer.sync()

    assert ended.code == 0
    assert f"{page}/{named}" in ended.line("Added:")
    assert ended.line(f"{page}/{file}")
    data = newcomer.folder / "data"
    made = {*newcomer.folder.parent.rglob("*")} - before - {data}
    assert all(data in each.parents for each in made)
    assert not [each for each in made if each.name in {"x", "y.txt"}]
