"""Tests of the board's page of labels."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from bot.answering.evaluation.history import EvaluationSummary, append_summary
from bot.answering.gate import Gate, load_gate_file
from bot.answering.visibility import ReadableInIndex
from bot.learning.certificate_watch import Suspension
from bot.learning.label_review import LabelReview
from bot.learning.labels import Label, LabelKey
from bot.learning.question_words import QuestionWords
from bot.store.database import Store
from bot.web.board.label_queue import LabelsPage
from tests.fakes.board_app import (
    OPEN,
    SURE,
    TRACE,
    BoardBrowser,
    TwoPageIndex,
    ask,
    board_app,
    passage,
)
from tests.fakes.record_rows import add_interaction
from tests.unit.bot.learning.test_certificate_watch import (
    CERTIFICATE,
    LAST_WEEK,
    NAME,
    label,
    watch_over,
)

PATH = "/board/labels"


@pytest.fixture
async def browser(store: Store, tmp_path: Path) -> AsyncIterator[BoardBrowser]:
    app = board_app(tmp_path, store)
    readable = ReadableInIndex(TwoPageIndex())  # type: ignore[arg-type]  # only what it reads
    gate = Gate(load_gate_file().with_certificate(NAME, CERTIFICATE))
    review = LabelReview(
        "default",
        labels=store.labels,
        interactions=store.interactions,
        words=QuestionWords(store.escalations, store.notes, readable),
        readable=readable,
        audits=store.audits,
        questions=tmp_path / "questions.jsonl",
        now=lambda: datetime.now(UTC),
    )
    LabelsPage(
        tenant="default",
        review=review,
        watch=watch_over(store, gate),
        gate=gate,
        data_dir=tmp_path,
    ).mount(app)
    async with TestClient(TestServer(app)) as client:
        yield BoardBrowser(client, store)


async def candidate(store: Store, name: str = "m1", *, public: bool = True) -> LabelKey:
    asked = await ask(store, name, response=SURE, trace=replace(TRACE, passages=(passage(OPEN),)))
    key = LabelKey(asked.id, "thumb")
    label = Label(key, "right", "candidate", datetime.now(UTC), ("vpn.md",), public=public)
    await store.labels.propose("default", [label])
    return key


async def test_a_candidate_is_accepted_with_one_press(
    browser: BoardBrowser, store: Store, tmp_path: Path
) -> None:
    key = await candidate(store)
    page = await browser.get(PATH)
    assert "vpn 809" in page
    assert "vpn.md" in page

    form = {"id": key.interaction_id, "origin": "thumb", "truth": "right", "pages": "vpn.md"}
    await browser.post(PATH, 303, htmx=False, decision="accept", **form)

    assert "vpn 809" in (tmp_path / "questions.jsonl").read_text()
    assert "vpn 809" not in await browser.get(PATH)
    assert "vpn 809" in await browser.get(f"{PATH}?state=accepted")
    refused = await browser.post(PATH, 409, htmx=False, decision="reject", **form)
    assert 'role="alert"' in refused


async def test_hidden_questions_are_only_counted(browser: BoardBrowser, store: Store) -> None:
    key = await candidate(store, public=False)

    page = await browser.get(PATH)

    assert "vpn 809" not in page
    assert key.interaction_id not in page
    assert "1 more" in page


@pytest.mark.parametrize(("origin", "truth"), [("rumour", "right"), ("thumb", "perhaps")])
async def test_a_made_up_form_is_refused(
    browser: BoardBrowser, store: Store, origin: str, truth: str
) -> None:
    key = await candidate(store)

    await browser.post(PATH, 422, id=key.interaction_id, origin=origin, truth=truth, pages="vpn.md")


async def test_the_last_evaluations_are_compared(browser: BoardBrowser, tmp_path: Path) -> None:
    for day, right in ((3, 0.81), (10, 0.86)):
        line = EvaluationSummary(
            date=date(2026, 5, day),
            questions="questions.jsonl",
            asked=40,
            model="none",
            answered=0.5,
            right_among_answered=right,
            wrong_among_answered=0.1,
        )
        append_summary(tmp_path, line)

    page = await browser.get(PATH)

    assert page.index("86%") < page.index("81%")


async def test_last_week_is_shown_beside_the_promise(browser: BoardBrowser, store: Store) -> None:
    await add_interaction(store, "w1", at=LAST_WEEK, answer_type="RAG")
    await add_interaction(store, "w2", at=LAST_WEEK, answer_type="ESCALATION_REQUIRED")
    assert "None of these answers has a label" in await browser.get(PATH)

    await label(store, right=2, wrong=1)

    page = await browser.get(PATH)
    assert "50% of the questions that needed the wiki were answered" in page
    assert "2 of 3 labelled answers were correct" in page


async def test_only_experts_decide_and_only_admins_resume(
    browser: BoardBrowser, store: Store
) -> None:
    await browser.of("mika").get(PATH, 403)
    await browser.of("mika").post(PATH, 403, htmx=False)
    await store.suspensions.suspend(
        "default",
        Suspension(NAME, CERTIFICATE.model_dump_json(), datetime.now(UTC), "Five were wrong."),
    )
    assert "Five were wrong." in await browser.get(PATH)

    await browser.post(f"{PATH}/certificate", 403, htmx=False, calibration=NAME)
    await browser.of("admin").post(f"{PATH}/certificate", 303, htmx=False, calibration=NAME)
    assert "Five were wrong." not in await browser.get(PATH)
