from __future__ import annotations

import getpass
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.app.cli import administration
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.domain.usage import Pause
from bot.store.database import open_store, sqlite_url


async def current(configured: Settings) -> Pause | None:
    store = await open_store(sqlite_url(configured.data_dir))
    try:
        return await store.pauses.current(configured.tenant)
    finally:
        await store.close()


async def test_a_pause_is_recorded_with_its_reason_and_who_made_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configured = load_settings(_env_file=None, data_dir=tmp_path)

    assert await administration.pause(configured, reason="We move the wiki", by="ops") == 0
    paused = await current(configured)
    assert paused is not None
    assert (paused.reason, paused.by) == ("We move the wiki", "ops")
    said = capsys.readouterr().out
    assert "Who asks is told: We move the wiki\n" in said
    assert "python -m bot resume" in said


async def test_nobody_named_is_the_systems_user(tmp_path: Path) -> None:
    configured = load_settings(_env_file=None, data_dir=tmp_path)
    await administration.pause(configured, reason="We move the wiki")
    paused = await current(configured)

    assert paused is not None
    assert paused.by == f"cli:{getpass.getuser()}"


async def test_resuming_answers_again_and_says_when_there_was_nothing_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configured = load_settings(_env_file=None, data_dir=tmp_path)
    await administration.pause(configured, reason="We move the wiki")
    capsys.readouterr()

    assert [await administration.resume(configured), await administration.resume(configured)] == [
        0,
        0,
    ]
    assert capsys.readouterr().out == "Questions are answered again.\nIt was not paused.\n"
    assert await current(configured) is None


@pytest.mark.parametrize(
    "words", [["pause"], ["pause", "--reason", "  "], ["pause", "--reason", "x", "--by", ""]]
)
def test_a_pause_without_a_reason_or_a_name_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(words)

    assert refused.value.code == 2
    assert "usage: python -m bot pause" in capsys.readouterr().err
