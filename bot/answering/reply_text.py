"""Turn answers into replies: parts with numbered sources, and their text."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeVar

from bot.answering.routing.languages import texts_in
from bot.domain.interactions import ConfidenceLevel, Outcome, Reply, Response, Source
from bot.domain.markdown import clip
from bot.domain.messages import FoundPassage
from rag.parts import (
    Block,
    CitedText,
    Code,
    Item,
    ItemList,
    Paragraph,
    Part,
    Quotation,
    Table,
    Translation,
    paragraph,
    parts_text,
)
from rag.types import ANSWER_SOURCE, Answer, Chunk, Citation, Claim, Passage

QUOTES_INTRO = "From the wiki:"
PEOPLE_INTRO = "From a colleague's answer:"
"""Precedes quotes that are all of answers by people."""

UNSURE_INTRO = "I'm not sure, but this may help"
"""Precedes an unsure answer."""

_UNSURE_BEFORE = "This may be it, I'm not sure:"
"""What preceded one in older records."""

MISSING_INTRO = "The wiki doesn't say:"
"""Precedes the ``missing`` part of an answer."""

_REFUSED = "I can't help with that one. If it is about work, a person can: reply \u201chuman\u201d."
_EXCERPT_CHARACTERS = 240
_LEAST_EXCERPT = 80
_END = re.compile(r"(?<=[.!?])(?<!\n\d\.)(?<!\n\d\d\.)(?=\s)|(?=\n)")
"""The end of a line or sentence, but not of the number of a step."""

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


def reply_of(answer: Answer, probability: float, level: ConfidenceLevel = "sure") -> Reply:
    """Return an answer as a reply: quotes of passages, or the model's checked claims.

    Its text says in words that the answer is unsure, and what the pages do not say.
    """
    numbered = _numbered_sources(answer)
    marks = {chunk_id: number for chunk_id, (number, _) in numbered.items()}
    extractive = answer.composer == "extractive"
    quoted = extractive or answer.translation is not None
    parts = _quotations(answer.claims, marks) if quoted else _composed_parts(answer, marks)
    reply = Reply(
        text="",
        tone="found" if extractive else "answer",
        sources=tuple(dict(numbered.values()).values()),
        confidence=probability,
        confidence_level=level,
        missing=clip(answer.missing or "", _MISSING_CHARACTERS) or None,
        parts=tuple(parts),
        translation=answer.translation if answer.translation and answer.translation.text else None,
    )
    return replace(reply, text=parts_text(framed_parts(reply)))


def framed_parts(reply: Reply, *, introduced: bool = True) -> tuple[Part, ...]:
    """Return the parts of a reply with what Frontdesk says around them; () if it is text alone.

    Unless ``introduced``, without the words around them that a page says in its own language.
    """
    if not reply.parts:
        return ()
    intro = _intro(reply) if introduced else ""
    missing = reply.missing if introduced else ""
    return (
        *([paragraph(intro)] if intro else []),
        *reply.parts,
        *([paragraph(f"{MISSING_INTRO} {missing}")] if missing else []),
        *(_translated(reply.translation) if reply.translation else []),
    )


def _translated(translation: Translation) -> Iterator[Part]:
    """Yield a translation, marked as one in its own language."""
    yield paragraph(f"**{texts_in(translation.language).translation}:**")
    yield from (paragraph(line) for line in translation.text.splitlines() if line.strip())


def _intro(reply: Reply) -> str:
    if reply.confidence_level == "unsure":
        return f"{UNSURE_INTRO}:"
    if reply.tone != "found":
        return ""
    return PEOPLE_INTRO if is_from_people(reply) else QUOTES_INTRO


def is_from_people(reply: Reply) -> bool:
    """Return whether all that a reply cites are answers by people."""
    return bool(reply.sources) and all(each.source_type == ANSWER_SOURCE for each in reply.sources)


def is_composed(response: Response) -> bool:
    """Return whether a model composed the answer, rather than that the wiki is quoted."""
    if not isinstance(response, Reply) or response.tone != "answer" or response.refused:
        return False
    parts = response.parts
    return not parts or any(not isinstance(part, Quotation) for part in parts)


def text_without_intro(reply: Reply) -> str:
    """Return the text of a reply without the words that a heading says in their place."""
    text = reply.text.removeprefix(_intro(reply)).removeprefix(_UNSURE_BEFORE)
    return text.lstrip("\n")


def without_missing(reply: Reply) -> Reply:
    """Return a reply without its ``missing`` part; of a record without parts, its text says it."""
    shorter = replace(reply, missing=None)
    if reply.parts:
        return replace(shorter, text=parts_text(framed_parts(shorter)))
    return replace(shorter, text=reply.text.removesuffix(f"\n\n{MISSING_INTRO} {reply.missing}"))


def refusal_of(probability: float) -> Reply:
    """Return a fixed refusal; the words of the model or its filter stay in the record."""
    return Reply(text=_REFUSED, tone="generic", confidence=probability, refused=True)


def suggestions_of(passages: Sequence[Passage]) -> tuple[Source, ...]:
    """Return the best three pages found, with one passage each, as unconfirmed suggestions."""
    best: dict[str, Passage] = {}
    for passage in passages:
        best.setdefault(passage.chunk.page_id, passage)
    top = list(best.values())[:_SUGGESTIONS]
    return tuple(source_of_passage(passage, _excerpt(passage.chunk.text)) for passage in top)


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
    return source_of_passage(passage, _stretch_around(passage.chunk.text, best), line=best[0])


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


def source_of_passage(passage: Passage, quote: str, *, line: str = "") -> Source:
    """Return the source for a quote of a passage; ``line`` is what answers best in it."""
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


def _quotations(claims: Sequence[Claim], marks: Mapping[str, int]) -> Iterator[Part]:
    """Yield a quotation for each source; an omission, which is not the page's text, ends one."""
    for number, of_source in groupby(claims, key=lambda claim: marks[_first(claim)]):
        blocks: list[Block] = []
        for claim in of_source:
            blocks += claim.blocks
            if claim.omission:
                yield Quotation(tuple(blocks), (number,))
                yield claim.omission
                blocks = []
        if blocks:
            yield Quotation(tuple(blocks), (number,))


def _composed_parts(answer: Answer, marks: Mapping[str, int]) -> Iterator[Part]:
    """Yield the parts of a model's answer; steps are numbered on after parts of other kinds."""
    read = _READING_INTRO.sub("", answer.reading or "")
    if read:
        yield paragraph(f"I read your question as: {read}")
    step = 1
    for kind, run in groupby(answer.claims, key=lambda claim: claim.kind):
        claims = list(run)
        if kind == "step":
            yield ItemList(tuple(_items(claims, marks)), ordered=True, start=step)
            step += len(claims)
        elif kind == "paragraph" and len(claims) <= _MOST_IN_PARAGRAPH:
            yield Paragraph(tuple(_cited(each, marks) for each in claims))
        elif kind == "paragraph":
            yield ItemList(tuple(_items(claims, marks)))
        else:
            yield from (part for claim in claims for part in _literal_parts(claim, marks))


def _items(claims: Sequence[Claim], marks: Mapping[str, int]) -> Iterator[Item]:
    return (Item(_cited(claim, marks)) for claim in claims)


def _cited(claim: Claim, marks: Mapping[str, int]) -> CitedText:
    return CitedText(claim.text, _numbers(claim.citations, marks))


def _literal_parts(claim: Claim, marks: Mapping[str, int]) -> Iterator[Part]:
    """Yield the tables and code of a claim with their sources."""
    for block in claim.blocks:
        if isinstance(block, Table | Code):
            yield replace(block, citations=_numbers(claim.citations, marks))


def _numbers(citations: Sequence[Citation], marks: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(marks[citation.chunk_id] for citation in citations))


def _first(claim: Claim) -> str:
    return claim.citations[0].chunk_id


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
