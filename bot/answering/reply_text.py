"""Render answers as reply text with numbered citation marks, and build their sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, groupby
from typing import TypeVar

from bot.answering.routing.languages import texts_in
from bot.domain.interactions import ConfidenceLevel, Outcome, Reply, Response, Source
from bot.domain.messages import FoundPassage
from bot.domain.text.markdown import clip, closes
from rag.types import Answer, Chunk, Citation, Claim, PartKind, Passage, Translation

QUOTES_INTRO = "From the wiki:"
UNSURE_INTRO = "This may be it, I'm not sure"
"""Precedes an unsure answer."""

MISSING_INTRO = "The wiki doesn't say:"
"""Precedes the ``missing`` part of an answer."""

_REFUSED = "I can't help with that one. If it is about work, a person can: reply \u201chuman\u201d."
_EXCERPT_CHARACTERS = 240
_LEAST_EXCERPT = 80
_END = re.compile(r"(?<=[.!?])(?=\s)|(?=\n)")
_STRETCH_CHARACTERS = 800
"""Longest stretch of a passage that is shown as one quote."""
_MISSING_CHARACTERS = 300
_SUGGESTIONS = 3
_MOST_IN_PARAGRAPH = 3
"""Up to this many claims are rendered as one paragraph; more as a list."""
_READING_INTRO = re.compile(
    r"^\s*(?:(?:i(?:'ve|\u2019ve| have)? )?(?:read|took|taken|understood|interpret(?:ed)?)"
    r"(?: (?:this|that|it|(?:your|the) question))? (?:as|to mean)"
    r"|(?:this|the question) (?:is|was) (?:read|taken|understood|interpreted) (?:as|to mean))"
    r"\s*:?\s*",
    re.IGNORECASE,
)
"""Matches phrases with which models introduce their reading although told not to."""

_TABLE_ROW = re.compile(r"^\s*\|(.*)\|\s*$")
_TABLE_RULE = re.compile(r"^[\s|:-]+$")
_BAR = re.compile(r"(?<!\\)\|")
_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})")
_QUOTE = ">"


def reply_of(answer: Answer, probability: float, level: ConfidenceLevel = "sure") -> Reply:
    """Return an answer as a reply: quotes of passages, or the model's checked claims.

    The text states in words that an answer is unsure, and what the pages do not say.
    """
    numbered = _numbered_sources(answer)
    marks = {chunk_id: number for chunk_id, (number, _) in numbered.items()}
    extractive = answer.composer == "extractive"
    quoted = extractive or answer.translation is not None
    text = _quotes_text(answer.claims, marks) if quoted else _claims_text(answer, marks)
    missing = clip(answer.missing or "", _MISSING_CHARACTERS) or None
    translation = answer.translation if answer.translation and answer.translation.text else None
    return Reply(
        text=_with_confidence_words(text, level, missing) + _translation_text(translation),
        tone="found" if extractive else "answer",
        sources=tuple(dict(numbered.values()).values()),
        confidence=probability,
        confidence_level=level,
        missing=missing,
        translation=translation,
    )


def _translation_text(translation: Translation | None) -> str:
    """Return the last paragraph of a reply: a translation, marked as one in its own language."""
    if translation is None:
        return ""
    mark = texts_in(translation.language).translation
    return f"\n\n_{mark}:_\n{translation.text}"


def _with_confidence_words(text: str, level: ConfidenceLevel, missing: str | None) -> str:
    said = (
        f"{UNSURE_INTRO}:\n\n{text.removeprefix(QUOTES_INTRO).lstrip()}"
        if level == "unsure"
        else text
    )
    return f"{said}\n\n{MISSING_INTRO} {missing}" if missing else said


def without_missing(reply: Reply) -> Reply:
    """Return a reply without its ``missing`` part."""
    last = _translation_text(reply.translation)
    said = f"\n\n{MISSING_INTRO} {reply.missing}{last}"
    text = reply.text.removesuffix(said) + last if reply.text.endswith(said) else reply.text
    return replace(reply, text=text, missing=None)


def refusal_of(probability: float) -> Reply:
    """Return a fixed refusal; the words of the model or its filter stay in the record."""
    return Reply(text=_REFUSED, tone="generic", confidence=probability, refused=True)


def suggestions_of(passages: Sequence[Passage]) -> tuple[Source, ...]:
    """Return the best three pages found, with one passage each, as unconfirmed suggestions."""
    best: dict[str, Passage] = {}
    for passage in passages:
        best.setdefault(passage.chunk.page_id, passage)
    top = list(best.values())[:_SUGGESTIONS]
    return tuple(_source(passage, _excerpt(passage.chunk.text)) for passage in top)


def found_passages(passages: Sequence[Passage]) -> tuple[FoundPassage, ...]:
    """Return the passages as recorded: identity and signals, without text."""
    return tuple(
        FoundPassage(
            chunk_id=passage.chunk.id,
            page_id=passage.chunk.page_id,
            title=passage.chunk.title,
            section=passage.chunk.section,
            signals=dict(passage.signals),
        )
        for passage in passages
    )


def option_label(passage: Chunk | FoundPassage) -> str:
    """Return a passage's label as an option: "Title: Section", or the title alone."""
    if passage.section and passage.section != passage.title:
        return f"{passage.title}: {passage.section}"
    return passage.title


Answered = TypeVar("Answered", bound=Response)


def with_superseded_marks(outcome: Outcome, labels: Collection[str]) -> Outcome:
    """Mark the sources of an outcome that carry a label of superseded pages, in any case."""
    folded = {label.casefold() for label in labels}

    def marked(source: Source) -> Source:
        carried = (label for label in source.labels if label.casefold() in folded)
        return replace(source, superseded=next(carried, ""))

    def with_marks(response: Answered) -> Answered:
        if isinstance(response, Reply):
            return replace(response, sources=tuple(map(marked, response.sources)))
        return replace(response, suggestions=tuple(map(marked, response.suggestions)))

    private = outcome.private and with_marks(outcome.private)
    return replace(outcome, response=with_marks(outcome.response), private=private)


def _numbered_sources(answer: Answer) -> Mapping[str, tuple[int, Source]]:
    """Return the number and source of each cited passage, by chunk id, in order of first citation.

    In an extractive answer the passages of one section are one source.
    """
    by_id = {passage.chunk.id: passage for passage in answer.passages}
    cited: dict[Hashable, list[Citation]] = {}
    for claim in answer.claims:
        for citation in claim.citations:
            chunk = by_id[citation.chunk_id].chunk
            of_section = (chunk.space, chunk.page_id, chunk.breadcrumb, chunk.document_page)
            key = of_section if answer.composer == "extractive" else chunk.id
            cited.setdefault(key, []).append(citation)
    return {
        citation.chunk_id: (number, source)
        for number, citations in enumerate(cited.values(), start=1)
        for source in [_source_of_citations(by_id, citations)]
        for citation in citations
    }


def _source_of_citations(passages: Mapping[str, Passage], citations: Sequence[Citation]) -> Source:
    """Return the source for citations: the passage of the best quote, and the quoted stretch."""
    ranked = sorted(citations, key=lambda each: each.score, reverse=True)
    passage = passages[ranked[0].chunk_id]
    best = [each.quote for each in ranked if each.chunk_id == passage.chunk.id]
    return _source(passage, _stretch_around(passage.chunk.text, best), line=best[0])


def _stretch_around(text: str, quotes: Sequence[str]) -> str:
    """Return the stretch of a passage that contains its best quote and nearby others.

    ``quotes`` are best first. Each further one is included unless the stretch would exceed 800
    characters.
    """
    start = text.find(quotes[0])
    end = start + len(quotes[0])
    if start < 0:
        return quotes[0]
    for quote in quotes[1:]:
        at = text.find(quote)
        wider = min(start, at), max(end, at + len(quote))
        if at >= 0 and wider[1] - wider[0] <= _STRETCH_CHARACTERS:
            start, end = wider
    return text[start:end]


def _source(passage: Passage, quote: str, *, line: str = "") -> Source:
    chunk: Chunk = passage.chunk
    return Source(
        chunk_id=chunk.id,
        page_id=chunk.page_id,
        title=chunk.title,
        url=chunk.url,
        section=chunk.section,
        quote=quote,
        document_page=chunk.document_page,
        relevance=min(1.0, max(0.0, passage.signals.get("fused", passage.score))),
        source_type=chunk.source_type,
        source_id=chunk.source_id,
        space=chunk.space,
        updated_at=chunk.updated_at,
        labels=chunk.labels,
        updated_by=chunk.updated_by,
        line=line,
    )


def _quotes_text(claims: Sequence[Claim], marks: dict[str, int]) -> str:
    """Return quotes as Markdown quotations, with a citation mark after each source's."""
    lines = [QUOTES_INTRO]
    for number, of_source in groupby(claims, key=lambda claim: marks[_first(claim)]):
        lines += ["", *_quotation(list(of_source), f"[{number}]")]
    return "\n".join(lines)


def _quotation(claims: Sequence[Claim], mark: str) -> Iterator[str]:
    """Yield the lines of one source's quotes.

    The note on omissions is put below the quotation, because it is not the page's text.
    """
    *before, last = claims
    for claim in before:
        yield from _lines_of(claim)
        yield f"\n{_omission_note(claim)}\n" if claim.more else _QUOTE
    *lines, end = _lines_of(last)
    yield from lines
    yield from (f"{end} {mark}",) if end.startswith(_QUOTE) else (end, "", mark)
    if last.more:
        yield f"\n{_omission_note(last)}"


def _omission_note(claim: Claim) -> str:
    return f"_{claim.more}_"


def _lines_of(claim: Claim) -> Iterator[str]:
    """Yield a quote line by line, with fenced code outside the quotation.

    No platform renders code within a quotation.
    """
    fence = indent = ""
    for line in claim.text.strip("\n").split("\n"):
        opening = _FENCE.match(line)
        if fence and closes(line, fence):
            fence = ""
            yield f"{line.strip()}\n"
        elif fence:
            yield line.removeprefix(indent)
        elif opening:
            indent, fence = opening.groups()
            yield f"\n{line.strip()}"
        elif not (_TABLE_ROW.match(line) and _TABLE_RULE.match(line)):
            yield f"{_QUOTE} {tables_as_text(line)}".rstrip()
    if fence:
        yield f"{fence}\n"


def _claims_text(answer: Answer, marks: dict[str, int]) -> str:
    read = _READING_INTRO.sub("", answer.reading or "")
    reading = [f"I read your question as: {read}", ""] if read else []
    blocks: list[str] = []
    steps = count(1)
    for kind, run in groupby(answer.claims, key=lambda claim: claim.kind):
        blocks += _BLOCKS[kind](list(run), marks, steps)
    return "\n".join([*reading, "\n\n".join(blocks)])


def _paragraphs(claims: Sequence[Claim], marks: dict[str, int], _: Iterator[int]) -> list[str]:
    stated = [f"{claim.text} {_marks(claim.citations, marks)}" for claim in claims]
    few = len(stated) <= _MOST_IN_PARAGRAPH
    return [" ".join(stated) if few else "\n".join(f"- {each}" for each in stated)]


def _steps(claims: Sequence[Claim], marks: dict[str, int], numbers: Iterator[int]) -> list[str]:
    """Return steps as a numbered list; numbering continues after parts of other kinds."""
    lines = [f"{next(numbers)}. {claim.text} {_marks(claim.citations, marks)}" for claim in claims]
    return ["\n".join(lines)]


def _tables(claims: Sequence[Claim], marks: dict[str, int], _: Iterator[int]) -> list[str]:
    """Return tables as lists below a header line, which every platform can render."""
    shown = []
    for claim in claims:
        header, *rows = tables_as_text(claim.text).splitlines()
        lines = [f"{header}:" if rows else header, *(f"- {row}" for row in rows)]
        shown.append("\n".join(lines) + f" {_marks(claim.citations, marks)}")
    return shown


def _code(claims: Sequence[Claim], marks: dict[str, int], _: Iterator[int]) -> list[str]:
    return [f"{claim.text}\n{_marks(claim.citations, marks)}" for claim in claims]


_BLOCKS: Mapping[
    PartKind, Callable[[Sequence[Claim], dict[str, int], Iterator[int]], list[str]]
] = {"paragraph": _paragraphs, "step": _steps, "table": _tables, "code": _code}


def _marks(citations: Sequence[Citation], marks: dict[str, int]) -> str:
    numbers = dict.fromkeys(marks[citation.chunk_id] for citation in citations)
    return "".join(f"[{number}]" for number in numbers)


def _first(claim: Claim) -> str:
    return claim.citations[0].chunk_id


def tables_as_text(quote: str) -> str:
    """Return a quote with table rows as text; other lines are unchanged."""
    shown = []
    for line in quote.splitlines():
        row = _TABLE_ROW.match(line)
        if row and _TABLE_RULE.match(line):
            continue
        shown.append(" \u00b7 ".join(map(_cell, _BAR.split(row.group(1)))) if row else line)
    return "\n".join(shown)


def _cell(cell: str) -> str:
    return cell.strip().replace("\\|", "|")


def _excerpt(text: str) -> str:
    """Return the beginning of a passage, verbatim, at most 240 characters long.

    It ends with a line or a sentence if at least 80 characters remain, else with a word.
    """
    if len(text) <= _EXCERPT_CHARACTERS:
        return text
    ends = [found.start() for found in _END.finditer(text[: _EXCERPT_CHARACTERS + 1])]
    if ends and ends[-1] >= _LEAST_EXCERPT:
        return text[: ends[-1]]
    cut = text.rfind(" ", 0, _EXCERPT_CHARACTERS)
    return text[: cut if cut > 0 else _EXCERPT_CHARACTERS]
