"""Resolve the target of a reindex command: a space by name, a page by address, or all spaces."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from bot.chat.commands.parsing import quote_input
from bot.chat.commands.types import (
    AllSpaces,
    CommandCaller,
    PageByUrl,
    Refused,
    SpaceByName,
    Target,
)
from bot.chat.documents import Documents, Reindex
from bot.domain.text.formatting import join_names
from ingestion.errors import DocumentRefused
from ingestion.library import LibraryDocument, Space
from rag.types import EVERYONE

_OWN_PAGES = "/pages/"
"""Path prefix of pages without an address of their own, which this server shows."""


def url_variants(url: str) -> tuple[str, ...]:
    """Return the URLs that may denote the same page, the likeliest first.

    As given; without fragment; without query; with and without a trailing slash; and with special
    characters percent-encoded or decoded.
    """
    given = url.strip().rstrip(".,;!)")
    if "://" not in given and not given.startswith("/"):
        given = f"https://{given}"
    try:
        parts = urlsplit(given)
    except ValueError:
        return (given,)
    bare = urlunsplit(parts._replace(fragment=""))
    plain = urlunsplit(parts._replace(fragment="", query=""))
    forms = [given, bare, plain]
    if parts.path.startswith(_OWN_PAGES):
        forms.append(parts.path)
    ended = [*forms, *(_other_end(form) for form in forms)]
    spelled = [*ended, *(_other_spelling(form) for form in ended)]
    return tuple(dict.fromkeys(spelled))


def _other_end(form: str) -> str:
    return form[:-1] if form.endswith("/") else f"{form}/"


def _other_spelling(form: str) -> str:
    """Return a URL with special characters percent-encoded, or decoded if they are encoded."""
    decoded = unquote(form)
    return decoded if decoded != form else quote(form, safe=":/?#[]@!$&'()*+,;=~%")


_NAMED = 10
_ASKED_FOR_PAGES = "confluence"
"""Source type that can read a single page; its pages are identified by id."""


@dataclass(frozen=True, slots=True)
class ResolvedTarget:
    """The resolved space (None: all), and a sentence on how it was resolved, or "".

    ``page`` is the address or id of the one page to read, "" for the whole space.
    """

    space: str | None
    how: str = ""
    page: str = ""


async def resolve_target(
    target: Target, documents: Documents, runs: Reindex, by: CommandCaller
) -> ResolvedTarget | Refused:
    """Resolve a target, or refuse with the known spaces. Raises StoreUnavailable."""
    match target:
        case AllSpaces():
            return ResolvedTarget(None)
        case SpaceByName(name):
            return _space_named(name, await _spaces(documents, by), by)
        case PageByUrl(url):
            return await _of_page(url, documents, runs, by)


@dataclass(frozen=True, slots=True)
class _Spaces:
    """All spaces, and those that all readers of the reply may see."""

    all: Sequence[Space]
    told: Sequence[Space]


async def _spaces(documents: Documents, by: CommandCaller) -> _Spaces:
    every = await documents.spaces(None)
    return _Spaces(every, every if by.alone else await documents.spaces(frozenset({EVERYONE})))


async def _of_page(
    url: str, documents: Documents, runs: Reindex, by: CommandCaller
) -> ResolvedTarget | Refused:
    """Resolve a page by its source, which includes new pages; else by the index.

    A folder can't read a single page: its whole space is read.
    """
    page = await documents.at(url_variants(url), None)
    trouble = ""
    try:
        space = await runs.find_space(url)
    except DocumentRefused as error:
        space, trouble = None, str(error)
    if space is not None:
        return ResolvedTarget(space, f"{_named(page, by)} is in the space {space}. ", url)
    spaces = await _spaces(documents, by)
    if page is None:
        return Refused(trouble or _unknown(url, spaces, by))
    aim = _space_named(page.space, spaces, by)
    if isinstance(aim, Refused):
        return aim
    only = page.id if page.source == _ASKED_FOR_PAGES else ""
    return ResolvedTarget(aim.space, f"{_named(page, by)} is in the space {page.space}. ", only)


def _named(page: LibraryDocument | None, by: CommandCaller) -> str:
    return quote_input(page.title) if page is not None and by.alone else "That page"


def _unknown(url: str, spaces: _Spaces, by: CommandCaller) -> str:
    return (
        f"No page that I read is at {quote_input(url)}. "
        "Look at the address, and whether its space is "
        f"one that is read. A whole space: {by.spelling.reindexing('SPACE')}\n"
        f"{_known(spaces.told)}"
    )


def _space_named(name: str, spaces: _Spaces, by: CommandCaller) -> ResolvedTarget | Refused:
    """Resolve a space by its name, ignoring case if only one space matches."""
    exact = [each for each in spaces.all if each.name == name]
    found = exact or [each for each in spaces.all if each.name.casefold() == name.casefold()]
    if len(found) != 1:
        return Refused(f"There is no space {quote_input(name)}.\n{_known(spaces.told, name)}")
    if not found[0].reindexable:
        return Refused(
            f"It is not known what fills the space {found[0].name}, so it can't be read again. "
            "Whoever runs Frontdesk names its folder once, on the command line.\n"
            f"{by.spelling.reindexing('all')} reads everything else."
        )
    return ResolvedTarget(found[0].name)


def _known(spaces: Sequence[Space], name: str = "") -> str:
    """Return the known spaces that can be reindexed, the most similar names first."""
    names = [each.name for each in spaces if each.reindexable]
    if not names:
        return "No space can be reindexed yet: nothing is known that fills one."

    def unlike(other: str) -> float:
        return -difflib.SequenceMatcher(None, name.casefold(), other.casefold()).ratio()

    ordered = tuple(sorted(names, key=unlike)) if name else tuple(names)
    return f"Known are: {join_names(ordered, _NAMED)}."
