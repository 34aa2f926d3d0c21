"""Tests of spans and trace context, up to whole answers of the desk."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import SpanKind, StatusCode

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.gate import load_gate
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.router import Router
from bot.app.components import Components, open_components
from bot.domain.errors import DeliveryFailed
from bot.domain.handoff import HandoffWording
from bot.domain.interactions import Delivery, Escalation, Outcome, PostedRef, Reply, Trace
from bot.domain.messages import Intent, Message, Stage
from bot.domain.outcomes import unavailable_outcome
from bot.domain.settings import Settings
from bot.observability.logs import set_up_logs
from bot.observability.tracing import (
    current_trace_id,
    current_traceparent,
    deliver_span,
    describe_outcome,
    interaction_span,
    trace_continued_from,
)
from bot.web.auth.security import continue_trace, mount_security
from prompts.files import load_prompt
from rag import telemetry
from rag.answer.grounded import GroundedComposer
from rag.errors import ModelUnavailable
from rag.models.chat_model import TracedModel
from rag.pipeline import Pipeline
from rag.ports import Prompt
from rag.telemetry import span
from rag.types import EVERYONE, Principal
from tests.fakes.builders import inquiry, message, route
from tests.fakes.http_server import (
    BEARER,
    LIKELY,
    LOW,
    TOKEN,
    serving_application,
    settings_for,
    wait_until,
    write_index,
)
from tests.fakes.model_server import answer_citing
from tests.fakes.rag_ports import ScriptedModel, understood
from tests.fakes.spans import Spans

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
ASKED = message("How much does Anna earn?", channel="anna-and-boss", platform="slack")
OUTCOME = Outcome(Reply("Hello", "generic"), Trace(route(Intent.GENERIC, "hi")))
DELIVERY = Delivery("d1", ASKED.interaction_id, ASKED, OUTCOME)


def test_the_root_says_which_interaction_and_what_became_of_it(spans: Spans) -> None:
    with interaction_span(ASKED) as opened:
        describe_outcome(opened, unavailable_outcome(ASKED, "broken"))

    told = dict(spans.told("interaction"))
    conversation = told.pop("gen_ai.conversation.id")
    assert told == {
        "frontdesk.interaction.id": ASKED.interaction_id,
        "frontdesk.platform": "slack",
        "frontdesk.tenant": "default",
        "frontdesk.intent": "UNKNOWN",
        "frontdesk.answer_type": "ESCALATION_REQUIRED",
        "frontdesk.escalation.reason": "unavailable",
    }
    assert len(str(conversation)) == 36
    assert spans.one("interaction").kind is SpanKind.CONSUMER
    written = spans.one("interaction").to_json()
    assert "Anna" not in written
    assert "anna" not in written


def test_messages_of_one_conversation_name_the_same_one(spans: Spans) -> None:
    for asked in (ASKED, replace(ASKED, id="m2"), message("Hi", thread="t9")):
        with interaction_span(asked):
            pass

    one, same, other = (each.attributes["gen_ai.conversation.id"] for each in spans.all)  # type: ignore[index]  # set above
    assert one == same != other


def test_the_callers_trace_is_continued_in_whichever_process(spans: Spans) -> None:
    with interaction_span(replace(ASKED, traceparent=PARENT)):
        assert current_trace_id() == TRACE
        with span(telemetry.ROUTE):
            pass

    assert spans.trace_ids() == {TRACE}
    assert spans.parent_of("route") == "interaction"
    parent = spans.one("interaction").parent
    assert parent is not None
    assert (parent.is_remote, f"{parent.span_id:016x}") == (True, "00f067aa0ba902b7")


@pytest.mark.parametrize("traceparent", ["", "nonsense"])
def test_without_one_a_trace_begins_whatever_is_open_around(spans: Spans, traceparent: str) -> None:
    with span("engine"), interaction_span(replace(ASKED, traceparent=traceparent)):
        pass

    assert spans.one("interaction").parent is None
    assert len(spans.trace_ids()) == 2


def test_a_caller_who_does_not_sample_is_not_sampled(spans: Spans) -> None:
    with interaction_span(replace(ASKED, traceparent=PARENT[:-1] + "0")):
        assert current_traceparent().endswith("-00")

    assert spans.names == []


def test_the_trace_id_is_known_with_tracing_off() -> None:
    with interaction_span(replace(ASKED, traceparent=PARENT)):
        assert current_trace_id() == TRACE

    assert current_trace_id() == ""


def test_a_delivery_is_part_of_the_interaction(spans: Spans) -> None:
    with interaction_span(ASKED), deliver_span(DELIVERY):
        pass

    assert spans.parent_of("deliver") == "interaction"
    assert spans.told("deliver") == {
        "frontdesk.interaction.id": ASKED.interaction_id,
        "frontdesk.platform": "slack",
        "frontdesk.tenant": "default",
        "frontdesk.answer_type": "GENERIC",
        "frontdesk.delivery.edits_placeholder": False,
    }


def test_a_delivery_after_a_restart_continues_the_messages_trace(spans: Spans) -> None:
    asked = replace(ASKED, traceparent=PARENT)
    again = replace(DELIVERY, message=asked, placeholder=PostedRef("c", "p"))
    with deliver_span(again):
        pass

    assert spans.trace_ids() == {TRACE}
    assert spans.told("deliver")["frontdesk.delivery.edits_placeholder"] is True


def test_a_delivery_that_fails_says_so_and_raises(spans: Spans) -> None:
    with pytest.raises(DeliveryFailed), deliver_span(DELIVERY):
        raise DeliveryFailed("token xoxb-1 refused")

    assert spans.one("deliver").status.status_code is StatusCode.ERROR
    assert spans.told("deliver")["error.type"] == "DeliveryFailed"
    assert "xoxb" not in spans.one("deliver").to_json()


ASK = "/api/v1/ask"
Client = TestClient[web.Request, web.Application]


@asynccontextmanager
async def trace_echo_server(settings: Settings) -> AsyncIterator[Client]:
    """Serve an application whose every answer is the trace that a message would be kept with."""

    async def tell(_: web.Request) -> web.Response:
        return web.Response(text=current_traceparent())

    app = web.Application()
    security = mount_security(app, settings)
    app.middlewares.append(continue_trace)
    security.exempt_webhooks(app)
    app.router.add_post(ASK, tell)
    app.router.add_post("/slack/events", tell)
    app.router.add_post("/api/messages", tell)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield client


async def told(client: Client, path: str, headers: dict[str, str]) -> str:
    response = await client.post(path, json={}, headers=headers)
    assert response.status == 200
    return await response.text()


async def test_a_caller_on_this_machine_is_believed(tmp_path: Path) -> None:
    async with trace_echo_server(settings_for(tmp_path)) as client:
        assert await told(client, ASK, {"TraceParent": PARENT, "tracestate": "a=b"}) == PARENT


async def test_beyond_it_the_admin_token_is_what_makes_one_believed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, host="0.0.0.0", admin_token=TOKEN)  # noqa: S104 - the case
    async with trace_echo_server(settings) as client:
        stranger = await client.post(ASK, json={}, headers={"traceparent": PARENT})

        assert stranger.status == 401
        assert await told(client, ASK, {"traceparent": PARENT, **BEARER}) == PARENT


@pytest.mark.parametrize("path", ["/slack/events", "/api/messages"])
@pytest.mark.parametrize("guarded", [True, False])
async def test_who_writes_from_a_platform_is_not_believed(
    tmp_path: Path, path: str, *, guarded: bool
) -> None:
    host = "0.0.0.0" if guarded else "127.0.0.1"  # noqa: S104 - the case
    settings = settings_for(tmp_path, host=host, admin_token=TOKEN)
    async with trace_echo_server(settings) as client:
        assert await told(client, path, {"traceparent": PARENT, **BEARER}) == ""


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nonsense",
        PARENT.replace(TRACE, "0" * 32),
        PARENT.replace("00f067aa0ba902b7", "0" * 16),
        PARENT.replace("00-", "ff-", 1),
        PARENT.upper(),
        f"{PARENT}-more",
        "0" * 7000,
    ],
    ids=lambda header: header[:60],
)
async def test_a_header_that_is_none_is_left_aside_in_silence(
    tmp_path: Path, header: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "opentelemetry"):
        async with trace_echo_server(settings_for(tmp_path)) as client:
            assert await told(client, ASK, {"traceparent": header}) == ""

    assert caplog.text == ""


async def test_two_headers_are_none(tmp_path: Path) -> None:
    async with trace_echo_server(settings_for(tmp_path)) as client:
        twice = [("traceparent", PARENT), ("traceparent", PARENT)]
        response = await client.post(ASK, json={}, headers=twice)

        assert (response.status, await response.text()) == (200, "")


async def test_a_second_request_of_a_connection_inherits_no_trace(
    tmp_path: Path,
) -> None:
    async with trace_echo_server(settings_for(tmp_path)) as client:
        await told(client, ASK, {"traceparent": PARENT})

        assert await told(client, ASK, {}) == ""


@given(st.text(max_size=600), st.text(max_size=600))
def test_no_text_whatever_breaks_it(traceparent: str, tracestate: str) -> None:
    with trace_continued_from(traceparent, tracestate):
        assert current_trace_id() == ""
    with trace_continued_from(PARENT, tracestate):
        assert current_trace_id() == TRACE


def test_the_trace_around_has_no_part_in_it(spans: Spans) -> None:
    with span(telemetry.INTERACTION), trace_continued_from(""):
        assert current_traceparent() == ""
        with span(telemetry.GATE):
            assert current_traceparent().startswith("00-")

    assert len(spans.trace_ids()) == 2


SAID = "The office router blocks UDP port 4500."
STATEMENTS = [(SAID, "blocks UDP port 4500"), ("It costs 99 euros.", "blocks UDP port 4500")]
WORDING = HandoffWording(not_found="Not there.", uncertain="Not sure.")


async def unseen(_: Stage, __: int = 0) -> None:
    """Nobody waits."""


async def answered(asked: Message, desk: Desk) -> Outcome:
    """Do to a message what the work on it does, and deliver it."""
    with interaction_span(asked) as opened:
        outcome = await desk.handle(inquiry(asked), unseen)
        describe_outcome(opened, outcome)
        with deliver_span(Delivery("d", asked.interaction_id, asked, outcome)):
            pass
    return outcome


async def asked_here(tmp_path: Path, asked: Message) -> Outcome:
    settings = settings_for(tmp_path / "data", confidence_threshold=LOW)
    await write_index(settings, tmp_path / "pages")
    async with open_components(settings) as parts:
        return await answered(asked, parts.desk)


def with_model(parts: Components, model: ScriptedModel) -> Desk:
    """The same desk with a model that composes."""
    traced = TracedModel(model)
    composer = GroundedComposer(traced, load_prompt("answer"))
    return Desk(
        ModelProfile(
            route=Router(parts.embedder, None, traced).route,
            reply_generically=GenericAnswers(traced).reply,
            pipeline=Pipeline(parts.index, parts.embedder, composer),
        ),
        gate=load_gate(LOW).judge,
        wording=WORDING,
    )


async def test_an_answer_without_a_model_has_every_span(tmp_path: Path, spans: Spans) -> None:
    outcome = await asked_here(tmp_path, message(LIKELY))

    assert isinstance(outcome.response, Reply)
    assert spans.names == [
        "route",
        "retrieval",
        "generation",
        "grounding",
        "gate",
        "deliver",
        "interaction",
    ]
    assert {spans.parent_of(name) for name in spans.names[:-1]} == {"interaction"}
    assert len(spans.trace_ids()) == 1
    assert spans.told("route")["frontdesk.intent"] in {"DOMAIN", "UNKNOWN"}
    retrieval = spans.told("retrieval")
    assert retrieval["frontdesk.retrieval.found"] == len(outcome.trace.passages)
    assert retrieval["frontdesk.retrieval.wanted"] == 5
    assert spans.told("generation")["frontdesk.composer"] == "extractive"
    kept = spans.told("grounding")["frontdesk.grounding.claims_kept"]
    assert isinstance(kept, int)
    assert kept > 0
    gate = spans.told("gate")
    assert gate["gen_ai.evaluation.score.value"] == outcome.response.confidence
    assert (gate["gen_ai.evaluation.score.label"], gate["frontdesk.gate.threshold"]) == (
        "passed",
        LOW,
    )
    told = spans.told("interaction")
    assert (told["frontdesk.answer_type"], told["frontdesk.confidence_level"]) == ("RAG", "sure")


async def test_nothing_of_page_or_answer_is_in_any_span(tmp_path: Path, spans: Spans) -> None:
    outcome = await asked_here(tmp_path, message(LIKELY))

    written = spans.written().lower()
    texts = [LIKELY, outcome.response.text, "vpn", "error 809", "blocks", "socket", "wiki.example"]
    assert [text for text in texts if text.lower() in written] == []


async def test_small_talk_is_routed_not_searched_nor_gated(tmp_path: Path, spans: Spans) -> None:
    await asked_here(tmp_path, message("Hello!"))

    assert spans.names == ["route", "deliver", "interaction"]
    assert spans.told("interaction")["frontdesk.intent"] == "GENERIC"


async def test_each_call_of_a_model_is_a_span_where_made(tmp_path: Path, spans: Spans) -> None:
    def script(prompt: Prompt) -> str:
        said = answer_citing(prompt.messages[-1].content, STATEMENTS)
        return said if prompt.id.startswith("answer") else understood()

    settings = settings_for(tmp_path / "data")
    await write_index(settings, tmp_path / "pages")
    async with open_components(settings) as parts:
        outcome = await answered(message(LIKELY), with_model(parts, ScriptedModel(script)))

    generations = [span for span in spans.all if span.name == "generation"]
    prompts = [dict(span.attributes or {})["gen_ai.prompt.name"] for span in generations]
    assert prompts == [call.purpose for call in outcome.trace.calls] == ["understand", "answer"]
    ids = {span.name: span.context.span_id for span in spans.all if span.context}
    inside = [span.parent.span_id for span in generations if span.parent]
    assert inside == [ids["route"], ids["interaction"]]
    assert spans.told("grounding") == {
        "frontdesk.composer": "model",
        "frontdesk.grounding.claims_kept": 1,
        "frontdesk.grounding.claims_dropped": 1,
    }


async def test_a_model_that_fails_marks_its_span_and_the_question_goes_to_people(
    tmp_path: Path, spans: Spans
) -> None:
    def script(prompt: Prompt) -> str:
        if prompt.id.startswith("answer"):
            raise ModelUnavailable("the key sk-1 was refused")
        return understood()

    settings = settings_for(tmp_path / "data")
    await write_index(settings, tmp_path / "pages")
    async with open_components(settings) as parts:
        outcome = await answered(message(LIKELY), with_model(parts, ScriptedModel(script)))

    assert isinstance(outcome.response, Escalation)
    failed = [span.name for span in spans.all if span.status.status_code is StatusCode.ERROR]
    assert failed == ["generation"]
    assert spans.told("interaction")["frontdesk.escalation.reason"] == "unavailable"


async def test_the_private_addition_is_told_apart(tmp_path: Path, spans: Spans) -> None:
    asker = frozenset({EVERYONE, Principal("group:admins")})
    asked = message("Where is the rescue password?", private=False, principals=asker)
    await asked_here(tmp_path, asked)

    names = spans.names
    assert spans.parent_of("private_reply") == "interaction"
    assert (names.count("retrieval"), names.count("gate")) == (2, 2)


CALLER = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    set_up_logs("info", stream)
    yield stream
    structlog.reset_defaults()
    logging.getLogger().handlers.clear()


@pytest.mark.parametrize("headers", [CALLER, {}], ids=["caller's", "own"])
async def test_a_question_over_the_api_is_one_trace_and_one_line(
    tmp_path: Path, spans: Spans, written: io.StringIO, headers: dict[str, str]
) -> None:
    settings = settings_for(tmp_path / "data", confidence_threshold=LOW, log_questions=True)
    await write_index(settings, tmp_path / "pages")
    async with serving_application(settings) as client:
        response = await client.post("/api/v1/ask", json={"question": LIKELY}, headers=headers)
        body = await response.json()
        await wait_until(lambda: "interaction" in spans.names)

    assert response.status == 200
    assert spans.names == [
        "route",
        "retrieval",
        "generation",
        "grounding",
        "gate",
        "interaction",
    ]
    (trace_id,) = spans.trace_ids()
    assert (trace_id == TRACE) == bool(headers)
    assert spans.told("interaction")["frontdesk.interaction.id"] == body["interaction_id"]
    assert spans.told("interaction")["frontdesk.answer_type"] == body["answer_type"]
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    (line,) = [line for line in lines if line["event"] == "request.answered"]
    assert (line["trace_id"], line["interaction_id"]) == (trace_id, body["interaction_id"])
    assert line["user_query"] == LIKELY
