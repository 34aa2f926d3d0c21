"""Ask the desk one labelled question and record the outcome, page rankings included."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bot.answering.evaluation.labelled_questions import (
    Grade,
    LabelledQuestion,
    QuestionKind,
    RecordingComposer,
    grade_answer,
)
from bot.answering.evaluation.metrics import distinct, reciprocal_rank_fusion
from bot.answering.gate import calibration_name
from bot.answering.gate_file import CAREFUL
from bot.domain.errors import ModelGaveUp
from bot.domain.interactions import Clarification, ConfidenceLevel, Outcome, Reply
from bot.domain.messages import Audience, Inquiry, Intent, Message, Person, Stage, Thread
from bot.domain.outcomes import error_code
from bot.domain.ports import AnswersInquiries
from rag.embedding import embed_question
from rag.errors import RagError
from rag.ports import (
    ChatModel,
    Completion,
    Embedder,
    Index,
    Prompt,
    Shape,
    Structured,
)
from rag.types import Passage, Question

CANDIDATES = 400
"""Number of passages requested: enough for the full keyword and vector rankings."""


@dataclass(frozen=True, slots=True)
class Rankings:
    """Pages in order, without duplicates, by four ways of ranking the same candidates."""

    keyword: tuple[str, ...]
    vector: tuple[str, ...]
    rrf: tuple[str, ...]
    ours: tuple[str, ...]


async def rank_pages(
    index: Index, embedder: Embedder | None, row: LabelledQuestion, tenant: str
) -> Rankings:
    """Search once and rank the pages in four ways.

    A follow-up is searched in its labelled standalone form, not rewritten, so that retrieval is
    measured alone.
    """
    text = row.standalone or row.text
    vector, tokens = await embed_question(embedder, text)
    question = Question(text=text, tenant=tenant, vector=vector, tokens=tokens)
    passages = await index.search(question, row.principals, CANDIDATES)
    page_of = {passage.chunk.id: passage.chunk.page_id for passage in passages}
    keyword = _ordered_by(passages, "keyword_rank")
    by_vector = _ordered_by(passages, "vector_rank")
    fused = reciprocal_rank_fusion([keyword, by_vector])
    ours = [passage.chunk.id for passage in passages]
    return Rankings(
        *(
            distinct(page_of[chunk] for chunk in order)
            for order in (keyword, by_vector, fused, ours)
        )
    )


def _ordered_by(passages: Sequence[Passage], rank: str) -> list[str]:
    ranked = [passage for passage in passages if rank in passage.signals]
    return [p.chunk.id for p in sorted(ranked, key=lambda passage: passage.signals[rank])]


_ANSWER_PROMPT = "answer"
"""Prefix of the prompt ids that ask a model for an answer from passages."""


class ModelWatch:
    """Delegates to a chat model and remembers its failures. Implements `ChatModel`.

    Without it a failure of routing would look like a question that the model routed badly.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._codes: list[str] = []
        self.last = ""
        """What the last failure said."""

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, prompt: Prompt) -> Completion:
        with self._watching():
            return await self._model.complete(prompt)

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        with self._watching():
            return await self._model.structured(prompt, shape)

    def take(self) -> str:
        """Return and clear the failure since the last call, as an error code; "" for none.

        That the model was unavailable counts for more than that an answer had no usable form.
        """
        codes, self._codes = self._codes, []
        return max(codes, default="", key=lambda code: code == "model_unavailable")

    @contextmanager
    def _watching(self) -> Iterator[None]:
        try:
            yield
        except RagError as error:
            self._codes.append(error_code(error))
            self.last = str(error)
            raise


@dataclass(frozen=True, slots=True)
class Subject:
    """The system under evaluation: a desk, the composer inside it, and the index it searches.

    ``watch`` is around its model, ``calibrated_as`` the name that the model's calibrations are kept
    by; None and "" without one.
    """

    desk: AnswersInquiries
    composer: RecordingComposer
    index: Index
    embedder: Embedder | None
    tenant: str = "default"
    watch: ModelWatch | None = None
    calibrated_as: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A question as it was asked, with its outcome and grade.

    ``confidence`` and ``threshold`` are None when the index was not searched. ``withheld``: the
    gold pages were kept out of the search. ``level`` is the confidence level shown with an answer
    from the pages; None where there is none. ``calibration`` names the calibration of such an
    answer; for a model's, the model and its prompt. ``failure`` is the code of what failed on the
    way, "" for nothing.
    """

    row: LabelledQuestion
    withheld: bool
    intent: Intent
    response: str
    confidence: float | None
    threshold: float | None
    features: dict[str, float]
    keyword: float
    vector: float
    verdict: Grade
    latency_ms: float
    model_calls: int
    input_tokens: int
    output_tokens: int
    rankings: Rankings | None = None
    level: ConfidenceLevel | None = None
    calibration: str = "extractive"
    failure: str = ""

    @property
    def kind(self) -> QuestionKind:
        return self.row.kind

    @property
    def right(self) -> bool:
        """Whether the composed answer is right; never where the pages hold no answer."""
        return self.row.has_answer and not self.withheld and self.verdict.right

    @property
    def right_in_part(self) -> bool:
        """Whether the answer is right in what it states and says that something is missing.

        Judging whether the missing part is named rightly would take a reader; required are a key
        fact and a cited gold page.
        """
        named = self.features.get("composer_partial", 0.0) > 0
        has_answer = self.row.has_answer and not self.withheld
        return has_answer and named and self.verdict.right_as_a_part

    @property
    def answered(self) -> bool:
        """Whether an answer from the pages was given; one shown as unsure does not count."""
        return self.level in {"sure", "partial"}

    @property
    def answered_right(self) -> bool:
        """Whether the given answer is right; a partial one is judged by what it states."""
        part = self.level == "partial" and self.right_in_part
        return self.answered and (self.right or part)

    @property
    def reached_index(self) -> bool:
        return self.confidence is not None


async def ask(subject: Subject, row: LabelledQuestion, *, withheld: bool = False) -> Case:
    """Ask one question; the withheld run excludes every page that may answer it."""
    excluded = row.withheld_pages if withheld else frozenset[str]()
    inquiry = _inquiry(row, subject.tenant, excluded)
    subject.composer.take()
    if subject.watch is not None:
        subject.watch.take()
    started = time.perf_counter()
    outcome = await subject.desk.handle(inquiry, _ignore_stage)
    took = (time.perf_counter() - started) * 1000
    verdict = grade_answer(row, subject.composer.take(), excluded)
    ranked = row.has_answer and not withheld
    rankings = (
        await rank_pages(subject.index, subject.embedder, row, subject.tenant) if ranked else None
    )
    found = _case(row, outcome, verdict, took, withheld=withheld, rankings=rankings)
    failure = (subject.watch.take() if subject.watch else "") or _error(outcome)
    return replace(found, calibration=_calibration(outcome, subject), failure=failure)


WAITS_SECONDS = (5.0, 20.0, 60.0)
"""How long a question waits before it is asked again, after its own retries have failed."""

Wait = Callable[[float], Awaitable[None]]


async def ask_patiently(
    subject: Subject,
    row: LabelledQuestion,
    *,
    withheld: bool = False,
    wait: Wait = asyncio.sleep,
) -> Case:
    """Ask one question, again where something was unavailable: that is never counted as an answer.

    An answer without a usable form counts: it is the model's own. Raises ModelGaveUp.
    """
    for seconds in (*WAITS_SECONDS, None):
        case = await ask(subject, row, withheld=withheld)
        if case.failure in {"", "model_answer_invalid"}:
            return case
        if seconds is not None:
            await wait(seconds)
    why = subject.watch.last if subject.watch else case.failure
    raise ModelGaveUp(
        f"Question {row.id!r} stayed unanswered {len(WAITS_SECONDS) + 1} times. {why} Run the same "
        "command again when that is mended."
    )


def _inquiry(row: LabelledQuestion, tenant: str, excluded: frozenset[str]) -> Inquiry:
    message = Message(
        id=row.id,
        thread=Thread("cli", tenant, "evaluation", row.id),
        author=Person("evaluation", principals=row.principals),
        text=row.text,
        received_at=datetime.now(UTC),
        private=True,
    )
    return Inquiry(
        message=message,
        history=row.turns,
        audience=Audience("private", row.principals),
        excluded_pages=excluded,
    )


def _case(
    row: LabelledQuestion,
    outcome: Outcome,
    verdict: Grade,
    latency_ms: float,
    *,
    withheld: bool,
    rankings: Rankings | None,
) -> Case:
    trace = outcome.trace
    signals = [passage.signals for passage in trace.passages]
    return Case(
        row=row,
        withheld=withheld,
        intent=trace.route.intent,
        response=outcome.response.kind,
        confidence=outcome.response.confidence,
        threshold=trace.threshold,
        features=dict(trace.features),
        keyword=max((found.get("keyword", 0.0) for found in signals), default=0.0),
        vector=max((found.get("vector", 0.0) for found in signals), default=0.0),
        verdict=verdict,
        latency_ms=latency_ms,
        model_calls=len(trace.calls),
        input_tokens=sum(call.input_tokens for call in trace.calls),
        output_tokens=sum(call.output_tokens for call in trace.calls),
        rankings=rankings,
        level=_level(outcome),
    )


def _calibration(outcome: Outcome, subject: Subject) -> str:
    """Return the calibration that judged an answer, or the one that could have.

    The latter follows from the last call that composed an answer; without such a call it is
    ``extractive``.
    """
    judged_by = outcome.trace.calibration
    if judged_by not in {"", CAREFUL}:
        return judged_by
    composing = [call for call in outcome.trace.calls if call.prompt.startswith(_ANSWER_PROMPT)]
    if not composing:
        return "extractive"
    model = subject.calibrated_as or composing[-1].model
    return calibration_name(model, composing[-1].prompt)


def _error(outcome: Outcome) -> str:
    given = outcome.response
    return (None if isinstance(given, Clarification) else given.error) or ""


def _level(outcome: Outcome) -> ConfidenceLevel | None:
    """Return the confidence level of an answer from the pages; None for refusals and small talk."""
    reply = outcome.response
    if not isinstance(reply, Reply) or reply.refused or reply.confidence is None:
        return None
    return reply.confidence_level or "sure"


async def _ignore_stage(_: Stage, __: int = 0) -> None:
    """Ignore a stage: nobody watches an evaluation's progress."""
