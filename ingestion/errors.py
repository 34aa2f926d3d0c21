"""Errors of ingestion.

- IngestionError
  - SettingInvalid         a setting or argument has a wrong value
  - SourceUnavailable      the source cannot be listed at all
  - PageUnreadable         one page cannot be read or converted; the others continue
  - TooManyRemoved         more of a space would be removed than is plausible
    - SpaceBlind           ... because the source shows none of its pages any more
  - RunInProgress          another run works on the same space
    - LeaseLost            ... because this run did not renew its lease in time
  - LedgerUnavailable      the ledger of runs cannot be read or written
  - DocumentRefused        an uploaded document is rejected: which, why, and the remedy
    - DocumentUnknown      ... because the document, space or run does not exist
    - DocumentInTheWay     ... because the space has another source or an active run
"""

from __future__ import annotations


class IngestionError(Exception):
    """Base class of all errors of ingestion."""


class SettingInvalid(IngestionError):
    """A setting or argument has a wrong value."""


class SourceUnavailable(IngestionError):
    """The source cannot be listed."""


class PageUnreadable(IngestionError):
    """The page cannot be read; the message is the reason, fit for the report."""


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
