"""What tests of every package may ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from aiohttp import web_app
from hypothesis import settings

from tests.spans import Spans

# A busy machine is no counterexample.
settings.register_profile("frontdesk", deadline=None)
settings.load_profile("frontdesk")


@pytest.fixture(autouse=True)
def applications_are_freed() -> Iterator[None]:
    """Let go of the applications of a test: aiohttp's cache of handlers would hold 1,024 of them.

    Each holds an embedder's network of 100 MB; the workers of a whole run grew to 6 GB by that.
    """
    yield
    web_app._cached_build_middleware.cache_clear()  # noqa: SLF001 - there is no public way


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """Collect the spans of this test; without it tracing is off, as it is by default."""
    collected = Spans()
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", collected.provider)
    yield collected
    collected.provider.shutdown()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: a made file holds the time, and workers must agree on names."""
    return argname if isinstance(val, bytes) else None
