"""The wheel: built, installed into a fresh environment, and used from another folder."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.e2e.conftest import SERVING, environment
from tests.fork_server import ROOT

pytestmark = pytest.mark.xdist_group("served")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bin folder of an environment that holds the wheel, and what it needs by a path.

    What the wheel needs is installed here already, and looked up there as if it were installed.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps"]
    subprocess.run([*uv, "--python", str(python), str(wheel)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def run(command: Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command, *arguments],
        cwd=folder,
        env=environment(folder / "data"),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_holds_all_files_that_are_not_python(wheel: Path) -> None:
    listed = ["git", "ls-files", "-z", "bot", "rag", "ingestion", "prompts", "infra/sample"]
    tracked = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())

    assert set(filter(None, tracked.split("\0"))) - held == set()
    assert not any(name.startswith("tests/") for name in held)


def test_the_command_is_that_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    where = run(installed / "python", "-c", "import bot; print(bot.__file__)", folder=tmp_path)
    spaces = run(installed / "frontdesk", "wiki", "spaces", folder=tmp_path)
    refused = run(installed / "frontdesk", "wiki", "sync", folder=tmp_path)

    assert Path(where.stdout.strip()).is_relative_to(installed.parent)
    assert spaces.returncode == 0
    assert refused.returncode == 2
    assert "frontdesk wiki sync" in refused.stderr


def test_the_installed_command_serves_the_sample_company(
    installed: Path, sample_data: Path, tmp_path: Path
) -> None:
    shutil.copytree(sample_data, tmp_path / "data")
    for url in served_by(installed / "frontdesk", tmp_path):
        with urlopen(url) as page:  # noqa: S310 - our own server
            assert "<textarea" in page.read().decode()


def served_by(command: Path, folder: Path) -> Iterator[str]:
    """Run `frontdesk serve --sample` in a folder until the caller is done with it."""
    with subprocess.Popen(
        [command, "serve", "--sample"],
        cwd=folder,
        env=environment(folder / "data"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout
        try:
            found = next(filter(None, map(SERVING.search, process.stdout)), None)
            assert found, "the server did not start"
            yield found.group(1)
        finally:
            process.send_signal(signal.SIGTERM)
