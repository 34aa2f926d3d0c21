"""Tests of the line that every request leaves in the log."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.handoff import PERSON_REQUEST, person_request
from bot.domain.interactions import CacheUse, Outcome, Reply, Route, Trace
from bot.domain.messages import FoundPassage, Intent, Message
from bot.domain.outcomes import unavailable_outcome
from bot.domain.settings_loading import load_settings
from bot.observability.logs import HIDDEN, LONGEST_QUERY, RequestLog, mask_credentials, set_up_logs
from bot.observability.tracing import interaction_span
from rag.types import ModelCall
from tests.fakes.builders import NOON, message
from tests.fakes.costs import costs_in_proportion
from tests.fakes.desk import VPN

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
CALL = ModelCall("answer", "gpt", "answer@3", 900, 40, 800.0, cost_micro_usd=120)
OUTCOME = Outcome(
    Reply("The reply itself", "generic", confidence=0.7),
    Trace(
        Route(Intent.DOMAIN, 0.9, "rule", "?"),
        passages=(FoundPassage("c1", "vpn.md", "The title", "", {}),),
        threshold=0.65,
        calls=(replace(CALL, prompt="intent@1", cost_micro_usd=5), CALL),
        timings_ms={"route": 0.51, "search": 10.26},
        notes=("the limit of the day is near",),
    ),
)


def lines(
    asked: Message, outcome: Outcome = OUTCOME, *, log_questions: bool = True
) -> list[dict[str, object]]:
    """Write the line through the real logs; return what is in the stream."""
    stream = io.StringIO()
    set_up_logs("info", stream)
    try:
        RequestLog(log_questions=log_questions).answered(asked, outcome, 12.345)
    finally:
        structlog.reset_defaults()
        logging.getLogger().handlers.clear()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    level = logging.getLogger().level
    yield
    logging.getLogger().setLevel(level)


def test_a_chosen_option_is_not_logged_because_it_is_a_title() -> None:
    (line,) = lines(message("The title"))

    assert line["user_query"] == HIDDEN


def test_a_request_for_a_person_is_logged_without_the_question() -> None:
    (line,) = lines(message(person_request("The title of a page")))

    assert line["user_query"] == PERSON_REQUEST


def test_the_line_has_what_an_operator_asks_for() -> None:
    (line,) = lines(message("Where?"))

    assert str(line.pop("timestamp")).endswith("Z")
    assert line == {
        "event": "request.answered",
        "level": "info",
        "interaction_id": message("").interaction_id,
        "trace_id": None,
        "platform": "web",
        "tenant": "default",
        "user_query": "Where?",
        "intent": "DOMAIN",
        "decided_by": "rule",
        "retrieval_used": True,
        "document_ids": ["vpn.md"],
        "confidence_score": 0.7,
        "threshold": 0.65,
        "answer_type": "GENERIC",
        "confidence_level": None,
        "escalation_reason": None,
        "answer_cache": None,
        "models": ["gpt"],
        "prompts": ["intent@1", "answer@3"],
        "model_calls": 2,
        "input_tokens": 1800,
        "output_tokens": 80,
        "cost_micro_usd": 125,
        "timings_ms": {"route": 0.5, "search": 10.3},
        "notes": ["the limit of the day is near"],
        "duration_ms": 12.3,
    }


def test_the_trace_is_named_when_there_is_one() -> None:
    asked = replace(message("Where?"), traceparent=f"00-{TRACE_ID}-00f067aa0ba902b7-01")
    with interaction_span(asked):
        (line,) = lines(asked)

    assert line["trace_id"] == TRACE_ID


def test_the_line_says_how_sure_an_answer_was() -> None:
    guess = Reply("It is [1].", "answer", (VPN,), 0.5, confidence_level="unsure")
    (line,) = lines(message("Where?"), replace(OUTCOME, response=guess))

    assert (line["answer_type"], line["confidence_level"]) == ("RAG", "unsure")


def test_the_line_of_a_saved_answer_says_so_and_costs_nothing() -> None:
    trace = replace(OUTCOME.trace, calls=(), cache=CacheUse("k", "hit", NOON))
    (line,) = lines(message("Where?"), replace(OUTCOME, trace=trace))

    assert (line["answer_cache"], line["model_calls"], line["cost_micro_usd"]) == ("hit", 0, 0)


def test_an_escalation_says_why() -> None:
    asked = message("Where?")
    (line,) = lines(asked, unavailable_outcome(asked, "the desk stopped"))

    assert line["answer_type"] == "ESCALATION_REQUIRED"
    assert line["escalation_reason"] == "unavailable"
    assert line["notes"] == ["the desk stopped"]
    assert (line["models"], line["model_calls"], line["cost_micro_usd"]) == ([], 0, 0)


def test_a_cost_that_is_partly_unknown_is_unknown() -> None:
    calls = (CALL, replace(CALL, cost_micro_usd=None))
    outcome = replace(OUTCOME, trace=replace(OUTCOME.trace, calls=calls))
    (line,) = lines(message("Where?"), outcome)

    assert line["cost_micro_usd"] is None


@given(st.text(max_size=200))
def test_any_question_makes_exactly_one_line(text: str) -> None:
    odd = f"one\ntwo\r\nthree\u2028four\x85five\x00{text}\ud800"
    (line,) = lines(message(odd))

    assert line["user_query"] == mask_credentials(odd)


def test_questions_stay_out_of_the_log_when_told_so() -> None:
    (line,) = lines(message("my salary"), log_questions=False)

    assert line["user_query"] == HIDDEN
    assert "salary" not in json.dumps(line)


def test_neither_reply_nor_pages_are_in_it() -> None:
    written = json.dumps(lines(message("Where?")))

    assert "The reply itself" not in written
    assert "The title" not in written


def test_a_masked_question_is_logged_instead_of_the_one_asked() -> None:
    outcome = replace(OUTCOME, trace=replace(OUTCOME.trace, masked_question="my [NAME]"))
    (line,) = lines(message("my Anna"), outcome)

    assert line["user_query"] == "my [NAME]"


def test_a_long_question_is_cut() -> None:
    (line,) = lines(message("x" * 10 * LONGEST_QUERY))

    assert line["user_query"] == "x" * LONGEST_QUERY + "\u2026"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password: hunter2!", "hunter2"),
        ("Passwort=geheim was tun", "geheim"),
        ("my password is Abc123xyz and it fails", "Abc123"),
        ("API_KEY = 'zzz-yyy'", "zzz-yyy"),
        ("Authorization: Bearer abcdef1234.xyz", "abcdef1234"),
        ("use sk-proj-abcdefghijklmnop1234", "abcdefgh"),
        ("bot xoxb-1234567890-abcdefghij", "abcdefghij"),
        ("push with ghp_abcdefghijklmnopqrstuvwx", "abcdefgh"),
        ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc", "hbGci"),
        ("git clone https://anna:pw4711@git.example/x", "pw4711"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY----- ok", "MIIE"),
    ],
)
def test_what_people_paste_by_mistake_is_masked(text: str, secret: str) -> None:
    (line,) = lines(message(text))

    assert secret not in str(line["user_query"])
    assert "(masked)" in str(line["user_query"])


@pytest.mark.parametrize(
    "text",
    [
        "my password is expired, what now?",
        "where is the token ring?",
        "basic training 2024",
        "https://wiki.example:8443/pages/4711?x=y@z",
        "the secret of error 809",
        "who may see room sk-4711?",
    ],
)
def test_questions_about_passwords_and_keys_are_left_as_they_are(text: str) -> None:
    assert mask_credentials(text) == text


@pytest.mark.parametrize(
    "piece", ["password is ", "://a:", "-----BEGIN PRIVATE KEY-----", "eyJ", "sk-", "bearer ", "=:"]
)
def test_hostile_text_is_masked_at_once(piece: str) -> None:
    assert costs_in_proportion(lambda text: lines(message(text)), piece, 100_000 * len(piece))


def test_a_persons_id_is_logged_as_a_hash() -> None:
    stream = io.StringIO()
    set_up_logs("info", stream)
    try:
        log = structlog.get_logger("limits")
        log.warning("limit.refused", person="U0CANARY", key="default:U0CANARY")
        log.warning("limit.refused", person="U0CANARY", channel="slack:C1")
    finally:
        structlog.reset_defaults()
        logging.getLogger().handlers.clear()
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())

    assert "U0CANARY" not in stream.getvalue()
    assert first["person"] == second["person"] != first["key"]
    assert second["channel"] == "slack:C1"


def test_questions_are_left_out_of_the_log_unless_wanted() -> None:
    assert not load_settings(_env_file=None).log_questions
