"""Facts about the repository itself."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bot import __version__

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
DOCS = sorted((ROOT / "docs").rglob("*.md"))


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607 - git is where it is
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def needs(source: str) -> list[str]:
    """Return the names of the packages that a list asks for, without versions and extras."""
    if source == "pyproject.toml":
        lines = project()["dependencies"]
    else:
        lines = (ROOT / source).read_text().splitlines()
    return [
        re.split(r"[\s\[;=<>]", line)[0]
        for line in lines
        if line and not line.startswith(("#", "-"))
    ]


def test_the_version_is_the_same_everywhere() -> None:
    assert project()["version"] == __version__


@pytest.mark.parametrize("page", [*PAGES, *DOCS], ids=lambda page: page.name)
def test_every_link_of_the_documentation_leads_somewhere(page: Path) -> None:
    broken = [
        target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()
    ]

    assert broken == []


@pytest.mark.parametrize(
    ("source", "locked"),
    [
        ("pyproject.toml", "requirements.txt"),
        ("requirements-dev.in", "requirements-dev.txt"),
        ("requirements-evals.in", "requirements-evals.txt"),
    ],
)
def test_every_direct_need_is_locked_exactly_and_hashed(source: str, locked: str) -> None:
    lock = (ROOT / locked).read_text().lower()
    wanted = [name.lower() for name in needs(source)]

    assert [need for need in wanted if f"\n{need}" not in lock] == []
    pinned = re.findall(r"^[a-z0-9_.\-\[\]]+==\S+.*$", lock, flags=re.MULTILINE)
    assert pinned
    assert all(line.rstrip().endswith("\\") for line in pinned)


def test_every_direct_need_is_explained() -> None:
    explained = (ROOT / "docs/dependencies.md").read_text()

    assert [need for need in needs("pyproject.toml") if need not in explained] == []


def test_no_secret_or_data_file_is_kept() -> None:
    kept = [path.name for path in tracked() if path.suffix in {".sqlite", ".key", ".pem"}]

    assert kept == []
    assert ROOT / ".env" not in tracked()


def test_the_start_script_of_ci_does_what_the_readme_says() -> None:
    script = (ROOT / ".ci/run").read_text()

    assert "make check\n" in script
    assert "make test\n" in script
