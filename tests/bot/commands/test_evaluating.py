"""Measuring and certifying from the command line, on the configured index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.answering.gate import GATE_FILE
from bot.app.cli.questions import run_certification, run_evaluation
from bot.app.components import gate_path
from tests.bot.house import write_index
from tests.bot.server import settings_for

QUESTIONS = (
    {
        "id": "q1",
        "question": "what does vpn error 809 mean",
        "kind": "answerable",
        "pages": ["vpn.md"],
        "evidence": [],
        "key_facts": ["809"],
        "history": [],
    },
    {
        "id": "q2",
        "question": "hello",
        "kind": "generic",
        "pages": [],
        "evidence": [],
        "key_facts": [],
        "history": [],
    },
)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in QUESTIONS))
    return path


async def test_a_report_is_printed_and_written(
    tmp_path: Path, questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(tmp_path)
    await write_index(settings, tmp_path / "pages")

    assert await run_evaluation(settings, questions, out=tmp_path / "report.json") == 0

    assert "1 answerable, 1 generic" in capsys.readouterr().out
    assert json.loads((tmp_path / "report.json").read_text())["run"]["kinds"]["answerable"] == 1


async def test_too_few_questions_certify_nothing_and_say_so(
    tmp_path: Path, questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(tmp_path)
    await write_index(settings, tmp_path / "pages")
    assert gate_path(settings) == GATE_FILE

    assert await run_certification(settings, questions) == 1

    assert "Nothing can be promised" in capsys.readouterr().out
    assert gate_path(settings) == tmp_path / "gate.json"
