"""A new version of the index in Azure replaces the former one; a space is forgotten."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import structlog
from pydantic import SecretStr
from structlog.testing import capture_logs

from ingestion.cli import open_index, rebuild
from ingestion.cli.maintenance import forget_space
from ingestion.cli.rebuild import rebuild_index
from ingestion.cli.sync import sync_folder_now
from ingestion.config import Settings
from ingestion.errors import RunInProgress, SourceUnavailable, SpaceBlind
from ingestion.records.database import sqlite_in
from ingestion.records.leases import file_lease
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry
from ingestion.runs.source_registry import KnownSources
from ingestion.sync.report import report_lines
from ingestion.sync.sync import EVERYONE_READS
from ingestion.types import Report
from ingestion.uploads import Uploads
from rag.index.embedded.index import open_index as open_embedded_index
from rag.types import EVERYONE, Page
from tests.fakes.search_service.service import SearchService
from tests.unit.ingestion.runs.test_background import Named

WHOLE = Namespace(in_part=False)


@pytest.fixture
async def service() -> AsyncIterator[SearchService]:
    async with SearchService().serving() as running:
        yield running


@pytest.fixture
def settings(tmp_path: Path, service: SearchService) -> Settings:
    return Settings(
        _env_file=None,
        data_dir=tmp_path / "state",
        tenant="acme",
        azure_search_endpoint=service.url,
        azure_search_key=SecretStr(service.access.admin_key),
    )


@pytest.fixture
async def docs(tmp_path: Path, settings: Settings) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("leave", "pay", "vpn"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nAll about {name}.\n")
    options = Namespace(
        path=folder,
        space="HR",
        readers=EVERYONE_READS,
        base_url=None,
        dry_run=False,
        allow_mass_delete=False,
    )
    assert await sync_folder_now(options, settings) == 0
    return folder


async def pages(settings: Settings) -> set[str]:
    async with open_index(settings, None) as index:
        return set(await index.pages("acme", "HR"))


async def test_all_is_read_into_the_version_that_is_used_from_then_on(
    docs: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    (docs / "travel.md").write_text("# Travel\n\nBy train.\n")

    assert await rebuild_index(WHOLE, settings) == 0

    assert "In use is now" in capsys.readouterr().out
    assert await pages(settings) == {"leave.md", "pay.md", "vpn.md", "travel.md"}


async def test_what_is_closed_or_deleted_while_all_is_read_is_so_in_the_new_version(
    docs: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_and_changed(report: Report) -> list[str]:
        (docs / "pay.md").write_text("---\nreaders: group:board\n---\n# pay\n\nAll about pay.\n")
        (docs / "vpn.md").unlink(missing_ok=True)
        return report_lines(report)

    monkeypatch.setattr(rebuild, "report_lines", read_and_changed)

    assert await rebuild_index(WHOLE, settings) == 0

    async with open_index(settings, None) as index:
        found = await index.pages("acme", "HR")
    assert set(found) == {"leave.md", "pay.md"}
    assert found["pay.md"].readers == (frozenset({"group:board"}),)


async def test_the_version_in_use_can_be_written_to_until_the_last_look(
    docs: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that is closed must not wait for hours until the new version is whole."""
    free: list[bool] = []

    def looked_on(report: Report) -> list[str]:
        try:
            with file_lease(settings.data_dir, "acme", "HR"):
                free.append(True)
        except RunInProgress:
            free.append(False)
        return report_lines(report)

    monkeypatch.setattr(rebuild, "report_lines", looked_on)

    assert await rebuild_index(WHOLE, settings) == 0

    assert free == [True, False]


async def test_a_second_rebuild_touches_nothing_that_the_first_one_fills(
    docs: Path, settings: Settings, service: SearchService
) -> None:
    with file_lease(settings.data_dir, "acme", "(rebuild)"):
        before = service.count("put_index") + service.count("delete_index")

        with pytest.raises(RunInProgress):
            await rebuild_index(WHOLE, settings)

        assert service.count("put_index") + service.count("delete_index") == before


async def test_a_source_that_went_blind_leaves_the_former_version(
    docs: Path, settings: Settings
) -> None:
    for file in docs.iterdir():  # noqa: ASYNC240 - a small folder
        file.unlink()

    with pytest.raises(SpaceBlind):
        await rebuild_index(WHOLE, settings)

    assert await pages(settings) == {"leave.md", "pay.md", "vpn.md"}


async def test_a_page_that_can_not_be_read_leaves_the_former_version_unless_told_otherwise(
    docs: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    (docs / "pay.md").unlink()
    (docs / "broken.pdf").write_bytes(b"%PDF-broken")

    assert await rebuild_index(WHOLE, settings) == 1
    assert "the former version stays" in capsys.readouterr().err
    assert "pay.md" in await pages(settings)

    assert await rebuild_index(Namespace(in_part=True), settings) == 0
    assert await pages(settings) == {"leave.md", "vpn.md"}


async def test_a_space_that_nothing_is_known_to_fill_is_not_lost(
    docs: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    (settings.data_dir / "ingestion.sqlite").unlink()

    assert await rebuild_index(WHOLE, settings) == 2
    assert "not known what fills HR" in capsys.readouterr().err
    assert await forget_space(Namespace(space="HR", yes=True), settings) == 0
    assert await pages(settings) == set()


@pytest.mark.usefixtures("docs")
async def test_pages_of_another_tenant_are_not_lost(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    other = settings.model_copy(update={"tenant": "globex", "data_dir": settings.data_dir / "b"})

    assert await rebuild_index(WHOLE, other) == 2

    told = capsys.readouterr().err
    assert "pages of 'acme'" in told
    assert "AZURE_SEARCH_INDEX" in told
    assert await pages(settings) == {"leave.md", "pay.md", "vpn.md"}


READERS = (frozenset({EVERYONE}),)


def settings_in(folder: Path, **more: object) -> Settings:
    wiki = {"confluence_url": "https://w.example", "confluence_token": SecretStr("t")}
    settings = Settings(_env_file=None, data_dir=folder, tenant="acme")
    return settings.model_copy(update={**wiki, **more})


async def holding(folder: Path, page: str) -> None:
    index = await open_embedded_index(folder / "index.sqlite", None)
    await index.upsert_page(Page("acme", "IT", page, "1", READERS), (), None)
    await index.close()


@pytest.mark.parametrize(
    ("page", "more", "comes_back"),
    [
        ("123", {}, True),
        ("123/att4", {}, True),
        ("123", {"confluence_skip_spaces": ("IT",)}, False),
        ("123", {"confluence_spaces": ("HR",)}, False),
        ("123", {"confluence_url": None, "confluence_token": None}, False),
        ("leave.md", {}, False),
    ],
)
async def test_a_space_of_the_wiki_comes_back_and_that_is_said(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    page: str,
    more: dict[str, object],
    *,
    comes_back: bool,
) -> None:
    await holding(tmp_path, page)
    settings = settings_in(tmp_path, **more)

    assert await forget_space(Namespace(space="IT", yes=False), settings) == 2
    assert ("CONFLUENCE_SKIP_SPACES" in capsys.readouterr().err) == comes_back
    assert await forget_space(Namespace(space="IT", yes=True), settings) == 0
    assert ("the next pass reads it again" in capsys.readouterr().out) == comes_back


class Away(Named):
    async def spaces(self) -> list[str]:
        raise SourceUnavailable("The wiki is away.")


async def test_a_key_that_two_have_is_told_once_in_the_log_and_in_each_report(
    tmp_path: Path,
) -> None:
    ledger = Ledger(sqlite_in(tmp_path), "acme")
    await ledger.note_folder("HR", FolderEntry(str(tmp_path), (("everyone",),)))
    uploads = Uploads(tmp_path, "acme")
    sources = KnownSources(uploads, ledger, Named("HR", "IT"))

    # Another test may have set the level up to which is logged.
    structlog.reset_defaults()
    with capture_logs() as logged:
        for _ in range(3):
            assert await sources.wiki_spaces() == ["IT"]

    assert [each["event"] for each in logged] == ["wiki.spaces_taken"]
    assert await sources.taken() == ["HR"]
    (told,) = await sources.warnings("HR")
    assert "CONFLUENCE_SKIP_SPACES" in told
    assert await sources.warnings("IT") == ()
    assert await KnownSources(uploads, ledger, Away()).warnings("HR") == ()
