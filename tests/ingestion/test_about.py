from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.sources.uploads import flush


def test_what_can_not_be_flushed_is_no_error() -> None:
    # As a folder of some network shares: it is opened, and knows no flushing.
    flush(Path("/dev/null"))


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        flush(tmp_path / "gone")
