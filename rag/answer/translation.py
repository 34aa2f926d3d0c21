"""Answer where asker and pages have different languages: quotations, and a model's translation.

What is vouched for are the pages' own lines, so these are the answer. The translation below them
can't be held against its lines word by word. What code can see in it is checked, and it is shown
whole or not at all, for a gap would mislead.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from prompts.repetition import repeats_rules
from rag.answer.citations import LONGEST_CLAIM, CheckedPart
from rag.answer.guardrails import must_be_quoted
from rag.answer.source_lines import Line, citations_of, code_claim, shown_words, table_claim
from rag.answer.verbatim_facts import unsupported_facts
from rag.parts import Block, CitedText, Item, ItemList, paragraph
from rag.search_scope import Asked
from rag.text.plain_text import addresses, plain_text, visible
from rag.text.sentences import Kind
from rag.types import Claim

_KINDS = ("secret", "payment")
"""What a text may ask for: passwords and codes, or money and the data to get it."""
_LINES = "lines"
"""The rules by which a cited line is about one of these, whatever its language."""

_MOST_GROWTH, _SHORTEST = 2, 40
"""A translation is at most so many times as long as its text, and so many characters more."""

_SENTENCE = re.compile(r"[.!?;\n\u3002\uff01\uff1f\u0964\u061f]+")
_FULL_STOP = re.compile(r"[\u3002\uff0e\uff61]")
_WITH_DIGIT = re.compile(r"(?:[A-Za-z][A-Za-z._:/%+-]*)?\d(?:[\dA-Za-z._:/%+,-]*[\dA-Za-z%])?")
"""A number or code: of ASCII letters, so that a script without spaces does not run into it."""
_EACH = re.compile(r"(?<![\d.,:])1(?=[\u3040-\u30ff\u4e00-\u9fff])")
"""A Chinese or Japanese "one" before what is counted, where English has "a" or "each"."""
_COMPOUND = re.compile(r"(?<=\d)-[^\W\d_]{3,}.*")
"""The words of a German compound, as in "12-Stunden-Sitzung"."""


@dataclass(frozen=True, slots=True)
class TranslatedText:
    """A model's translation of one part of an answer, and what checking that part gave."""

    text: str
    check: CheckedPart


def quotations(checks: Iterable[CheckedPart]) -> tuple[Claim, ...]:
    """Return the lines behind some parts, one claim for each chunk, each line once.

    Chunks are in the order in which they are cited, lines in that of the page; a row comes below
    its table's header, a step or item below the line that introduces its list.
    """
    cited: dict[str, dict[int, Line]] = {}
    for check in checks:
        for line in check.lines:
            of_chunk = cited.setdefault(line.chunk.id, {})
            of_chunk.update((each.at, each) for each in (*line.above, line))
    claims = (_quotation([lines[at] for at in sorted(lines)]) for lines in cited.values())
    return tuple(claim for claim in claims if claim.blocks)


def _quotation(lines: Sequence[Line]) -> Claim:
    runs = groupby(lines, key=lambda line: line.unit.kind)
    blocks = (block for kind, run in runs for block in _blocks(kind, list(run)))
    return Claim(tuple(blocks), citations_of(lines))


def _blocks(kind: Kind, lines: Sequence[Line]) -> Iterator[Block]:
    """Yield neighbouring lines of one kind as values in whose text no link or mention works."""
    if kind in {"row", "code"}:
        claim = table_claim(lines) if kind == "row" else code_claim(lines)
        yield from claim.blocks if claim else ()
        return
    texts = [text for line in lines if (text := shown_words([line]))]
    if kind == "item" and texts:
        yield ItemList(tuple(Item(CitedText(text)) for text in texts))
    else:
        yield from map(paragraph, texts)


def checked_translation(texts: Sequence[TranslatedText], asked: Asked) -> str:
    """Return the translations of all parts as plain text, a line for each; "" if one is unsafe.

    One is unsafe that is missing or too long for what it translates, whose part did not pass its
    own checks, that loses a number or code, or has one or an address which neither its lines nor
    the question have, or that repeats our prompt, speaks for the help desk, asks for secrets, or
    names a secret or payment data where its lines and their headings name none. In a language that
    no rule covers every translation is.
    """
    if asked.language not in _rules():
        return ""
    lines = []
    for each in texts:
        stored = each.check.claim is not None and each.check.claim.kind in {"table", "code"}
        said = "" if stored else _as_plain_text(each.text)
        if not stored and not _is_safe(said, each.check, asked):
            return ""
        lines += [said] if said else []
    return "\n".join(lines)


def _as_plain_text(text: str) -> str:
    """Return plain text on one line, with a space behind each ideographic full stop.

    Without the space it would be the dot of an address, as in internationalised domain names.
    """
    return " ".join(plain_text(_FULL_STOP.sub(r"\g<0> ", text)).split())


def _is_safe(said: str, check: CheckedPart, asked: Asked) -> bool:
    if check.claim is None or not check.kept:
        return False
    lines, stated = check.lines, check.claim.text
    known = [visible(asked.text), *(line.stored for line in lines)]
    known += [above.stored for line in lines for above in line.above]
    known += [" ".join(line.chunk.trail) for line in lines]
    everything = "\n".join(known).casefold()
    return (
        0 < len(said) <= min(LONGEST_CLAIM, _MOST_GROWTH * len(stated) + _SHORTEST)
        and not must_be_quoted(said)
        and not repeats_rules(said)
        and not _is_forbidden(said)
        and _named(said) <= _named_in_lines(lines)
        and all(each.casefold() in everything for each in addresses(said))
        and not unsupported_facts(_numbers_and_codes(said), known)
        and not unsupported_facts(_numbers_and_codes(stated), [_numbers_and_codes(said)])
    )


def _numbers_and_codes(text: str) -> str:
    said = _EACH.sub("", text)
    return "; ".join(_COMPOUND.sub("", match.group()) for match in _WITH_DIGIT.finditer(said))


def _is_forbidden(said: str) -> bool:
    """Return whether a text asks for secrets or speaks for the help desk, in any language."""
    lowered = _lowered(said)
    return any(
        _has(rules, "speaks", lowered)
        or any(
            _has(rules, "give", sentence) and any(_has(rules, kind, sentence) for kind in _KINDS)
            for sentence in _SENTENCE.split(lowered)
        )
        for rules in _rules().values()
    )


def _named(said: str) -> frozenset[str]:
    """Return the kinds of secrets that a text names, in any language."""
    lowered = _lowered(said)
    every = [rules for tag, rules in _rules().items() if tag != _LINES]
    return frozenset(kind for kind in _KINDS if any(_has(each, kind, lowered) for each in every))


def _named_in_lines(lines: Iterable[Line]) -> frozenset[str]:
    """Return the kinds that cited lines are about; words that only point to one are enough.

    Their headings count: below "Passwords" a line need not say the word.
    """
    stored = [each.stored for line in lines for each in (*line.above, line)]
    stored += [heading for line in lines for heading in line.chunk.trail]
    lowered, about = _lowered("\n".join(stored)), _rules()[_LINES]
    return _named(lowered) | {kind for kind in _KINDS if _has(about, kind, lowered)}


def _has(rules: Mapping[str, re.Pattern[str]], name: str, lowered: str) -> bool:
    return name in rules and rules[name].search(lowered) is not None


def _lowered(text: str) -> str:
    """Return text in lower case, with each accent in one character with its letter."""
    return unicodedata.normalize("NFKC", text).lower()


@cache
def _rules() -> Mapping[str, Mapping[str, re.Pattern[str]]]:
    read = tomllib.loads(Path(__file__).with_name("translation.toml").read_text("utf-8"))
    return {
        tag: {name: re.compile(pattern.strip()) for name, pattern in rules.items()}
        for tag, rules in read.items()
    }
