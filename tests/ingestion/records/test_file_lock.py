from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ingestion.errors import LedgerUnavailable, RunInProgress
from ingestion.records.leases import file_lease

HOLD = """
import sys, time
from pathlib import Path
from ingestion.records.leases import lease
with lease(Path(sys.argv[1]), "acme", "HR"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_space_is_held_once(tmp_path: Path) -> None:
    with file_lease(tmp_path, "acme", "HR"):
        with pytest.raises(RunInProgress, match="'HR'"), file_lease(tmp_path, "acme", "HR"):
            pass
        with file_lease(tmp_path, "acme", "IT"), file_lease(tmp_path, "other", "HR"):
            pass
    with file_lease(tmp_path, "acme", "HR"):
        pass


def test_a_killed_process_lets_go(tmp_path: Path) -> None:
    holder = subprocess.Popen(  # our own script
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunInProgress), file_lease(tmp_path, "acme", "HR"):
            pass
        holder.kill()
        holder.wait()

    with file_lease(tmp_path, "acme", "HR"):
        pass


def test_a_folder_that_takes_no_writes_is_not_taken_for_another_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(LedgerUnavailable, match="disk"),
        file_lease(tmp_path / "file", "acme", "HR"),
    ):
        pass
