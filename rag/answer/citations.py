"""Check each part of a model's answer against the lines that it cites; no I/O.

Text shown as a page's is always stored text. Text shown as the model's is plain text supported by
its lines: the same figures, the same words, and the same negations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.answer.claim_support import contradicts, literal, word_support
from rag.answer.guardrails import must_be_quoted
from rag.answer.source_lines import (
    Line,
    NumberedLines,
    citations_of,
    code_claim,
    quotation_claim,
    step_claim,
    table_claim,
)
from rag.answer.verbatim_facts import unsupported_facts
from rag.parts import paragraph
from rag.text.plain_text import plain_text
from rag.text.words import looks_english
from rag.types import Chunk, Claim, PartKind

LONGEST_CLAIM = 600
"""Maximum number of characters of a part; a longer one is rejected."""

_LONGEST_WITH_MARKUP = 2 * LONGEST_CLAIM
"""Maximum number of characters with markup; a longer part is rejected unread, to bound the time."""

MOST_LINES = 20
"""Maximum number of lines cited by a part; further ones are dropped.

Otherwise a part could be supported by a whole page.
"""

WORDS_FLOOR = 0.66
"""Minimum share of a part's words that occur in its lines or next to them.

About the highest that loses at most one in a hundred claims of recorded right answers, in each set
that it was chosen on (tests/evals/claims_eval.py).
"""

Rule = Literal["voice", "length", "figures", "words", "negation"]
"""The checks that a part in a model's words can fail."""

_ENUMERATION = re.compile(
    r"\A(?:(?:step|schritt)\s+\d{1,2}\s*[.):]|\d{1,2}[.)]|[-*+\u2022])\s+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class CheckedPart:
    """The result of checking a part.

    ``kept``: it passed every check; else ``claim`` is None, or the page's own words in its place.
    ``broken`` are all failed checks. ``words`` and ``literal`` are the shares of its words in and
    next to the lines, and of its pairs of words in the lines (rag.answer.claim_support);
    ``figures``: all its figures are in the lines themselves.
    """

    claim: Claim | None
    kept: bool = False
    lines: tuple[Line, ...] = ()
    broken: tuple[Rule, ...] = ()
    words: float = 0.0
    literal: float = 0.0
    figures: bool = False


def check_part(
    text: str, kind: PartKind, numbers: Sequence[int], shown: NumberedLines, question: str
) -> CheckedPart:
    """Check one part of an answer against the lines that it cites by number.

    Tables and code are shown as stored, whatever the text. A step that fails is replaced by its
    lines' own words, because a procedure with a gap is worse than none; any other part that fails
    is dropped. Text that only a page may state (``guardrails``) becomes an attributed quotation.
    """
    found = {number: line for number in numbers if (line := shown.line(number))}
    cited = dict(list(found.items())[:MOST_LINES])
    lines = tuple(cited.values())
    if not lines:
        return CheckedPart(None)
    stored = _stored_claim(kind, lines)
    if stored is not None:
        return CheckedPart(stored, kept=True, lines=lines, words=1.0, literal=1.0, figures=True)
    said = _one_line(text) if len(text) <= _LONGEST_WITH_MARKUP else ""
    return _compare(said, kind, _Source.of(cited, shown, question))


def _stored_claim(kind: PartKind, lines: Sequence[Line]) -> Claim | None:
    if kind == "table":
        return table_claim(lines)
    return code_claim(lines) if kind == "code" else None


def _compare(said: str, kind: PartKind, source: _Source) -> CheckedPart:
    words = word_support(said, f"{source.near}\n{source.question}")
    broken = tuple(_broken_rules(said, words, source))
    instead = _page_instead(kind, source.lines, broken)
    own = Claim(
        (paragraph(said),), citations_of(source.lines), kind if kind == "step" else "paragraph"
    )
    return CheckedPart(
        instead if broken else own,
        kept=not broken,
        lines=source.lines,
        broken=broken,
        words=words,
        literal=literal(said, source.quoted),
        figures=not unsupported_facts(said, [source.quoted]),
    )


def _broken_rules(said: str, words: float, source: _Source) -> Iterator[Rule]:
    if must_be_quoted(said):
        yield "voice"
    if not 0 < len(said) <= LONGEST_CLAIM:
        yield "length"
    if unsupported_facts(said, source.figures):
        yield "figures"
    if source.translated:
        return
    if words < WORDS_FLOOR:
        yield "words"
    if contradicts(said, source.quoted, source.headings):
        yield "negation"


def _page_instead(kind: PartKind, lines: Sequence[Line], broken: Sequence[Rule]) -> Claim | None:
    """Return the page's own words in place of a part that fails, or None."""
    if "voice" in broken:
        return quotation_claim(lines, kind)
    return step_claim(lines) if kind == "step" and broken else None


@dataclass(frozen=True, slots=True)
class _Source:
    """The text that may support a part: ``quoted`` its lines, ``near`` also their surroundings."""

    lines: tuple[Line, ...]
    quoted: str
    headings: str
    near: str
    figures: tuple[str, ...]
    question: str
    translated: bool

    @classmethod
    def of(cls, cited: dict[int, Line], shown: NumberedLines, question: str) -> _Source:
        lines = tuple(cited.values())
        quoted = "\n".join(line.stored for line in lines)
        above = "\n".join(each.stored for line in lines for each in line.above)
        headings = "\n".join([above, *(searchable_head(line.chunk) for line in lines)])
        beside = [each for number in cited for each in shown.beside(number)]
        near = "\n".join([quoted, headings, *(each.stored for each in beside)])
        # The next sentence of a paragraph continues it; the next row or step is another fact.
        going_on = [each.stored for each in beside if each.unit.kind == "sentence"]
        return cls(
            lines=lines,
            quoted=quoted,
            headings=headings,
            near=near,
            figures=(quoted, headings, *going_on),
            question=question,
            # Only a question in another language than the page skips the word check: a page must
            # not escape it by making the model answer in another language.
            translated=not looks_english(question) and looks_english(near),
        )


def searchable_head(chunk: Chunk) -> str:
    """Return a chunk's context as text: its headings, its last change and author."""
    changed = chunk.updated_at.date().isoformat() if chunk.updated_at else ""
    return "\n".join((*chunk.trail, chunk.title, chunk.section, changed, chunk.updated_by))


def searchable(chunk: Chunk) -> str:
    """Return a chunk's context and text."""
    return f"{searchable_head(chunk)}\n{chunk.text}"


def _one_line(text: str) -> str:
    shown = " ".join(plain_text(text).split())
    return plain_text(_ENUMERATION.sub("", shown))
