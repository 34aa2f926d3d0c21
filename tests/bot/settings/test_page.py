"""The documentation of the settings is made from the settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.app.documents import ALL_SETTINGS
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.domain.settings_reference import env_example, fields_of, settings_page
from ingestion import config as ingestion

ROOT = Path(__file__).parents[3]


def test_the_page_in_docs_is_current() -> None:
    assert (ROOT / "docs/settings.md").read_text() == settings_page(ALL_SETTINGS)


def test_the_example_file_is_current() -> None:
    assert (ROOT / ".env.example").read_text() == env_example(ALL_SETTINGS)


def test_every_setting_says_what_it_means() -> None:
    silent = [name for name, field in fields_of(ALL_SETTINGS).items() if not field.description]

    assert silent == []


def test_an_example_line_that_is_uncommented_sets_what_holds_anyway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = env_example(ALL_SETTINGS).splitlines()
    given = [line.removeprefix("# ") for line in lines if re.match(r"# [A-Z_]+=", line)]
    (tmp_path / ".env").write_text("\n".join(given))
    monkeypatch.chdir(tmp_path)

    assert len(given) == len(fields_of(ALL_SETTINGS))
    assert load_settings() == load_settings(_env_file=None)
    assert ingestion.Settings() == ingestion.Settings(_env_file=None)


def test_names_are_the_conventional_ones() -> None:
    names = set(fields_of(ALL_SETTINGS))

    assert {"SLACK_BOT_TOKEN", "MICROSOFT_APP_ID", "OPENAI_BASE_URL", "RAG_TOP_K"} <= names


def test_settings_that_several_processes_read_are_told_once() -> None:
    lines = settings_page(ALL_SETTINGS).splitlines()

    assert len([line for line in lines if line.startswith("| `DATABASE_URL`")]) == 1
    assert len([line for line in lines if line.startswith("| `CONFLUENCE_TOKEN`")]) == 1
    assert fields_of(ALL_SETTINGS)["DATABASE_URL"] is Settings.model_fields["database_url"]
