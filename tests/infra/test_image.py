"""The image's promises that can be tried without an engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infra.bicep import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
CONTAINER = Path(__file__).with_name("container.sh")


def confined() -> bool:
    """Whether this machine lets us mount, and another user read what is here, as containers do."""
    asked = ["unshare", "--mount", "setpriv", "--reuid", "10001", "--clear-groups"]
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "setpriv", "mount"))):
        return False
    tried = subprocess.run(
        [*asked, sys.executable, "-c", "import bot"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        timeout=60,
    )
    return tried.returncode == 0


def test_everything_that_is_copied_is_there() -> None:
    copied = [line.split()[1:-1] for line in DOCKERFILE.splitlines() if line.startswith("COPY ")]
    own = [source for sources in copied for source in sources if not sources[0].startswith("--")]

    assert [source for source in own if not (ROOT / source).exists()] == []
    assert {"bot", "rag", "ingestion", "prompts"} <= set(own)


def test_it_does_not_run_as_root() -> None:
    assert DOCKERFILE.index("USER 10001") < DOCKERFILE.rindex("CMD ")
    assert "USER root" not in DOCKERFILE


@pytest.mark.skipif(not confined(), reason="needs root and mount namespaces")
def test_it_serves_and_stops_as_another_user_on_a_root_that_no_one_may_write(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o777)
    ran = subprocess.run(
        ["unshare", "--mount", "bash", str(CONTAINER), str(tmp_path), sys.executable, str(ROOT)],  # noqa: S607 - found above
        check=False,
        capture_output=True,
        text=True,
        timeout=110,
    )

    assert "Read-only file system" in ran.stderr
    assert "ready 200" in ran.stdout, ran.stdout + ran.stderr
    assert "ended 0" in ran.stdout, ran.stdout + ran.stderr
