"""Tests of switching tracing on, and of sending spans to a collector."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
import structlog
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util._once import Once

from bot.domain.errors import SettingInvalid
from bot.observability.logs import set_up_logs
from bot.observability.span_export import (
    SHUTDOWN_THREAD,
    ReportingExporter,
    build_provider,
    end_tracing,
)
from bot.observability.tracing import TracingSettings, read_variables, set_up_tracing, tracing_part
from rag import telemetry
from rag.telemetry import span


@dataclass
class Collector:
    """``status`` is what it answers, once it may: it hangs while ``hangs``."""

    status: int = 200
    hangs: bool = False
    url: str = ""
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.headers.append(dict(request.headers))
        self.came.set()
        while self.hangs:  # noqa: ASYNC110 - a test changes it
            await asyncio.sleep(0.01)
        if self.status == web.HTTPOk.status_code:
            self.requests.append(ExportTraceServiceRequest.FromString(body))
        return web.Response(status=self.status)

    @property
    def names(self) -> list[str]:
        return [
            span.name
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def resource(self) -> dict[str, str]:
        """What the first request says of who sends it."""
        attributes = self.requests[0].resource_spans[0].resource.attributes
        return {each.key: each.value.string_value for each in attributes}


@asynccontextmanager
async def collecting(collector: Collector) -> AsyncIterator[Collector]:
    """Serve until the block ends."""
    app = web.Application()
    app.router.add_post("/v1/traces", collector.take)
    async with TestServer(app, host="127.0.0.1") as server:
        collector.url = f"http://127.0.0.1:{server.port}"
        yield collector


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


ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
EXPORTER = "OTEL_TRACES_EXPORTER"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, TracingSettings((), "off")),
        ({EXPORTER: "", ENDPOINT: " "}, TracingSettings((), "off")),
        ({"OTEL_SERVICE_NAME": "desk"}, TracingSettings((), "off")),
        ({EXPORTER: "none", ENDPOINT: "http://c:4318"}, TracingSettings((), "off")),
        (
            {EXPORTER: "otlp", "OTEL_SDK_DISABLED": "TRUE"},
            TracingSettings((), "off by OTEL_SDK_DISABLED"),
        ),
        ({EXPORTER: "OTLP"}, TracingSettings(("otlp",), "on: otlp to localhost:4318")),
        ({ENDPOINT: "http://c:4318"}, TracingSettings(("otlp",), "on: otlp to c:4318")),
        ({ENDPOINT: "https://anna:pw@c/x?key=k"}, TracingSettings(("otlp",), "on: otlp to c")),
        (
            {ENDPOINT: "http://c:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t:1/v1"},
            TracingSettings(("otlp",), "on: otlp to t:1"),
        ),
        ({EXPORTER: "console"}, TracingSettings(("console",), "on: console")),
        (
            {EXPORTER: "otlp, console"},
            TracingSettings(("otlp", "console"), "on: otlp to localhost:4318, console"),
        ),
        (
            {EXPORTER: "console", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            TracingSettings(("console",), "on: console"),
        ),
    ],
)
def test_off_unless_an_exporter_or_an_endpoint_is_named(
    variables: dict[str, str], expected: TracingSettings
) -> None:
    assert read_variables(variables) == expected


@pytest.mark.parametrize(
    ("variable", "value", "cure"),
    [
        (EXPORTER, "jaeger", "otlp, console, none"),
        ("OTEL_TRACES_SAMPLER", "sometimes", "parentbased_traceidratio"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "4318"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "4318"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "seconds"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0", "seconds"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "inf", "seconds"),
    ],
)
def test_an_impossible_value_is_refused_with_cure(variable: str, value: str, cure: str) -> None:
    with pytest.raises(SettingInvalid) as refused:
        read_variables({ENDPOINT: "http://c:4318", variable: value})

    assert f"{variable}={value!r}" in str(refused.value)
    assert cure in str(refused.value)


@pytest.mark.parametrize("share", ["often", "-1", "1.5", "nan"])
def test_a_share_of_traces_is_between_none_and_all(share: str) -> None:
    variables = {ENDPOINT: "http://c", "OTEL_TRACES_SAMPLER": "traceidratio"}
    with pytest.raises(SettingInvalid, match=r"Use 0\.1"):
        read_variables({**variables, "OTEL_TRACES_SAMPLER_ARG": share})

    assert read_variables({**variables, "OTEL_TRACES_SAMPLER_ARG": "0.5"}).exporters == ("otlp",)


@pytest.mark.parametrize("address", ["collector:4318", "c", "ftp://c", "http://", "http://c:99999"])
def test_an_endpoint_is_a_whole_address_and_is_not_repeated(address: str) -> None:
    with pytest.raises(SettingInvalid, match="with its scheme") as refused:
        read_variables({ENDPOINT: address})

    assert f"={address}" not in str(refused.value)


def test_headers_that_cannot_be_read_are_not_repeated() -> None:
    with pytest.raises(SettingInvalid, match="NAME=VALUE") as refused:
        read_variables({ENDPOINT: "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "a=b,secret-4711"})

    assert "4711" not in str(refused.value)


@given(st.text(max_size=80))
def test_any_endpoint_is_read_or_refused(address: str) -> None:
    try:
        asked = read_variables({ENDPOINT: address})
    except SettingInvalid:
        return
    assert asked.exporters in {(), ("otlp",)}


ROOT = Path(__file__).parents[4]


def test_off_by_default_says_how_to_switch_on(switch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    close = set_up_tracing(tmp_path / ".env")
    close()

    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    part = tracing_part()
    assert (part.name, part.state) == ("tracing", "absent")
    assert part.line().split(maxsplit=2)[2].startswith("off. Set OTEL_EXPORTER_OTLP_ENDPOINT")


def test_neither_sdk_nor_exporter_is_loaded_while_it_is_off(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from bot.observability.tracing import set_up_tracing\n"
        "set_up_tracing()\n"
        "print([m for m in sys.modules if m.startswith(('opentelemetry.sdk', "
        "'opentelemetry.exporter', 'requests', 'google.protobuf'))])\n"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**clean, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"


def test_the_env_file_counts_less_than_others(switch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(
        "OTEL_TRACES_EXPORTER=nonsense\nOTEL_SERVICE_NAME=from-file\nOPENAI_API_KEY=sk-1\n"
    )
    switch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SettingInvalid, match="'nonsense'"):
        set_up_tracing(file)

    switch.setenv("OTEL_TRACES_EXPORTER", "none")
    set_up_tracing(file)
    assert os.environ["OTEL_SERVICE_NAME"] == "from-file"
    assert "OPENAI_API_KEY" not in os.environ


def test_on_the_console_spans_are_printed(
    switch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    switch.setenv("OTEL_TRACES_EXPORTER", "console")
    close = set_up_tracing(tmp_path / ".env")
    with span(telemetry.GATE):
        pass
    close()

    assert '"name": "gate"' in capsys.readouterr().out
    assert tracing_part().line() == "  + tracing          on: console"


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
async def test_a_sender_can_be_named(switch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    async with collecting(Collector()) as collector:
        close = switched_on(switch, collector.url, **variables)
        await send()
        await asyncio.to_thread(close)

    assert collector.resource["service.name"] == "help"


async def test_a_collector_that_hangs_slows_nothing_down_and_holds_no_stop_up(
    switch: pytest.MonkeyPatch, written: io.StringIO
) -> None:
    async with collecting(Collector(hangs=True)) as collector:
        close = switched_on(switch, collector.url, OTEL_EXPORTER_OTLP_TIMEOUT="60")
        end_soon = partial(close, flush_seconds=0.2, close_seconds=0.1)  # type: ignore[call-arg]  # it is bot.observability.span_export.end_tracing
        for _ in range(600):  # more than a batch: it is sent at once
            with span(telemetry.GATE):
                pass
        await asyncio.wait_for(collector.came.wait(), 60)
        recording = time.perf_counter()
        for _ in range(600):
            with span(telemetry.GATE):
                pass
        recording = time.perf_counter() - recording
        stopping = time.perf_counter()
        await asyncio.to_thread(end_soon)
        stopping = time.perf_counter() - stopping
        collector.hangs = False

    assert recording < 20
    assert stopping < 20
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
