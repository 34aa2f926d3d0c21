"""Retry calls within one deadline, and read the wait that a server asks for (Retry-After)."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

import stamina
import structlog

from rag.errors import ToolsRejected

Result = TypeVar("Result")


_MATTERS_SECONDS = 5.0
_MATTERS_TRIES = 3
_MOST_CHARACTERS = 100

_log = structlog.get_logger(__name__)


def log_long_waits() -> None:
    """Log only retries that wait 5 seconds or longer, or are at least the third, in one line.

    Replaces stamina's default hooks, which log every retry in full, for the whole process.
    """
    stamina.instrumentation.set_on_retry_hooks([_log_long_wait])


def _log_long_wait(details: stamina.instrumentation.RetryDetails) -> None:
    if details.wait_for >= _MATTERS_SECONDS or details.retry_num >= _MATTERS_TRIES:
        why = str(details.caused_by).partition(". ")[0][:_MOST_CHARACTERS]
        _log.warning("retrying", why=why, in_seconds=round(details.wait_for))


class TryAgain(Exception):
    """A transient failure; ``wait_seconds`` is the wait that the server asked for, or None."""

    def __init__(self, message: str, wait_seconds: float | None = None) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of attempts, and the exponential backoff between them with jitter, in seconds."""

    attempts: int = 4
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 4.0
    jitter_seconds: float = 0.5


class Deadline:
    """The time limit of one call, shared by all its attempts."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends = asyncio.get_running_loop().time() + seconds

    @property
    def remaining_seconds(self) -> float:
        return self._ends - asyncio.get_running_loop().time()


MOST_CALLS = 4
"""Answers of a model that one question may take: it is understood and answered, with one repair and
one addition for the asker alone, or one more answer without pages that failed the last check."""


@dataclass(slots=True)
class _Limits:
    seconds: float
    left: float
    calls_left: int = MOST_CALLS


# A context variable, as OpenTelemetry's spans: the calls of one question are made in many places.
_QUESTION: ContextVar[_Limits | None] = ContextVar("question_limits", default=None)


@contextmanager
def question_limits(seconds: float) -> Iterator[None]:
    """Let all model calls in the block, and in the tasks that it starts, share time and number.

    They are MOST_CALLS at most. Only time within ``limited_call`` counts: a slow search takes
    nothing from the model.
    """
    token = _QUESTION.set(_Limits(seconds, seconds))
    try:
        yield
    finally:
        _QUESTION.reset(token)


def question_time_share_left() -> float:
    """Return the share (0 to 1) of this question's time limit that is left; 1 without a limit."""
    question = _QUESTION.get()
    return 1.0 if question is None else max(0.0, question.left / question.seconds)


def question_calls_left() -> int:
    """Return how many answers this question may still ask of a model; MOST_CALLS without limits."""
    question = _QUESTION.get()
    return MOST_CALLS if question is None else question.calls_left


@contextmanager
def question_call() -> Iterator[None]:
    """Count one answer that is asked of a model against this question's limit, if there is one.

    One whose tools are rejected counts for nothing: no model has read it.
    """
    question = _QUESTION.get()
    if question is not None:
        question.calls_left -= 1
    try:
        yield
    except ToolsRejected:
        if question is not None:
            question.calls_left += 1
        raise


@contextmanager
def limited_call(seconds: float) -> Iterator[Deadline]:
    """Yield the deadline of a model call: ``seconds``, or what is left of the question's if less.

    The time that the block takes is subtracted from the question's.
    """
    question = _QUESTION.get()
    deadline = Deadline(seconds if question is None else min(seconds, max(0.0, question.left)))
    try:
        yield deadline
    finally:
        if question is not None:
            question.left -= deadline.seconds - deadline.remaining_seconds


async def with_retries(
    call: Callable[[], Awaitable[Result]], policy: RetryPolicy, deadline: Deadline
) -> Result:
    """Await ``call``, retrying it when it raises TryAgain.

    A wait that the server asks for is honoured, plus jitter; if it would end after the deadline,
    the retries stop at once. The caller must enforce the deadline itself. Raises the last
    TryAgain.
    """

    def wait_or_stop(error: Exception) -> bool | float:
        if not isinstance(error, TryAgain):
            return False
        if error.wait_seconds is None:
            return deadline.remaining_seconds > policy.first_wait_seconds
        wait = error.wait_seconds + random.uniform(0, policy.jitter_seconds)  # noqa: S311  # no secret
        return wait if wait < deadline.remaining_seconds else False

    tries = stamina.AsyncRetryingCaller(
        attempts=policy.attempts,
        timeout=None,
        wait_initial=policy.first_wait_seconds,
        wait_max=policy.longest_wait_seconds,
        wait_jitter=policy.jitter_seconds,
    )
    return await tries(wait_or_stop, call)


def requested_wait_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that Retry-After-Ms or Retry-After asks to wait, else None.

    A Retry-After date is compared with the server's own ``Date``, so that a wrong local clock
    does no harm. ``headers`` must be case-insensitive, as those of HTTP libraries are.
    """
    milliseconds = _number(headers.get("Retry-After-Ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("Retry-After", "").strip()
    seconds = _number(said)
    return _until(said, headers) if seconds is None else seconds


def server_date(headers: Mapping[str, str]) -> datetime:
    """Return the response's ``Date``; the local time if it is missing or invalid."""
    return _date(headers.get("Date", "")) or datetime.now(UTC)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(said: str, headers: Mapping[str, str]) -> float | None:
    date = _date(said)
    return None if date is None else max(0.0, (date - server_date(headers)).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
