"""One issuer a test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.oidc import FakeIssuer


@pytest.fixture
async def issuer() -> AsyncIterator[FakeIssuer]:
    async with FakeIssuer().serving() as serving:
        yield serving
