"""What was seen of a space: the pages and files that are offered, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from ingestion.confluence.access import is_of_space
from ingestion.confluence.attachments import offered
from ingestion.confluence.offers import NOT_FOR_ALL, Offer
from ingestion.confluence.types import WikiAttachment
from ingestion.types import Finding, Listing, SourcePage


@dataclass(frozen=True, slots=True)
class Attached:
    """A file, and the offer of the page that it hangs on."""

    attachment: WikiAttachment
    offer: Offer


@dataclass(slots=True)
class Seen:
    """Grows while a space is looked at."""

    offers: dict[str, Offer] = field(default_factory=dict)
    files: dict[str, Attached] = field(default_factory=dict)
    pages: dict[str, SourcePage] = field(default_factory=dict)
    skipped: list[Finding] = field(default_factory=list)
    failed: list[Finding] = field(default_factory=list)
    notes: dict[Finding, None] = field(default_factory=dict)

    def page(self, found: Offer | Finding) -> None:
        """Take in a page's offer, or why it is left out."""
        if isinstance(found, Finding):
            self.skipped.append(found)
            return
        self.offers[found.head.id] = found
        self.pages[found.page.id] = found.page
        if found.doubt:
            # What is wrong with the whole space is said once.
            subject = found.head.space_key if is_of_space(found.doubt) else found.page.id
            self.notes[Finding(subject, found.doubt)] = None
        if found.narrower:
            self.notes[Finding(found.page.id, NOT_FOR_ALL)] = None

    def forget(self, page_id: str) -> None:
        """Let go of a page that turned out to be gone, and of its files."""
        self.offers.pop(page_id, None)
        for gone in [key for key in self.pages if key.partition("/")[0] == page_id]:
            del self.pages[gone]
            self.files.pop(gone, None)

    def attachment(self, attachment: WikiAttachment, most: int) -> None:
        """Take in a file, if its page is offered."""
        offer = self.offers.get(attachment.page_id)
        if offer is None:
            return
        found = offered(attachment, offer, most)
        if isinstance(found, Finding):
            self.skipped.append(found)
            return
        self.files[found.id] = Attached(attachment, offer)
        self.pages[found.id] = found

    def listing(self, *, within: tuple[str, ...] | None, watermark: str) -> Listing:
        """Return all of it, or what is ``within`` pages and below."""
        asked = None if within is None else frozenset(within)
        return Listing(
            pages=tuple(self.pages[key] for key in sorted(self.pages) if _of(key, asked)),
            skipped=tuple(one for one in self.skipped if _of(one.page, asked)),
            failed=tuple(one for one in self.failed if _of(one.page, asked)),
            notes=tuple(self.notes),
            within=within,
            watermark=watermark,
        )


def _of(page_id: str, within: frozenset[str] | None) -> bool:
    return within is None or page_id.partition("/")[0] in within
