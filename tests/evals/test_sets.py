from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from bot.answering.evaluation.labelled_questions import load_questions
from tests.evals import sets
from tests.evals.sets import public_sets, sample


def lines(path: Path, *rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def test_the_sample_is_there_and_its_questions_can_be_read(tmp_path: Path) -> None:
    made = sample(tmp_path)

    halves = Counter(row.half for row in load_questions(made.questions))
    assert halves == {None: 120, 1: 30, 2: 30}
    assert all(folder.is_dir() for folder in made.spaces.values())


def test_only_sets_that_are_there_are_measured(tmp_path: Path) -> None:
    assert list(public_sets(tmp_path, tmp_path)) == []


def test_each_page_of_a_pdf_becomes_a_page(tmp_path: Path) -> None:
    source = tmp_path / "contoso_northwind_kb"
    lines(
        source / "answerable.jsonl",
        {
            "id": "1",
            "question": "copay?",
            "answer": "It is $20 for 30% of 2 visits.",
            "citations": [{"doc": "My_Plan.pdf", "page": 2}],
        },
    )
    lines(
        source / "dontknows_audited.jsonl",
        {"id": "2", "question": "x", "tier": "near_miss", "label_audit": "unanswerable"},
        {"id": "3", "question": "y", "tier": "nonsense", "label_audit": "unanswerable"},
        {"id": "4", "question": "z", "tier": "near_miss", "label_audit": "needs_review"},
    )
    (source / "text").mkdir()
    (source / "text" / "My_Plan.txt").write_text(
        "<!-- page 1 -->\n \n<!-- page 2 -->\nThe copay is $20 for a visit.\n"
    )

    (made,) = public_sets(tmp_path, tmp_path / "work")
    questions = load_questions(made.questions)

    assert [path.name for path in made.spaces["CTN"].rglob("*.md")] == ["002.md"]
    assert questions[0].pages == ("My_Plan/002.md",)
    assert questions[0].key_facts == ("$20", "30%")
    assert [(row.id, row.kind) for row in questions[1:]] == [("2", "near_miss"), ("3", "far")]


def test_a_question_is_withheld_from_both_plans_of_its_insurer(tmp_path: Path) -> None:
    source = tmp_path / "contoso_northwind_kb"
    plans = ("Northwind_Plus", "Northwind_Standard")
    cited = [{"doc": f"{plans[0]}.pdf", "page": 1}]
    lines(
        source / "answerable.jsonl",
        {"id": "1", "question": "copay?", "answer": "yes", "citations": cited},
    )
    lines(source / "dontknows_audited.jsonl")
    (source / "text").mkdir()
    for document in (*plans, "Handbook"):
        text = "<!-- page 1 -->\nThe copay is due for a visit.\n"
        (source / "text" / f"{document}.txt").write_text(text)

    (made,) = public_sets(tmp_path, tmp_path / "work")
    (question,) = load_questions(made.questions)

    assert question.gold.relevant == {"Northwind_Plus/001.md"}
    assert question.withheld_pages == {f"{plan}/001.md" for plan in plans}


def test_questions_without_an_answer_keep_the_page_they_are_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets, "SQUAD_QUESTIONS", 2)
    source = tmp_path / "squad2_dev"
    lines(source / "passages.jsonl", {"id": "Steam#0", "title": "Steam_engine", "text": "Hot."})
    lines(
        source / "questions.jsonl",
        {
            "id": "1",
            "passage_id": "Steam#0",
            "question": "a",
            "answers": ["x", "y"],
            "answerable": True,
        },
        {"id": "2", "passage_id": "Steam#0", "question": "b", "answers": [], "answerable": False},
    )

    (made,) = public_sets(tmp_path, tmp_path / "work")
    by_id = {row.id: row for row in load_questions(made.questions)}

    assert by_id["1"].key_facts == ("x|y",)
    assert by_id["1"].pages == by_id["2"].near_pages == ("Steam-0.md",)
    assert by_id["2"].kind == "near_miss"


def test_a_changed_page_changes_the_fingerprint(tmp_path: Path) -> None:
    source = tmp_path / "kb_18f_handbook"
    (source / "pages").mkdir(parents=True)
    page = source / "pages" / "a.md"
    page.write_text("one")
    (made,) = public_sets(tmp_path, tmp_path / "work")
    before = made.digest()

    page.write_text("two")

    assert made.digest() != before


def test_near_misses_of_equal_length_replace_the_first_ones(tmp_path: Path) -> None:
    source = tmp_path / "kb_18f_handbook"
    (source / "pages").mkdir(parents=True)
    plain = {"question": "x", "pages": ["a.md"]}
    lines(
        source / "questions.jsonl",
        {**plain, "id": "1", "kind": "answerable"},
        {**plain, "id": "2", "kind": "near_miss"},
    )
    lines(
        source / "near_miss_equal_length.jsonl",
        {**plain, "id": "2-L", "kind": "near_miss", "tags": []},
        {**plain, "id": "3-L", "kind": "near_miss", "tags": ["doubtful"]},
    )
    lines(source / "questions_short.jsonl", {**plain, "id": "s", "kind": "far", "tags": ["short"]})

    (made,) = public_sets(tmp_path, tmp_path / "work")

    assert [row.id for row in load_questions(made.questions)] == ["1", "2-L", "s"]
