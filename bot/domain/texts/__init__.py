"""Texts that people read, said in English and shown in a reader's language.

``tr("Asked by {name}", name=...)`` returns a ``Text``: English as it stands, and remembered with
its values, so that a ``Language`` can render it once the reader is known. One file a language holds
the translations (``de.po``); the message ids are the English texts.
"""

from __future__ import annotations

import functools
import gettext
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent
DEFAULT: Final = "en"

NUMBER: Final = "1,000.5"
"""Its translation shows the signs of a language; tests/structure/texts.py adds it."""

Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Message:
    """A message id with its values; ``many`` and ``number`` for one that counts."""

    one: str
    many: str = ""
    number: int = 0
    values: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Joined:
    """Texts one after the other."""

    separator: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as it is written in English, with its unit."""

    english: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A text, and what is to be done to its words, such as escaping them."""

    text: str
    change: Callable[[str], str]


Origin = Message | Joined | Numeral | Changed


class Text(str):
    """A text in English that can be rendered in another language.

    What is made of it by ``+``, f-strings or methods of ``str`` is plain English: use ``tr`` with
    values, ``join_texts`` or ``changed``.
    """

    __slots__ = ("origin",)
    origin: Origin

    def __str__(self) -> str:
        """Return the text itself, so that ``str(error)`` can be rendered, too."""
        return self

    @classmethod
    def of(cls, origin: Origin) -> Text:
        """Return the text of a message."""
        text = cls(ENGLISH.write(origin))
        text.origin = origin
        return text


class Language:
    """Renders texts in one language."""

    def __init__(self, tag: str, translations: gettext.NullTranslations) -> None:
        self.tag = tag
        self._translations = translations
        # The signs of numbers are a message, too: a language is one file.
        sample = translations.gettext(NUMBER)
        self._signs = str.maketrans({",": sample[1], ".": sample[-2]})

    def render(self, text: object) -> object:
        """Return a text in this language, anything else as it is."""
        return self.write(text.origin) if isinstance(text, Text) else text

    def text(self, text: str) -> str:
        """Return a text in this language; a plain str is data and stays as it is."""
        return self.write(text.origin) if isinstance(text, Text) else text

    def render_all(self, payload: object) -> Any:  # noqa: ANN401 - of the shape that was given
        """Return a payload of mappings and sequences with all its texts in this language."""
        match payload:
            case Text():
                return self.write(payload.origin)
            case Mapping():
                return {name: self.render_all(value) for name, value in payload.items()}
            case list() | tuple():
                return [self.render_all(each) for each in payload]
            case _:
                return payload

    def write(self, origin: Origin) -> str:
        """Return a message with its values in this language."""
        match origin:
            case Joined(separator, parts):
                return self.text(separator).join(map(self.text, parts))
            case Numeral(english):
                return self.number(english)
            case Changed(text, change):
                return change(self.text(text))
            case Message(values=values):
                filled = {name: self.value(value) for name, value in values.items()}
                return self.template(origin).format(**filled)

    def template(self, message: Message) -> str:
        """Return a message in this language, its placeholders unfilled."""
        if message.many:
            return self._translations.ngettext(message.one, message.many, message.number)
        return self._translations.gettext(message.one)

    def value(self, value: object) -> object:
        """Return a value as it is written in this language."""
        if isinstance(value, int) and not isinstance(value, bool):
            return self.number(f"{value:,}")
        return self.render(value)

    def number(self, english: str) -> str:
        """Return a number that was written in English with this language's signs."""
        return english.translate(self._signs)


ENGLISH: Final = Language(DEFAULT, gettext.NullTranslations())


def tr(message: str, /, **values: object) -> Text:
    """Return a text of the catalogue; ``{name}`` in it is replaced by the value of that name."""
    return Text.of(Message(message, values=values))


def trn(one: str, many: str, n: int, /, **values: object) -> Text:
    """Return the text that is right for a number, which is ``{n}`` in it."""
    return Text.of(Message(one, many, n, {"n": n, **values}))


def marked(message: str) -> str:
    """Return a message id to be filled and rendered later; this call gathers it."""
    return message


def join_texts(separator: str, texts: Iterable[str]) -> Text:
    """Return texts and data one after the other."""
    return Text.of(Joined(separator, tuple(texts)))


def number_text(english: str) -> Text:
    """Return a number that was written in English, such as ``1,234.5 s``."""
    return Text.of(Numeral(english))


def changed(text: str, change: Callable[[str], str]) -> str:
    """Return a text with its words changed in whatever language they are read."""
    return Text.of(Changed(text, change)) if isinstance(text, Text) else change(text)


def on_texts(change: Callable[[str], str]) -> Callable[[str], str]:
    """Make a function of words one of texts, whose words it changes in the reader's language."""

    @functools.wraps(change)
    def on_text(text: str) -> str:
        return changed(text, change)

    return on_text


def placeholders(message: str) -> frozenset[str]:
    """Return the names of a message's placeholders."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(message) if name)


class Catalogue:
    """The languages that there are texts in."""

    def __init__(self, languages: Iterable[Language], default: str = DEFAULT) -> None:
        self._languages = {DEFAULT: ENGLISH, **{each.tag: each for each in languages}}
        self.default = self._languages.get(default, ENGLISH)

    @property
    def tags(self) -> frozenset[str]:
        return frozenset(self._languages)

    def of(self, tag: str) -> Language:
        """Return the language of a BCP-47 tag, such as "de-AT"; the default for an unknown one."""
        return self._languages.get(tag.replace("_", "-").split("-")[0].lower(), self.default)

    def accepted(self, header: str) -> Language:
        """Return the best language for a browser's ``Accept-Language``."""
        ranked = sorted(_weighted(header), key=lambda each: -each[1])
        known = (tag.split("-")[0].lower() for tag, weight in ranked if weight > 0)
        return next((self._languages[tag] for tag in known if tag in self._languages), self.default)


_LONGEST_HEADER = 200


def _weighted(header: str) -> Iterable[tuple[str, float]]:
    for each in header[:_LONGEST_HEADER].split(","):
        tag, _, weight = each.strip().partition(";q=")
        try:
            yield tag, float(weight or 1)
        except ValueError:
            continue


def shipped_tags(folder: Path = FOLDER) -> tuple[str, ...]:
    """Return the tags of the languages whose file is in a folder."""
    return tuple(sorted(path.stem for path in folder.glob("*.mo")))


def load_catalogue(default: str = DEFAULT, folder: Path = FOLDER) -> Catalogue:
    """Return the compiled catalogues of a folder, which are read once."""
    return Catalogue(_read_languages(folder), default)


@functools.cache
def _read_languages(folder: Path) -> tuple[Language, ...]:
    languages = []
    for tag in shipped_tags(folder):
        with (folder / f"{tag}.mo").open("rb") as file:
            languages.append(Language(tag, gettext.GNUTranslations(file)))
    return tuple(languages)
