"""What can go wrong in ingestion.

- IngestionError
  - SettingInvalid         a setting or argument has a wrong value
  - SourceUnavailable      the source cannot be listed at all
  - PageUnreadable         one page cannot be read or converted; the others go on
  - TooManyRemoved         more of a space would vanish than is plausible
  - RunInProgress          another run works on the same space
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


class RunInProgress(IngestionError):
    """Another run works on the same space."""
