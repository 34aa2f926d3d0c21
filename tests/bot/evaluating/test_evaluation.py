from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

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
    LabelledQuestion,
    RecordingComposer,
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
from rag.pipeline import Pipeline
from rag.types import EVERYONE, Fingerprint, ModelCall, Page, Principal, Readers, Turn
from tests.fakes import WordEmbedder
from tests.rag.passages import passage

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
        router=RulesOfThumb(),
        generic=GenericAnswers(None),
        pipeline=Pipeline(index, WordEmbedder(), composer),
        gate=load_gate(0.65, gate_path),
        wording=HandoffWording(not_found="Not there.", uncertain="Not sure."),
    )
    return Subject(desk, composer, index, WordEmbedder())


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)))
    return path


async def test_a_run_measures_the_whole_way_of_every_question(
    subject: Subject, questions: Path
) -> None:
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


async def test_an_asker_outside_of_the_group_is_not_given_its_page(
    subject: Subject, tmp_path: Path
) -> None:
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
    pytest.importorskip("sklearn", reason="scikit-learn is in requirements-evals.txt")
    cases = await ask_all(subject, questions_and_withheld(load_questions(questions)))

    with pytest.raises(SettingInvalid, match="too few"):
        train({"extractive": [("own", cases)]}, tmp_path / "new.json")
    assert not (tmp_path / "new.json").exists()


async def test_training_writes_a_file_and_keeps_the_calibrations_of_other_models(
    subject: Subject, tmp_path: Path
) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is in requirements-evals.txt")
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
