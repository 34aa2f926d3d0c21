"""What somebody means by a target: a space by its name, one page by its address, or all."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from bot.documents.documents import Document, Space
from bot.errors import DocumentRefused
from bot.orders.addresses import forms_of
from bot.orders.ports import FindsSpaces, KnowsSpaces
from bot.orders.types import Everything, Orderer, PageAt, Refused, SpaceNamed, Target
from bot.orders.words import shown
from bot.rendering.amounts import listed
from rag.types import EVERYONE

_NAMED = 10
_ASKED_FOR_PAGES = "confluence"
"""The kind of source that can be asked for one page; its pages are known by their ids."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What is to be read (None: all), and a sentence on how that was found, or "".

    ``page`` is the address or id of the one page that is meant, "" for the whole space.
    """

    space: str | None
    how: str = ""
    page: str = ""


async def aim_of(
    target: Target, documents: KnowsSpaces, runs: FindsSpaces, by: Orderer
) -> Aim | Refused:
    """Find what is meant, or say what there is instead. Raises StoreUnavailable."""
    match target:
        case Everything():
            return Aim(None)
        case SpaceNamed(name):
            return _space_named(name, await _spaces(documents, by), by)
        case PageAt(url):
            return await _of_page(url, documents, runs, by)


@dataclass(frozen=True, slots=True)
class _Spaces:
    """All spaces, and those that those who read the answer may know of."""

    all: Sequence[Space]
    told: Sequence[Space]


async def _spaces(documents: KnowsSpaces, by: Orderer) -> _Spaces:
    every = await documents.spaces(None)
    return _Spaces(every, every if by.alone else await documents.spaces(frozenset({EVERYONE})))


async def _of_page(
    url: str, documents: KnowsSpaces, runs: FindsSpaces, by: Orderer
) -> Aim | Refused:
    """Find the page where it comes from, which knows new ones too; else as it is indexed.

    A folder is not asked for one page: all of it is looked at.
    """
    page = await documents.at(forms_of(url), None)
    trouble = ""
    try:
        space = await runs.find_space(url)
    except DocumentRefused as error:
        space, trouble = None, str(error)
    if space is not None:
        return Aim(space, f"{_named(page, by)} is in the space {space}. ", url)
    spaces = await _spaces(documents, by)
    if page is None:
        return Refused(trouble or _unknown(url, spaces, by))
    aim = _space_named(page.space, spaces, by)
    if isinstance(aim, Refused):
        return aim
    only = page.id if page.source == _ASKED_FOR_PAGES else ""
    return Aim(aim.space, f"{_named(page, by)} is in the space {page.space}. ", only)


def _named(page: Document | None, by: Orderer) -> str:
    return shown(page.title) if page is not None and by.alone else "That page"


def _unknown(url: str, spaces: _Spaces, by: Orderer) -> str:
    return (
        f"No page that I read is at {shown(url)}. Look at the address, and whether its space is "
        f"one that is read. A whole space: {by.spelling.reindexing('SPACE')}\n"
        f"{_known(spaces.told)}"
    )


def _space_named(name: str, spaces: _Spaces, by: Orderer) -> Aim | Refused:
    """Find a space by its name, in whatever case if only one is called so."""
    exact = [each for each in spaces.all if each.name == name]
    found = exact or [each for each in spaces.all if each.name.casefold() == name.casefold()]
    if len(found) != 1:
        return Refused(f"There is no space {shown(name)}.\n{_known(spaces.told, name)}")
    if not found[0].reindexable:
        return Refused(
            f"It is not known what fills the space {found[0].name}, so it can't be read again. "
            "Whoever runs Frontdesk names its folder once, on the command line.\n"
            f"{by.spelling.reindexing('all')} reads everything else."
        )
    return Aim(found[0].name)


def _known(spaces: Sequence[Space], name: str = "") -> str:
    """Name the spaces that can be read again, those first that are written most alike."""
    names = [each.name for each in spaces if each.reindexable]
    if not names:
        return "No space can be reindexed yet: nothing is known that fills one."

    def unlike(other: str) -> float:
        return -difflib.SequenceMatcher(None, name.casefold(), other.casefold()).ratio()

    ordered = tuple(sorted(names, key=unlike)) if name else tuple(names)
    return f"Known are: {listed(ordered, _NAMED)}."
