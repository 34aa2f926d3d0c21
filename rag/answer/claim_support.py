"""Measure how far sources support a statement's words, and detect contradicting negations; no I/O.

Words are compared by their stems and as parts of compounds: "Urlaub" matches "Jahresurlaub", and
"log in" matches "login". A paraphrase that shares no word with its source is not recognised.

Negation is a small rule for English and German, clause by clause: what a statement negates must be
negated where its source mentions it, and what the source negates must not be affirmed. The rule
works on negation words, not on meaning: "you may" against "it is possible" is out of its scope.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from rag.text.words import stems, words

_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|(?<=[\u3002\uff01\uff1f])|\n")
_BY_CHARACTERS = re.compile("[\u0590-\u1cff\u3040-\u9fff\uac00-\ud7af]+")
"""Scripts without spaces between words, or with vowel marks: compared by character bigrams."""

_LEAST_WORDS = 3
"""Minimum number of words of a sentence that is measured alone.

"At once." may share no word with a page. For a whole statement as short, one matching word
suffices: a share of so few words means nothing.
"""

_SHORTEST_PART = 4
_PREFIX_LENGTH = 5


def word_support(said: str, source: str) -> float:
    """Return the share of words found in the source, 0..1: that of the least supported sentence.

    Numbers do not count (they are compared by verbatim_facts); a statement without words has 1.
    """
    known = _comparable_words(source)
    beginnings = frozenset(each[:_PREFIX_LENGTH] for each in known if len(each) >= _PREFIX_LENGTH)
    shares = [_share(each, known, beginnings) for each in [said, *_long_sentences(said)]]
    return min(shares)


def literal(said: str, source: str) -> float:
    """Return the share of pairs of neighbouring words that the source also has, 0..1."""
    pairs = set(pairwise(stems(said)))
    return len(pairs.intersection(pairwise(stems(source)))) / len(pairs) if pairs else 1.0


def _long_sentences(said: str) -> list[str]:
    return [each for each in _SENTENCE.split(said) if len(_comparable_words(each)) >= _LEAST_WORDS]


def _share(said: str, known: Collection[str], beginnings: Collection[str]) -> float:
    words = _comparable_words(said)
    found = sum(_stands_in(word, known, beginnings) for word in words)
    if len(words) < _LEAST_WORDS:
        return float(found > 0 or not words)
    return found / len(words)


def _comparable_words(said: str) -> frozenset[str]:
    words = (word for word in stems(_BY_CHARACTERS.sub(" ", said)) if not word.isnumeric())
    pairs = (pairwise(run) for run in _BY_CHARACTERS.findall(said))
    return frozenset([*words, *(first + second for each in pairs for first, second in each)])


def _stands_in(word: str, known: Collection[str], beginnings: Collection[str]) -> bool:
    if word in known or word[:_PREFIX_LENGTH] in beginnings:
        return True
    return len(word) >= _SHORTEST_PART and any(
        word in other or (len(other) >= _SHORTEST_PART and other in word) for other in known
    )


_DENIES = re.compile(
    r"\b(?:no(?!\.\s?\d)|not|never|none|nobody|nothing|nowhere|neither|nor|without|cannot"
    r"|[a-z]+n['\u2019]t"
    r"|nicht|nichts|kein(?:e[mnrs]?)?|nie|niemals|niemand|ohne|weder)\b",
    re.IGNORECASE,
)
_DENIES_TOO = re.compile(
    r"\b(?:only|except\w*|exclud\w*|exclusi\w*|unless|instead|rather than|other than|avoid\w*"
    r"|prohibit\w*|forbid\w*|refus\w*|reject\w*|declin\w*|fail\w*|lack\w*|miss(?:es|ing)"
    r"|exempt\w*|free|stop\w*|prevent\w*|block\w*|bar(?:s|red)|void|too \w+|outside|expire\w*"
    r"|end(?:s|ed)|[a-z]{3,}less|non-?[a-z]+|un(?!der|i[tqov]|til|less)[a-z]{4,}"
    r"|in(?:valid|complete|correct|eligib|activ|suffici|accessib|compatib|dependen)\w*"
    r"|im(?:possib|proper)\w*|ir(?:regular|relevant)\w*"
    r"|dis(?:abl|allow|connect|contin|qualif|approv)\w*"
    r"|nur|au\u00dfer\w*|ausgeschlossen|ausgenommen|statt\w*|verboten|untersagt|frei)\b",
    re.IGNORECASE,
)
"""Words that can express a plain negation differently."""

_LIMITS = re.compile(
    r"\b(no |not |nicht )?(only|just|nur"
    r"|(?:more|less|fewer|later|earlier|longer|sooner|other) than|before|until|vor|bis)\b",
    re.IGNORECASE,
)
"""Words of limits: "not more than 5" can be expressed without its negation."""

_IS_NO_DENIAL = re.compile(r"\b(?:no problem|whether or not)\b", re.IGNORECASE)
_ANSWERS = re.compile(r"\A\s*(?:yes|no|ja|nein)\s*[,.:;!\u2013\u2014-]+", re.IGNORECASE)
_TURNS = r"until|before|unless|except|bis|bevor|au\u00dfer"
"""Words at which a negation may end: "not until May" can be expressed as "from May"."""

_CLAUSE_ENDS = re.compile(
    r"[,.;:!?()\n]+(?=\s|\Z)|\|"
    rf"|\s(?=(?:but|if|when|because|aber|sondern|wenn|weil|{_TURNS})\b)",
    re.IGNORECASE,
)
_TURN = re.compile(rf"\s*({_TURNS})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause: its content words, all its words, its negated words, and its other negation words.

    A clause of stop words alone ("if you are not sure") has these as its content words. ``until``
    is the word after the clause at which its negations may end, "" without one.
    """

    words: frozenset[str]
    everything: frozenset[str]
    denied: tuple[str, ...]
    denies_too: frozenset[str]
    until: str = ""


def has_negation(text: str) -> bool:
    """Return whether a text contains an explicit negation; a "no" answering a question is none."""
    return _DENIES.search(_plain(text)) is not None


def contradicts(said: str, quoted: str, headings: str = "") -> bool:
    """Return whether a statement negates what its source affirms, or the other way round.

    ``headings`` are those above the source: they may contain the negation.
    """
    source, above = list(_clauses(quoted)), list(_clauses(headings))
    whole = f"{quoted}\n{headings}".lower()
    return _limits_otherwise(said, quoted) or any(
        _denies_more(clause, source, above) or _states_denied(clause, source, whole)
        for clause in _clauses(said)
    )


def _limits_otherwise(said: str, quoted: str) -> bool:
    """Return whether limits differ: "not only" for "only", or "more than" for "no more than"."""
    own, known = _limits(said), _limits(quoted)
    return any(own[word].isdisjoint(known[word]) for word in own.keys() & known.keys())


def _limits(text: str) -> dict[str, set[bool]]:
    found: dict[str, set[bool]] = {}
    for denial, word in _LIMITS.findall(text):
        found.setdefault(word.lower(), set()).add(bool(denial))
    return found


def _denies_more(said: _Clause, source: Sequence[_Clause], above: Sequence[_Clause]) -> bool:
    """Return whether a clause negates a word that its source mentions without a negation.

    A table cell with nothing but a negation may negate its whole row; a heading may negate words
    that a statement adds to its lines.
    """
    alone = [each for each in source if each.denied and not each.words]
    for denied in said.denied:
        near = _nearest(frozenset({denied}), source)
        may_deny = [*near, *alone]
        if not any(said.everything <= each.everything for each in near):
            may_deny += (each for each in above if each.denied)
        if not any(each.denied or each.denies_too - said.denies_too for each in may_deny):
            return True
    return False


def _states_denied(said: _Clause, source: Sequence[_Clause], whole: str) -> bool:
    """Return whether a clause affirms what the source negates wherever it mentions it."""
    if said.denied or any(word not in whole for word in said.denies_too):
        return False
    near = _nearest(said.words, source)
    return bool(near) and all(
        each.until in {"", said.until} and any(denied in said.everything for denied in each.denied)
        for each in near
    )


def _nearest(about: frozenset[str], source: Sequence[_Clause]) -> list[_Clause]:
    """Return the clauses that share most of the words; all of them where none shares any."""
    most = max((len(about & each.words) for each in source), default=0)
    return [each for each in source if len(about & each.words) == most]


def _clauses(text: str) -> Iterator[_Clause]:
    parts = [part for part in _CLAUSE_ENDS.split(_plain(text)) if part.strip()]
    for part, following in zip_longest(parts, parts[1:], fillvalue=""):
        stated = _DENIES.sub(" ", part)
        content, everything = frozenset(stems(stated)), frozenset(words(stated))
        turn = _TURN.match(following)
        yield _Clause(
            words=content or everything,
            everything=content | everything,
            denied=tuple(_denied_words(part)),
            denies_too=frozenset(word.lower() for word in _DENIES_TOO.findall(part)),
            until=turn[1].lower() if turn else "",
        )


def _denied_words(clause: str) -> Iterator[str]:
    """Yield the word that each negation applies to: the next, else the previous; "" for none."""
    for match in _DENIES.finditer(clause):
        before, after = clause[: match.start()], clause[match.end() :]
        near = [*stems(after)[:1], *words(after)[:1], *stems(before)[-1:], *words(before)[-1:]]
        yield near[0] if near else ""


def _plain(text: str) -> str:
    without = _IS_NO_DENIAL.sub(" ", _ANSWERS.sub("", text))
    return _LIMITS.sub(lambda found: found[2] if found[1] else found[0], without)
