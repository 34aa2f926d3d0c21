"""Tries a request again where that may help, within one deadline for everything."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import stamina

from ingestion.confluence.errors import WikiUnavailable
from rag.retrying import Deadline

Result = TypeVar("Result")


class TryAgain(WikiUnavailable):
    """A failure that may pass; ``wait_seconds`` is what Confluence asked for, or None.

    ``status`` is what it answered, None where there was no answer.
    """

    def __init__(
        self, message: str, *, status: int | None = None, wait_seconds: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request may take with all its tries; in seconds.

    Between tries it waits at random up to a bound that doubles (full jitter), or what
    Confluence asks for.
    """

    attempts: int = 8
    deadline_seconds: float = 300.0
    try_seconds: float = 60.0
    first_wait_seconds: float = 1.0
    longest_wait_seconds: float = 30.0
    jitter_seconds: float = 1.0

    def wait(self, tries: int) -> float:
        """Return how long to wait after so many failed tries, from 1."""
        bound = min(self.longest_wait_seconds, self.first_wait_seconds * 2 ** (tries - 1))
        return random.uniform(0, bound)  # noqa: S311 - spreads load, no secret


async def patiently(
    call: Callable[[], Awaitable[Result]], patience: Patience, deadline: Deadline
) -> Result:
    """Await ``call`` until it does not raise TryAgain.

    A wait that ends after the deadline ends the tries at once: nobody would hear the answer.
    Raises the last TryAgain.
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
