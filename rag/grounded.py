"""Answers from numbered passages by one structured call, and keeps only what code can check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from prompts import PromptFile
from rag import telemetry
from rag.citations import Checked, check_claim, searchable
from rag.particulars import unsupported
from rag.plain_text import addresses, plain_text, visible
from rag.ports import ChatModel, Composition, Prompt
from rag.prompting import to_prompt
from rag.telemetry import describe, span
from rag.types import Chunk, Claim, ModelCall, Passage
from rag.words import stems

CONTEXT_TOKENS = 2500
MOST_CLAIMS = 8
LONGEST_READING = 200
"""Characters."""

_RATING = {"high": 1.0, "medium": 0.5, "low": 0.0}
_CHARACTERS_A_TOKEN = 4


class QuotedSource(BaseModel):
    """Where a claim comes from: a passage's number, from 1, and words of it."""

    id: int
    quote: str


class StatedClaim(BaseModel):
    """One statement as the model makes it, unchecked."""

    text: str
    sources: list[QuotedSource] = Field(default_factory=list)


class GroundedAnswer(BaseModel):
    """What the model is asked to give; prompts/answer.md says what each field means."""

    answerable: bool
    reading: str | None = None
    claims: list[StatedClaim] = Field(default_factory=list)
    missing: str | None = None
    certainty: Literal["high", "medium", "low"] | None = None


def approximate_tokens(text: str) -> int:
    """Return about how many tokens a text is, rather too many than too few."""
    return len(text.encode()) // _CHARACTERS_A_TOKEN + 1


class GroundedComposer:
    """Composer over a chat model; whatever the model says, only checked claims come out.

    Args:
        model: asked once a question; its own repair aside.
        prompt: takes ``passages`` and ``question`` (prompts/answer.md).
        attached_prompt: takes ``attached``, too (prompts/answer_attached.md); None leaves files
            that come with a question unread.
        context_tokens: how much of the passages is sent, in whole passages, best first; the first
            is always sent.
        count_tokens: how the context is measured.
    """

    name: Literal["model"] = "model"

    def __init__(
        self,
        model: ChatModel,
        prompt: PromptFile,
        *,
        attached_prompt: PromptFile | None = None,
        context_tokens: int = CONTEXT_TOKENS,
        count_tokens: Callable[[str], int] = approximate_tokens,
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._attached_prompt = attached_prompt
        self._context_tokens = context_tokens
        self._count_tokens = count_tokens

    async def compose(self, question: str, passages: Sequence[Passage]) -> Composition:
        """Return the claims that hold. Raises ModelUnavailable or ModelAnswerInvalid."""
        chunks = self._fitting([passage.chunk for passage in passages])
        if not chunks:
            return Composition(claims=())
        prompt = to_prompt(self._prompt, **_inputs(question, chunks))
        return await self._answered(prompt, question, chunks)

    async def compose_with(
        self, question: str, passages: Sequence[Passage], attached: Sequence[str]
    ) -> Composition:
        """Do so for a question that came with files. Raises as ``compose`` does.

        No claim may take a figure or a code from a file, nor may what is said of how the question
        was read.
        """
        chunks = self._fitting([passage.chunk for passage in passages])
        if self._attached_prompt is None or not chunks:
            return await self.compose(question, passages)
        prompt = to_prompt(
            self._attached_prompt,
            attached=[visible(text) for text in attached],
            **_inputs(question, chunks),
        )
        return await self._answered(prompt, "", chunks)

    async def _answered(self, prompt: Prompt, known: str, chunks: Sequence[Chunk]) -> Composition:
        """Ask, and check what comes; ``known`` is what a reading of the question may repeat."""
        answered = await self._model.structured(prompt, GroundedAnswer)
        if answered.value is None:
            refusal = plain_text(answered.refusal or "") or "The model declined."
            return Composition(claims=(), calls=(answered.call,), refusal=refusal)
        with span(telemetry.GROUNDING, {telemetry.COMPOSER: self.name}) as current:
            composition = _checked(known, answered.value, chunks, answered.call)
            describe(current, telemetry.of_claims(composition))
            return composition

    def _fitting(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the passages that fit, in order; one that does not leaves room for the next."""
        taken: dict[str, Chunk] = {}
        left = self._context_tokens
        for chunk in chunks:
            cost = self._count_tokens(shown_passage(chunk))
            if chunk.id not in taken and (cost <= left or not taken):
                taken[chunk.id] = chunk
                left -= cost
        return list(taken.values())


def _inputs(question: str, chunks: Sequence[Chunk]) -> dict[str, str | Sequence[str]]:
    return {
        "passages": [shown_passage(chunk) for chunk in chunks],
        "question": visible(question),
    }


def shown_passage(chunk: Chunk) -> str:
    """Return a passage as the model reads it: where it stands, then its text, nothing hidden."""
    heading = " > ".join(" ".join(visible(part).split()) for part in chunk.breadcrumb)
    return f"({heading or chunk.title})\n{visible(chunk.text)}"


def _checked(
    question: str, answer: GroundedAnswer, chunks: Sequence[Chunk], call: ModelCall
) -> Composition:
    stated = answer.claims if answer.answerable else []
    by_id = {chunk.id: chunk for chunk in chunks}
    checks = [_check(claim, chunks, by_id) for claim in stated[:MOST_CLAIMS]]
    claims = _distinct([check.claim for check in checks if check.claim])
    return Composition(
        claims=claims,
        calls=(call,),
        reading=_reading(answer.reading, question, chunks) if claims else None,
        dropped_claims=len(stated) - sum(check.claim is not None for check in checks),
        signals=_signals(answer, stated, checks, claims, by_id),
    )


def _check(claim: StatedClaim, chunks: Sequence[Chunk], by_id: Mapping[str, Chunk]) -> Checked:
    quotes = [
        (chunks[source.id - 1].id if 0 < source.id <= len(chunks) else "", source.quote)
        for source in claim.sources
    ]
    return check_claim(claim.text, quotes, by_id)


def _distinct(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    return tuple({claim.text.casefold(): claim for claim in reversed(claims)}.values())[::-1]


def _reading(reading: str | None, question: str, chunks: Sequence[Chunk]) -> str | None:
    """Return how the question was read, unless that says more than question and passages do."""
    shown = " ".join(plain_text(reading or "").split())
    if not shown or len(shown) > LONGEST_READING or addresses(shown):
        return None
    known = [question, *(searchable(chunk) for chunk in chunks)]
    return None if unsupported(shown, known) else shown


def _signals(
    answer: GroundedAnswer,
    stated: Sequence[StatedClaim],
    checks: Sequence[Checked],
    claims: Sequence[Claim],
    chunks: Mapping[str, Chunk],
) -> dict[str, float]:
    """Return the features for the gate; all are within 0 and 1 but ``sources_distinct``.

    ``figures_quoted`` is the share of claims whose figures, dates and codes all stand in the very
    quotes, not just elsewhere in their passages; ``words_supported`` the share of the claims'
    words (by stem) that their passages have, which means nothing where question and pages are in
    different languages. Both are absent without a claim, and ``self_rating`` when the model gave
    none.
    """
    quotes = sum(len(claim.sources) for claim in stated)
    exact = sum(one.exact for check in checks for one in check.located)
    cited = {citation.chunk_id for claim in claims for citation in claim.citations}
    signals = {
        "answerable": float(answer.answerable),
        "claims_kept_share": _share(sum(c.claim is not None for c in checks), len(stated)),
        "quote_exact_share": _share(exact, quotes),
        "sources_distinct": float(len(cited)),
        "partial": float(bool(answer.missing and answer.missing.strip())),
    }
    if claims:
        signals["figures_quoted"] = _share(sum(map(_figures_quoted, claims)), len(claims))
        signals["words_supported"] = _words_supported(claims, chunks)
    if answer.certainty is not None:
        signals["self_rating"] = _RATING[answer.certainty]
    return signals


def _figures_quoted(claim: Claim) -> bool:
    return not unsupported(claim.text, [citation.quote for citation in claim.citations])


def _words_supported(claims: Sequence[Claim], chunks: Mapping[str, Chunk]) -> float:
    shares = []
    for claim in claims:
        cited = {citation.chunk_id for citation in claim.citations}
        known = set(stems(" ".join(searchable(chunks[chunk_id]) for chunk_id in cited)))
        said = stems(claim.text)
        shares.append(_share(len(known.intersection(said)), len(said)))
    return _share(sum(shares), len(shares))


def _share(part: float, whole: int) -> float:
    return part / whole if whole else 0.0
