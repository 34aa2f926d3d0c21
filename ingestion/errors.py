"""What can go wrong in ingestion.

- IngestionError
  - SettingInvalid         a setting or argument has a wrong value
  - SourceUnavailable      the source cannot be listed at all
  - PageUnreadable         one page cannot be read or converted; the others go on
  - TooManyRemoved         more of a space would vanish than is plausible
    - SpaceBlind           ... for the source shows none of its pages any more
  - RunInProgress          another run works on the same space
    - LeaseLost            ... by now, for this one was silent too long
  - LedgerUnavailable      what runs do can't be told or kept
  - DocumentRefused        an uploaded document that can't be taken: which, why, and the cure
    - DocumentUnknown      ... for there is none of that name, or no such space or run
    - DocumentInTheWay     ... for the space is filled or worked on otherwise
"""

from __future__ import annotations


class IngestionError(Exception):
    """The index could not be brought up to date."""


class SettingInvalid(IngestionError):
    """A setting or argument has a wrong value."""


class SourceUnavailable(IngestionError):
    """The source cannot be listed."""


class PageUnreadable(IngestionError):
    """The page cannot be read; the message is the reason, fit for the report."""


class TooManyRemoved(IngestionError):
    """The run would remove too much of the space."""


class SpaceBlind(TooManyRemoved):
    """The source shows nothing of a space that has pages in the index: all of them are kept."""


class RunInProgress(IngestionError):
    """Another run works on the same space."""


class LeaseLost(RunInProgress):
    """The run no longer holds its space: it writes nothing more."""


class LedgerUnavailable(IngestionError):
    """The ledger of runs cannot be read or written."""


class DocumentRefused(IngestionError):
    """A document is not taken; the message is for who sent it."""


class DocumentUnknown(DocumentRefused):
    """There is no such document, space or run."""


class DocumentInTheWay(DocumentRefused):
    """It can't be done as things are now."""
