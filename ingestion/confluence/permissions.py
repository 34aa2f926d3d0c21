"""Apply the settings that select pages, and compute who may read a page; every doubt means nobody.

Confluence has three conditions, and all must be met: permission to view the space, being named in
the page's restrictions if it has any, and in those of every ancestor that has any. Unknown values
are requested once per run; all else is pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import quote

from ingestion.config import Settings
from ingestion.confluence.wiki import FailureStreak, PageHead, PageMarks, Subjects, Wiki, WikiSpace
from ingestion.errors import NotVisible, PageUnreadable, SettingInvalid, WikiUnavailable
from ingestion.validation import NOBODY
from rag.types import EVERYONE, Principal, Readers, minimal_readers

_ANYBODY = frozenset({EVERYONE})
_SPACE = re.compile(r"\s*(~?[A-Za-z0-9._-]+)\s*=(.*)", re.DOTALL)


def user_principal(account: str) -> Principal:
    """Return the principal of a person with this Confluence account id."""
    return Principal(f"user:confluence:{quote(account, safe='')}")


def group_principal(group_id: str) -> Principal:
    """Return the principal of a group with this id (on Data Center its name)."""
    return Principal(f"group:confluence:{quote(group_id, safe='')}")


def page_readers(
    space: Subjects | None,
    restrictions: Iterable[Subjects | None],
    everyone_groups: Collection[str] = (),
) -> Readers:
    """Return the readers of a page, in an order independent of that of the restrictions.

    Args:
        space: the viewers of the space; None or empty means nobody.
        restrictions: those of the page and of each ancestor; an empty one is no restriction, None
            is one that could not be read, which means nobody.
        everyone_groups: ids of groups that every colleague is in.
    """
    layers = list(restrictions)
    if space is None or space.empty or any(layer is None for layer in layers):
        return NOBODY
    named = [space, *(layer for layer in layers if layer is not None and not layer.empty)]
    return least_readers([_principals(each, everyone_groups) for each in named])


def readers_meeting_all(first: Readers, *more: Readers) -> Readers:
    """Return the conjunction of readers; nobody where one of them is nobody."""
    asked = (first, *more)
    return least_readers([one for each in asked for one in each]) if all(asked) else NOBODY


def least_readers(sets: Iterable[frozenset[Principal]]) -> Readers:
    """Return the smallest equivalent sets, in fixed order: none that another one implies."""
    asked = minimal_readers(one for one in sets if EVERYONE not in one)
    return tuple(sorted(asked, key=sorted)) or (_ANYBODY,)


def space_readers(setting: str) -> Mapping[str, Subjects]:
    """Return CONFLUENCE_SPACE_READERS by space. Raises SettingInvalid."""
    return dict(_of_space(part) for part in setting.split(";") if part.strip())


def _principals(subjects: Subjects, everyone_groups: Collection[str]) -> frozenset[Principal]:
    if subjects.anyone or not subjects.groups.isdisjoint(everyone_groups):
        return _ANYBODY
    return frozenset({*map(user_principal, subjects.users), *map(group_principal, subjects.groups)})


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


RESTRICTIONS_UNREADABLE = (
    "its restrictions can't be read, so nobody is shown it; see that the token's account may view "
    "the page and all above it"
)
SPACE_READERS_UNREADABLE = (
    "who may view the space can't be read, so nobody is shown its pages; let the token's account "
    "see the space's permissions, or set CONFLUENCE_SPACE_READERS"
)
PRINCIPALS_UNKNOWN = (
    "its members aren't known to Frontdesk; add who may read the space by CONFLUENCE_SPACE_READERS"
)


def unknown_principals(viewers: Subjects) -> str:
    """Return a message about principals of unknown kinds; "" where all are known."""
    names = ", ".join(sorted(viewers.unknown))
    return f"{names} is not understood: {PRINCIPALS_UNKNOWN}" if names else ""


def is_of_space(doubt: str) -> bool:
    """Return whether a doubt is about a whole space."""
    return doubt == SPACE_READERS_UNREADABLE or doubt.endswith(PRINCIPALS_UNKNOWN)


@dataclass(frozen=True, slots=True)
class AllowedReaders:
    """The readers of a page, and the doubt about them ("" when there is none)."""

    readers: Readers
    doubt: str = ""


class PageAccess:
    """Caches the viewers of spaces and the marks of pages; each is requested once.

    Args:
        wiki: the Confluence site.
        everyone_groups: names of the groups that every colleague is in.
        space_readers: additional viewers of a space, by key, besides those that Confluence names.
    """

    def __init__(
        self,
        wiki: Wiki,
        *,
        everyone_groups: Collection[str] = (),
        space_readers: Mapping[str, Subjects] | None = None,
    ) -> None:
        self._wiki = wiki
        self._everyone_names = everyone_groups
        self._said = space_readers or {}
        self._everyone: dict[str, str | None] | None = None
        self._spaces: dict[str, tuple[Subjects, ...]] = {}
        self._marks: dict[str, PageMarks | None] = {}
        self._failures_in_a_row = FailureStreak()

    async def know_marks_of(self, space: WikiSpace) -> Collection[str]:
        """Fetch the marks of a whole space, many per request; return the ids of the pages."""
        known = {marks.id: marks async for marks in self._wiki.marks(space)}
        self._marks.update(known)
        return known.keys()

    def forget(self, page_ids: Iterable[str]) -> None:
        """Drop the cached marks of these pages, so that they are fetched again when needed.

        A text may be shown to those who could read its page *after* the text was written: somebody
        may restrict a page first and write then.
        """
        for page_id in page_ids:
            self._marks.pop(page_id, None)

    async def marks(self, page_id: str) -> PageMarks | None:
        """Return a page's restrictions and labels; None when they can't be read.

        Raises WikiUnavailable when that happens to many pages in a row.
        """
        if page_id not in self._marks:
            self._marks[page_id] = await self._asked(page_id)
        return self._marks[page_id]

    async def readers_of(
        self, space: WikiSpace, page_id: str, chain: Sequence[str]
    ) -> AllowedReaders:
        """Return who may read a page whose ancestors are ``chain``."""
        viewers = await self._viewers(space)
        closed = next((one for one in viewers if one.empty), None)
        if closed is not None:
            return AllowedReaders((), unknown_principals(closed) or SPACE_READERS_UNREADABLE)
        marks = [await self.marks(each) for each in (page_id, *chain)]
        restrictions = [None if each is None else each.readers for each in marks]
        groups = await self.everyone()
        first, *more = (page_readers(one, restrictions, groups) for one in viewers)
        return AllowedReaders(
            readers_meeting_all(first, *more), "" if None not in marks else RESTRICTIONS_UNREADABLE
        )

    async def ask_viewers(self, space: WikiSpace) -> None:
        """Fetch the viewers of a space; when fetched a second time, both results must be met."""
        try:
            told = await self._wiki.space_readers(space)
        except NotVisible:
            told = Subjects()
        viewers = told.joined(self._said.get(space.key, Subjects()))
        known = self._spaces.get(space.key, ())
        self._spaces[space.key] = known if viewers in known else (*known, viewers)

    async def unknown_viewers(self, space: WikiSpace) -> str:
        """Return a message where a space names principals of unknown kinds; else "".

        Empty also for a space whose readers a setting names, or that was not fetched.
        """
        everyone = await self.everyone()
        viewers = () if space.key in self._said else self._spaces.get(space.key, ())
        open_to_all = any(one.anyone or one.groups & everyone for one in viewers)
        return "" if open_to_all else next(filter(None, map(unknown_principals, viewers)), "")

    async def _viewers(self, space: WikiSpace) -> tuple[Subjects, ...]:
        if space.key not in self._spaces:
            await self.ask_viewers(space)
        return self._spaces[space.key]

    async def everyone(self) -> frozenset[str]:
        """Return the ids of the groups that every colleague is in; unknown names are left out."""
        return frozenset(one for one in (await self._groups()).values() if one is not None)

    async def unknown_groups(self) -> tuple[str, ...]:
        """Return the names of everyone's groups that do not exist in Confluence."""
        return tuple(name for name, one in (await self._groups()).items() if one is None)

    async def _groups(self) -> dict[str, str | None]:
        if self._everyone is None:
            found = {name: await self._wiki.group_named(name) for name in self._everyone_names}
            self._everyone = {name: one.id if one else None for name, one in found.items()}
        return self._everyone

    async def _asked(self, page_id: str) -> PageMarks | None:
        try:
            marks: PageMarks | None = await self._wiki.marks_of(page_id)
        except PageUnreadable:
            marks = None
        except WikiUnavailable as error:
            self._failures_in_a_row.count(error)
            return None
        self._failures_in_a_row.reset()
        return marks


_PERSONAL = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The configured selection. Empty means no limit; exclusions win over inclusions."""

    spaces: frozenset[str] = frozenset()
    skip_spaces: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    skip_labels: frozenset[str] = frozenset()
    ancestors: frozenset[str] = frozenset()
    skip_ancestors: frozenset[str] = frozenset()
    oldest: timedelta | None = None

    def space(self, space: WikiSpace) -> str:
        """Return why a space is excluded, or "". Personal spaces are read only if named."""
        key = space.key
        if key in self.skip_spaces:
            return "CONFLUENCE_SKIP_SPACES names it"
        if self.spaces and key not in self.spaces:
            return "CONFLUENCE_SPACES does not name it"
        if key.startswith(_PERSONAL) and key not in self.spaces:
            return "a personal space; name it in CONFLUENCE_SPACES to have it read"
        return "it is archived in Confluence" if space.archived else ""

    def page(
        self, head: PageHead, *, labels: Collection[str], chain: Collection[str], now: datetime
    ) -> str:
        """Return why a page is excluded, or ""; ``chain`` are the ids of its ancestors."""
        place = {head.id, *chain}
        if not self.skip_ancestors.isdisjoint(place):
            return "CONFLUENCE_SKIP_ANCESTORS names it or a page above it"
        if self.ancestors and self.ancestors.isdisjoint(place):
            return "is not below a page of CONFLUENCE_ANCESTORS"
        return self._by_labels(frozenset(labels)) or self._by_age(head, now)

    def _by_labels(self, labels: frozenset[str]) -> str:
        unwanted = sorted(self.skip_labels & labels)
        if unwanted:
            return f"has the label {unwanted[0]!r} of CONFLUENCE_SKIP_LABELS"
        if self.labels and self.labels.isdisjoint(labels):
            return "has no label of CONFLUENCE_LABELS"
        return ""

    def _by_age(self, head: PageHead, now: datetime) -> str:
        if self.oldest is None or now - head.updated_at <= self.oldest:
            return ""
        return f"was not changed for more than {self.oldest.days} days (CONFLUENCE_OLDEST_DAYS)"


_MB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is read, and who counts as everyone.

    ``everyone_groups`` are names. ``space_readers`` may view a space in addition to those whom
    Confluence names. ``largest`` is the size limit of an attachment in bytes; 0: attachments are
    not read.
    """

    selection: Selection = field(default_factory=Selection)
    everyone_groups: tuple[str, ...] = ()
    space_readers: Mapping[str, Subjects] = field(default_factory=dict)
    largest: int = 20 * _MB


def rules_of(settings: Settings) -> Rules:
    """Return the rules that the settings define. Raises SettingInvalid."""
    days = settings.confluence_oldest_days
    return Rules(
        selection=Selection(
            spaces=frozenset(settings.confluence_spaces),
            skip_spaces=frozenset(settings.confluence_skip_spaces),
            labels=frozenset(settings.confluence_labels),
            skip_labels=frozenset(settings.confluence_skip_labels),
            ancestors=frozenset(settings.confluence_ancestors),
            skip_ancestors=frozenset(settings.confluence_skip_ancestors),
            oldest=timedelta(days=days) if days else None,
        ),
        everyone_groups=settings.confluence_everyone_groups,
        space_readers=space_readers(settings.confluence_space_readers),
        largest=settings.confluence_attachment_mb * _MB if settings.confluence_attachments else 0,
    )
