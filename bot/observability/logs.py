"""Set up structured logs, and log lasting trouble once when it begins and once when it ends.

Logs are rendered for people on a terminal, as JSON lines everywhere else.
"""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog
from aiohttp.http_exceptions import HttpProcessingError

from bot.domain.errors import BotError
from rag.retrying import log_long_waits


def set_up_logs(level: str, stream: TextIO = sys.stderr) -> None:
    """Send structlog and the standard library's loggers to one stream in one form."""
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer(colors=True)
        if stream.isatty()
        else structlog.processors.JSONRenderer()
    )
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared)
    )
    logging.getLogger("aiohttp.server").addFilter(_is_http)
    log_long_waits()
    logging.basicConfig(level=max(threshold, logging.WARNING), handlers=[handler], force=True)


def _is_http(record: logging.LogRecord) -> bool:
    """Drop records of malformed HTTP: anyone can send it, it gets a 400, and may hold secrets."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


log = structlog.get_logger(__name__)


class LastingTrouble:
    """The current error of a periodic task; ``text`` is empty while the task succeeds.

    Args:
        subject: The prefix of the log events ``SUBJECT.troubled`` and ``SUBJECT.well_again``.
        text: The error to begin with.
    """

    def __init__(self, subject: str, text: str = "") -> None:
        self._begun, self._over = f"{subject}.troubled", f"{subject}.well_again"
        self.text = text

    def note(self, error: Exception | None) -> None:
        """Record the result of a round, and log the change between failing and working.

        An unexpected exception is shown by its type only: its message is for the log.
        """
        known = isinstance(error, BotError)
        text = "" if error is None else str(error) if known else type(error).__name__
        if text and not self.text:
            log.error(self._begun, why=text, exc_info=None if known else error)
        elif self.text and not text:
            log.warning(self._over)
        self.text = text
