"""A model that keeps failing is left alone for a while, and asked again by a single call."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from rag.errors import ModelAnswerInvalid, ModelUnavailable
from rag.models.circuit_breaker import FAILURES, PAUSE_SECONDS, CircuitBreaker
from rag.ports import Completion, Prompt, Shape, Structured
from rag.retrying import limited_call, question_limits
from rag.types import ModelCall

PROMPT = Prompt("answer@1", ())
CALL = ModelCall("answer", "m", "answer@1", 1, 1, 1.0)


@dataclass
class Patient:
    """A model that is well or ill, and may take its time."""

    ill: bool = False
    asked: int = 0
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    name: str = "m"

    async def complete(self, prompt: Prompt) -> Completion:
        del prompt
        self.asked += 1
        await self.goes_on.wait()
        if self.ill:
            raise ModelAnswerInvalid("garbage")
        return Completion("Yes.", CALL)

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        raise NotImplementedError


@dataclass
class Ward:
    """A circuit breaker around a model, and its clock."""

    model: Patient = field(default_factory=Patient)
    now: float = 50.0

    def __post_init__(self) -> None:
        self.model.goes_on.set()
        self.breaker = CircuitBreaker(self.model, clock=lambda: self.now)

    async def ask(self, times: int = 1) -> int:
        """Ask several times; return how often the model was reached."""
        before = self.model.asked
        for _ in range(times):
            try:
                await self.breaker.complete(PROMPT)
            except (ModelUnavailable, ModelAnswerInvalid):
                continue
        return self.model.asked - before


@pytest.fixture
def ward() -> Ward:
    return Ward(Patient(ill=True))


async def test_after_failures_in_a_row_nobody_waits_for_the_model(ward: Ward) -> None:
    assert await ward.ask(FAILURES) == FAILURES
    ward.now += PAUSE_SECONDS - 0.1
    assert await ward.ask(5) == 0
    with pytest.raises(ModelUnavailable, match="doctor"):
        await ward.breaker.complete(PROMPT)


async def test_a_call_without_time_of_its_own_neither_counts_nor_probes(ward: Ward) -> None:
    async def ask_with_no_time_left(times: int) -> int:
        with question_limits(0.1):
            with limited_call(0.1):
                await asyncio.sleep(0.1)
            return await ward.ask(times)

    assert await ask_with_no_time_left(FAILURES + 2) == FAILURES + 2
    assert await ward.ask(FAILURES + 2) == FAILURES
    ward.now += PAUSE_SECONDS
    assert await ask_with_no_time_left(2) == 0


async def test_however_short_the_limit_a_failing_model_is_left_alone(ward: Ward) -> None:
    for _ in range(FAILURES + 2):
        with question_limits(0.5):
            await ward.ask()
    assert ward.model.asked == FAILURES


async def test_failures_with_successes_between_them_do_not_count(ward: Ward) -> None:
    for _ in range(3):
        ward.model.ill = True
        assert await ward.ask(FAILURES - 1) == FAILURES - 1
        ward.model.ill = False
        assert await ward.ask() == 1


@pytest.mark.parametrize(("still_ill", "reached"), [(True, 1), (False, 4)])
async def test_after_the_pause_one_call_tells_how_it_goes_on(
    ward: Ward, reached: int, *, still_ill: bool
) -> None:
    await ward.ask(FAILURES)
    ward.now += PAUSE_SECONDS
    ward.model.ill = still_ill
    assert await ward.ask(4) == reached


async def test_while_one_call_probes_the_others_do_not_wait(ward: Ward) -> None:
    await ward.ask(FAILURES)
    ward.now += PAUSE_SECONDS
    ward.model.ill = False
    ward.model.goes_on.clear()
    probe = asyncio.create_task(ward.breaker.complete(PROMPT))
    await asyncio.sleep(0)
    assert await ward.ask(3) == 0
    ward.model.goes_on.set()
    assert (await probe).text == "Yes."
    assert await ward.ask(3) == 3


async def test_an_abandoned_probe_leaves_the_next_one_free(ward: Ward) -> None:
    await ward.ask(FAILURES)
    ward.now += PAUSE_SECONDS
    ward.model.goes_on.clear()
    probe = asyncio.create_task(ward.breaker.complete(PROMPT))
    await asyncio.sleep(0)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    ward.model.goes_on.set()
    ward.model.ill = False
    assert await ward.ask() == 1
