"""Pace and retry requests to a Confluence, and map response statuses to errors.

Few requests run concurrently, fewer when the site asks for that; they are retried where that may
help, within one deadline. No message contains a header or a body: these may hold a token or a
page's text.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import stamina

from ingestion.errors import EndpointGone, IngestionError, NotVisible, WikiRefused, WikiUnavailable
from rag.retrying import Deadline, requested_wait_seconds

Result = TypeVar("Result")


class TryAgain(WikiUnavailable):
    """A transient failure; ``wait_seconds`` is the delay that Confluence asked for, or None.

    ``status`` is the response status, None where there was no response.
    """

    def __init__(
        self, message: str, *, status: int | None = None, wait_seconds: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """Limits for one request including all its tries; in seconds.

    Between tries it waits a random time below a bound that doubles (full jitter), or as long as
    Confluence asks.
    """

    attempts: int = 8
    deadline_seconds: float = 300.0
    try_seconds: float = 60.0
    first_wait_seconds: float = 1.0
    longest_wait_seconds: float = 30.0
    jitter_seconds: float = 1.0

    def wait(self, tries: int) -> float:
        """Return the delay in seconds after this many failed tries, from 1."""
        bound = min(self.longest_wait_seconds, self.first_wait_seconds * 2 ** (tries - 1))
        return random.uniform(0, bound)  # noqa: S311 - spreads load, no secret


async def retry_within(
    call: Callable[[], Awaitable[Result]], patience: RetryLimits, deadline: Deadline
) -> Result:
    """Await ``call`` until it does not raise TryAgain.

    A delay that would end after the deadline ends the tries at once: the caller would have given
    up. Raises the last TryAgain.
    """
    tries = 0

    def wait_or_stop(error: Exception) -> bool | float:
        nonlocal tries
        if not isinstance(error, TryAgain):
            return False
        tries += 1
        wait = patience.wait(tries)
        if error.wait_seconds is not None:
            wait = error.wait_seconds + random.uniform(0, patience.jitter_seconds)  # noqa: S311 - as above
        return wait if wait < deadline.remaining_seconds else False

    caller = stamina.AsyncRetryingCaller(attempts=patience.attempts, timeout=None)
    return await caller(wait_or_stop, call)


AT_ONCE = 4
"""Concurrent requests; Atlassian's own advice for crawlers, shared by all users of one client."""

SPACING_SECONDS = 1.0
"""Seconds between two requests while the rate limit is near."""


class Pacer:
    """Rate limiter for all requests to a site."""

    def __init__(self, *, at_once: int = AT_ONCE, spacing_seconds: float = SPACING_SECONDS) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._spacing_seconds = spacing_seconds
        self._near_limit = False
        self._due = 0.0

    @asynccontextmanager
    async def turn(self, deadline: Deadline) -> AsyncIterator[None]:
        """Wait for a free slot. Raises TryAgain where it would come after the deadline."""
        async with self._places:
            await self._until_due(deadline)
            yield

    async def _until_due(self, deadline: Deadline) -> None:
        clock = asyncio.get_running_loop().time
        while (wait := self._due - clock()) > 0:
            if wait > deadline.remaining_seconds:
                raise TryAgain(
                    f"Confluence takes no request for another {wait:.0f} seconds.",
                    wait_seconds=wait,
                )
            await asyncio.sleep(wait)
        if self._near_limit:
            self._due = clock() + self._spacing_seconds

    def heard(self, headers: Mapping[str, str]) -> None:
        """Record from a response's headers whether the rate limit is near."""
        self._near_limit = headers.get("X-RateLimit-NearLimit", "").lower() == "true"

    def hold(self, seconds: float) -> None:
        """Start no request for this long, because Confluence asked for that."""
        self._due = max(self._due, asyncio.get_running_loop().time() + seconds)


_OK = 200
_UNDERSTOOD_BUT_NOT_THERE = frozenset({400, 404})
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_TOO_MANY = 429


def error_of(status: int, headers: Mapping[str, str], asked: str) -> IngestionError | None:
    """Return the error of a response to ``asked`` ("GET /path"); None for a success."""
    if status == _OK:
        return None
    if status in _TRANSIENT:
        return TryAgain(
            _unavailable(status, headers, asked),
            status=status,
            wait_seconds=requested_wait_seconds(headers),
        )
    if status in _UNDERSTOOD_BUT_NOT_THERE:
        return NotVisible(
            f"Confluence answers {status} to {asked}: it is not there, or the token may not see it."
        )
    return _refusal(status, headers, asked)


def _refusal(status: int, headers: Mapping[str, str], asked: str) -> IngestionError:
    match status:
        case 401:
            return WikiRefused(f"Confluence answers 401 to {asked}: {_why_refused(headers)}")
        case 403:
            return NotVisible(
                f"Confluence answers 403 to {asked}: the token may not see it.", forbidden=True
            )
        case 407:
            return WikiUnavailable(
                f"The proxy wants a name and password for {asked}. Put them into HTTPS_PROXY."
            )
        case 410:
            return EndpointGone(
                f"Confluence answers 410 to {asked}: this Confluence has it no more. Look whether "
                "there is a newer Frontdesk."
            )
        case _:
            return WikiUnavailable(f"Confluence answers {status} to {asked}.")


def _why_refused(headers: Mapping[str, str]) -> str:
    if "CAPTCHA" in headers.get("X-Authentication-Denied-Reason", "").upper():
        return "it wants a captcha first. Sign in once in a browser as the token's user."
    return (
        "it does not take the token. Check CONFLUENCE_TOKEN, whether it has expired, and "
        "CONFLUENCE_EMAIL, which API tokens of Cloud need and others must not have."
    )


def _unavailable(status: int, headers: Mapping[str, str], asked: str) -> str:
    wait = requested_wait_seconds(headers)
    later = f", and asks to wait {wait:.0f} seconds" if wait else ""
    reason = ": too many requests" if status == _TOO_MANY else ""
    return f"Confluence answers {status} to {asked}{reason}{later}. Try again later."


def json_error(content_type: str, asked: str) -> WikiRefused | WikiUnavailable | None:
    """Return the error for a response that is not JSON although JSON was due; None for JSON."""
    if content_type.endswith("json"):
        return None
    if content_type in {"text/html", "application/xhtml+xml"}:
        return WikiRefused(
            f"{asked} was answered with a web page: that is a login page. Check CONFLUENCE_URL, "
            "and whether the token may be used without single sign-on."
        )
    return WikiUnavailable(f"{asked} was answered with {content_type!r} where JSON is due.")


def redirect_error(asked: str, host: str) -> WikiRefused:
    """Return the error for an API redirect to another site, which must not get the token."""
    return WikiRefused(
        f"{asked} was sent on to {host}: that is a login page. Check CONFLUENCE_URL."
    )


def no_spaces_error(base: str, error: NotVisible) -> WikiRefused:
    """Return the error for a site whose list of spaces does not exist."""
    return WikiRefused(
        f"There is no Confluence at {base}, or the token may not use it. Check CONFLUENCE_URL, and "
        f"what the token may read. {error}"
    )
