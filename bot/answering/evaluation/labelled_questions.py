"""Load labelled questions, and grade a composed answer and its citations against the labels.

The composer's last result is recorded, so that answers held back by the gate are graded too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bot.answering.evaluation.metrics import Gold
from bot.domain.errors import SettingInvalid
from rag.parts import CELL_JOINT, Quotation, parts_text
from rag.ports import Composer, Composition
from rag.search_scope import Asked
from rag.text.sentences import without_markdown
from rag.types import EVERYONE, Claim, Passage, Principal, Turn

QuestionKind = Literal[
    "answerable", "near_miss", "far", "generic", "human", "multi_turn", "underspecified"
]

ANSWERABLE_KINDS: frozenset[QuestionKind] = frozenset({"answerable", "multi_turn"})
"""The kinds whose right outcome is an answer."""

_BOT_MENTION = re.compile(r"<@[A-Z0-9]+>\s*")


class LabelledTurn(BaseModel):
    """One earlier message of the conversation."""

    model_config = ConfigDict(frozen=True)

    role: Literal["user", "assistant"]
    text: str


class LabelledQuestion(BaseModel):
    """A question and its labels; docs/evaluation.md explains each field.

    A right answer contains all ``key_facts``, each in one of its ``a|b`` variants. A page of
    ``alt_pages`` is as good as a gold one. Pages of ``kin_pages`` may hold the same facts without
    being labelled: they are not gold, but withheld with it. ``tags`` define slices. Questions of
    one ``half`` are judged by a gate that was trained without them. Unknown fields are ignored.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(min_length=1)
    question: str
    kind: QuestionKind
    pages: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    key_facts: tuple[str, ...] = ()
    alt_pages: tuple[str, ...] = ()
    kin_pages: tuple[str, ...] = ()
    near_pages: tuple[str, ...] = ()
    polarity: Literal["yes", "no"] | None = None
    history: tuple[LabelledTurn, ...] = ()
    standalone: str | None = None
    groups: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    half: Literal[1, 2] | None = None

    @model_validator(mode="after")
    def _answerable_has_pages(self) -> LabelledQuestion:
        if self.kind == "answerable" and not self.pages:
            raise ValueError(f"question {self.id!r} is answerable and names no page")
        return self

    @property
    def text(self) -> str:
        """The question as a platform passes it on, without the mention of the bot."""
        return _BOT_MENTION.sub("", self.question).strip()

    @property
    def has_answer(self) -> bool:
        return self.kind in ANSWERABLE_KINDS and bool(self.pages)

    @property
    def gold(self) -> Gold:
        return Gold(frozenset(self.pages), frozenset(self.alt_pages))

    @property
    def withheld_pages(self) -> frozenset[str]:
        """The pages that are excluded from the search in the withheld run."""
        return self.gold.relevant.union(self.kin_pages)

    @property
    def group(self) -> str:
        """The key that keeps questions on one page together in resampling and folds."""
        return (*self.pages, *self.near_pages, self.id)[0]

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(Turn(turn.role, turn.text) for turn in self.history)

    @property
    def principals(self) -> frozenset[Principal]:
        return frozenset({EVERYONE, *(Principal(_principal(group)) for group in self.groups)})

    @property
    def words(self) -> int:
        return len(self.text.split())


def load_questions(path: Path) -> tuple[LabelledQuestion, ...]:
    """Read a JSON Lines file. Raises SettingInvalid with the line and its error."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid(f"The questions {str(path)!r} can't be read: {error}.") from error
    found = tuple(_parse_line(path, n, line) for n, line in enumerate(lines, 1) if line.strip())
    twice = [name for name, times in Counter(row.id for row in found).items() if times > 1]
    if twice:
        raise SettingInvalid(f"{path.name}: the ids {twice!r} are given twice; make them unique.")
    return found


def _parse_line(path: Path, number: int, line: str) -> LabelledQuestion:
    try:
        return LabelledQuestion.model_validate(json.loads(line))
    except (ValueError, ValidationError) as error:
        raise SettingInvalid(
            f"{path.name}, line {number} is no labelled question: {error}. "
            "docs/evaluation.md shows the fields."
        ) from error


def _principal(group: str) -> str:
    return group if ":" in group else f"group:{group}"


@dataclass(frozen=True, slots=True)
class RecordedComposition:
    """A composition and the passages that it was made from."""

    passages: tuple[Passage, ...]
    composition: Composition


class RecordingComposer:
    """Delegates to another composer and records the last result. Implements `Composer`.

    Made for evaluation, which asks one question at a time; unsafe for concurrent requests.
    """

    def __init__(self, composer: Composer) -> None:
        self._composer = composer
        self._last: RecordedComposition | None = None

    @property
    def name(self) -> Literal["extractive", "model"]:
        return self._composer.name

    async def compose(
        self,
        question: str,
        passages: Sequence[Passage],
        attached: Sequence[str] = (),
        asked: Asked | None = None,
    ) -> Composition:
        composition = await self._composer.compose(question, passages, attached, asked)
        self._last = RecordedComposition(tuple(passages), composition)
        return composition

    def take(self) -> RecordedComposition | None:
        """Return and clear the composition recorded since the last call, if any."""
        last, self._last = self._last, None
        return last


_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of one composed answer.

    ``facts``: every key fact is in it (None where the question names none). ``cited``: a gold page
    or an alternative is cited. ``evidence``: one was among the passages. ``facts_held``: the share
    of the key facts in it, 1.0 where none is named. ``citations``: the number of quotes; ``valid``:
    those that are in their passage byte for byte and readable by the asker.
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
        """Whether the answer is right, provided that it names what is missing."""
        return self.cited and self.facts_held > 0


def grade_answer(
    row: LabelledQuestion, composed: RecordedComposition | None, forbidden: Collection[str] = ()
) -> Grade:
    """Grade a composed answer; ``forbidden`` pages (the withheld run) never count as gold."""
    if composed is None:
        return Grade()
    gold = row.gold.relevant - set(forbidden)
    chunks = {passage.chunk.id: passage for passage in composed.passages}
    claims = composed.composition.claims
    cited = [citation for claim in claims for citation in claim.citations]
    pages = {chunks[c.chunk_id].chunk.page_id for c in cited if c.chunk_id in chunks}
    text = claims_text(claims)
    held = [holds_facts(text, (fact,)) for fact in row.key_facts]
    return Grade(
        facts=all(held) if held else None,
        facts_held=sum(held) / len(held) if held else 1.0,
        cited=bool(pages & gold),
        evidence=any(p.chunk.page_id in gold for p in composed.passages),
        citations=len(cited),
        valid=sum(is_valid(c.quote, chunks.get(c.chunk_id), row.principals) for c in cited),
        words=len(without_markdown(text).split()),
    )


def claims_text(claims: Sequence[Claim]) -> str:
    """Return the words of the claims, as they are quoted; the cells of a row are only words."""
    quoted = parts_text(Quotation(claim.blocks) for claim in claims)
    return quoted.replace(CELL_JOINT, " ")


def holds_facts(text: str, key_facts: Sequence[str]) -> bool:
    """Return whether the text contains every fact in one of its ``a|b`` variants.

    Case, spacing and Markdown are ignored.
    """
    shown = f"{_fold_text(text)}\n{_fold_text(without_markdown(text))}"
    return all(
        any(_fold_text(variant) in shown for variant in fact.split("|") if variant.strip())
        for fact in key_facts
    )


def is_valid(quote: str, passage: Passage | None, principals: frozenset[Principal]) -> bool:
    """Return whether a quote is in its passage byte for byte, readable by the asker."""
    if passage is None or not quote.strip():
        return False
    readers = passage.chunk.readers
    readable = bool(readers) and all(allowed & principals for allowed in readers)
    return readable and quote.encode() in passage.chunk.text.encode()


def _fold_text(text: str) -> str:
    return _SPACE.sub(" ", text).strip().casefold()
