"""Fixtures of all tests of faults: a wiki that is indexed, a workspace, a model."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.fakes.slack.server import FakeSlack
from tests.sweeps.faults.model import QuotingModel
from tests.sweeps.faults.server import CHANNELS, Client, client

SMALL_DISK = "16m"


@pytest.fixture
def data_dir(prepared: Path, tmp_path: Path) -> Path:
    """A data directory of one's own."""
    return shutil.copytree(prepared, tmp_path / "data")


@pytest.fixture
def small_disk(prepared: Path, tmp_path: Path) -> Iterator[Path]:
    """A data directory alone on a small file system of its own."""
    point = tmp_path / "disk"
    point.mkdir()
    mounted = os.geteuid() == 0 and _mount(point)
    if not mounted:
        pytest.skip("only root may mount the small file system that this test fills")
    try:
        yield shutil.copytree(prepared, point / "data")
    finally:
        subprocess.run(["/bin/umount", "--lazy", str(point)], check=True)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack().serving() as workspace:
        workspace.channels |= set(CHANNELS)
        yield workspace


@pytest.fixture
async def model() -> AsyncIterator[QuotingModel]:
    async with QuotingModel().serving() as serving:
        yield serving


@pytest.fixture
async def asker() -> AsyncIterator[Client]:
    async with client() as opened:
        yield opened


def _mount(point: Path) -> bool:
    command = ["/bin/mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(point)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
