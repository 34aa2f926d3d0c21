"""Export spans with the OpenTelemetry SDK; imported only when tracing is on.

A separate thread sends the spans from a bounded queue: a slow or absent collector costs spans,
never a reply.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial

import structlog
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SpanExporter,
    SpanExportResult,
)

from bot import __version__
from bot.observability.tracing import TracingSettings

log = structlog.get_logger(__name__)

SERVICE = "frontdesk"
FLUSH_SECONDS = 3.0
CLOSE_SECONDS = 1.0
SHUTDOWN_THREAD = "tracing-end"
"""The name of the threads that shut tracing down; one may outlive its deadline."""
_SILENCED_LOGGERS = ("opentelemetry.exporter", "opentelemetry.util")
"""These repeat every failure, with addresses and headers; ReportingExporter logs failures
instead."""


class ReportingExporter(SpanExporter):
    """Delegates to an exporter; logs once when sending begins to fail and once when it works again.

    It inherits from SpanExporter because the SDK accepts nothing else.
    """

    def __init__(self, exporter: SpanExporter, where: str) -> None:
        self._exporter = exporter
        self._where = where
        self._lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except Exception:  # noqa: BLE001 - its message may hold an address with a password
            result = SpanExportResult.FAILURE
        if result is SpanExportResult.SUCCESS:
            self._sent()
        else:
            self._failed(len(spans))
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def _sent(self) -> None:
        if self._lost:
            log.info("tracing.sending_again", lost_spans=self._lost)
        self._lost = 0

    def _failed(self, spans: int) -> None:
        if not self._lost:
            log.warning(
                "tracing.not_sent",
                tracing=self._where,
                cure="Start the collector, or check OTEL_EXPORTER_OTLP_ENDPOINT and its headers. "
                "Replies are not affected; spans are lost until then.",
            )
        self._lost += spans


def start_tracing(asked: TracingSettings) -> Callable[[], None]:
    """Start recording spans in the whole process; return the function that shuts tracing down."""
    for name in _SILENCED_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    exporters = [ReportingExporter(_exporter(name), asked.where) for name in asked.exporters]
    provider = build_provider(exporters)
    trace.set_tracer_provider(provider)
    return partial(end_tracing, provider, exporters)


def build_provider(exporters: Sequence[SpanExporter]) -> TracerProvider:
    """Build a tracer provider that sends its spans to the exporters; sets nothing globally."""
    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def end_tracing(
    provider: TracerProvider,
    exporters: Sequence[SpanExporter],
    *,
    flush_seconds: float = FLUSH_SECONDS,
    close_seconds: float = CLOSE_SECONDS,
) -> None:
    """Send the queued spans; give up after a few seconds, whatever the collector does."""
    _run_within(flush_seconds, provider.force_flush)
    for exporter in exporters:
        _run_within(close_seconds, exporter.shutdown)
    _run_within(close_seconds, provider.shutdown)


def _run_within(seconds: float, act: Callable[[], object]) -> None:
    acting = threading.Thread(target=act, name=SHUTDOWN_THREAD, daemon=True)
    acting.start()
    acting.join(seconds)


def _exporter(name: str) -> SpanExporter:
    return OTLPSpanExporter() if name == "otlp" else ConsoleSpanExporter(out=sys.stdout)


def _resource() -> Resource:
    """Return the resource with our service name, unless the OTEL_* variables name another."""
    own = Resource({SERVICE_NAME: SERVICE, SERVICE_VERSION: __version__})
    given = Resource.create()
    named = not str(given.attributes[SERVICE_NAME]).startswith("unknown_service")
    attributes = {name: v for name, v in given.attributes.items() if named or name != SERVICE_NAME}
    return own.merge(Resource(attributes, given.schema_url))
