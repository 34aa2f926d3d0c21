from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ingestion.errors import LedgerUnavailable, RunInProgress
from ingestion.records.file_lock import lease

HOLD = """
import sys, time
from pathlib import Path
from ingestion.records.file_lock import lease
with lease(Path(sys.argv[1]), "acme", "HR"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_space_is_held_once(tmp_path: Path) -> None:
    with lease(tmp_path, "acme", "HR"):
        with pytest.raises(RunInProgress, match="'HR'"), lease(tmp_path, "acme", "HR"):
            pass
        with lease(tmp_path, "acme", "IT"), lease(tmp_path, "other", "HR"):
            pass
    with lease(tmp_path, "acme", "HR"):
        pass


def test_a_killed_process_lets_go(tmp_path: Path) -> None:
    holder = subprocess.Popen(  # our own script
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunInProgress), lease(tmp_path, "acme", "HR"):
            pass
        holder.kill()
        holder.wait()

    with lease(tmp_path, "acme", "HR"):
        pass


def test_a_folder_that_takes_no_writes_is_not_taken_for_another_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LedgerUnavailable, match="disk"), lease(tmp_path / "file", "acme", "HR"):
        pass
