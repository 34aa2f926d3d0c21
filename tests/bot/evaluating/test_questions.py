from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.answering.evaluation.labelled_questions import load_questions
from bot.domain.errors import SettingInvalid
from rag.types import Turn
from tests.bot.evaluating.cases import row


def written(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    return path


GOOD = {"id": "1", "question": "<@U0BOT> how?", "kind": "answerable", "pages": ["a.md"], "x": 1}


def test_a_line_is_read_and_fields_that_mean_nothing_here_are_ignored(tmp_path: Path) -> None:
    (found,) = load_questions(written(tmp_path / "q.jsonl", GOOD))

    assert found.text == "how?"
    assert found.has_answer
    assert found.gold.pages == {"a.md"}


def test_groups_become_principals_and_history_becomes_turns() -> None:
    found = row(groups=["hr", "user:ada"], history=[{"role": "user", "text": "vpn?"}])

    assert found.principals == {"everyone", "group:hr", "user:ada"}
    assert found.turns == (Turn("user", "vpn?"),)


def test_questions_on_one_page_and_near_misses_of_it_stay_together() -> None:
    assert row().group == row("q2", "near_miss", near_pages=["a.md"]).group == "a.md"
    assert row("q3", "far").group == "q3"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ({**GOOD, "kind": "odd"}, "kind"),
        ({**GOOD, "pages": []}, "names no page"),
        ({"id": "1"}, "question"),
        ([1], "line 2"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_wrong(tmp_path: Path, line: object, named: str) -> None:
    path = written(tmp_path / "q.jsonl", {**GOOD, "id": "0"}, line)

    with pytest.raises(SettingInvalid, match=rf"(?s)q\.jsonl, line 2.*{named}|line 2"):
        load_questions(path)


def test_an_id_given_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="given twice"):
        load_questions(written(tmp_path / "q.jsonl", GOOD, GOOD))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match=r"none\.jsonl"):
        load_questions(tmp_path / "none.jsonl")
