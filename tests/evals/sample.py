"""Reads the sample company's pages and the questions that were written about them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import docx
import pypdf
from pydantic import TypeAdapter

from ingestion.documents.front_matter import FrontMatter, split_front_matter
from rag.types import EVERYONE, Principal, Readers

ROOT = Path(__file__).parents[2] / "infra" / "sample"
SPACES: Mapping[str, Path] = {"SAMPLE-IT": ROOT / "it", "SAMPLE-HR": ROOT / "hr"}
QUESTIONS = Path(__file__).with_name("questions.jsonl")
SHORT_QUESTIONS = Path(__file__).with_name("short.jsonl")

Kind = Literal["answerable", "near_miss", "far", "generic", "human", "multi_turn", "underspecified"]


@dataclass(frozen=True, slots=True)
class Turn:
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One line of ``questions.jsonl``; docs/sample.md gives the meaning of the fields."""

    id: str
    question: str
    kind: Kind
    pages: list[str]
    evidence: list[str]
    key_facts: list[str]
    tags: list[str]
    history: list[Turn]
    alt_pages: list[str] = field(default_factory=list)
    near_pages: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    polarity: Literal["yes", "no"] | None = None
    difficulty: Literal["easy", "medium", "hard"] | None = None
    passage_overlap: float | None = None
    absent_regex: str | None = None
    standalone: str | None = None
    clarify: str | None = None
    note: str | None = None
    half: Literal[1, 2] | None = None


@dataclass(frozen=True, slots=True)
class SamplePage:
    """A page as its readers see it: ``id`` is the path below the space's folder."""

    space: str
    id: str
    path: Path
    text: str
    front: FrontMatter

    @property
    def readers(self) -> Readers:
        return self.front.readers or (frozenset({EVERYONE}),)

    def readable_by(self, principals: frozenset[Principal]) -> bool:
        return all(one & principals for one in self.readers)


def load_questions(path: Path = QUESTIONS) -> list[Labelled]:
    """Return the labelled questions; a line with an unknown or ill-typed field is refused."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    known = set(Labelled.__dataclass_fields__)
    unknown = [(line["id"], sorted(set(line) - known)) for line in lines if set(line) - known]
    if unknown:
        raise ValueError(f"fields {unknown!r} are not known; see Labelled")
    return TypeAdapter(list[Labelled]).validate_python(lines)


def load_pages() -> list[SamplePage]:
    """Return every page of both spaces, ordered by space and path."""
    return [
        _load(space, folder, path)
        for space, folder in SPACES.items()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def without_links(text: str) -> str:
    """Return the text without link targets and web addresses, which say nothing of content."""
    return re.sub(r"https?://\S+|(?<=\])\([^)\s]+\)", "", text)


def _load(space: str, folder: Path, path: Path) -> SamplePage:
    front = split_front_matter(_text(path))
    return SamplePage(space, path.relative_to(folder).as_posix(), path, front.body, front)


def _text(path: Path) -> str:
    if path.suffix == ".pdf":
        return "\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages)
    if path.suffix == ".docx":
        return _word_text(path)
    return path.read_text("utf-8")


def _word_text(path: Path) -> str:
    document = docx.Document(str(path))
    rows = [row for table in document.tables for row in table.rows]
    cells = [" | ".join(cell.text for cell in row.cells) for row in rows]
    return "\n".join([paragraph.text for paragraph in document.paragraphs] + cells)
