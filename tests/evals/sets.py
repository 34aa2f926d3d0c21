"""The question sets (the sample, and public ones outside the repository) and draws from them."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import docx
import pypdf
from pydantic import TypeAdapter

from bot.answering.evaluation.model_trial import SAMPLE_DRAW, Share
from ingestion.documents.front_matter import FrontMatter, split_front_matter
from rag.types import EVERYONE, Principal, Readers

SAMPLE_ROOT = Path(__file__).parents[2] / "infra" / "sample"
SPACES: Mapping[str, Path] = {"SAMPLE-IT": SAMPLE_ROOT / "it", "SAMPLE-HR": SAMPLE_ROOT / "hr"}
QUESTIONS = SAMPLE_ROOT / "questions.jsonl"
SHORT_QUESTIONS = SAMPLE_ROOT / "short_questions.jsonl"

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


SAMPLE = "sample company"
HANDBOOK = "18F handbook"
CONTOSO = "Contoso benefits"
SQUAD = "SQuAD 2.0 passages"

SQUAD_QUESTIONS = 400
_SEED = 20261122
_PDF_PAGE = re.compile(r"<!-- page (\d+) -->\n(.*?)(?=<!-- page \d+ -->|\Z)", re.DOTALL)
_AMOUNT = re.compile(r"\$[\d,]+(?:\.\d+)?|\d+(?:\.\d+)?%|\b\d{2,}\b")
_LEAST_WORDS = 5
_PLANS = "Northwind_"
"""How the names of the documents begin that describe one insurer's plans in the same words."""


@dataclass(frozen=True, slots=True)
class EvalSet:
    """Pages by space, and the questions on them.

    ``routed`` is False where the questions are general knowledge by nature: the router would
    rightly keep them from the pages, so they are put to the index past it.
    """

    name: str
    spaces: Mapping[str, Path]
    questions: Path
    trains_gate: bool
    routed: bool = True

    def digest(self) -> str:
        """Return a fingerprint of every page's path and bytes."""
        found = hashlib.sha256()
        for space, folder in self.spaces.items():
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    found.update(f"{space}\0{path.relative_to(folder)}\0".encode())
                    found.update(hashlib.sha256(path.read_bytes()).digest())
        return found.hexdigest()[:16]


def sample(work: Path) -> EvalSet:
    """Return the sample company's wiki; its questions, the short ones too, go below ``work``."""
    rows = [line for path in (QUESTIONS, SHORT_QUESTIONS) for line in _lines(path)]
    questions = _write_rows(work / "sample" / "questions.jsonl", rows)
    return EvalSet(SAMPLE, SPACES, questions, trains_gate=True)


def public_sets(data: Path, work: Path) -> Iterator[EvalSet]:
    """Yield each public set that is below ``data``, in the form of pages and questions.

    What has to be rewritten goes below ``work``.
    """
    makers: Mapping[str, Callable[[Path, Path], EvalSet]] = {
        "kb_18f_handbook": _handbook,
        "contoso_northwind_kb": _contoso,
        "squad2_dev": _squad,
    }
    for folder, make in makers.items():
        if (data / folder).is_dir():
            yield make(data / folder, work / folder)


def _handbook(source: Path, work: Path) -> EvalSet:
    """The near misses of equal length take the place of the first ones, which were shorter."""
    rows = [line for line in _lines(source / "questions.jsonl") if line["kind"] != "near_miss"]
    near = _lines(source / "near_miss_equal_length.jsonl")
    rows += [line for line in near if "doubtful" not in _tags(line)]
    rows += _lines(source / "questions_short.jsonl")
    questions = _write_rows(work / "questions.jsonl", rows)
    return EvalSet(HANDBOOK, {"18F": source / "pages"}, questions, trains_gate=False)


def _tags(line: Mapping[str, object]) -> list[object]:
    tags = line.get("tags", [])
    assert isinstance(tags, list)
    return tags


def _contoso(source: Path, work: Path) -> EvalSet:
    """Each page of a PDF is a page here, so that citing the right document is not enough.

    Its text runs on over the page's end, so the pages beside a cited one are as good to cite. What
    a page says is often said again further on, or by the other plan in the same words: a withheld
    question is kept from the whole document, and from both plans where it is on one.
    """
    for path in sorted((source / "text").glob("*.txt")):
        for number, text in _PDF_PAGE.findall(path.read_text("utf-8")):
            if len(text.split()) >= _LEAST_WORDS:
                _write_page(work / "pages" / _contoso_id(path.stem, number), path.stem, text)
    pages = [page.relative_to(work / "pages") for page in sorted((work / "pages").rglob("*.md"))]
    rows = [_contoso_answerable(line, pages) for line in _lines(source / "answerable.jsonl")]
    audited = _lines(source / "dontknows_audited.jsonl")
    rows += [_contoso_unknown(line) for line in audited if line["label_audit"] == "unanswerable"]
    questions = _write_rows(work / "questions.jsonl", rows)
    return EvalSet(CONTOSO, {"CTN": work / "pages"}, questions, trains_gate=True)


def _contoso_answerable(line: Mapping[str, object], pages: Sequence[Path]) -> dict[str, object]:
    """The figures of the written answer are its key facts."""
    cited = line["citations"]
    assert isinstance(cited, list)
    documents = {_contoso_kin(Path(at["doc"]).stem) for at in cited}
    return {
        "id": line["id"],
        "question": line["question"],
        "kind": "answerable",
        "pages": [_contoso_id(Path(at["doc"]).stem, str(at["page"])) for at in cited],
        "alt_pages": [str(page) for page in pages if _beside(page, cited)],
        "kin_pages": [str(page) for page in pages if _contoso_kin(page.parts[0]) in documents],
        "key_facts": sorted(set(_AMOUNT.findall(str(line["answer"])))),
    }


def _contoso_unknown(line: Mapping[str, object]) -> dict[str, object]:
    kind = "near_miss" if line["tier"] in {"near_miss", "keyword_overlap"} else "far"
    return {"id": line["id"], "question": line["question"], "kind": kind}


def _beside(page: Path, cited: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a page comes right before or after a cited one."""
    return any(
        page.parts[0] == Path(at["doc"]).stem and abs(int(page.stem) - int(at["page"])) == 1
        for at in cited
    )


def _contoso_kin(document: str) -> str:
    """Name the documents that say the same: both plans by one name."""
    return _PLANS if document.startswith(_PLANS) else document


def _contoso_id(document: str, page: str) -> str:
    return f"{document}/{int(page):03}.md"


def _squad(source: Path, work: Path) -> EvalSet:
    """A fixed draw of the questions; those without an answer are near misses by design."""
    for line in _lines(source / "passages.jsonl"):
        _write_page(work / "pages" / _squad_id(line["id"]), str(line["title"]), str(line["text"]))
    drawn = random.Random(_SEED).sample(_lines(source / "questions.jsonl"), SQUAD_QUESTIONS)  # noqa: S311 - no secret
    questions = _write_rows(work / "questions.jsonl", [_squad_row(line) for line in drawn])
    return EvalSet(SQUAD, {"SQ": work / "pages"}, questions, trains_gate=True, routed=False)


def _squad_row(line: Mapping[str, object]) -> dict[str, object]:
    page = _squad_id(line["passage_id"])
    row: dict[str, object] = {"id": line["id"], "question": line["question"]}
    if not line["answerable"]:
        return {**row, "kind": "near_miss", "near_pages": [page]}
    answers = line["answers"]
    assert isinstance(answers, list)
    facts = ["|".join(answer.replace("|", " ") for answer in answers)]
    return {**row, "kind": "answerable", "pages": [page], "key_facts": facts}


def _squad_id(passage: object) -> str:
    return f"{str(passage).replace('#', '-')}.md"


def _write_page(path: Path, name: str, text: str) -> None:
    title = json.dumps(name.replace("_", " "))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\ntitle: {title}\n---\n\n{text.strip()}\n", "utf-8")


def _write_rows(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def _lines(path: Path) -> list[dict[str, object]]:
    """Return a file's lines; none where an older copy of the data lacks the file."""
    text = path.read_text("utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


DRAWS: Mapping[str, tuple[Share, ...]] = {
    SAMPLE: SAMPLE_DRAW,
    CONTOSO: (Share("answerable", 40, withheld=40),),
    SQUAD: (Share("answerable", 50, withheld=50),),
    HANDBOOK: (
        Share("answerable", 110, withheld=55),
        Share("answerable", 40, withheld=20, short=True),
        Share("near_miss", 60),
        Share("far", 20),
        Share("underspecified", 15),
        Share("multi_turn", 30),
    ),
}
"""By the set's name. Of 18F, follow-ups stand apart: the other 320 are the mix of the aims."""
