from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.errors import RunInProgress
from ingestion.records.leases import file_lease
from ingestion.sync.sync import Folder, sync_folder
from tests.fakes import WordEmbedder
from tests.ingestion.fakes import MemoryIndex


async def test_a_second_run_on_a_space_stops_and_a_dry_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Text")
    folder, state = Folder(tmp_path / "docs", "HR"), tmp_path / "state"
    index = MemoryIndex()

    with file_lease(state, "acme", "HR"):
        with pytest.raises(RunInProgress):
            await sync_folder(folder, index, WordEmbedder(), tenant="acme", data_dir=state)
        await sync_folder(
            folder, index, WordEmbedder(), tenant="acme", data_dir=state, dry_run=True
        )
    assert index.changes == []

    report = await sync_folder(folder, index, WordEmbedder(), tenant="acme", data_dir=state)

    assert report.added == ("a.md",)


async def test_a_dry_run_leaves_no_trace_on_disk(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()

    await sync_folder(
        Folder(tmp_path / "docs", "HR"),
        MemoryIndex(),
        None,
        tenant="acme",
        data_dir=tmp_path / "state",
        dry_run=True,
    )

    assert not (tmp_path / "state").exists()
