"""Tests of an evaluation over a real index, and of labelled questions and their judgement."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.evaluation.evaluate import (
    PlannedQuestion,
    ask_all,
    certify,
    evaluate,
    questions_and_withheld,
    train,
)
from bot.answering.evaluation.labelled_questions import (
    Grade,
    LabelledQuestion,
    RecordedComposition,
    RecordingComposer,
    grade_answer,
    holds_facts,
    is_valid,
    load_questions,
)
from bot.answering.evaluation.markdown_tables import format_figure, markdown
from bot.answering.evaluation.question_cases import Subject
from bot.answering.evaluation.report import Figure, Report
from bot.answering.gate import load_gate
from bot.answering.gate_file import Calibration, Feature, GateFile
from bot.answering.routing.generic_replies import GenericAnswers
from bot.domain.errors import SettingInvalid
from bot.domain.handoff import HandoffWording
from bot.domain.interactions import Outcome, Reply, Route, Trace
from bot.domain.messages import Inquiry, Intent
from bot.domain.ports import ReportStage
from rag.answer.extractive import ExtractiveComposer
from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.index.embedded.schema import SCHEMA
from rag.parts import paragraph
from rag.pipeline import Pipeline
from rag.ports import Composition
from rag.types import (
    EVERYONE,
    Citation,
    Claim,
    Fingerprint,
    ModelCall,
    Page,
    Principal,
    Readers,
    Turn,
)
from tests.fakes.passages import passage
from tests.fakes.rag_ports import WordEmbedder
from tests.unit.bot.answering.evaluation.cases import row

PAGES = {
    "vpn.md": "Error 809: the network blocks the VPN tunnel; use a phone hotspot. It helps.",
    "leave.md": "Annual leave is 25 days. Carried over leave ends on 31 March.",
    "badge.md": "A lost badge is blocked by the front desk. A new badge costs 15 euros.",
    "salary.md": "Salary bands are reviewed every April by the pay committee.",
}
QUESTIONS: list[dict[str, object]] = [
    {
        "id": "1",
        "question": "vpn tunnel error 809",
        "kind": "answerable",
        "pages": ["vpn.md"],
        "key_facts": ["hotspot"],
    },
    {
        "id": "2",
        "question": "when are salary bands reviewed",
        "kind": "answerable",
        "pages": ["salary.md"],
        "key_facts": ["April"],
        "groups": ["hr"],
    },
    {"id": "3", "question": "parking fines abroad", "kind": "near_miss"},
    {"id": "4", "question": "hello", "kind": "generic"},
]


class RulesOfThumb:
    """Routes greetings away from the index and everything else to it."""

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route:
        del history
        intent = Intent.GENERIC if text == "hello" else Intent.DOMAIN
        return Route(intent, 1.0, "rule", text)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    embedder = WordEmbedder()
    expected = Fingerprint(embedder.name, embedder.dimensions, SCHEMA)
    opened = await open_index(tmp_path / "index.sqlite", expected)
    for name, text in PAGES.items():
        readers: Readers = (
            frozenset({Principal("group:hr") if name == "salary.md" else EVERYONE}),
        )
        page = Page("default", "IT", name, "1", readers)
        await opened.upsert_page(
            page, [passage(text, page=name, readers=readers).chunk], await embedder.embed([text])
        )
    yield opened
    await opened.close()


@pytest.fixture
def gate_path(tmp_path: Path) -> Path:
    words = Feature(name="coverage_best", mean=0.5, scale=0.1, lowest=0, highest=1, coefficient=2.0)
    trusting = Calibration(label="covered", intercept=0, features=(words,), trained_on=())
    file = GateFile(version=2, date=date(2026, 11, 22), calibrations={"extractive": trusting})
    path = tmp_path / "gate.json"
    path.write_text(file.model_dump_json())
    return path


@pytest.fixture
def subject(index: EmbeddedIndex, gate_path: Path) -> Subject:
    composer = RecordingComposer(ExtractiveComposer(WordEmbedder()))
    desk = Desk(
        ModelProfile(
            route=RulesOfThumb().route,
            reply_generically=GenericAnswers(None).reply,
            pipeline=Pipeline(index, WordEmbedder(), composer),
        ),
        gate=load_gate(0.65, gate_path).judge,
        wording=HandoffWording(not_found="Not there.", uncertain="Not sure."),
    )
    return Subject(desk, composer, index, WordEmbedder())


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)))
    return path


async def test_a_run_measures_all_of_every_question(subject: Subject, questions: Path) -> None:
    report = await evaluate(subject, questions)

    assert report.answers.facts_and_page.value == 1.0
    assert report.citations.value == 1.0
    assert report.citations.n >= 2
    assert report.retrieval["ours"]["recall@5"].value == 1.0
    assert report.routed_right.value == 1.0
    assert report.operation.outcomes["answerable"]["sure"] == 2
    assert report.cost.model_calls == 0


async def test_withheld_questions_are_asked_again_without_their_pages(
    subject: Subject, questions: Path
) -> None:
    report = await evaluate(subject, questions)

    assert report.operation.withheld_kept_back.n == 2
    assert report.operation.withheld_kept_back.value == 1.0
    assert report.gate.separation["withheld"]["gate"].plain.value == 1.0


async def test_an_asker_outside_a_group_gets_not_its_page(subject: Subject, tmp_path: Path) -> None:
    path = tmp_path / "outsider.jsonl"
    path.write_text(json.dumps({**QUESTIONS[1], "groups": []}))

    report = await evaluate(subject, path)

    assert report.answers.gold_among_passages.value == 0.0
    assert report.retrieval["ours"]["hit@10"].value == 0.0


async def test_the_report_is_written_and_reads_back_the_same(
    subject: Subject, questions: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.json"
    seen: list[tuple[int, int]] = []

    report = await evaluate(
        subject, questions, out=out, progress=lambda done, of: seen.append((done, of))
    )

    assert Report.model_validate_json(out.read_bytes()) == report
    assert seen[-1] == (6, 6)
    assert report.run.kinds == {"answerable": 2, "near_miss": 1, "generic": 1, "withheld": 2}
    assert report.run.chunks == 4


async def test_the_report_can_be_read_by_people(subject: Subject, questions: Path) -> None:
    text = markdown(await evaluate(subject, questions, name="Own wiki"))

    assert text.startswith("## Own wiki\n")
    assert "| quotes byte-exact and readable by the asker | 1.000" in text
    assert "| withheld | 0 | 0 | 0 | 0 | 0 | 2 |" in text


def test_a_figure_that_can_not_be_told_is_a_dash() -> None:
    assert format_figure(Figure(value=None)) == "-"
    assert format_figure(Figure(value=0.5, low=0.25, high=0.75, n=8)) == "0.500 [0.250, 0.750]"


async def test_training_on_too_little_is_refused_in_one_line(
    subject: Subject, questions: Path, tmp_path: Path
) -> None:
    cases = await ask_all(subject, questions_and_withheld(load_questions(questions)))

    with pytest.raises(SettingInvalid, match="too few"):
        train({"extractive": [("own", cases)]}, tmp_path / "new.json")
    assert not (tmp_path / "new.json").exists()


async def test_training_writes_a_file_and_keeps_the_calibrations_of_other_models(
    subject: Subject, tmp_path: Path
) -> None:
    path = tmp_path / "many.jsonl"
    facts = (["hotspot"], ["April"], ["what no page says"])
    rows = [{**QUESTIONS[n % 2], "id": str(n), "key_facts": facts[n % 3]} for n in range(60)]
    path.write_text("\n".join(map(json.dumps, rows)))
    out = tmp_path / "new.json"

    cases = await ask_all(subject, questions_and_withheld(load_questions(path)))

    first = train({"extractive": [("own", cases)], "model:own:answer@1": [("own", cases)]}, out)
    written = train({"extractive": [("own", cases)]}, out)

    assert GateFile.model_validate_json(out.read_bytes()) == written
    assert {"extractive", "model:own:answer@1"} <= set(written.calibrations)
    assert written.calibrations["model:own:answer@1"] == first.calibrations["model:own:answer@1"]
    assert written.calibrations["extractive"].trained_on[0].right == 20


class DatedModel:
    """Answers as a desk whose model's server names the model by its date, too."""

    async def handle(self, _: Inquiry, __: ReportStage) -> Outcome:
        call = ModelCall("answer", "small-2026-01-01", "answer@2", 10, 5, 1.0)
        route = Route(Intent.DOMAIN, 1.0, "rule", "vpn")
        trace = Trace(route, calibration="model:small:answer@2", calls=(call,))
        return Outcome(Reply("Use a hotspot.", "answer", confidence=0.9), trace)


async def test_a_case_names_the_calibration_that_judged_its_answer(subject: Subject) -> None:
    (case, *_) = await ask_all(
        replace(subject, desk=DatedModel()),
        [PlannedQuestion(LabelledQuestion.model_validate(QUESTIONS[0]))],
    )

    assert case.calibration == "model:small:answer@2"


async def test_a_threshold_is_certified_when_enough_answers_are_right(
    subject: Subject, gate_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "many.jsonl"
    rows = [{**QUESTIONS[n % 3], "id": str(n)} for n in range(120)]
    path.write_text("\n".join(map(json.dumps, rows)))
    out = tmp_path / "certified.json"

    record = await certify(subject, path, out, gate=gate_path)

    assert record is not None
    assert record.coverage == pytest.approx(80 / 120)
    assert load_gate(0.65, out).threshold("extractive") == record.threshold
    assert load_gate(0.65, gate_path).threshold("extractive") == 0.65


async def test_too_few_questions_certify_nothing_and_leave_the_setting_in_force(
    subject: Subject, questions: Path, gate_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "certified.json"

    assert await certify(subject, questions, out, gate=gate_path) is None
    assert load_gate(0.65, out).threshold("extractive") == 0.65


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


PAGE = passage("You get **25 days** of leave.", page="a.md")
OTHER = passage("Badges are free.", page="b.md")


def composed(*quotes: str) -> RecordedComposition:
    claims = tuple(
        Claim((paragraph(quote),), (Citation(PAGE.chunk.id, quote),)) for quote in quotes
    )
    return RecordedComposition((PAGE, OTHER), Composition(claims))


@pytest.mark.parametrize(
    ("facts", "held"),
    [
        (["25 days"], True),
        (["30 days|25  DAYS"], True),
        (["25 days", "leave"], True),
        (["25 days", "sick"], False),
        (["|"], False),
        ([], True),
    ],
)
def test_all_facts_must_be_said_in_one_of_their_variants(facts: list[str], *, held: bool) -> None:
    assert holds_facts("You get **25 days** of\nleave.", facts) is held


def test_an_answer_is_right_with_all_facts_and_a_gold_page_cited() -> None:
    verdict = grade_answer(row(key_facts=["25 days"]), composed("You get **25 days** of leave."))

    assert verdict == Grade(facts=True, cited=True, evidence=True, citations=1, valid=1, words=6)
    assert verdict.right


def test_a_question_of_yes_or_no_is_right_when_its_page_is_cited() -> None:
    verdict = grade_answer(row(polarity="yes"), composed("of leave."))

    assert verdict.facts is None
    assert verdict.right


def test_a_stand_in_for_the_gold_page_is_as_good() -> None:
    assert grade_answer(row(pages=["z.md"], alt_pages=["a.md"]), composed("leave")).cited


def test_a_gold_page_that_was_read_and_not_cited_is_evidence_alone() -> None:
    verdict = grade_answer(row(pages=["b.md"]), composed("leave"))

    assert verdict.evidence
    assert not verdict.right


def test_withheld_pages_are_never_gold() -> None:
    assert not grade_answer(row(), composed("leave"), frozenset({"a.md"})).right


def test_a_quote_that_is_not_in_the_passage_to_the_byte_is_invalid() -> None:
    verdict = grade_answer(row(), composed("You get 25 days of leave.", "You get"))

    assert (verdict.citations, verdict.valid) == (2, 1)


def test_a_quote_that_the_asker_may_not_read_is_invalid() -> None:
    readers = (frozenset({Principal("group:hr")}),)
    closed = replace(PAGE, chunk=replace(PAGE.chunk, readers=readers))

    assert is_valid("leave", closed, frozenset({EVERYONE, Principal("group:hr")}))
    assert not is_valid("leave", closed, frozenset({EVERYONE}))
    assert not is_valid("leave", None, frozenset({EVERYONE}))


def test_an_unrestricted_asker_reads_nothing_that_nobody_may_read() -> None:
    nobody = replace(PAGE, chunk=replace(PAGE.chunk, readers=()))

    assert not is_valid("leave", nobody, frozenset({EVERYONE}))


def test_nothing_composed_is_nothing_right() -> None:
    assert grade_answer(row(), None) == Grade()
