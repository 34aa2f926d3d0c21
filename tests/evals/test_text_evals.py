"""Evals of claims, of copied lines and of Confluence pages, on small inputs and the sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.answering.evaluation.labelled_questions import (
    LabelledQuestion,
    holds_facts,
    load_questions,
)
from tests.evals.claims_eval import flip_denial, lines_of, passing
from tests.evals.confluence_eval import FLOOR, SHARED, Kept, added, main, measured, pages, share
from tests.evals.copies_eval import MOST_LOST, chunks_of, lost_of
from tests.evals.operator_eval import QUESTIONS as OPERATOR_QUESTIONS
from tests.evals.question_runs import ROOT
from tests.evals.sets import load_pages, sample
from tests.evals.typos_eval import KINDS, asked_of, mistype
from tests.sweeps.sizes import sizes

MOST_PASSING = 0.02


async def test_hardly_a_line_turned_round_passes_as_a_claim(tmp_path: Path) -> None:
    lines = [each for each in lines_of(await chunks_of(sample(tmp_path))) if each.checked().kept]
    made, passed = passing(lines)

    assert made["not put in"] > 200
    assert made["not taken out"] > 50
    too_many = {
        way for way, count in made.items() if len(passed.get(way, ())) > MOST_PASSING * count
    }
    assert not too_many, passed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is open.", [("not put in", "It is not open.")]),
        ("It isn't open.", [("not taken out", "It is open.")]),
        ("You cannot go.", [("not taken out", "You can go.")]),
        ("It is not open and nobody is there.", []),
        ("Open it.", []),
    ],
)
def test_a_statement_is_turned_by_one_denial(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(flip_denial(text)) == expected


@sizes("every", smoke=4, whole=1)
async def test_hardly_any_copy_of_a_line_of_the_sample_is_lost(every: int, tmp_path: Path) -> None:
    made, lost, which = lost_of((await chunks_of(sample(tmp_path)))[::every])

    assert len(load_pages()) > 40
    assert set(made) == {
        "as stored",
        "as read",
        "full stop added",
        "list mark added",
        "first letter's case",
        "middle left out",
        "two items joined",
        "cells by comma",
    }
    too_many = {kind for kind, count in made.items() if lost[kind] > MOST_LOST * count}
    assert not too_many, [copy.text for copy in which if copy.kind in too_many]


STORAGE = (
    "<h2>One</h2><p>two three <a href='https://a.test/x'>four</a></p>"
    '<ul><li><ac:structured-macro ac:name="code"><ac:plain-text-body><![CDATA[go  on]]>'
    "</ac:plain-text-body></ac:structured-macro></li></ul>"
    "<table><tr><td>a|b</td><td>c</td></tr></table>"
)
EXPECTED = """---
title: 'T'
---

import { Callout } from 'x'

# T

### One

two three [four](https://a.test/x)

* ```
  go  on
  ```

| a\\|b | c |
| --- | --- |
"""


def page(folder: Path, expected: str) -> Path:
    place = folder / "confluence_recorded" / "1"
    place.mkdir(parents=True)
    (place / "page.xhtml").write_text(STORAGE, "utf-8")
    (place / "expected.mdx").write_text(expected, "utf-8")
    return place


def test_what_is_all_there_is_kept_whole(tmp_path: Path) -> None:
    kept = measured(page(tmp_path, EXPECTED))

    assert kept == Kept(words=(9, 9), code_blocks=(1, 1), cells=(2, 2), links=(1, 1))
    assert main(["--shared", str(tmp_path)]) == 0


def test_what_is_missing_is_counted(tmp_path: Path) -> None:
    more = "zebra\n\n```\nrm\n```\n\n| y |\n\n[z](https://b.test)\n"

    kept = measured(page(tmp_path, EXPECTED + more))

    assert kept == Kept(words=(9, 13), code_blocks=(1, 2), cells=(2, 3), links=(1, 2))
    assert main(["--shared", str(tmp_path)]) == 1


def test_without_recorded_pages_nothing_is_claimed(tmp_path: Path) -> None:
    assert pages(tmp_path) == []
    assert main(["--shared", str(tmp_path)]) == 2


@pytest.mark.skipif(not pages(SHARED), reason="the recorded pages are not here")
def test_recorded_pages_are_kept() -> None:
    whole = added([measured(each) for each in pages(SHARED)])

    assert share(whole.words) >= FLOOR
    assert share(whole.code_blocks) == share(whole.cells) == share(whole.links) == 1.0


def test_each_kind_of_typing_error_changes_one_word_the_same_way_each_time() -> None:
    question = "Where is the printer?"

    typed = {kind: mistype(question, kind) for kind in KINDS}

    assert typed == {kind: mistype(question, kind) for kind in KINDS}
    assert all(text and text.startswith("Where is the ") for text in typed.values())
    lengths = {kind: len(text or "") - len(question) for kind, text in typed.items()}
    assert lengths == {"deletion": -1, "insertion": 1, "substitution": 0, "transposition": 0}
    assert question not in typed.values()
    assert mistype("why is it so?", "deletion") is None


def test_mistyped_questions_are_asked_once_clean_and_once_by_kind() -> None:
    rows = [
        LabelledQuestion(id="a", question="printer jam", kind="answerable", pages=("p.md",)),
        LabelledQuestion(id="b", question="why?", kind="answerable", pages=("p.md",)),
    ]

    asked = list(asked_of(rows))

    assert [each.kind for each in asked] == ["", *KINDS]
    assert {each.row.id for each in asked} == {"a"}


@pytest.mark.parametrize("row", load_questions(OPERATOR_QUESTIONS), ids=lambda row: row.id)
def test_an_operators_question_has_its_words_on_a_labelled_page(row: LabelledQuestion) -> None:
    texts = [(ROOT / "docs" / page).read_text() for page in (*row.pages, *row.alt_pages)]

    assert any(holds_facts(text, row.key_facts) for text in texts)
