"""`python -m bot teams-package` writes a package, or says in one line why not."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from bot.__main__ import main
from bot.domain.settings import Settings

APP_ID = "12345678-1234-1234-1234-123456789abc"


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Return where the command runs; only what it needs is configured."""
    monkeypatch.chdir(tmp_path)
    for name, field in Settings.model_fields.items():
        monkeypatch.delenv((field.alias or name).upper(), raising=False)
    monkeypatch.setenv("MICROSOFT_APP_ID", APP_ID)
    monkeypatch.setenv("PUBLIC_URL", "https://frontdesk.example.com")
    yield tmp_path
    structlog.reset_defaults()


def manifest_at(file: Path) -> dict[str, object]:
    with zipfile.ZipFile(file) as archive:
        return dict(json.loads(archive.read("manifest.json")))


def test_it_writes_a_package_where_it_runs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["teams-package"]) == 0

    assert manifest_at(folder / "frontdesk-teams.zip")["id"] == APP_ID
    said = capsys.readouterr().out
    assert f"frontdesk-teams.zip, for the bot {APP_ID}." in said
    assert "Upload an app" in said
    assert [file.name for file in folder.iterdir()] == ["frontdesk-teams.zip"]


def test_it_says_what_follow_ups_ask_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wished = ["--out", "ours.zip", "--follow-ups", "--app-version", "1.0.2"]
    assert main(["teams-package", *wished]) == 0

    manifest = manifest_at(folder / "ours.zip")
    assert manifest["version"] == "1.0.2"
    assert "authorization" in manifest
    assert "ChannelMessage.Read.Group and ChatMessage.Read.Chat" in capsys.readouterr().out


def test_privacy_and_terms_are_told_where_one_says(folder: Path) -> None:
    told = ["--privacy-url", "https://acme.example/p", "--terms-url", "https://acme.example/t"]
    assert main(["teams-package", *told]) == 0

    developer = manifest_at(folder / "frontdesk-teams.zip")["developer"]
    assert isinstance(developer, dict)
    assert (developer["privacyUrl"], developer["termsOfUseUrl"]) == (told[1], told[3])


@pytest.mark.parametrize(
    ("unset", "options"),
    [
        ("MICROSOFT_APP_ID", []),
        ("PUBLIC_URL", []),
        ("", ["--out", "gone/ours.zip"]),
        ("", ["--app-version", "two"]),
        ("", ["--privacy-url", "acme.example/privacy"]),
    ],
)
def test_what_it_cannot_do_is_one_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    unset: str,
    options: list[str],
) -> None:
    if unset:
        monkeypatch.delenv(unset)

    assert main(["teams-package", *options]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(folder.iterdir()) == []
