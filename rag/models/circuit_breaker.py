"""Leave a failing chat model alone for a while, so that no question waits for it in vain.

A circuit breaker as in M. Nygard, "Release It!" (2018): closed, open after several failures in a
row, and half-open when the pause is over, with a single call to see whether the model is back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from rag.errors import ModelUnavailable, RagError, ToolsRejected
from rag.ports import ChatModel, Completion, Prompt, Shape, Structured
from rag.retrying import question_calls_left, question_time_share_left

FAILURES = 3
"""Failures in a row that open the circuit."""
PAUSE_SECONDS = 30.0
"""How long no call is made then."""
FAIR_SHARE = 0.1
"""A call that begins with a smaller share of its question's time says nothing of the model if it
fails: earlier calls used the time up."""

_log = structlog.get_logger(__name__)


class CircuitBreaker:
    """Calls another chat model unless it has just failed repeatedly. Implements `ChatModel`.

    A refusal is an answer, and an abandoned call neither a success nor a failure. ``clock`` returns
    seconds that only grow.
    """

    def __init__(self, model: ChatModel, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._probing = False

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, prompt: Prompt) -> Completion:
        with self._guard():
            return await self._model.complete(prompt)

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        with self._guard():
            return await self._model.structured(prompt, shape)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        # A call that its question has no time or no number left for says nothing of the model.
        fair = question_time_share_left() >= FAIR_SHARE and question_calls_left() > 0
        probe = self._admit(fair=fair)
        try:
            yield
        except RagError as error:
            # A server that only rejects tools still answers.
            if fair and not isinstance(error, ToolsRejected):
                self._count_failure()
            raise
        else:
            self._close()
        finally:
            if probe:
                self._probing = False

    def _admit(self, *, fair: bool) -> bool:
        """Return whether this call is the probe of a half-open circuit. Raises ModelUnavailable."""
        if self._failures < FAILURES:
            return False
        wait = self._open_until - self._clock()
        if wait > 0 or self._probing or not fair:
            raise ModelUnavailable(
                f"The model {self.name!r} failed {self._failures} times in a row and is left alone "
                f"for {max(wait, 1):.0f} seconds more; `python -m bot doctor` says what is wrong."
            )
        self._probing = True
        return True

    def _count_failure(self) -> None:
        self._failures += 1
        if self._failures >= FAILURES:
            self._open_until = self._clock() + PAUSE_SECONDS
            _log.warning(
                "model_left_alone", model=self.name, failures=self._failures, seconds=PAUSE_SECONDS
            )

    def _close(self) -> None:
        if self._failures >= FAILURES:
            _log.info("model_is_back", model=self.name)
        self._failures = 0
