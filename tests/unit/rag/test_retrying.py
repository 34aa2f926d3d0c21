"""Log lines of calls that are tried again (an autouse fixture sets up the hook)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import stamina
from structlog.testing import capture_logs

from rag.retrying import Deadline, RetryPolicy, TryAgain, log_long_waits, with_retries


@pytest.fixture(autouse=True)
def logged() -> Iterator[None]:
    log_long_waits()
    yield
    stamina.instrumentation.set_on_retry_hooks(None)


async def tried(attempts: int) -> None:
    async def fail() -> None:
        raise TryAgain(f"The service is busy. {'x' * 200}", wait_seconds=0.0)

    policy = RetryPolicy(attempts=attempts, jitter_seconds=0.0)
    with pytest.raises(TryAgain):
        await with_retries(fail, policy, Deadline(10.0))


@pytest.mark.mended(id="confluence-9")
@pytest.mark.parametrize(("attempts", "lines"), [(2, 0), (4, 1)])
async def test_only_a_call_that_is_tried_often_is_told_in_one_short_line(
    attempts: int, lines: int
) -> None:
    with capture_logs() as logs:
        await tried(attempts)

    assert [line["why"] for line in logs] == ["The service is busy"] * lines
