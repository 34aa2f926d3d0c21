"""The documentation of the settings is made from the settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.config import Settings, load_settings
from bot.settings.page import env_example, settings_page, variable

ROOT = Path(__file__).parents[3]


def test_the_page_in_docs_is_current() -> None:
    assert (ROOT / "docs/settings.md").read_text() == settings_page()


def test_the_example_file_is_current() -> None:
    assert (ROOT / ".env.example").read_text() == env_example()


def test_every_setting_says_what_it_means() -> None:
    silent = [name for name, field in Settings.model_fields.items() if not field.description]

    assert silent == []


def test_an_example_line_that_is_uncommented_sets_what_holds_anyway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = env_example().splitlines()
    given = [line.removeprefix("# ") for line in lines if re.match(r"# [A-Z_]+=", line)]
    (tmp_path / ".env").write_text("\n".join(given))
    monkeypatch.chdir(tmp_path)

    assert len(given) == len(Settings.model_fields)
    assert load_settings() == load_settings(_env_file=None)


def test_names_are_the_conventional_ones() -> None:
    names = {variable(name, field) for name, field in Settings.model_fields.items()}

    assert {"SLACK_BOT_TOKEN", "MICROSOFT_APP_ID", "OPENAI_BASE_URL", "RAG_TOP_K"} <= names
