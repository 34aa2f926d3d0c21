"""Tests of where settings are read from."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings, setting_origins
from ingestion import config as ingestion


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Read no environment but the one that a test makes."""
    monkeypatch.chdir(tmp_path)
    for name, field in Settings.model_fields.items():
        for variable in (name, field.alias or name):
            monkeypatch.delenv(variable.upper(), raising=False)
    return tmp_path


def test_the_environment_wins_over_the_file_and_empty_values_count_for_nothing(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = "RAG_TOP_K=7\nhost=127.0.0.1\nOPENAI_MODEL=\nFRONTDESK_TENANT=acme\n"
    (elsewhere / ".env").write_text(file)
    monkeypatch.setenv("Host", "localhost")
    monkeypatch.setenv("LOG_LEVEL", "")

    sources = setting_origins(load_settings(waiting=5))

    assert set(sources) == set(Settings.model_fields)
    assert {name: source for name, source in sources.items() if source != "default"} == {
        "top_k": ".env",
        "tenant": ".env",
        "host": "environment",
        "waiting": "command",
    }


def test_where_nothing_is_set_all_are_defaults() -> None:
    assert set(setting_origins(load_settings()).values()) == {"default"}


def test_what_ingestion_reads_is_told_too_and_what_both_read_as_the_server_has_it(
    elsewhere: Path,
) -> None:
    (elsewhere / ".env").write_text("CONFLUENCE_SPACES=IT,HR\n")

    sources = setting_origins(load_settings(tenant="other"), ingestion.Settings())

    assert sources["confluence_spaces"] == ".env"
    assert sources["confluence_labels"] == "default"
    assert sources["tenant"] == "command"
