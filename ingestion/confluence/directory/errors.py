"""What can go wrong with a directory; each message names the value and the cure, no address.

- DirectoryInvalid (SettingInvalid)   the file can't be read, or a line of it
- DirectoryUnavailable                Microsoft Graph gave no usable answer
"""

from __future__ import annotations

from ingestion.errors import IngestionError, SettingInvalid


class DirectoryInvalid(SettingInvalid):
    """The file of CONFLUENCE_DIRECTORY can't be read; nothing of it is taken."""


class DirectoryUnavailable(IngestionError):
    """Microsoft Graph did not tell; trying later, or another right, may help."""
