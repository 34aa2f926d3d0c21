"""Trace interactions and deliveries, and set that up when the OTEL_* variables ask for it.

Spans continue the W3C trace context that a message came with. With tracing off, which is the
default, the caller's trace id still gets into the log. The SDK reads most variables itself, and
hardly reports a wrong value; here a wrong value stops the start with its cure.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from opentelemetry import context, trace
from opentelemetry.trace import Span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pydantic_settings import BaseSettings, DotEnvSettingsSource

from bot.domain.errors import SettingInvalid
from bot.domain.health import ComponentStatus
from bot.domain.interactions import Delivery, Outcome
from bot.domain.messages import Message, Thread
from bot.domain.outcomes import answer_type, confidence_level, escalation_reason
from rag import telemetry
from rag.telemetry import Attributes, describe, span

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"
_MAX_HEADER_LENGTH = 512
"""Characters of either header; a longer one is ignored."""


def current_traceparent() -> str:
    """Return the current trace as a traceparent header to store with a message; "" without one."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(TRACEPARENT, "")


def current_trace_id() -> str:
    """Return the id of the current trace, 32 hexadecimal digits; "" without one."""
    opened = trace.get_current_span().get_span_context()
    return trace.format_trace_id(opened.trace_id) if opened.is_valid else ""


@contextmanager
def trace_continued_from(traceparent: str, tracestate: str = "") -> Iterator[None]:
    """Make spans opened in the block part of the given trace, or of a new one if it is unreadable.

    The trace that is open around the block is not continued.
    """
    token = context.attach(_read(traceparent, tracestate))
    try:
        yield
    finally:
        context.detach(token)


def _read(traceparent: str, tracestate: str) -> context.Context:
    if not traceparent or len(traceparent) > _MAX_HEADER_LENGTH:
        return context.Context()
    carrier = {TRACEPARENT: traceparent}
    if 0 < len(tracestate) <= _MAX_HEADER_LENGTH:
        carrier[TRACESTATE] = tracestate
    return TraceContextTextMapPropagator().extract(carrier, context=context.Context())


_CONFIDENCE_LEVEL = "frontdesk.confidence_level"
_ANSWER_CACHE = "frontdesk.answer_cache"
_CONVERSATIONS = uuid.UUID("0e6c7c36-7f5e-5c39-8f43-6d1b7a2f51c4")  # uuid5 namespace


def describe_outcome(opened: Span, outcome: Outcome) -> None:
    """Set an outcome's attributes on the span of its interaction."""
    used = outcome.trace.cache
    attributes = {
        telemetry.INTENT: outcome.trace.route.intent.value,
        telemetry.ANSWER_TYPE: answer_type(outcome),
        telemetry.CONFIDENCE: outcome.response.confidence,
        _CONFIDENCE_LEVEL: confidence_level(outcome),
        _ANSWER_CACHE: None if used is None else used.result,
        telemetry.ESCALATION_REASON: escalation_reason(outcome),
    }
    describe(opened, attributes)


@contextmanager
def interaction_span(message: Message) -> Iterator[Span]:
    """Open the root span of a message's processing.

    It continues the trace that the message came with, whichever process does the work, or else
    begins one. The span that is open around it (the engine's own) is not its parent.
    """
    with (
        trace_continued_from(message.traceparent),
        span(telemetry.INTERACTION, kind="consumer") as opened,
    ):
        if opened.is_recording():
            thread = message.thread
            attributes = {
                telemetry.INTERACTION_ID: message.interaction_id,
                telemetry.CONVERSATION_ID: _conversation_id(thread),
                telemetry.PLATFORM: thread.platform,
                telemetry.TENANT: thread.tenant,
            }
            describe(opened, attributes)
        yield opened


@contextmanager
def deliver_span(delivery: Delivery) -> Iterator[None]:
    """Open the span of a reply's delivery to its platform, with all requests it takes.

    Where no trace is open, as after a restart, it continues the message's own.
    """
    with ExitStack() as opened:
        if not current_trace_id():
            opened.enter_context(trace_continued_from(delivery.message.traceparent))
        attributes: Attributes = {
            telemetry.INTERACTION_ID: delivery.interaction_id,
            telemetry.PLATFORM: delivery.message.thread.platform,
            telemetry.TENANT: delivery.message.thread.tenant,
            telemetry.ANSWER_TYPE: answer_type(delivery.outcome),
            telemetry.EDITS_PLACEHOLDER: delivery.placeholder is not None,
        }
        opened.enter_context(span(telemetry.DELIVER, attributes, kind="client"))
        yield


def _conversation_id(thread: Thread) -> str:
    """Return a stable id of a conversation that reveals no names of channels or people."""
    return str(uuid.uuid5(_CONVERSATIONS, thread.key))


EXPORTERS = ("otlp", "console", "none")
PROTOCOL = "http/protobuf"
DEFAULT_ENDPOINT = "http://localhost:4318"
SAMPLERS = (
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
)
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_HEADERS = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")


@dataclass(frozen=True, slots=True)
class TracingSettings:
    """The exporters (none when tracing is off), and a description of where the spans go."""

    exporters: tuple[str, ...]
    where: str


def read_variables(variables: Mapping[str, str]) -> TracingSettings:
    """Parse the OTEL_* variables; an empty one counts as unset. Raises SettingInvalid."""
    given = {name: value.strip() for name, value in variables.items() if value.strip()}
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return TracingSettings((), "off by OTEL_SDK_DISABLED")
    exporters = _exporters(given)
    if not exporters:
        return TracingSettings((), "off")
    _check_sampler(given)
    if "otlp" in exporters:
        _check_exporter(given)
    return TracingSettings(
        exporters, "on: " + ", ".join(_destination(name, given) for name in exporters)
    )


def _exporters(given: Mapping[str, str]) -> tuple[str, ...]:
    implied = "otlp" if _first_given(_ENDPOINTS, given) else "none"
    named = given.get("OTEL_TRACES_EXPORTER", implied).lower().split(",")
    names = tuple(dict.fromkeys(name.strip() for name in named if name.strip()))
    unknown = [name for name in names if name not in EXPORTERS]
    if unknown:
        raise SettingInvalid(
            f"OTEL_TRACES_EXPORTER={given['OTEL_TRACES_EXPORTER']!r} is not known here. "
            f"Use one of {', '.join(EXPORTERS)}."
        )
    return tuple(name for name in names if name != "none")


def _check_sampler(given: Mapping[str, str]) -> None:
    # Without the variable, the SDK's default: parentbased_always_on.
    sampler = given.get("OTEL_TRACES_SAMPLER", SAMPLERS[3]).lower()
    if sampler not in SAMPLERS:
        raise SettingInvalid(
            f"OTEL_TRACES_SAMPLER={sampler!r} is not known. Use one of {', '.join(SAMPLERS)}."
        )
    share = given.get("OTEL_TRACES_SAMPLER_ARG", "1.0")
    if "ratio" in sampler and not 0 <= _number(share) <= 1:
        raise SettingInvalid(
            f"OTEL_TRACES_SAMPLER_ARG={share!r} is not a share of traces. Use 0.1 for one in ten."
        )


def _check_exporter(given: Mapping[str, str]) -> None:
    protocol = _first_given(_PROTOCOLS, given) or (_PROTOCOLS[1], PROTOCOL)
    if protocol[1].lower() != PROTOCOL:
        raise SettingInvalid(
            f"{protocol[0]}={protocol[1]!r} is not spoken here. Unset it, or use {PROTOCOL!r} and "
            "the collector's port for it, usually 4318."
        )
    timeout = _first_given(_TIMEOUTS, given)
    if timeout and not 0 < _number(timeout[1]) < float("inf"):
        raise SettingInvalid(f"{timeout[0]}={timeout[1]!r} is not a time. Use seconds, such as 10.")
    for name in _ENDPOINTS:
        if name in given and not _is_address(given[name]):
            raise SettingInvalid(
                f"{name} is no whole address. Write it with its scheme, such as {DEFAULT_ENDPOINT}."
            )
    for name in _HEADERS:
        if not all("=" in pair for pair in given.get(name, "=").split(",") if pair.strip()):
            raise SettingInvalid(
                f"{name}=(hidden) can't be read. Write it as NAME=VALUE,NAME=VALUE."
            )


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _destination(exporter: str, given: Mapping[str, str]) -> str:
    """Describe where an exporter sends to, by host and port only: the rest may hold a password."""
    if exporter != "otlp":
        return exporter
    _, endpoint = _first_given(_ENDPOINTS, given) or ("", DEFAULT_ENDPOINT)
    parts = urlsplit(endpoint)
    port = f":{parts.port}" if parts.port else ""
    return f"otlp to {parts.hostname}{port}"


def _first_given(names: tuple[str, ...], given: Mapping[str, str]) -> tuple[str, str] | None:
    return next(((name, given[name]) for name in names if name in given), None)


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return -1.0


ENV_FILE = Path(".env")
_PREFIX = "OTEL_"


def set_up_tracing(env_file: Path = ENV_FILE) -> Callable[[], None]:
    """Start tracing if the OTEL_* variables ask for it; call it once, in the serving process.

    Variables come from the environment, else from ``env_file``; the latter are put into the
    environment, the one place where the SDK looks. SDK and exporter are imported only now.

    Returns:
        The function that shuts tracing down: it sends queued spans, and returns within seconds
            whatever the collector does.

    Raises:
        SettingInvalid: when a variable has a value that can't work.
    """
    for name, value in _variables_in_file(env_file).items():
        if not os.environ.get(name):
            os.environ[name] = value
    asked = read_variables(os.environ)
    if not asked.exporters:
        return lambda: None
    # The SDK is imported only when tracing is on.
    from bot.observability import span_export as export

    return export.start_tracing(asked)


def tracing_part(variables: Mapping[str, str] | None = None) -> ComponentStatus:
    """Return the status of tracing for the start and for readiness: on or off, and where to."""
    asked = read_variables(os.environ if variables is None else variables)
    if asked.exporters:
        return ComponentStatus("tracing", "ready", asked.where)
    cure = "Set OTEL_EXPORTER_OTLP_ENDPOINT to a collector: docs/observability.md"
    return ComponentStatus("tracing", "absent", f"{asked.where}.", cure)


def _variables_in_file(path: Path) -> Mapping[str, str]:
    source = DotEnvSettingsSource(
        BaseSettings, env_file=path, env_file_encoding="utf-8", case_sensitive=True
    )
    return {
        name: value for name, value in source.env_vars.items() if name.startswith(_PREFIX) and value
    }
