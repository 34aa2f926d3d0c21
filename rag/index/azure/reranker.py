"""Whether the semantic ranker is asked, and what is said when it does not answer."""

from __future__ import annotations

import asyncio

import structlog

from rag.errors import IndexUnavailable
from rag.index.azure.errors import Refused
from rag.index.azure.queries import Found

log = structlog.get_logger(__name__)

_PAUSE_SECONDS = 60.0
"""After a refusal; each attempt in vain costs the asker a request."""

_SAID_EVERY_SECONDS = 60.0

SCORE = "@search.rerankerScore"


class Reranker:
    """The service's semantic ranker: optional, charged for, with little room.

    An answer without it is an answer: its passages have the signal ``reranker_absent`` in place of
    ``reranker``, and a log line a minute says why.
    """

    def __init__(self, *, wanted: bool) -> None:
        self.wanted = wanted
        self._pausing_until = 0.0
        self._silent_until = 0.0
        self._unsaid = 0

    @property
    def ready(self) -> bool:
        return self.wanted and asyncio.get_running_loop().time() >= self._pausing_until

    def refused(self, error: IndexUnavailable) -> None:
        """Note that a search failed with it and succeeded without; leave it alone for a while."""
        self._pausing_until = asyncio.get_running_loop().time() + _PAUSE_SECONDS
        status = error.status if isinstance(error, Refused) else None
        self._say("refused", status)

    def answered(self, found: Found) -> None:
        """Note what came of asking it."""
        missing = any(document.get(SCORE) is None for document in found.documents)
        if found.partial or missing:
            self._say(found.partial or "no scores", None)

    def _say(self, reason: str, status: int | None) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._silent_until:
            self._unsaid += 1
            return
        log.warning(
            "index.reranker_absent", reason=reason, status=status, not_logged_before=self._unsaid
        )
        self._silent_until, self._unsaid = now + _SAID_EVERY_SECONDS, 0
