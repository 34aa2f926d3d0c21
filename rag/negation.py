"""Whether two texts deny the same: a small rule for English and German. Pure.

It sees the words that deny, not the meaning: "you may" against "it is possible" is no case for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.words import stems

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
"""What may be said with a plain denial in other words."""

_IS_NO_DENIAL = re.compile(
    r"\b(?:not only|not just|nicht nur|no problem"
    r"|(?:no|not) (?:more|less|fewer|later|earlier|longer|sooner|other) than"
    r"|not (?:be(?:fore|en)|until)|nicht (?:vor|bis)\b|whether or not)\b",
    re.IGNORECASE,
)
"""What limits or widens and can as well be said without a denial."""

_ANSWERS = re.compile(r"\A\s*(?:yes|no|ja|nein)\s*[,.:;!\u2013\u2014-]+", re.IGNORECASE)
_CLAUSE_ENDS = re.compile(r"[,.;:!?()\n]|\b(?:but|until|unless|if|aber|sondern|bis|wenn)\b")
_DENIED_WORDS = 3
_LEAST_DENIED_WORDS = 2


def denies(text: str) -> bool:
    """Whether a text denies anything in so many words; a "no" that answers a question does not."""
    return _DENIES.search(_plain(text)) is not None


def turned_round(said: str, quoted: str, headings: str = "") -> bool:
    """Whether a statement denies what its source does not, or states what its source denies.

    ``headings`` are what the source stands under: they may carry the denial.
    """
    source = f"{quoted}\n{headings}"
    if denies(said):
        return not (denies(source) or _DENIES_TOO.search(quoted))
    if any(word.lower() not in source.lower() for word in _DENIES_TOO.findall(said)):
        return False
    words = set(stems(said))
    return any(words.issuperset(denied) for denied in _denied(quoted))


def _denied(text: str) -> Iterator[list[str]]:
    """Return the words that each denial is about: those after it in its clause, else before it."""
    plain = _plain(text)
    for match in _DENIES.finditer(plain):
        words = stems(_CLAUSE_ENDS.split(plain[match.end() :], maxsplit=1)[0])[:_DENIED_WORDS]
        if len(words) < _LEAST_DENIED_WORDS:
            before = stems(_CLAUSE_ENDS.split(plain[: match.start()])[-1])
            words = [*before[-_DENIED_WORDS:], *words]
        if len(words) >= _LEAST_DENIED_WORDS:
            yield words


def _plain(text: str) -> str:
    return _IS_NO_DENIAL.sub(" ", _ANSWERS.sub("", text))
