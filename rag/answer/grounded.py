"""Answer from numbered lines with one structured model call, and keep only verified claims."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from itertools import zip_longest
from typing import Literal

from pydantic import BaseModel, Field

from prompts.files import PromptFile
from prompts.repetition import repeats_rules
from rag import telemetry
from rag.answer.citations import CheckedPart, check_part, searchable
from rag.answer.guardrails import must_be_quoted
from rag.answer.source_lines import NumberedLines, number_lines
from rag.answer.translation import TranslatedText, checked_translation, quotations
from rag.answer.verbatim_facts import unsupported_facts
from rag.parts import Translation
from rag.ports import ChatModel, Composition, Prompt, Shape
from rag.prompt_rendering import to_prompt
from rag.search_scope import Asked
from rag.telemetry import describe, span
from rag.text.plain_text import addresses, plain_text, visible
from rag.types import Chunk, Claim, ModelCall, PartKind, Passage

CONTEXT_TOKENS = 4000
WHOLE_SECTIONS = 2
"""Number of best passages whose whole section is sent before the other passages are."""
MOST_PARTS = 40
"""Maximum number of parts: far more than the prompt asks for; further ones are dropped."""
LONGEST_REMARK = 200
"""Maximum number of characters of a remark, also of ``missing``."""

MISSING_PART_NOTE = "part of what was asked"
"""Shown where the model's text about what is missing can't be shown."""

_NOTHING_SAID = frozenset({"", "null", "none", "nothing", "n/a", "nichts"})
"""The ways in which models write that there is nothing to report, in lower case."""

_RATING = {"high": 1.0, "medium": 0.5, "low": 0.0}
_CHARACTERS_A_TOKEN = 4
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class StatedPart(BaseModel):
    """One part of an answer as the model gives it, unchecked: what it rests on, then the words."""

    lines: list[int] = Field(default_factory=list)
    kind: PartKind = "paragraph"
    text: str = ""


class GroundedAnswer(BaseModel):
    """What the model is asked to give; prompts/answer.md says what each field means.

    The order is that in which a model writes: evidence first, the verdict last.
    """

    reading: str | None = None
    parts: list[StatedPart] = Field(default_factory=list)
    conflict: bool = False
    missing: str | None = None
    certainty: Literal["high", "medium", "low"] = "low"
    answerable: bool


class TranslatedPart(StatedPart):
    """A part whose text is in the pages' language, with its translation for the asker."""

    translation: str = ""


class TranslatedAnswer(GroundedAnswer):
    """What the model is asked to give where the question was asked in another language.

    See prompts/answer_translated.md.
    """

    parts: list[TranslatedPart] = Field(default_factory=list)  # type: ignore[assignment]  # narrower


def approximate_tokens(text: str) -> int:
    """Return an approximate number of tokens, rather too many than too few."""
    return len(text.encode()) // _CHARACTERS_A_TOKEN + 1


def utc_today() -> date:
    """Return today's date in UTC."""
    return datetime.now(UTC).date()


class GroundedComposer:
    """Composes answers with a chat model; returns verified claims only. Implements ``Composer``.

    Args:
        model: called once per question, apart from its own repair.
        prompt: takes ``today``, ``passages`` and ``question`` (prompts/answer.md).
        attached_prompt: takes ``attached``, too (prompts/answer_attached.md); None ignores files
            attached to a question.
        translated_prompt: for questions that were translated, takes ``attached``, ``asked`` and
            ``language``, too (prompts/answer_translated.md); None answers them as any other.
        context_tokens: token budget of the passages, which are sent whole, best first; the first is
            always sent.
        count_tokens: measures the passages.
        today: returns the date given to the model.
        superseded: labels of pages that the company marks as replaced; case-insensitive.
    """

    name: Literal["model"] = "model"

    def __init__(
        self,
        model: ChatModel,
        prompt: PromptFile,
        *,
        attached_prompt: PromptFile | None = None,
        translated_prompt: PromptFile | None = None,
        context_tokens: int = CONTEXT_TOKENS,
        count_tokens: Callable[[str], int] = approximate_tokens,
        today: Callable[[], date] = utc_today,
        superseded: Collection[str] = (),
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._attached_prompt = attached_prompt
        self._translated_prompt = translated_prompt
        self._context_tokens = context_tokens
        self._count_tokens = count_tokens
        self._today = today
        self._superseded = frozenset(label.casefold() for label in superseded)

    async def compose(
        self,
        question: str,
        passages: Sequence[Passage],
        attached: Sequence[str] = (),
        asked: Asked | None = None,
    ) -> Composition:
        """Return the verified claims. Raises ModelUnavailable or ModelAnswerInvalid.

        Neither a claim nor a remark (how the question was read, what is missing) may take a figure
        or a code from an attached file; a remark may take one from the question itself, unless
        there are files. For a question that was translated the claims are quotations.
        """
        chunks = self.fitting(passages)
        if not chunks:
            return Composition(claims=())
        shown = number_lines(chunks, self._superseded)
        known = [searchable(chunk) for chunk in chunks]
        inputs = self._inputs(question, shown)
        files = [visible(text) for text in attached]
        if asked is not None and self._translated_prompt is not None:
            inputs |= {"attached": files, "asked": visible(asked.text), "language": asked.language}
            known += [] if files else [question]
            prompt = to_prompt(self._translated_prompt, **inputs)
            check = partial(_checked, question, shown, known, asked)
            return await self._answered(prompt, TranslatedAnswer, check)
        if files and self._attached_prompt is not None:
            prompt = to_prompt(self._attached_prompt, **inputs, attached=files)
        else:
            known.insert(0, question)
            prompt = to_prompt(self._prompt, **inputs)
        check = partial(_checked, question, shown, known, None)
        return await self._answered(prompt, GroundedAnswer, check)

    def _inputs(self, question: str, shown: NumberedLines) -> dict[str, str | Sequence[str]]:
        today = self._today()
        return {
            "today": f"{today.isoformat()} ({_DAYS[today.weekday()]})",
            "passages": shown.passages,
            "question": visible(question),
        }

    async def _answered(
        self,
        prompt: Prompt,
        shape: type[Shape],
        check: Callable[[Shape, ModelCall], Composition],
    ) -> Composition:
        """Call the model and check its answer."""
        answered = await self._model.structured(prompt, shape)
        if answered.value is None:
            refusal = plain_text(answered.refusal or "") or "The model declined."
            return Composition(claims=(), calls=(answered.call,), refusal=refusal)
        with span(telemetry.GROUNDING, {telemetry.COMPOSER: self.name}) as current:
            composition = check(answered.value, answered.call)
            describe(current, telemetry.of_claims(composition))
            return composition

    def fitting(self, passages: Sequence[Passage]) -> list[Chunk]:
        """Return the chunks that fit into the context; one too large leaves room for the next."""
        taken: dict[str, Chunk] = {}
        left = self._context_tokens
        for chunk in _by_priority(passages):
            if chunk.id in taken:
                continue
            cost = self._count_tokens(number_lines([chunk], self._superseded).passages[0])
            if cost <= left or not taken:
                taken[chunk.id] = chunk
                left -= cost
        return list(taken.values())


def _by_priority(passages: Sequence[Passage]) -> Iterator[Chunk]:
    """Yield the chunks by priority, some twice.

    The sections of the best passages come whole, so that no list is cut; then the search results,
    then the rest of the other sections.
    """
    chunks = [passage.chunk for passage in passages]
    for best in chunks[:WHOLE_SECTIONS]:
        yield best
        yield from (chunk for chunk in chunks if _section(chunk) == _section(best))
    yield from chunks


def _section(chunk: Chunk) -> tuple[str, str, tuple[str, ...]]:
    return chunk.space, chunk.page_id, chunk.breadcrumb


def _checked(
    question: str,
    shown: NumberedLines,
    known: Sequence[str],
    asked: Asked | None,
    answer: GroundedAnswer,
    call: ModelCall,
) -> Composition:
    stated = answer.parts if answer.answerable else []
    checks = [
        check_part(part.text, part.kind, part.lines, shown, question)
        for part in stated[:MOST_PARTS]
    ]
    claims = _claims(stated, checks)
    composition = Composition(
        claims=claims,
        calls=(call,),
        reading=_remark(answer.reading, known) if claims else None,
        missing=_remark(answer.missing, known) or _gap(answer, claims),
        dropped_claims=len(stated) - sum(check.kept for check in checks),
        signals=_signals(answer, stated, checks, claims),
    )
    return composition if asked is None else _quoted(composition, stated, checks, asked)


def _quoted(
    composition: Composition,
    stated: Sequence[StatedPart],
    checks: Sequence[CheckedPart],
    asked: Asked,
) -> Composition:
    """Return the composition with the lines of its claims in their place, and the translation."""
    texts = [
        TranslatedText(part.translation if isinstance(part, TranslatedPart) else "", check)
        for part, check in zip(stated, checks, strict=False)  # only the first are checked
        if check.claim in composition.claims
    ]
    return replace(
        composition,
        claims=quotations(each.check for each in texts),
        translation=Translation(asked.language, checked_translation(texts, asked)),
    )


def _claims(stated: Sequence[StatedPart], checks: Sequence[CheckedPart]) -> tuple[Claim, ...]:
    """Return the claims to show: no sentence twice, and no procedure that lacks a step."""
    pairs = zip_longest(stated, checks)
    whole = all(check and check.claim for part, check in pairs if part.kind == "step")
    claims = [check.claim for check in checks if check.claim]
    others = {claim.text.casefold(): claim for claim in reversed(claims) if claim.kind != "step"}
    return tuple(
        claim
        for claim in claims
        if (claim.kind == "step" and whole) or claim is others.get(claim.text.casefold())
    )


def _gap(answer: GroundedAnswer, claims: Sequence[Claim]) -> str | None:
    """Return a note that something is missing, where the model's own text can't be shown."""
    return MISSING_PART_NOTE if claims and _says_anything(answer.missing) else None


def _remark(remark: str | None, known: Sequence[str]) -> str | None:
    """Return a remark as plain text, or None if it is unsafe, empty or has unknown figures."""
    shown = _shown(remark)
    too_long = len(shown) > LONGEST_REMARK
    unsafe = too_long or addresses(shown) or must_be_quoted(shown) or repeats_rules(shown)
    if unsafe or not _says_anything(remark):
        return None
    return None if unsupported_facts(shown, known) else shown


def _says_anything(remark: str | None) -> bool:
    return _shown(remark).rstrip(".").casefold() not in _NOTHING_SAID


def _shown(remark: str | None) -> str:
    return " ".join(plain_text(remark or "").split())


def _signals(
    answer: GroundedAnswer,
    stated: Sequence[StatedPart],
    checks: Sequence[CheckedPart],
    claims: Sequence[Claim],
) -> dict[str, float]:
    """Return the features for the gate; within 0 and 1 except the two counts of sources.

    ``lines_found_share``: of the cited numbers, those of existing lines. Of the kept parts:
    ``figures_quoted``, the share whose figures are all in the cited lines; ``words_supported``, the
    mean share of words in the lines or next to them; ``wording_literal``, the mean share of pairs
    of neighbouring words in the lines. These three are absent without a kept part; the latter two
    mean nothing where question and pages are in different languages.
    """
    kept = [check for check in checks if check.kept]
    cited = {line.chunk.id for check in checks if check.claim for line in check.lines}
    pages = {
        (line.chunk.space, line.chunk.page_id)
        for check in checks
        if check.claim
        for line in check.lines
    }
    numbers = sum(len(set(part.lines)) for part in stated[:MOST_PARTS])
    signals = {
        "answerable": float(answer.answerable),
        "self_rating": _RATING[answer.certainty],
        "partial": float(_says_anything(answer.missing)),
        "conflict": float(answer.conflict and len(pages) > 1),
        "claims_kept_share": _share(len(kept), len(stated)),
        "lines_found_share": _share(sum(len(check.lines) for check in checks), numbers),
        "sources_distinct": float(len(cited)),
        "pages_distinct": float(len(pages)),
    }
    if kept and claims:
        signals["figures_quoted"] = _share(sum(check.figures for check in kept), len(kept))
        signals["words_supported"] = _share(sum(check.words for check in kept), len(kept))
        signals["wording_literal"] = _share(sum(check.literal for check in kept), len(kept))
    return signals


def _share(part: float, whole: int) -> float:
    return part / whole if whole else 0.0
