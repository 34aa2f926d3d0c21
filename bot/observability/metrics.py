"""Count and time the work of this process, for Prometheus; only this module imports its client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from bot.domain.errors import StoreUnavailable
from bot.domain.handoff import question_of_person_request
from bot.domain.health import CheckComponents, ComponentStatus
from bot.domain.interactions import Outcome
from bot.domain.messages import Message
from bot.domain.outcomes import answer_type, confidence_level

CountCases = Callable[[], Awaitable[Mapping[str, int]]]
"""Counts the unsettled escalations by state. Raises StoreUnavailable."""

PATH = "/metrics"
_EVENT_STREAM = "text/event-stream"
_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120)
_WORKING_STATES = frozenset({"ready", "limited", "paused"})


class Metrics:
    """Metrics of this process. Labels have few values: no person, channel or question."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        for collect in (ProcessCollector, PlatformCollector, GCCollector):
            collect(registry=self._registry)
        self._count_answers()
        self._count_models()
        self._look_at_state()

    def _count_answers(self) -> None:
        self._answers = Counter(
            "frontdesk_answers",
            "Messages that got an outcome.",
            ("platform", "intent", "answer_type", "confidence_level"),
            registry=self._registry,
        )
        self._cache = Counter(
            "frontdesk_answer_cache",
            "Questions for which a saved answer was looked for: hit, saved (for others) or miss.",
            ("result",),
            registry=self._registry,
        )
        self._dropped = Counter(
            "frontdesk_messages_dropped",
            "Messages far beyond a rate, of which nothing was kept.",
            ("platform",),
            registry=self._registry,
        )
        self._hand_overs = Counter(
            "frontdesk_hand_overs",
            "Presses of a button that asks for a person; no answers of their own.",
            ("platform",),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "frontdesk_answer_seconds",
            "From the start of the work on a message to its outcome.",
            ("platform",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._requests = Histogram(
            "frontdesk_http_request_seconds",
            "Requests by route, streams of events left out.",
            ("method", "route", "status"),
            buckets=_BUCKETS,
            registry=self._registry,
        )

    def _count_models(self) -> None:
        self._model_calls = Counter(
            "frontdesk_model_calls",
            "Calls of a model.",
            ("model", "purpose"),
            registry=self._registry,
        )
        self._tokens = Counter(
            "frontdesk_model_tokens",
            "Tokens to and from a model.",
            ("model", "direction"),
            registry=self._registry,
        )
        self._dollars = Counter(
            "frontdesk_model_usd",
            "US dollars, of the calls whose price is known.",
            ("model",),
            registry=self._registry,
        )

    def _look_at_state(self) -> None:
        self._parts = Gauge(
            "frontdesk_part_up",
            "1 if a configured part works, 0 if it failed; parts that are not configured are left "
            "out.",
            ("part",),
            registry=self._registry,
        )
        self._cases = Gauge(
            "frontdesk_escalations",
            "Escalations that are not settled, of all processes.",
            ("state",),
            registry=self._registry,
        )
        self._under_way = Gauge(
            "frontdesk_questions_under_way",
            "Messages that this process has accepted and not finished.",
            registry=self._registry,
        )

    def watch(self, busy: Callable[[], int]) -> None:
        """Register the function that returns how many messages are under way."""
        self._under_way.set_function(busy)

    def dropped(self, message: Message) -> None:
        """Count a message that was dropped without being stored."""
        self._dropped.labels(message.thread.platform).inc()

    def answered(self, message: Message, outcome: Outcome, duration_ms: float) -> None:
        """Count an outcome and its model usage; a press for a person counts as a hand-over."""
        platform, trace = message.thread.platform, outcome.trace
        if question_of_person_request(message):
            self._hand_overs.labels(platform).inc()
        else:
            kind, level = answer_type(outcome), confidence_level(outcome) or "none"
            self._answers.labels(platform, trace.route.intent.value, kind, level).inc()
            self._seconds.labels(platform).observe(duration_ms / 1000)
        if trace.cache is not None:
            self._cache.labels(trace.cache.result).inc()
        for call in trace.calls:
            self._model_calls.labels(call.model, call.purpose).inc()
            self._tokens.labels(call.model, "in").inc(call.input_tokens)
            self._tokens.labels(call.model, "out").inc(call.output_tokens)
            self._dollars.labels(call.model).inc((call.cost_micro_usd or 0) / 1_000_000)

    @web.middleware
    async def time(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Time a request; this middleware must precede the one that turns errors into responses."""
        began = perf_counter()
        response = await handler(request)
        if response.content_type != _EVENT_STREAM:
            method = request.method if request.method in hdrs.METH_ALL else "(other)"
            labels = self._requests.labels(method, _route(request), str(response.status))
            labels.observe(perf_counter() - began)
        return response

    def page(self, parts: Sequence[ComponentStatus], cases: Mapping[str, int]) -> bytes:
        """Return all metrics in Prometheus' text format.

        ``cases`` counts the unsettled escalations by state.
        """
        self._parts.clear()
        for part in parts:
            if part.state != "absent":
                self._parts.labels(part.name).set(part.state in _WORKING_STATES)
        self._cases.clear()
        for state, count in cases.items():
            self._cases.labels(state).set(count)
        return generate_latest(self._registry)


def _route(request: web.Request) -> str:
    """Return the route pattern of a request, so that ids in paths make no labels."""
    resource = request.match_info.route.resource
    return "(none)" if resource is None else resource.canonical


def mount_metrics(
    app: web.Application, metrics: Metrics, *, check_parts: CheckComponents, cases: CountCases
) -> None:
    """Serve the metrics; access is checked by the security middleware.

    An unavailable store makes no error here: the status of its component is what counts.
    """

    async def show(_: web.Request) -> web.Response:
        try:
            waiting = await cases()
        except StoreUnavailable:
            waiting = {}
        page = metrics.page(await check_parts(), waiting)
        return web.Response(body=page, headers={"Content-Type": CONTENT_TYPE_LATEST})

    app.router.add_get(PATH, show)
