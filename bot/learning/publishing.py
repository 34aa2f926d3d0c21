"""Define the port through which a reviewed answer is published as a page of the wiki."""

from __future__ import annotations

from typing import Protocol

from ingestion.types import PublishableAnswer


class Publishes(Protocol):
    """Writes reviewed answers below one configured page of the wiki.

    Implemented over Confluence by ``ingestion.confluence.publishing``. None is configured where
    CONFLUENCE_ANSWERS_PARENT is not set.
    """

    async def publish(self, answer: PublishableAnswer) -> str:
        """Create the answer's page, or update it, and return its URL.

        A repeated call, such as after a kill, finds the page that the first one made. Only the
        answer's readers may ever read its text there.

        Raises PublishingRefused, with words for the expert, where the readers can't be expressed
        by restrictions, somebody else edited the page, or the token may not write; WikiUnavailable
        where a later try may succeed.
        """
        ...
