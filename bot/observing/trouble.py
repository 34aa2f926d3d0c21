"""Trouble that lasts, told once when it begins and once when it is over."""

from __future__ import annotations

import structlog

from bot.domain.errors import BotError

log = structlog.get_logger(__name__)


class Trouble:
    """What is wrong with something that goes round and round; ``text`` is empty while it is well.

    Args:
        subject: Names it in the log: ``SUBJECT.troubled``, ``SUBJECT.well_again``.
        text: What is wrong to begin with.
    """

    def __init__(self, subject: str, text: str = "") -> None:
        self._begun, self._over = f"{subject}.troubled", f"{subject}.well_again"
        self.text = text

    def note(self, error: Exception | None) -> None:
        """Note how a round ended. A defect is named by its type: its words are for the log."""
        known = isinstance(error, BotError)
        text = "" if error is None else str(error) if known else type(error).__name__
        if text and not self.text:
            log.error(self._begun, why=text, exc_info=None if known else error)
        elif self.text and not text:
            log.warning(self._over)
        self.text = text
