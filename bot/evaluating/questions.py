"""Labelled questions: a file of lines, each a question and what a right outcome is."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bot.domain.errors import SettingInvalid
from rag.evaluation.metrics import Gold
from rag.types import EVERYONE, Principal, Turn

Kind = Literal["answerable", "near_miss", "far", "generic", "human", "multi_turn", "underspecified"]

ANSWERABLE: frozenset[Kind] = frozenset({"answerable", "multi_turn"})
"""The kinds whose right outcome is an answer."""

_BOT_MENTION = re.compile(r"<@[A-Z0-9]+>\s*")


class LabelledTurn(BaseModel):
    """One earlier message of the conversation."""

    model_config = ConfigDict(frozen=True)

    role: Literal["user", "assistant"]
    text: str


class Labelled(BaseModel):
    """A question and its labels; docs/evaluation.md says what each is for.

    ``key_facts`` are all to be in a right answer, each in one of its ``a|b`` variants. A page of
    ``alt_pages`` is as good as a gold one. Pages of ``kin_pages`` may say the same without being
    labelled: they are no gold, but withheld with it. ``tags`` make slices. Questions of one
    ``half`` are judged by a gate that was trained without them. Fields that are not named here are
    ignored.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(min_length=1)
    question: str
    kind: Kind
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
    def _answerable_has_pages(self) -> Labelled:
        if self.kind == "answerable" and not self.pages:
            raise ValueError(f"question {self.id!r} is answerable and names no page")
        return self

    @property
    def text(self) -> str:
        """The question as a platform hands it on: without the mention of the bot."""
        return _BOT_MENTION.sub("", self.question).strip()

    @property
    def has_answer(self) -> bool:
        return self.kind in ANSWERABLE and bool(self.pages)

    @property
    def gold(self) -> Gold:
        return Gold(frozenset(self.pages), frozenset(self.alt_pages))

    @property
    def withheld_pages(self) -> frozenset[str]:
        """The pages that are kept out of the search where it is to find no answer."""
        return self.gold.relevant.union(self.kin_pages)

    @property
    def group(self) -> str:
        """What keeps questions on one page together in resampling and folds."""
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


def load_questions(path: Path) -> tuple[Labelled, ...]:
    """Read a JSON Lines file. Raises SettingInvalid naming the line and what is wrong with it."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid(f"The questions {str(path)!r} can't be read: {error}.") from error
    found = tuple(_parsed(path, n, line) for n, line in enumerate(lines, 1) if line.strip())
    twice = [name for name, times in Counter(row.id for row in found).items() if times > 1]
    if twice:
        raise SettingInvalid(f"{path.name}: the ids {twice!r} are given twice; make them unique.")
    return found


def _parsed(path: Path, number: int, line: str) -> Labelled:
    try:
        return Labelled.model_validate(json.loads(line))
    except (ValueError, ValidationError) as error:
        raise SettingInvalid(
            f"{path.name}, line {number} is no labelled question: {error}. "
            "docs/evaluation.md shows the fields."
        ) from error


def _principal(group: str) -> str:
    return group if ":" in group else f"group:{group}"
