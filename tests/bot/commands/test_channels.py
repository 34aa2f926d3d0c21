"""Spaces of single channels, from the command line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.commands import pausing
from bot.commands.channels import channels
from bot.config import Settings
from bot.records.sums import AuditRecord
from bot.store import open_store, sqlite_url


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, field in Settings.model_fields.items():
        monkeypatch.delenv((field.alias or name).upper(), raising=False)
    monkeypatch.setenv("FRONTDESK_DATA_DIR", str(tmp_path))
    return tmp_path


async def acts(data_dir: Path) -> Sequence[AuditRecord]:
    store = await open_store(sqlite_url(data_dir))
    try:
        return await store.audits.newest("default", 10)
    finally:
        await store.close()


def test_what_is_set_is_listed_until_it_is_cleared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["channels", "set", "slack:C1", "--spaces", "IT, HR"]) == 0
    assert capsys.readouterr().out == (
        "slack:C1 is answered from HR, IT alone, from the next question on.\n"
    )

    assert main(["channels"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("slack:C1  HR, IT  (by cli")

    assert main(["channels", "clear", "slack:C1"]) == 0
    assert main(["channels", "clear", "slack:C1"]) == 0
    assert main(["channels", "list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "slack:C1 is answered as every other."
    assert said[1] == "slack:C1 had no spaces of its own."
    assert said[2].startswith("No channel has spaces of its own.")


async def test_each_change_is_kept_with_the_systems_user(configured: Path) -> None:
    settings = Settings(data_dir=configured)
    await channels(
        settings, Namespace(act="set", channel="teams:19:x@thread", spaces=frozenset({"IT"}))
    )

    (act,) = await acts(configured)
    assert (act.actor, act.act, act.subject) == (
        pausing.operator(),
        "set policy",
        "teams:19:x@thread",
    )


def test_a_space_that_is_left_out_everywhere_is_pointed_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FRONTDESK_SPACES", "IT")

    assert main(["channels", "set", "slack:C1", "--spaces", "IT,HR"]) == 0

    assert "FRONTDESK_SPACES leaves HR out everywhere" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["set", "C123", "--spaces", "IT"], "PLATFORM:CHANNEL"),
        (["set", "slack:", "--spaces", "IT"], "PLATFORM:CHANNEL"),
        (["set", "slack:" + "C" * 600, "--spaces", "IT"], "at most 512"),
        (["set", "slack:C1", "--spaces", " , "], "at least one space"),
        (["set", "slack:C1"], "--spaces"),
    ],
)
def test_what_is_no_channel_or_space_is_refused(
    capsys: pytest.CaptureFixture[str], wrong: list[str], words: str
) -> None:
    with pytest.raises(SystemExit):
        main(["channels", *wrong])

    assert words in capsys.readouterr().err
