"""A wiki for each test of the source, and no proxy on the way to any."""

from __future__ import annotations

import pytest

from tests.unit.ingestion.confluence.space_wiki import SpaceWiki


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def wiki() -> SpaceWiki:
    return SpaceWiki()
