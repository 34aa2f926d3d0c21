"""Diagnose a Confluence configuration: try every operation, change nothing.

Of the site, of single spaces, pages and permissions: their content and their readers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from ingestion.config import Settings
from ingestion.confluence.assembly import ConfluenceSite, confluence_site
from ingestion.confluence.client.connection import address_of
from ingestion.confluence.client.retry import RetryLimits
from ingestion.confluence.listing import SpaceListing
from ingestion.confluence.people_file import PeopleFile
from ingestion.confluence.permissions import PageAccess, Rules, rules_of, unknown_principals
from ingestion.confluence.person_finder import ENTRA
from ingestion.confluence.publishing import publisher_at
from ingestion.confluence.wiki import PageHead, Subjects, WikiAbout, WikiSpace, WikiUser
from ingestion.errors import (
    DirectoryInvalid,
    IngestionError,
    NotVisible,
    PageUnreadable,
    SettingInvalid,
    WikiRefused,
)
from rag.types import Check

DIAGNOSTIC_LIMITS = RetryLimits(attempts=3, deadline_seconds=30.0, try_seconds=20.0)
"""Limits for diagnostics, where somebody waits for the answer."""
_CLOCK_TOLERANCE = timedelta(minutes=2)
_MOST_SPACES = 50
_MOST_LEFT_OUT = 10
_MOST_PAGES = 1000
_MOST_PEOPLE = 10
_MOST_GROUPS = 5
_MOST_INCLUDING = 20
_VIEW_CURE = "See that the token's account may view it."
_GROUPS_CURE = "See that the token's account may view groups."
_RESTRICTIONS_CURE = "Until they can be read nobody is answered from any page."
_SEARCH_CURE = "What pages include of others stays a link."
_PUBLISHING_CURE = "Until then no answer can be published."
_FILES_CURE = "Let the token read them, or set CONFLUENCE_ATTACHMENTS=false."
INCLUDES_LEFT_OUT = "leave out text that not all their readers may read"
_READERS_UNKNOWN = (
    "who may read it can't be read, so nobody is answered from it. Let the token's account see the "
    "space's permissions, or set CONFLUENCE_SPACE_READERS."
)
_EMAILS_HIDDEN = (
    "Data Center tells nobody's e-mail address, so nobody is answered from it. Name a group that "
    "every colleague is in by CONFLUENCE_EVERYONE_GROUPS, or set CONFLUENCE_DIRECTORY."
)

_Outcome = tuple[bool | None, str]
"""Whether something works (None: with a warning), and the detail."""


async def diagnose_confluence(
    settings: Settings, patience: RetryLimits = DIAGNOSTIC_LIMITS
) -> Sequence[Check]:
    """Try every operation that is used on the configured Confluence; empty without one."""
    try:
        wiki, rules = confluence_site(settings, patience), rules_of(settings)
    except SettingInvalid as error:
        return (Check("", works=False, detail=str(error)),)
    if wiki is None:
        return ()
    try:
        return await _Diagnosis(wiki, settings, rules).all()
    finally:
        await wiki.close()


async def _tried(
    name: str, work: Callable[[], Awaitable[_Outcome]], cure: str, *, vital: bool = True
) -> Check:
    """Return the result of a check; a failure is broken, or without ``vital`` a warning."""
    try:
        works, detail = await work()
    except WikiRefused as error:
        # The token was accepted before, so only this one right is missing.
        works = False if vital else None
        scope = "Other requests are answered, so it may lack a scope (docs/confluence.md)."
        detail = f"{error} {scope} {cure}"
    except IngestionError as error:
        works, detail = False if vital else None, f"{error} {cure}"
    return Check(name, works=works, detail=detail)


class _Diagnosis:
    """The checks of one site; samples of pages and their authors are collected on the way."""

    def __init__(self, wiki: ConfluenceSite, settings: Settings, rules: Rules) -> None:
        self._wiki = wiki
        self._settings = settings
        self._rules = rules
        address = address_of(settings.confluence_url or "", settings.confluence_edition)
        self._cloud = address.edition == "cloud"
        self._access = PageAccess(wiki, everyone_groups=rules.everyone_groups)
        self._group_names: Mapping[str, str] = {}
        self._first_pages: dict[WikiSpace, PageHead] = {}
        self._authors: set[str] = set()

    async def all(self) -> Sequence[Check]:
        try:
            spaces = await self._wiki.spaces()
        except IngestionError as error:
            return (Check("", works=False, detail=str(error)),)
        now = datetime.now(UTC)
        account, of_site = None, list[Check]()
        try:
            about = await self._wiki.about()
        except IngestionError as error:
            # A site may refuse this and still let spaces be read.
            told = f"whose it is can't be told. {error}"
            of_site = [Check("token", works=None, detail=told)]
        else:
            account, of_site = about.account, _site_checks(about, now)
        read = [space for space in spaces if not self._rules.selection.space(space)]
        return (
            *of_site,
            *self._selection_checks(spaces, read),
            *await self._space_checks(read, account),
            *await self._right_checks(),
            *await self._publishing_checks(),
            _schedule_check(self._settings),
        )

    def _selection_checks(
        self, spaces: Sequence[WikiSpace], read: Sequence[WikiSpace]
    ) -> Sequence[Check]:
        """Report which spaces are read, which are excluded, and which are not visible."""
        missing = sorted(set(self._settings.confluence_spaces) - {each.key for each in spaces})
        checks = [Check("spaces", works=bool(read), detail=self._selected(spaces, read))]
        if missing:
            told = (
                f"{', '.join(missing)} of CONFLUENCE_SPACES can't be seen. Check the keys, and "
                "that the token's account may view these spaces."
            )
            checks.append(Check("spaces unseen", works=False, detail=told))
        return checks

    def _selected(self, spaces: Sequence[WikiSpace], read: Sequence[WikiSpace]) -> str:
        if not spaces:
            return "the token sees no space. Give its account the right to view some."
        left_out = [space for space in spaces if space not in read]
        why = self._rules.selection.space
        told = [f"{len(read)} of {len(spaces)} that the token sees are read"]
        told += [f"{each.key}: {why(each)}" for each in left_out[:_MOST_LEFT_OUT]]
        more = len(left_out) - _MOST_LEFT_OUT
        return "; ".join([*told, f"and {more} more"] if more > 0 else told)

    async def _space_checks(
        self, spaces: Sequence[WikiSpace], account: WikiUser | None
    ) -> Sequence[Check]:
        """Check each space; ``account`` is the token's user."""
        await self._learn_group_names(account)
        checks: list[Check] = []
        if self._rules.everyone_groups:
            checks.append(await _tried("everyone", self._everyone, _GROUPS_CURE))
        for space in spaces[:_MOST_SPACES]:
            content = partial(self._space, space)
            checks.append(await _tried(f"space {space.key}", content, _VIEW_CURE))
        if len(spaces) > _MOST_SPACES:
            told = f"{len(spaces) - _MOST_SPACES} more were not looked at one by one"
            checks.append(Check("further spaces", works=True, detail=told))
        return checks

    async def _learn_group_names(self, account: WikiUser | None) -> None:
        """Fetch names of the groups that the account is in; Cloud's restrictions hold only ids."""
        try:
            groups = await self._wiki.groups_of(account.id) if account else ()
        except IngestionError:
            groups = ()
        self._group_names = {group.id: group.name for group in groups}

    async def _everyone(self) -> _Outcome:
        unknown = await self._access.unknown_groups()
        if not unknown:
            return True, f"is whoever is in {', '.join(self._rules.everyone_groups)}"
        return False, (
            f"Confluence knows no group {', '.join(unknown)} of CONFLUENCE_EVERYONE_GROUPS. Write "
            f"names as Confluence does. {_GROUPS_CURE}"
        )

    async def _space(self, space: WikiSpace) -> _Outcome:
        count = await self._page_count(space)
        works, who = await self._who(space)
        if not count:
            return None, f"no page is seen in it. {_VIEW_CURE}"
        pages = f"{_MOST_PAGES} pages or more" if count > _MOST_PAGES else _counted(count, "page")
        return works, f"{pages}, {who}"

    async def _page_count(self, space: WikiSpace) -> int:
        count = 0
        async for head in self._wiki.heads(space):
            self._first_pages.setdefault(space, head)
            if head.updated_by and len(self._authors) < _MOST_PEOPLE:
                self._authors.add(head.updated_by)
            count += 1
            if count > _MOST_PAGES:
                break
        return count

    async def _who(self, space: WikiSpace) -> _Outcome:
        try:
            told = await self._wiki.space_readers(space)
        except NotVisible:
            told = Subjects()
        said = self._rules.space_readers.get(space.key)
        readers = told.joined(said or Subjects())
        unknown = unknown_principals(readers)
        if readers.empty:
            return None, f"{unknown}." if unknown else _READERS_UNKNOWN
        if readers.anyone or readers.groups & await self._access.everyone():
            return True, "open to everyone"
        named = f"read by {self._named(readers)}"
        if unknown and said is None:
            return None, f"{named}; {unknown}."
        told_apart = self._cloud or self._settings.confluence_directory is not None
        return (True, named) if told_apart else (None, f"{named}; {_EMAILS_HIDDEN}")

    def _named(self, readers: Subjects) -> str:
        """Return a summary such as "staff, admins, 2 more groups and 3 people"."""
        known = self._group_names
        names = [known.get(each, "" if self._cloud else each) for each in readers.groups]
        told = sorted(filter(None, names))[:_MOST_GROUPS]
        more = len(readers.groups) - len(told)
        told += [_counted(more, "more group" if told else "group")] if more else []
        people = f"{len(readers.users)} {'person' if len(readers.users) == 1 else 'people'}"
        return " and ".join(filter(None, (", ".join(told), people if readers.users else "")))

    async def _right_checks(self) -> Sequence[Check]:
        """Check permissions on the first visible page; nothing where no page was visible."""
        if not self._first_pages:
            return ()
        space, page = next(iter(self._first_pages.items()))
        checks = [
            await _tried("restrictions", partial(self._restrictions, page), _RESTRICTIONS_CURE),
            await _tried("search", partial(self._search, space), _SEARCH_CURE),
        ]
        if self._settings.confluence_attachments:
            checks.append(await _tried("files", partial(self._files, space), _FILES_CURE))
        return [*checks, await _tried("people", self._people, _VIEW_CURE, vital=False)]

    async def _publishing_checks(self) -> Sequence[Check]:
        """Check whether answers can be published; nothing where that is not configured."""
        parent = self._settings.confluence_answers_parent
        if parent is None:
            return ()
        publisher = publisher_at(self._wiki, parent, self._rules)
        return [await _tried("answers", publisher.diagnosis, _PUBLISHING_CURE)]

    async def _restrictions(self, page: PageHead) -> _Outcome:
        await self._wiki.marks_of(page.id)
        return True, "of pages can be read"

    async def _search(self, space: WikiSpace) -> _Outcome:
        found: list[str] = []
        async for page_id in self._wiki.including(space):
            found.append(page_id)
            if len(found) == _MOST_INCLUDING:
                break
        narrower = await self._narrower(space, found)
        told = f"; of {len(found)} looked at in {space.key}, {narrower} {INCLUDES_LEFT_OUT}"
        return True, f"finds what includes other pages{told if narrower else ''}"

    async def _narrower(self, space: WikiSpace, page_ids: Collection[str]) -> int:
        """Return how many of these pages include text that not all their readers may read."""
        rules = replace(self._rules, largest=0)
        looks = SpaceListing(self._wiki, space, rules, now=lambda: datetime.now(UTC))
        seen = await looks.some([await self._wiki.head(page_id) for page_id in page_ids])
        return sum(offer.narrower for offer in seen.offers.values())

    async def _files(self, space: WikiSpace) -> _Outcome:
        async for _ in self._wiki.attachments_in(space):
            break
        return True, f"can be listed; up to {self._settings.confluence_attachment_mb} MB are read"

    async def _people(self) -> _Outcome:
        """Check whether colleagues can be matched with Confluence accounts, and how."""
        if self._settings.confluence_directory:
            return await _by_directory(self._settings.confluence_directory)
        asked = len(self._authors)
        shown = sum([await self._shows_email(each) for each in sorted(self._authors)])
        if shown:
            told = f"{shown} of {asked} who wrote pages show their e-mail address"
            return shown == asked or None, told
        return None, (
            f"none of {asked} who wrote pages shows an e-mail address, so hardly anybody gets more "
            "than what everyone may read. Set CONFLUENCE_DIRECTORY."
        )

    async def _shows_email(self, user_id: str) -> bool:
        try:
            return bool((await self._wiki.user(user_id)).email)
        except PageUnreadable:
            return False


async def _by_directory(named: str) -> _Outcome:
    if named.strip().casefold() == ENTRA:
        return True, "are told by Entra, which is not tried here"
    try:
        people = await PeopleFile(Path(named)).people()
    except DirectoryInvalid as error:
        return False, str(error)
    return True, f"{len(people)} are told by {named}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _site_checks(about: WikiAbout, now: datetime) -> list[Check]:
    site = "Cloud"
    if about.edition == "data-center":
        site = f"Data Center {about.version}" if about.version else "Data Center before 9.1"
    return [
        Check("", works=True, detail=f"{site} at {about.base}"),
        _token_check(about.account),
        _clock_check(about.asked_at - now),
    ]


def _token_check(account: WikiUser | None) -> Check:
    if account is not None:
        return Check("token", works=True, detail=f"is {account.name or account.id}'s")
    told = (
        "Confluence takes it for nobody's, so it shows only what is open to the world. Make a "
        "new one, and set CONFLUENCE_TOKEN."
    )
    return Check("token", works=False, detail=told)


def _clock_check(ahead: timedelta) -> Check:
    """Check the site's clock; ``ahead`` is how far it is ahead of ours."""
    if abs(ahead) <= _CLOCK_TOLERANCE:
        return Check("clock", works=True, detail="agrees with this machine's")
    minutes = round(abs(ahead).total_seconds() / 60)
    way = "behind" if ahead > timedelta() else "ahead of"
    told = (
        f"this machine's is {minutes} minutes {way} the site's. Nothing is missed for it, but ages "
        "of pages are told wrongly: let NTP set it."
    )
    return Check("clock", works=None, detail=told)


def _schedule_check(settings: Settings) -> Check:
    changes, whole = settings.confluence_sync_minutes, settings.confluence_reconcile_minutes
    if whole:
        edited = f"what was edited every {changes} minutes, " if changes else ""
        return Check("schedule", works=True, detail=f"{edited}everything every {whole} minutes")
    told = (
        "nothing is read by a server itself. Run python -m ingestion sync --all by a schedule "
        "of your own, or set CONFLUENCE_SYNC_MINUTES and CONFLUENCE_RECONCILE_MINUTES."
    )
    if changes:
        told = (
            f"what was edited is seen every {changes} minutes; deletions, moves and restrictions "
            "never. Set CONFLUENCE_RECONCILE_MINUTES."
        )
    return Check("schedule", works=None, detail=told)
