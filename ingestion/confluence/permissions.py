"""Who may read a page of Confluence, as the index says it; every doubt means nobody. Pure.

Confluence asks three things, and all must be met: to view the space, to be named by the page where
it names anybody, and to be named by every page above it that names anybody.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import quote

from ingestion.confluence.types import Subjects
from ingestion.errors import SettingInvalid
from ingestion.readers import NOBODY
from rag.types import EVERYONE, Principal, Readers, minimal_readers

_ANYBODY = frozenset({EVERYONE})
_SPACE = re.compile(r"\s*(~?[A-Za-z0-9._-]+)\s*=(.*)", re.DOTALL)


def user(account: str) -> Principal:
    """Return the principal of a person, by the id that Confluence knows them by."""
    return Principal(f"user:confluence:{quote(account, safe='')}")


def group(group_id: str) -> Principal:
    """Return the principal of a group, by its id (on Data Center its name)."""
    return Principal(f"group:confluence:{quote(group_id, safe='')}")


def readers_of(
    space: Subjects | None,
    restrictions: Iterable[Subjects | None],
    everyone_groups: Collection[str] = (),
) -> Readers:
    """Return who may read a page, in one order whatever the order of the restrictions.

    Args:
        space: who may view the space; None or nobody named means nobody.
        restrictions: who the page, and each page above it, names; nobody named is no restriction,
            None is one that could not be read, which means nobody.
        everyone_groups: ids of groups that every colleague is in.
    """
    layers = list(restrictions)
    if space is None or space.empty or any(layer is None for layer in layers):
        return NOBODY
    named = [space, *(layer for layer in layers if layer is not None and not layer.empty)]
    return met([_principals(each, everyone_groups) for each in named])


def all_of(first: Readers, *more: Readers) -> Readers:
    """Return readers that must be met all; nobody where one of them is nobody."""
    asked = (first, *more)
    return met([one for each in asked for one in each]) if all(asked) else NOBODY


def met(sets: Iterable[frozenset[Principal]]) -> Readers:
    """Return the least sets that ask the same: none that another one implies, in one order."""
    asked = minimal_readers(one for one in sets if EVERYONE not in one)
    return tuple(sorted(asked, key=sorted)) or (_ANYBODY,)


def space_readers(setting: str) -> Mapping[str, Subjects]:
    """Return CONFLUENCE_SPACE_READERS by space. Raises SettingInvalid."""
    return dict(_of_space(part) for part in setting.split(";") if part.strip())


def _principals(subjects: Subjects, everyone_groups: Collection[str]) -> frozenset[Principal]:
    if subjects.anyone or not subjects.groups.isdisjoint(everyone_groups):
        return _ANYBODY
    return frozenset({*map(user, subjects.users), *map(group, subjects.groups)})


def _of_space(part: str) -> tuple[str, Subjects]:
    match = _SPACE.fullmatch(part)
    named = [name.strip() for name in match[2].split(",")] if match else []
    if match is None or not all(_is_reader(name) for name in named):
        raise SettingInvalid(
            f"CONFLUENCE_SPACE_READERS: {part.strip()!r} is not understood. Write "
            "KEY=group:NAME,user:ID or KEY=everyone, several with ';' between."
        )
    return match[1], Subjects(
        users=_named(named, "user:"), groups=_named(named, "group:"), anyone="everyone" in named
    )


def _is_reader(name: str) -> bool:
    kind, _, who = name.partition(":")
    return name == "everyone" or (kind in {"user", "group"} and bool(who.strip()))


def _named(names: Iterable[str], kind: str) -> frozenset[str]:
    return frozenset(name.removeprefix(kind).strip() for name in names if name.startswith(kind))
