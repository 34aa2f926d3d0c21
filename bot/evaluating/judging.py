"""Whether an answer is right, and whether its citations hold; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.evaluating.questions import Labelled
from bot.evaluating.recording import Composed
from rag.text.sentences import without_markdown
from rag.types import Claim, Passage, Principal

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of one composed answer.

    ``facts`` says that every key fact is in it (None where the question names none); ``cited``
    that a gold page or a stand-in is cited; ``evidence`` that one was among the passages.
    ``facts_held`` is the share of the key facts that are in it, 1.0 where none is named.
    ``citations`` counts the quotes, ``valid`` those that are in their passage byte for byte and
    readable by the asker.
    """

    facts: bool | None = None
    cited: bool = False
    evidence: bool = False
    citations: int = 0
    valid: int = 0
    words: int = 0
    facts_held: float = 1.0

    @property
    def right(self) -> bool:
        return self.cited and self.facts is not False

    @property
    def right_as_a_part(self) -> bool:
        """Whether it is right if it says itself that something is missing."""
        return self.cited and self.facts_held > 0


def judge(row: Labelled, composed: Composed | None, forbidden: Collection[str] = ()) -> Verdict:
    """Judge what was composed; ``forbidden`` pages (the withheld run) never count as gold."""
    if composed is None:
        return Verdict()
    gold = row.gold.relevant - set(forbidden)
    chunks = {passage.chunk.id: passage for passage in composed.passages}
    claims = composed.composition.claims
    cited = [citation for claim in claims for citation in claim.citations]
    pages = {chunks[c.chunk_id].chunk.page_id for c in cited if c.chunk_id in chunks}
    text = said(claims)
    held = [holds_facts(text, (fact,)) for fact in row.key_facts]
    return Verdict(
        facts=all(held) if held else None,
        facts_held=sum(held) / len(held) if held else 1.0,
        cited=bool(pages & gold),
        evidence=any(p.chunk.page_id in gold for p in composed.passages),
        citations=len(cited),
        valid=sum(is_valid(c.quote, chunks.get(c.chunk_id), row.principals) for c in cited),
        words=len(without_markdown(text).split()),
    )


def said(claims: Sequence[Claim]) -> str:
    """Return the answer's text, one claim a line."""
    return "\n".join(claim.text for claim in claims)


def holds_facts(text: str, key_facts: Sequence[str]) -> bool:
    """Whether every fact is there in one of its ``a|b`` variants; case and spacing are ignored."""
    shown = f"{_folded(text)}\n{_folded(without_markdown(text))}"
    return all(
        any(_folded(variant) in shown for variant in fact.split("|") if variant.strip())
        for fact in key_facts
    )


def is_valid(quote: str, passage: Passage | None, principals: frozenset[Principal]) -> bool:
    """Whether a quote is in its stored passage byte for byte, and the asker may read that."""
    if passage is None or not quote.strip():
        return False
    readers = passage.chunk.readers
    readable = bool(readers) and all(allowed & principals for allowed in readers)
    return readable and quote.encode() in passage.chunk.text.encode()


def _folded(text: str) -> str:
    return _SPACE.sub(" ", text).strip().casefold()
