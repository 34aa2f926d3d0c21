"""Tracing that can be switched on and leaves nothing behind."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator

import pytest
from opentelemetry.util._once import Once

from bot.observability.span_export import SHUTDOWN_THREAD


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Begin and end with no provider, no variable and the loggers as they were."""
    names = (
        "OTEL_TRACES_EXPORTER",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TIMEOUT",
        "OTEL_SERVICE_NAME",
        "OTEL_RESOURCE_ATTRIBUTES",
    )
    for name in {*names, *(name for name in os.environ if name.startswith("OTEL_"))}:
        monkeypatch.setenv(name, "")
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", None)
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER_SET_ONCE", Once())
    yield monkeypatch
    for thread in threading.enumerate():
        if thread.name.startswith((SHUTDOWN_THREAD, "OtelBatch")):
            thread.join(10)
    for name in ("opentelemetry.exporter", "opentelemetry.util"):
        logging.getLogger(name).setLevel(logging.NOTSET)
