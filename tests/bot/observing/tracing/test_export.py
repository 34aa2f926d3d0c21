"""Spans over real HTTP to a collector that answers, is slow, is overloaded, or is away."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bot.observability.logs import set_up_logs
from bot.observability.span_export import ReportingExporter, build_provider, end_tracing
from bot.observability.tracing import set_up_tracing
from rag import telemetry
from rag.telemetry import span
from tests.bot.observing.tracing.collector import Collector, collecting

NO_FILE = Path("no.env")


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    set_up_logs("info", stream)
    yield stream
    structlog.reset_defaults()
    logging.getLogger().handlers.clear()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def switched_on(switch: pytest.MonkeyPatch, url: str, **variables: str) -> Callable[[], None]:
    switch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    for name, value in variables.items():
        switch.setenv(name, value)
    return set_up_tracing(NO_FILE)


async def send() -> None:
    """Record one span and send it now."""
    with span(telemetry.GATE):
        pass
    provider = trace.get_tracer_provider()
    assert isinstance(provider, TracerProvider)
    await asyncio.to_thread(provider.force_flush)


async def test_spans_arrive_with_who_sends_them_and_the_headers(
    switch: pytest.MonkeyPatch,
) -> None:
    async with collecting(Collector()) as collector:
        close = switched_on(switch, collector.url, OTEL_EXPORTER_OTLP_HEADERS="X-Key=abc%20d")
        with span(telemetry.INTERACTION), span(telemetry.ROUTE):
            pass
        await asyncio.to_thread(close)

    assert sorted(collector.names) == ["interaction", "route"]
    assert collector.resource["service.name"] == "frontdesk"
    assert collector.resource["service.version"]
    assert collector.headers[0]["x-key"] == "abc d"


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_SERVICE_NAME": "help"},
        {"OTEL_RESOURCE_ATTRIBUTES": "service.name=help,deployment.environment.name=test"},
    ],
)
async def test_who_sends_them_can_be_named(
    switch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    async with collecting(Collector()) as collector:
        close = switched_on(switch, collector.url, **variables)
        await send()
        await asyncio.to_thread(close)

    assert collector.resource["service.name"] == "help"


async def test_a_collector_that_hangs_slows_nothing_down_and_holds_no_stop_up(
    switch: pytest.MonkeyPatch, written: io.StringIO
) -> None:
    async with collecting(Collector(wait_seconds=2.0)) as collector:
        close = switched_on(switch, collector.url, OTEL_EXPORTER_OTLP_TIMEOUT="60")
        end_soon = partial(close, flush_seconds=0.2, close_seconds=0.1)  # type: ignore[call-arg]  # it is bot.observability.span_export.end_tracing
        for _ in range(600):  # more than a batch: it is sent at once
            with span(telemetry.GATE):
                pass
        await asyncio.wait_for(collector.came.wait(), 10)
        recording = time.perf_counter()
        for _ in range(600):
            with span(telemetry.GATE):
                pass
        recording = time.perf_counter() - recording
        stopping = time.perf_counter()
        await asyncio.to_thread(end_soon)
        stopping = time.perf_counter() - stopping

    assert recording < 1.0
    assert stopping < 1.5
    assert written.getvalue().count("\n") <= 1


async def test_an_overloaded_collector_is_told_of_once_and_so_is_its_return(
    switch: pytest.MonkeyPatch, written: io.StringIO
) -> None:
    async with collecting(Collector(status=503)) as collector:
        close = switched_on(switch, collector.url, OTEL_EXPORTER_OTLP_TIMEOUT="0.3")
        for _ in range(5):
            await send()
        collector.status = 200
        await send()
        await asyncio.to_thread(close)

    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["tracing.not_sent", "tracing.sending_again"]
    assert lines[1]["lost_spans"] == 5
    assert collector.names == ["gate"]


async def test_a_collector_that_is_away_is_told_of_once_without_secrets(
    switch: pytest.MonkeyPatch, written: io.StringIO
) -> None:
    secret = "hunter2-4711"
    address = f"http://anna:{secret}@127.0.0.1:{free_port()}?key={secret}"
    headers = f"authorization=Bearer {secret}"
    close = switched_on(
        switch,
        address,
        OTEL_EXPORTER_OTLP_TIMEOUT="0.3",
        OTEL_EXPORTER_OTLP_HEADERS=headers,
    )
    for _ in range(5):
        await send()
    await asyncio.to_thread(close)

    (line,) = [json.loads(line) for line in written.getvalue().splitlines()]
    assert line["event"] == "tracing.not_sent"
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in line["cure"]
    assert secret not in written.getvalue()


def test_an_exporter_that_breaks_is_one_that_can_not_send(written: io.StringIO) -> None:
    class Broken(InMemorySpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            raise OSError("password=hunter2")

    exporters = [ReportingExporter(Broken(), "nowhere")]
    provider = build_provider(exporters)
    with provider.get_tracer("x").start_as_current_span("y"):
        pass
    end_tracing(provider, exporters)

    (line,) = [json.loads(line) for line in written.getvalue().splitlines()]
    assert line["event"] == "tracing.not_sent"
    assert "hunter2" not in written.getvalue()
