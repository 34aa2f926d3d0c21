"""The data directory and its files are readable by their owner alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.file_modes import readable_by_others, restrict_to_owner


@pytest.mark.mended(id="attack-9")
def test_a_lax_data_directory_and_what_is_in_it_are_closed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "documents").mkdir(parents=True)
    kept = [data, data / "documents"]
    for name in ("index.sqlite", "frontdesk.sqlite-wal"):
        (data / name).write_text("words")
        kept.append(data / name)
    for path in kept:
        path.chmod(0o755)
    assert readable_by_others(data)

    assert restrict_to_owner(data) == ()

    assert {oct(path.stat().st_mode & 0o077) for path in kept} == {"0o0"}


def test_what_can_not_be_closed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)

    assert restrict_to_owner(tmp_path) == (tmp_path,)


def test_a_data_directory_that_is_not_there_yet_is_no_error(tmp_path: Path) -> None:
    assert restrict_to_owner(tmp_path / "none") == ()
