"""The root span of the work on a message, and the span of its delivery."""

from __future__ import annotations

from dataclasses import replace

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Delivery, Outcome, PostedRef, Reply, Trace
from bot.domain.messages import Intent
from bot.domain.outcomes import unavailable_outcome
from bot.observability.trace_context import current_trace_id, current_traceparent
from bot.observability.tracing import deliver_span, interaction_span
from rag import telemetry
from rag.telemetry import span
from tests.builders import message, route
from tests.spans import Spans

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
ASKED = message("How much does Anna earn?", channel="anna-and-boss", platform="slack")
OUTCOME = Outcome(Reply("Hello", "generic"), Trace(route(Intent.GENERIC, "hi")))
DELIVERY = Delivery("d1", ASKED.interaction_id, ASKED, OUTCOME)


def test_the_root_says_which_interaction_and_what_became_of_it(spans: Spans) -> None:
    with interaction_span(ASKED) as opened:
        opened.answered(unavailable_outcome(ASKED, "broken"))

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
