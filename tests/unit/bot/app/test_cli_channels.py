"""Tests of the policies of single channels from the command line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.app.cli import administration
from bot.app.cli.administration import channels
from bot.domain.record_reports import AuditRecord
from bot.domain.settings import Settings
from bot.store.database import open_store, sqlite_url

NOTHING = dict.fromkeys(
    ["spaces", "answers", "follow_ups", "people", "model", "other_bots", "reviewers"]
)


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
    assert capsys.readouterr().out.splitlines() == [
        "slack:C1, from the next message on:",
        "  answers     when mentioned",
        "  follow-ups  when mentioned again",
        "  spaces      HR, IT",
        "  people      as in the server settings",
        "  model       the configured one",
        "  other bots  are ignored",
        "  reviewers   nobody",
    ]

    assert main(["channels"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("slack:C1  HR, IT  (by cli")

    assert main(["channels", "clear", "slack:C1"]) == 0
    assert main(["channels", "clear", "slack:C1"]) == 0
    assert main(["channels", "list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "slack:C1 is answered as every other."
    assert said[1] == "slack:C1 had no policy of its own."
    assert said[2].startswith("No channel has a policy of its own.")


async def test_each_change_is_kept_with_the_systems_user(configured: Path) -> None:
    settings = Settings(data_dir=configured)
    options = Namespace(act="set", channel="teams:19:x@thread", **NOTHING)
    options.spaces = frozenset({"IT"})
    await channels(settings, options)

    (act,) = await acts(configured)
    assert (act.actor, act.act, act.subject) == (
        administration.operator(),
        "set policy",
        "teams:19:x@thread",
    )


def test_every_field_can_be_set_and_the_rest_stays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    every = "--spaces IT --answers questions --follow-ups on --people C9 --model none"
    assert main(["channels", "set", "slack:C1", *every.split(), "--other-bots", "on"]) == 0
    assert main(["channels", "set", "slack:C1", "--spaces", "all", "--people", "usual"]) == 0
    capsys.readouterr()

    assert main(["channels", "list"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith(
        "slack:C1  all; answers: when mentioned, and questions not addressed to anyone if it is "
        "sure; follow-ups: without a mention; model: none, quotes the pages; "
        "other bots: can ask  (by cli"
    )


def test_to_set_nothing_is_refused_with_what_can_be_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["channels", "set", "slack:C1"]) == 2

    assert "--spaces, --answers, --follow-ups, --people, --model" in capsys.readouterr().err


def test_a_model_that_the_settings_do_not_name_is_pointed_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_CHANNEL_MODELS", "small")

    assert main(["channels", "set", "slack:C1", "--model", "small"]) == 0
    assert "OPENAI_CHANNEL_MODELS" not in capsys.readouterr().out
    assert main(["channels", "set", "slack:C1", "--model", "large"]) == 0
    warned = capsys.readouterr().out
    assert "No model is called 'large'" in warned
    assert "known are small, none" in warned


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
        (["set", "slack:C1", "--answers", "always"], "questions"),
        (["set", "slack:C1", "--follow-ups", "yes"], "neither `on` nor `off`"),
        (["set", "slack:C1", "--model", " "], "no name"),
    ],
)
def test_what_is_no_channel_or_space_is_refused(
    capsys: pytest.CaptureFixture[str], wrong: list[str], words: str
) -> None:
    with pytest.raises(SystemExit):
        main(["channels", *wrong])

    assert words in capsys.readouterr().err


def test_a_channel_practises_is_reported_on_and_goes_live(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["channels", "set", "slack:C1", "--answers", "shadow"]
    assert main(command) == 0
    assert "--reviewers" in capsys.readouterr().out
    assert main([*command, "--reviewers", "U1, U2"]) == 0
    said = capsys.readouterr().out
    assert "U1" in said
    assert "--reviewers" not in said

    assert main(["shadow", "slack:C1", "--live", "mentions"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "slack:C1: would have answered 0 of 0; none is judged yet",
        "slack:C1 is live.",
    ]
    assert main(["shadow", "slack:C1", "--live", "mentions"]) == 0
    assert "is not in shadow mode" in capsys.readouterr().out
