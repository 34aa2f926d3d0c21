"""Training on one thread: many threads on few cores wait for each other for most of the time."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    if find_spec("threadpoolctl") is None:  # it comes with scikit-learn
        yield
        return
    with import_module("threadpoolctl").threadpool_limits(1):
        yield
