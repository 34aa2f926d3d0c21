"""Put numbered placeholders in place of personal data, and back; no I/O.

What was masked is known only to the value that did it: it is neither stored nor logged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rag.personal_data import contacts, credentials, identity_numbers, postal_addresses
from rag.personal_data.findings import KINDS, Finding, Kind, by_word, without_overlaps
from rag.personal_data.names import DirectoryNames, Words

_CUES = by_word((*credentials.CUES, *contacts.CUES, *identity_numbers.CUES, *postal_addresses.CUES))
_WITH_DIGITS = (
    identity_numbers.find_ibans,
    identity_numbers.find_cards,
    identity_numbers.find_national_numbers,
    contacts.find_phones,
    postal_addresses.find_addresses,
)
_DIGITS = re.compile(r"\d")
_WORD = re.compile(r"\w")
_NO_LETTER = re.compile(r"[-'\u2019]")

PLACEHOLDER = re.compile(rf"\\?\[?(?<!\w)(?P<name>(?:{'|'.join(KINDS)})_\d{{1,4}})(?!\w)\\?\]?")
"""A placeholder, also as models write it: without its brackets, or with escaped ones."""


@dataclass(frozen=True, slots=True)
class Masking:
    """Texts with their personal data masked, and what each placeholder in them stands for.

    ``values`` are by placeholder, in order of their first place, such as ``EMAIL_1``. ``around``
    are all texts that go together. ``ambiguous`` values are names that are words, too.
    """

    texts: tuple[str, ...]
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    around: tuple[str, ...] = field(default=(), repr=False)
    ambiguous: frozenset[str] = field(default=frozenset(), repr=False)

    def restored(self, text: str) -> str:
        """Return a text with the masked values in place of their placeholders."""
        return _replaced(text, self.values)

    def without_values(self, text: str) -> str:
        """Return a text with the kind of what was masked in its place, such as "[email]"."""
        return _replaced(text, {name: _kind_label(name) for name in self.values})

    def has_unknown(self, text: str) -> bool:
        """Return whether a text has a placeholder that stands for nothing, nor was written."""
        names = (match["name"] for match in PLACEHOLDER.finditer(text))
        return any(
            name not in self.values and not any(name in each for each in self.around)
            for name in names
        )

    def masked(self, text: str) -> str:
        """Return another text with the same values masked in it, and nothing else.

        Names that are words, too, stay: nothing says that they stand for a person there.
        """
        sure = {
            value.casefold(): name
            for name, value in self.values.items()
            if value not in self.ambiguous
        }
        if not sure:
            return text
        longest_first = "|".join(map(re.escape, sorted(sure, key=len, reverse=True)))
        pattern = re.compile(rf"(?<!\w)(?:{longest_first})(?!\w)", re.IGNORECASE)
        return pattern.sub(
            lambda match: _shown(sure.get(match.group().casefold(), match.group())), text
        )


class Masker:
    """Finds and masks personal data; keeps nothing of the texts that it is given.

    Args:
        names: The names of the workspace's people.
    """

    def __init__(self, names: DirectoryNames) -> None:
        self.names = names

    def find(self, text: str) -> Sequence[Finding]:
        """Return the personal data of a text, in order and without overlaps."""
        return without_overlaps(self._all(text))

    def mask(self, texts: Sequence[str], others: Iterable[str] = ()) -> Masking:
        """Return texts with their personal data masked; the same value is one placeholder.

        ``others`` are texts that go with them. No placeholder is one that these texts have already.
        """
        found = [(text, self.find(text)) for text in texts]
        around = (*texts, *others)
        if not any(findings for _, findings in found):
            return Masking(tuple(texts), around=around)
        naming = _Naming(around)
        masked = tuple(_with_placeholders(text, findings, naming) for text, findings in found)
        ambiguous = (
            text[each.start : each.end]
            for text, findings in found
            for each in findings
            if each.ambiguous
        )
        values = {name: value for (_, value), name in naming.names.items()}
        return Masking(masked, values, around, frozenset(ambiguous))

    def without_personal_data(self, text: str) -> str:
        """Return a text with its values left out, for an embedder; their kinds if none is left.

        Retrieval loses nothing: values say nothing of a question's topic, and a placeholder even
        less (`tests/evals/masking_eval.py --retrieval`).
        """
        masking = self.mask([text])
        if not masking.values:
            return text
        rest = " ".join(_replaced(masking.texts[0], dict.fromkeys(masking.values, "")).split())
        return rest if _WORD.search(rest) else masking.without_values(masking.texts[0])

    def _all(self, text: str) -> Iterator[Finding]:
        words = Words.of(text)
        yield from self.names.find(words)
        yield from contacts.find_emails(text)
        yield from credentials.find_credentials(text)
        for at in [at for at, key in enumerate(words.keys) if key in _CUES or "-" in key]:
            yield from _said(text, words.found[at])
        if _DIGITS.search(text):
            for recogniser in _WITH_DIGITS:
                yield from recogniser(text)


class _Naming:
    """Gives each value a placeholder of its kind, numbered from 1."""

    def __init__(self, around: Sequence[str]) -> None:
        self._around = around
        self._last: dict[Kind, int] = {}
        self.names: dict[tuple[Kind, str], str] = {}

    def of(self, kind: Kind, value: str) -> str:
        if (kind, value) not in self.names:
            number = self._last.get(kind, 0) + 1
            while any(f"{kind}_{number}" in each for each in self._around):
                number += 1
            self._last[kind] = number
            self.names[kind, value] = f"{kind}_{number}"
        return self.names[kind, value]


def _with_placeholders(text: str, findings: Sequence[Finding], naming: _Naming) -> str:
    parts, at = [], 0
    for each in findings:
        name = naming.of(each.kind, text[each.start : each.end])
        parts += [text[at : each.start], _shown(name)]
        at = each.end
    return "".join([*parts, text[at:]])


def _said(text: str, word: re.Match[str]) -> Iterator[Finding]:
    """Yield what a text says from a word on is personal: "phone 030 901820", "Steuer-ID: 12 …"."""
    lowered = word.group().lower()
    for cue in _CUES.get(lowered) or _CUES.get(_NO_LETTER.split(lowered)[0], ()):
        if match := cue.pattern.match(text, word.start()):
            groups = (name for name in cue.pattern.groupindex if match[name])
            yield from (Finding(cue.kind, *match.span(name)) for name in groups)


def _replaced(text: str, by: Mapping[str, str]) -> str:
    if not by:
        return text
    return PLACEHOLDER.sub(lambda match: by.get(match["name"], match.group()), text)


def _shown(name: str) -> str:
    return f"[{name}]"


def _kind_label(name: str) -> str:
    return f"[{name.rpartition('_')[0].lower().replace('_', ' ')}]"
