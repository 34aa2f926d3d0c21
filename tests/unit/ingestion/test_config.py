"""Settings of ingestion are read from the environment and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.domain.settings import Settings as BotSettings
from ingestion.config import Settings, load_settings
from ingestion.errors import SettingInvalid
from rag.config import SearchSettings


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("FRONTDESK_DATA_DIR", "FRONTDESK_TENANT"):
        monkeypatch.delenv(name, raising=False)


def test_settings_mean_what_they_mean_to_the_bot() -> None:
    shared = Settings.model_fields.keys() & BotSettings.model_fields.keys()

    assert SearchSettings.model_fields.keys() <= shared
    for name in shared - {"database_url"}:
        assert repr(Settings.model_fields[name]) == repr(BotSettings.model_fields[name])
    ours, theirs = Settings.model_fields["database_url"], BotSettings.model_fields["database_url"]
    assert (ours.alias, ours.default) == (theirs.alias, theirs.default)


def test_settings_come_from_the_environment_or_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("FRONTDESK_TENANT=acme\nFRONTDESK_DATA_DIR=from-file\n")
    monkeypatch.setenv("FRONTDESK_DATA_DIR", "from-environment")

    assert load_settings() == Settings(
        FRONTDESK_TENANT="acme", FRONTDESK_DATA_DIR=Path("from-environment")
    )


def test_a_wrong_value_is_one_line_with_variable_value_and_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FRONTDESK_TENANT", "Acme Corp")

    with pytest.raises(SettingInvalid) as caught:
        load_settings()

    message = str(caught.value)
    assert message.startswith("FRONTDESK_TENANT='Acme Corp' is wrong: ")
    assert message.endswith("Default: 'default'.")
    assert "\n" not in message
