"""What can go wrong with Confluence; each message names the value and the cure, never a secret.

- SourceUnavailable (ingestion.errors)
  - WikiUnavailable     no usable answer after all tries: connection, 5xx, 429, no JSON
  - WikiRefused         the token is wrong or may not do this at all (401; 403 for everything)
  - EndpointGone        410: this Confluence has no such endpoint any more
- PageUnreadable (ingestion.errors)
  - NotVisible          one page, space or user answers 403 or 404
"""

from __future__ import annotations

from ingestion.errors import PageUnreadable, SourceUnavailable


class WikiUnavailable(SourceUnavailable):
    """Confluence gave no usable answer; trying later may help."""


class WikiRefused(SourceUnavailable):
    """Confluence does not take the token, or not for this."""


class EndpointGone(SourceUnavailable):
    """Confluence says that the endpoint was removed."""


class NotVisible(PageUnreadable):
    """It is not there, or the token may not see it; ``forbidden`` where Confluence said which."""

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden
