"""Find the likely spelling of mistyped words among the words of an index; pure.

The distance counts insertions, deletions, substitutions and transpositions of neighbours (optimal
string alignment: Damerau, CACM 1964), which are four fifths and more of all typing errors. Only
words in letters alone are corrected: identifiers, paths, acronyms and quoted words are meant as
they stand.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import process
from rapidfuzz.distance import OSA, Levenshtein

from rag.text.words import content_words, looks_english, stem

LEAST_LETTERS = 4
"""Shorter words have too many neighbours."""

LONG = 8
"""From this many letters on two errors are corrected, below it one."""

MOST_LETTERS = 32
"""Longer "words" are keys or pasted text; no English word is as long."""

MOST_WORDS = 12
"""A question with more words to look up is a pasted text, or not in the pages' language."""

_PART = re.compile(r"`[^`]*`|\"[^\"]*\"|\u201c[^\u201d]*\u201d|(?<!\w)'[^']*'(?!\w)|\S+")
"""What is quoted, or a token."""

_SENTENCE_ENDS = ".!?:"

_PROSE = re.compile(r"([(\[{]*)([^\W\d_]+)([)\]}.,;:!?\u2026]*)")
"""A token that is a word with punctuation around it."""


def spelled_words(question: str) -> tuple[str, ...]:
    """Return the words of a question that may be mistyped, in lower case and in order.

    Left out are stop words, words of fewer than LEAST_LETTERS letters, acronyms, names (a capital
    within a sentence), and whatever is in quotes or in a token with a digit or a sign: codes,
    paths, hosts, addresses.
    """
    if not looks_english(question):
        return ()
    found = {question[start:end].lower() for start, end in _prose_words(question)}
    return tuple(word for word in content_words(question) if word in found)


def _prose_words(question: str) -> Iterator[tuple[int, int]]:
    """Yield where the words are that may be mistyped."""
    begins = True
    for part in _PART.finditer(question):
        prose = _PROSE.fullmatch(part.group())
        if prose and _may_be_mistyped(prose[2], begins=begins):
            start = part.start() + prose.start(2)
            yield start, start + len(prose[2])
        begins = part.group()[-1] in _SENTENCE_ENDS


def _may_be_mistyped(word: str, *, begins: bool) -> bool:
    prose = word.islower() or (begins and word.istitle())
    return prose and LEAST_LETTERS <= len(word) <= MOST_LETTERS


@dataclass(frozen=True, slots=True)
class Spelling:
    """A word that chunks hold: in how many, and in how many of them beside others of a question."""

    word: str
    chunks: int
    beside: int = 0


_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SOUND_ALIKE = ("aeiouy", "cksz")


def keys_beside(letter: str) -> str:
    """Return the letters around a letter on a QWERTY keyboard; "" for one that is not on it.

    Each row is half a key to the right of the one above it.
    """
    found = [(row, keys.index(letter)) for row, keys in enumerate(_KEYS) if letter in keys]
    if not found:
        return ""
    ((row, place),) = found
    around = ((row, (-1, 1)), (row - 1, (0, 1)), (row + 1, (-1, 0)))
    return "".join(
        _KEYS[other][place + step]
        for other, steps in around
        if 0 <= other < len(_KEYS)
        for step in steps
        if 0 <= place + step < len(_KEYS[other])
    )


def most_errors(word: str) -> int:
    """Return how many errors in a word are corrected."""
    return 2 if len(word) >= LONG else 1


def similar_words(word: str, vocabulary: Sequence[str]) -> list[list[str]]:
    """Return the words for which ``word`` is a likely error, the nearest first.

    Words at the same distance are in one list.
    """
    found = process.extract(
        word,
        vocabulary,
        scorer=OSA.distance,
        score_cutoff=most_errors(word),
        limit=None,
        processor=None,
    )
    by_distance: dict[int, list[str]] = defaultdict(list)
    for similar, distance, _ in found:
        # Two letters too many or too few are rarely a slip: "bitlocker" is no "blocker".
        alike = abs(len(word) - len(similar)) <= 1
        if alike and _is_likely_error(word, similar, int(distance)):
            by_distance[int(distance)].append(similar)
    return [by_distance[distance] for distance in sorted(by_distance)]


def _is_likely_error(typed: str, meant: str, distance: int) -> bool:
    """Return whether a word is rather a mistyped other one than a word of its own.

    What is typed for another letter is a key beside it or sounds like it. The last letter is where
    words of one stem differ ("copier", "copied"); the first is seldom mistyped (Pollock and Zamora,
    JASIST 1983). So another last letter is taken for an error in long words only, another first one
    if it is the only error there. Words of LEAST_LETTERS have too many neighbours for more than a
    letter left out or two exchanged.
    """
    if distance < Levenshtein.distance(typed, meant):
        return typed[0] == meant[0] or typed[:2] == meant[1::-1]
    if typed[0] != meant[0] and (len(typed) < LONG or distance > 1):
        return False
    if len(typed) <= LEAST_LETTERS:
        return len(meant) > len(typed)
    replaced = [edit for edit in Levenshtein.editops(typed, meant) if edit.tag == "replace"]
    return all(
        _are_close(typed[edit.src_pos], meant[edit.dest_pos])
        and (edit.src_pos < len(typed) - 1 or len(typed) >= LONG)
        for edit in replaced
    )


def _are_close(typed: str, meant: str) -> bool:
    return typed in keys_beside(meant) or any(
        typed in group and meant in group for group in _SOUND_ALIKE
    )


def likely_spelling(spellings: Sequence[Spelling]) -> str | None:
    """Return the likeliest of equally near spellings; None if there is none, or two are as likely.

    It is the one that is beside the question's other words in most chunks, then the one in most
    chunks. Inflections of one word count together and do not compete.
    """
    forms: dict[str, list[Spelling]] = defaultdict(list)
    for each in spellings:
        forms[stem(each.word)].append(each)
    ranked = sorted((_rank(group), key) for key, group in forms.items())
    if not ranked or (ranked[1:] and ranked[0][0] == ranked[1][0]):
        return None
    return min(forms[ranked[0][1]], key=lambda form: (-form.chunks, form.word)).word


def _rank(forms: Sequence[Spelling]) -> tuple[int, int]:
    """Return the order of a word's forms among others; lower is likelier."""
    return -sum(form.beside for form in forms), -sum(form.chunks for form in forms)


def respelled(question: str, corrections: Mapping[str, str]) -> str:
    """Return the question with its mistyped words replaced; a capital first letter stays one."""
    shown, done = "", 0
    for start, end in _prose_words(question):
        word = question[start:end]
        spelling = corrections.get(word.lower(), word)
        if spelling != word and word[0].isupper():
            spelling = spelling[0].upper() + spelling[1:]
        shown += question[done:start] + spelling
        done = end
    return shown + question[done:]
