"""Questions and cases made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.answering.evaluation.labelled_questions import Grade, LabelledQuestion, QuestionKind
from bot.answering.evaluation.question_cases import Case
from bot.domain.interactions import ConfidenceLevel
from bot.domain.messages import Intent

RIGHT = Grade(facts=True, cited=True, evidence=True, citations=2, valid=2, words=30)
WRONG = Grade(facts=False, cited=True, evidence=True, citations=1, valid=1, words=10)


def row(
    name: str = "q1",
    kind: QuestionKind = "answerable",
    question: str = "how many days",
    **fields: object,
) -> LabelledQuestion:
    pages = ("a.md",) if kind == "answerable" else ()
    return LabelledQuestion.model_validate(
        {"id": name, "question": question, "kind": kind, "pages": pages, **fields}
    )


def case(
    asked: LabelledQuestion | None = None,
    *,
    confidence: float | None = 0.8,
    verdict: Grade = RIGHT,
    withheld: bool = False,
    response: str = "reply",
    intent: Intent = Intent.DOMAIN,
    level: ConfidenceLevel | None = "sure",
    features: Mapping[str, float] | None = None,
) -> Case:
    """Return a case; ``level`` counts only where there is a reply from the pages."""
    given = response == "reply" and confidence is not None
    return Case(
        row=asked or row(),
        withheld=withheld,
        intent=intent,
        response=response,
        confidence=confidence,
        threshold=0.65,
        features={"has_claims": 1.0, **(features or {})},
        keyword=1.0,
        vector=0.5,
        verdict=verdict,
        latency_ms=10.0,
        model_calls=0,
        input_tokens=0,
        output_tokens=0,
        level=level if given else None,
    )


def numbered(made: Case, n: int) -> Case:
    """Return the case as another question, on a page of its own."""
    pages = (f"{n}.md",) if made.row.pages else ()
    return replace(made, row=made.row.model_copy(update={"id": f"q{n}", "pages": pages}))
