"""Errors of ingestion.

- IngestionError
  - SettingInvalid         a setting or argument has a wrong value
    - DirectoryInvalid     ... the file of people can't be read, or a line of it
  - SourceUnavailable      the source cannot be listed at all
    - WikiUnavailable      ... no usable answer after all tries: connection, 5xx, 429, no JSON
    - WikiRefused          ... the token is wrong, or may not do this at all (401, 403)
    - EndpointGone         ... 410: this Confluence has no such endpoint any more
  - PageUnreadable         one page cannot be read or converted; the others continue
    - NotVisible           ... one page, space or user answers 403 or 404
  - PublishingRefused      an answer can't become a page: why, and the remedy, for an expert
  - DirectoryUnavailable   Microsoft Graph gave no usable answer
  - TooManyRemoved         more of a space would be removed than is plausible
    - SpaceBlind           ... because the source shows none of its pages any more
  - RunInProgress          another run works on the same space
    - LeaseLost            ... because this run did not renew its lease in time
  - LedgerUnavailable      the ledger of runs cannot be read or written
  - DocumentRefused        an uploaded document is rejected: which, why, and the remedy
    - DocumentUnknown      ... because the document, space or run does not exist
    - DocumentInTheWay     ... because the space has another source or an active run

Each message names the value and the remedy, never a secret or an address.
"""

from __future__ import annotations


class IngestionError(Exception):
    """Base class of all errors of ingestion."""


class SettingInvalid(IngestionError):
    """A setting or argument has a wrong value."""


class DirectoryInvalid(SettingInvalid):
    """The file of CONFLUENCE_DIRECTORY is invalid; none of it is used."""


class SourceUnavailable(IngestionError):
    """The source cannot be listed."""


class WikiUnavailable(SourceUnavailable):
    """Confluence gave no usable answer; retrying later may help."""


class WikiRefused(SourceUnavailable):
    """Confluence rejects the token, or its right to this operation."""


class EndpointGone(SourceUnavailable):
    """The endpoint was removed (410)."""


class PageUnreadable(IngestionError):
    """The page cannot be read; the message is the reason, fit for the report."""


class NotVisible(PageUnreadable):
    """The content is missing or hidden; ``forbidden`` where Confluence said that it is hidden."""

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden


class PublishingRefused(IngestionError):
    """An answer can't be written as a page; the message is for the expert who publishes it."""


class DirectoryUnavailable(IngestionError):
    """Microsoft Graph gave no usable answer; retrying later, or another right, may help."""


class TooManyRemoved(IngestionError):
    """The run would remove too much of the space."""


class SpaceBlind(TooManyRemoved):
    """The source shows no page of a space that has pages in the index; all of them are kept."""


class RunInProgress(IngestionError):
    """Another run works on the same space."""


class LeaseLost(RunInProgress):
    """The run no longer holds its lease on the space and must not write."""


class LedgerUnavailable(IngestionError):
    """The ledger of runs cannot be read or written."""


class DocumentRefused(IngestionError):
    """A document is rejected; the message is for its sender."""


class DocumentUnknown(DocumentRefused):
    """The document, space or run does not exist."""


class DocumentInTheWay(DocumentRefused):
    """The current state of the space does not allow the operation."""
