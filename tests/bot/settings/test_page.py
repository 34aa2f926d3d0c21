"""The documentation of the settings is made from the settings."""

from __future__ import annotations

from pathlib import Path

from bot.config import Settings
from bot.settings.page import env_example, settings_page, variable

ROOT = Path(__file__).parents[3]


def test_the_page_in_docs_is_current() -> None:
    assert (ROOT / "docs/settings.md").read_text() == settings_page()


def test_the_example_file_is_current() -> None:
    assert (ROOT / ".env.example").read_text() == env_example()


def test_every_setting_says_what_it_means() -> None:
    silent = [name for name, field in Settings.model_fields.items() if not field.description]

    assert silent == []


def test_names_are_the_conventional_ones() -> None:
    names = {variable(name, field) for name, field in Settings.model_fields.items()}

    assert {"SLACK_BOT_TOKEN", "MICROSOFT_APP_ID", "OPENAI_BASE_URL", "RAG_TOP_K"} <= names
