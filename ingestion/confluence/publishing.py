"""Publish reviewed answers as pages below one page of Confluence.

No text is visible before the restrictions that keep its readers: a page is created without text and
under a name that says nothing, restricted, read back, and only then written. A page that somebody
else edited is never overwritten, and one that was published is never opened to more people, because
they could read its earlier versions.
"""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import unquote

from ingestion.config import Settings
from ingestion.confluence.assembly import INTERACTIVE_LIMITS, ConfluenceSite, confluence_site
from ingestion.confluence.client.page_writer import (
    PageWriter,
    WriteRejected,
    WrittenPage,
    page_writer,
)
from ingestion.confluence.client.urls import address_target
from ingestion.confluence.permissions import PageAccess, Rules, group_principal, rules_of
from ingestion.confluence.space_scan import space_with_key
from ingestion.confluence.storage.from_markdown import storage_of
from ingestion.confluence.wiki import PageHead, Subjects, WikiSpace
from ingestion.errors import (
    EndpointGone,
    NotVisible,
    PageUnreadable,
    PublishingRefused,
    SettingInvalid,
    WikiRefused,
)
from ingestion.types import PublishableAnswer
from rag.types import EVERYONE, Principal, Readers, minimal_readers

LONGEST_TITLE = 250
_USER, _GROUP = "user:confluence:", "group:confluence:"
_RIGHTS = "Let the token's account add pages and restrictions there (docs/confluence.md)."


def restriction_of(readers: Readers) -> Subjects:
    """Return the restriction whose readers are exactly these; nobody named: no restriction.

    Raises PublishingRefused where there is none.
    """
    if not readers:
        raise PublishingRefused("Nobody may read this answer, so it can't be a page.")
    needed = [each for each in minimal_readers(readers) if EVERYONE not in each]
    if len(needed) > 1:
        raise PublishingRefused(
            "Who may read this answer must be in several groups at once, which no restriction of a "
            "page can express. Choose one group as its readers."
        )
    names = needed[0] if needed else frozenset[Principal]()
    foreign = sorted(each for each in names if not each.startswith((_USER, _GROUP)))
    if foreign:
        raise PublishingRefused(
            f"{', '.join(foreign)} is nobody that Confluence knows. Choose readers who are people "
            "or groups of Confluence."
        )
    return Subjects(users=_ids(names, _USER), groups=_ids(names, _GROUP))


def _ids(names: frozenset[Principal], kind: str) -> frozenset[str]:
    return frozenset(unquote(each.removeprefix(kind)) for each in names if each.startswith(kind))


class ConfluencePublisher:
    """Publishes answers below one page. Implements ``bot.learning.publishing.Publishes``.

    Args:
        wiki: Reads the site.
        writer: Writes its pages.
        parent: The page below which answers are published: its id or address.
        rules: Who counts as everyone, as for ingestion.
    """

    def __init__(
        self, wiki: ConfluenceSite, writer: PageWriter, *, parent: str, rules: Rules
    ) -> None:
        self._wiki = wiki
        self._writer = writer
        self._parent = parent
        self._rules = rules

    async def publish(self, answer: PublishableAnswer) -> str:
        """Create the answer's page, or update it, and return its URL.

        Raises PublishingRefused and WikiUnavailable.
        """
        try:
            return await self._publish(answer)
        except WriteRejected as error:
            raise PublishingRefused(_why_rejected(error)) from error
        except (WikiRefused, EndpointGone, PageUnreadable, SettingInvalid) as error:
            raise PublishingRefused(str(error)) from error

    async def close(self) -> None:
        await self._wiki.close()

    async def _publish(self, answer: PublishableAnswer) -> str:
        title = " ".join(answer.question.split())[:LONGEST_TITLE]
        account = (await self._wiki.about()).account
        if account is None:
            raise PublishingRefused("The token is nobody's. Set CONFLUENCE_TOKEN to a new one.")
        parent, space = await self.place()
        readers = restriction_of(answer.readers)
        await self._check_place(parent, space, answer.readers)
        wanted = readers if readers.empty else readers.joined(Subjects(frozenset({account.id})))
        page = await self._own_page(answer, title, space.key, account.id)
        if page is None:
            name, private = _draft_title(answer), not wanted.empty
            page = await self._writer.create(space, parent.id, name, private=private)
        await self._restrict(page, wanted)
        await self._writer.update(page, title, storage_of(answer.text), _message(answer))
        return (await self._writer.find(page.id)).url

    async def place(self) -> tuple[PageHead, WikiSpace]:
        """Return the page below which answers are published, and its space.

        Raises PublishingRefused, NotVisible, WikiUnavailable and WikiRefused.
        """
        target = address_target(self._parent)
        head = None
        if target is not None and target.page_id is not None:
            head = await self._wiki.head(target.page_id)
        elif target is not None and target.space and target.title:
            head = await self._wiki.titled(target.space, target.title)
        space = None if head is None else await space_with_key(self._wiki, head.space_key)
        if head is None or space is None:
            raise PublishingRefused(
                f"CONFLUENCE_ANSWERS_PARENT={self._parent!r} is no page that the token may view. "
                "Write a page's id or address."
            )
        return head, space

    async def diagnosis(self) -> tuple[bool | None, str]:
        """Return whether answers can be published (None: that isn't told), and the detail."""
        parent, space = await self.place()
        place = f"are published below {parent.title!r} in {space.key}"
        match await self._writer.may_create(space):
            case True:
                return True, place
            case False:
                return False, f"can't be: the token may not add pages to {space.key}. {_RIGHTS}"
            case None:
                return None, f"{place}; whether the token may write there shows when it is tried"

    async def _check_place(self, parent: PageHead, space: WikiSpace, readers: Readers) -> None:
        """Check that the readers of a page's parent are no fewer, and not the whole world."""
        access = PageAccess(
            self._wiki,
            everyone_groups=self._rules.everyone_groups,
            space_readers=self._rules.space_readers,
        )
        above = await self._wiki.ancestors(parent.id)
        allowed = await access.readers_of(space, parent.id, above)
        if allowed.doubt:
            raise PublishingRefused(f"Below {parent.title!r}: {allowed.doubt}.")
        if restriction_of(readers).empty and (await self._wiki.space_readers(space)).anyone:
            raise PublishingRefused(
                f"Anybody in the world may view the space {space.key}. Choose a parent in a space "
                "that colleagues alone may view."
            )
        for needed in allowed.readers:
            if EVERYONE not in needed and not await self._are_among(readers, needed):
                raise PublishingRefused(
                    f"Not everybody who may read this answer may view {parent.title!r}. Choose "
                    "another parent (CONFLUENCE_ANSWERS_PARENT), fewer readers, or say who "
                    "everyone is (CONFLUENCE_EVERYONE_GROUPS)."
                )

    async def _are_among(self, readers: Readers, needed: frozenset[Principal]) -> bool:
        for names in readers:
            missing = [each for each in names if each not in needed]
            if all([await self._is_member(each, needed) for each in missing]):
                return True
        return False

    async def _is_member(self, who: Principal, groups: frozenset[Principal]) -> bool:
        if not who.startswith(_USER):
            return False
        found = await self._wiki.groups_of(unquote(who.removeprefix(_USER)))
        return not groups.isdisjoint(group_principal(each.id) for each in found)

    async def _own_page(
        self, answer: PublishableAnswer, title: str, space: str, account: str
    ) -> WrittenPage | None:
        """Return the page that this answer was published as; None if it has none yet."""
        published = address_target(answer.url) if answer.url else None
        known = None if published is None else published.page_id
        if known is None and published is not None and published.space and published.title:
            head = await self._wiki.titled(published.space, published.title)
            known = None if head is None else head.id
        heads = [await self._wiki.titled(space, each) for each in (_draft_title(answer), title)]
        found = [known, *(each.id for each in heads if each is not None)]
        for page_id in dict.fromkeys(each for each in found if each is not None):
            try:
                page = await self._writer.find(page_id)
            except NotVisible:
                continue
            if _is_ours(page, answer, account):
                return page
            raise PublishingRefused(_why_not_ours(page, edited=page_id == known))
        return None

    async def _restrict(self, page: WrittenPage, wanted: Subjects) -> None:
        """Restrict a page to its readers, and read back that it is."""
        current = (await self._wiki.marks_of(page.id)).readers
        if current == wanted:
            return
        if not _is_narrower(wanted, current) and page.version > 1:
            raise PublishingRefused(
                f"More people may read this answer than its page {page.url} lets in, and they "
                "could read its earlier versions. Remove the page, and publish the answer again."
            )
        await self._writer.restrict(page.id, wanted)
        if (await self._wiki.marks_of(page.id)).readers != wanted:
            raise PublishingRefused(
                "Confluence does not show the restrictions that were set, so nothing was written. "
                + _RIGHTS
            )


def _is_narrower(wanted: Subjects, current: Subjects) -> bool:
    """Return whether a restriction lets in nobody that another one keeps out."""
    if wanted.empty or current.empty:
        return current.empty
    return wanted.users <= current.users and wanted.groups <= current.groups


def _draft_title(answer: PublishableAnswer) -> str:
    """Return a page's title before its readers are set; it says nothing of the answer."""
    return f"Frontdesk answer {answer.id}"


def _message(answer: PublishableAnswer) -> str:
    """Return the comment of a version, by which it is known as ours."""
    return f"Frontdesk answer {answer.id}"


def _is_ours(page: WrittenPage, answer: PublishableAnswer, account: str) -> bool:
    """Return whether the last version of a page is this answer's, by the token's account."""
    unwritten = page.version == 1 and page.title == _draft_title(answer)
    return page.author == account and (unwritten or page.message == _message(answer))


def _why_not_ours(page: WrittenPage, *, edited: bool) -> str:
    if edited:
        return (
            f"Somebody edited {page.url} since it was published. Take over what they changed into "
            "the answer and remove the page, then publish it again."
        )
    # No address: whoever publishes may not be allowed to open that page.
    return f"The space has another page {page.title!r}. Word the question otherwise."


def _why_rejected(error: WriteRejected) -> str:
    match error.status:
        case HTTPStatus.CONFLICT:
            return "Somebody edited the page at the same time. Look at it, then publish again."
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN | HTTPStatus.NOT_FOUND:
            return f"The token may not do this. {_RIGHTS} {error}"
        case _:
            return str(error)


def open_publisher(settings: Settings) -> ConfluencePublisher | None:
    """Return what publishes answers, which the caller closes; None where it isn't configured.

    Raises SettingInvalid.
    """
    parent = settings.confluence_answers_parent
    if parent is None:
        return None
    if address_target(parent) is None:
        raise SettingInvalid(
            f"CONFLUENCE_ANSWERS_PARENT={parent!r} is no page. Write a page's id or address."
        )
    site = confluence_site(settings, INTERACTIVE_LIMITS)
    return None if site is None else publisher_at(site, parent, rules_of(settings))


def publisher_at(site: ConfluenceSite, parent: str, rules: Rules) -> ConfluencePublisher:
    """Return what publishes answers on a site."""
    return ConfluencePublisher(site, page_writer(site.transport), parent=parent, rules=rules)
