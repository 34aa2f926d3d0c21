"""Parse and write a file's front matter: YAML between ``---`` or TOML between ``+++``. Pure.

Malformed readers mean that nobody may read the file.
"""

from __future__ import annotations

import json
import re
import reprlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any
from urllib.parse import urlsplit

import yaml

from ingestion.errors import DocumentRefused
from ingestion.text import clean, without_half_surrogates
from ingestion.validation import NOBODY, ReadersMalformed, parse_readers
from rag.types import Readers

_FENCED = re.compile(
    r"\A\s*(?P<mark>---|\+\+\+)[ \t]*\n(?P<inside>.*?)^(?:(?P=mark)|\.\.\.)[ \t]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_UNCLOSED = re.compile(r"\A\s*(?:---|\+\+\+)[ \t]*\n(?P<inside>(?:.*\n){0,50})")
_SAYS_READERS = re.compile(
    r"^[ \t]*(?:!\S*[ \t]+)?[\"']?readers?[\"']?[ \t]*[:=]", re.IGNORECASE | re.MULTILINE
)
_MENTIONS_READERS = re.compile("reader", re.IGNORECASE)
_MAX_CHARACTERS = 65536
_MAX_TEXTS = 50
_DEEPEST = 50
_MOST_ALIASES = 10
"""Each alias of aliases may double what they stand for: thirty make a billion values."""

_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml is several times as fast as PyYAML's own parser; a PyYAML built without it lacks it."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The parsed front matter and the rest of the file.

    ``readers`` is None where the page sets none; malformed readers mean nobody. ``asked_as`` are
    questions that the page answers: matched, never shown. ``digest_text`` is everything that shapes
    the page, without its readers.
    """

    body: str
    title: str | None = None
    readers: Readers | None = None
    labels: tuple[str, ...] = ()
    url: str | None = None
    updated_at: datetime | None = None
    updated_by: str = ""
    asked_as: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    digest_text: str = ""


def split_front_matter(text: str) -> FrontMatter:
    """Return a file's front matter and body; broken front matter becomes a note."""
    match = _FENCED.match(text)
    if match is None:
        return _without(text)
    inside = match["inside"]
    body = text[match.end() :]
    try:
        values = _parse(inside, toml=match["mark"] == "+++")
        return _without(text) if values is None else _understood(values, inside, body)
    except _NotUnderstood as error:
        return _broken(body, inside, str(error))
    except ValueError:
        # By Python, of thousands of digits, wherever a number is written as text.
        return _broken(body, inside, "a number is too long")


def join_front_matter(body: str, *, title: str, labels: Sequence[str]) -> str:
    """Return a file with front matter, of which split_front_matter reads the parts back.

    Raises DocumentRefused if the body has front matter of its own, whose readers would not count.
    """
    plain = body.removeprefix("\ufeff")
    own = split_front_matter(plain)
    if own.body != plain or own.readers is not None or own.notes:
        raise DocumentRefused(
            "The content begins with front matter. Send its title, labels and readers as fields, "
            "and the content without it."
        )
    named = [f"title: {_as_yaml(title)}", *([f"labels: {_as_yaml([*labels])}"] if labels else [])]
    return "\n".join(["---", *named, "---", body])


def _as_yaml(value: object) -> str:
    """Return JSON on one line, which is YAML, too, and can't end the front matter."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _NotUnderstood(ValueError):
    """The front matter is no mapping in its language."""


def _parse(inside: str, *, toml: bool) -> Mapping[str, Any] | None:
    """Return the values by lower-case key; None for prose between two horizontal rules."""
    if len(inside) > _MAX_CHARACTERS:
        raise _NotUnderstood(f"longer than {_MAX_CHARACTERS} characters")
    try:
        values = tomllib.loads(inside) if toml else _parse_yaml(inside)
        if isinstance(values, dict):
            return {str(key).lower(): _encodable(value) for key, value in values.items()}
    except (tomllib.TOMLDecodeError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise _NotUnderstood(" ".join(str(error).split())[:200]) from error
    except (LookupError, AttributeError, OverflowError) as error:
        # By PyYAML, which declares none of them: of `!!bool q`, for example.
        raise _NotUnderstood("a value does not fit its type") from error
    if values is None:
        return {}
    if _SAYS_READERS.search(inside):
        raise _NotUnderstood("no keys and values")
    return None


def _parse_yaml(text: str) -> object:
    """Return the value of a YAML document. Raises what _parse expects of PyYAML."""
    try:
        return _load_yaml(text, _YAML)
    except (yaml.YAMLError, UnicodeEncodeError):
        # PyYAML's own parser explains errors better, and accepts halves of surrogate pairs.
        return _load_yaml(text, yaml.SafeLoader)


def _load_yaml(text: str, loader: type[yaml.SafeLoader | yaml.CSafeLoader]) -> object:
    """Load a document unless its values would be nested too deeply, or too many.

    libyaml builds them recursively and without a limit, and would crash the process; events cost
    no recursion.
    """
    depth = aliases = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > _DEEPEST:
            raise _NotUnderstood(f"nested deeper than {_DEEPEST} levels")
        if aliases > _MOST_ALIASES:
            raise _NotUnderstood(f"more than {_MOST_ALIASES} aliases")
    return yaml.load(text, Loader=loader)  # noqa: S506 - both are safe loaders


def _encodable(value: object) -> object:
    """Return a value with no half of a surrogate pair in its texts: YAML keeps those as written."""
    if isinstance(value, str):
        return without_half_surrogates(value)
    return [_encodable(each) for each in value] if isinstance(value, list) else value


def _without(text: str) -> FrontMatter:
    unclosed = _UNCLOSED.match(text)
    if unclosed and _SAYS_READERS.search(unclosed["inside"]):
        note = "front matter is not closed; nobody may read the page until it is"
        return FrontMatter(text, readers=NOBODY, notes=(note,))
    return FrontMatter(text)


def _broken(body: str, inside: str, reason: str) -> FrontMatter:
    notes = [f"front matter was ignored: {reason}"]
    hides = _MENTIONS_READERS.search(inside) is not None
    if hides:
        notes.append("its readers are unknown: nobody may read the page until it is mended")
    return FrontMatter(
        body, readers=NOBODY if hides else None, notes=tuple(notes), digest_text=inside
    )


def _understood(values: Mapping[str, Any], inside: str, body: str) -> FrontMatter:
    notes: list[str] = []
    title = _title(values.get("title"))
    labels = _texts("labels", values.get("labels", values.get("tags")), notes)
    asked_as = _texts("asked_as", values.get("asked_as"), notes)
    url = _url(values.get("url"), notes)
    updated = _updated(values.get("updated", values.get("last_updated")), notes)
    updated_by = _title(values.get("updated_by")) or ""
    shape = [title, labels, url, updated.isoformat() if updated else None]
    # What is newer is left out where it is not written: the other pages keep their versions.
    shape += [updated_by, asked_as] if updated_by or asked_as else []
    return FrontMatter(
        body=body,
        title=title,
        readers=_readers(values, inside, notes),
        labels=labels,
        url=url,
        updated_at=updated,
        updated_by=updated_by,
        asked_as=asked_as,
        notes=tuple(notes),
        digest_text=json.dumps(shape) if any(shape) else "",
    )


def _readers(values: Mapping[str, Any], inside: str, notes: list[str]) -> Readers | None:
    written = len(_SAYS_READERS.findall(inside))
    if "readers" not in values and written == 0:
        return None
    if "readers" not in values or written > 1:
        notes.append(
            "readers are to be written once, as `readers:` on top; nobody may read the page"
        )
        return NOBODY
    try:
        readers = parse_readers(values["readers"])
    except ReadersMalformed as error:
        notes.append(f"{error}; nobody may read the page until it is mended")
        return NOBODY
    if not readers:
        notes.append("readers are empty: nobody may read the page")
    return readers


def _title(value: object) -> str | None:
    if isinstance(value, str | int | float | date):
        return " ".join(clean(str(value)).split()) or None
    return None


def _texts(name: str, value: object, notes: list[str]) -> tuple[str, ...]:
    """Return a list of texts, such as the labels; a single string is split at its commas."""
    if value is None:
        return ()
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(i, str | int | float) for i in items):
        notes.append(f"{name} were ignored: write a list of words")
        return ()
    texts = (" ".join(clean(str(item)).split()) for item in items[:_MAX_TEXTS])
    return tuple(dict.fromkeys(text for text in texts if text))


def _url(value: object, notes: list[str]) -> str | None:
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else ""
    if re.fullmatch(r"(?:https?://|/(?!/))[^\s<>\"\\]+", text) and _splits(text):
        return text
    notes.append(
        f"url {reprlib.repr(value)} was ignored: write https://… or a path that starts with /"
    )
    return None


def _splits(url: str) -> bool:
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True


def _updated(value: object, notes: list[str]) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, datetime):
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        moment = None
    if isinstance(moment, date):
        return datetime.combine(moment, time(), UTC)
    notes.append(f"updated {reprlib.repr(value)} was ignored: write a date such as 2024-05-31")
    return None
