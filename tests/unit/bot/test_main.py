"""The command line refuses what it can't work with in one line, never with a traceback."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from bot.__main__ import build_parser, main
from bot.app.cli import EXAMPLES
from bot.domain.settings import Settings
from bot.store.database import migrate, sqlite_url
from ingestion import __main__ as ingestion

COMMANDS = (["ask", "hello"], ["serve"], ["escalations"], ["channels"])


@pytest.fixture(autouse=True)
def data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Give a data directory of the test's own; nothing of the developer's is configured."""
    monkeypatch.chdir(tmp_path)
    for name, field in Settings.model_fields.items():
        monkeypatch.delenv((field.alias or name).upper(), raising=False)
    monkeypatch.setenv("FRONTDESK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PORT", "0")
    yield tmp_path / "data"
    structlog.reset_defaults()
    logging.getLogger().setLevel(logging.WARNING)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_data_directory_that_is_a_file_is_refused_in_one_line(
    command: list[str], data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir.write_text("a file")

    assert main(command) == 2
    refused = capsys.readouterr().err
    assert str(data_dir) in refused
    assert refused.count("\n") == 1


@pytest.mark.parametrize("command", [["ask", "hello"], ["serve"]])
def test_an_index_that_is_no_database_is_refused_in_one_line(
    command: list[str], data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir.mkdir()
    (data_dir / "index.sqlite").write_bytes(b"\x07no database" * 1000)

    assert main(command) == 2
    refused = capsys.readouterr().err
    assert "Move the file away" in refused
    assert refused.count("\n") == 1


@pytest.mark.parametrize("command", [["serve"], ["escalations"], ["channels", "list"]])
def test_a_record_that_is_no_database_is_refused_in_one_line(
    command: list[str], data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir.mkdir()
    (data_dir / "frontdesk.sqlite").write_bytes(b"\x07no database" * 1000)

    assert main(command) == 2
    refused = capsys.readouterr().err
    assert "Move the file away" in refused
    assert refused.count("\n") == 1


def test_a_record_of_which_half_is_rubbish_is_refused_and_stays_as_it_is(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    migrate(sqlite_url(data_dir))
    record = data_dir / "frontdesk.sqlite"
    half = record.stat().st_size // 2
    damaged = record.read_bytes()[:half] + b"\xff" * half
    record.write_bytes(damaged)

    assert main(["serve"]) == 2
    refused = capsys.readouterr().err
    assert "frontdesk.sqlite" in refused
    assert "Move the file away" in refused
    assert record.read_bytes() == damaged


def test_an_address_that_is_not_this_machines_is_refused_with_its_own_cure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOST", "192.0.2.1")

    assert main(["serve"]) == 2
    assert "Set HOST to an address of this machine" in capsys.readouterr().err


def test_the_doctor_tells_of_every_part_although_the_directory_is_no_directory(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir.write_text("a file")

    assert main(["doctor"]) == 1
    assert "Broken: data, record, index." in capsys.readouterr().out


def test_the_doctor_tells_of_teams_with_half_a_registration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MICROSOFT_APP_ID", "0000")

    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "Broken: Teams." in told
    assert "MICROSOFT_APP_TENANT_ID" in told


@pytest.mark.parametrize("example", [each for name, each in EXAMPLES.items() if name != "wiki"])
def test_the_example_of_each_command_can_be_run(example: str) -> None:
    assert build_parser("frontdesk").parse_args(shlex.split(example)).command in EXAMPLES


@pytest.mark.parametrize("example", [*ingestion.EXAMPLES.values(), EXAMPLES["wiki"][5:]])
def test_the_example_of_each_command_of_ingestion_can_be_run(example: str) -> None:
    parser = ingestion.build_parser("frontdesk wiki")

    assert parser.parse_args(shlex.split(example)).command in ingestion.EXAMPLES
