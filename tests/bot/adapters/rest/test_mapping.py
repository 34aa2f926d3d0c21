from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.domain.interactions import Reply, Response
from bot.web.api.answers import answer_v1, pipeline_of
from tests.bot.adapters.rest import replies

NOT_FOUND = "Not in the wiki."


@pytest.mark.parametrize(
    ("response", "status", "kind", "answer", "confidence", "sources", "suggestions"),
    [
        (replies.FOUND, "answered", "RAG", replies.FOUND.text, 0.91, 1, 0),
        (replies.ANSWERED, "answered", "RAG", replies.ANSWERED.text, 0.8, 1, 0),
        (replies.HELLO, "answered", "GENERIC", "Hello!", None, 0, 0),
        (replies.REFUSED, "answered", "GENERIC", replies.REFUSED.text, 0.3, 0, 0),
        (replies.UNSOURCED, "unknown", "ESCALATION_REQUIRED", NOT_FOUND, 0.99, 0, 0),
        (
            replies.WHICH,
            "answered",
            "CLARIFICATION",
            "Which one?\n\n- Laptop\n- Phone",
            0.5,
            0,
            1,
        ),
        (replies.UNSURE, "unknown", "ESCALATION_REQUIRED", NOT_FOUND, 0.4, 0, 1),
        (replies.NOTHING, "unknown", "ESCALATION_REQUIRED", NOT_FOUND, 0.0, 0, 0),
        (replies.UNSUPPORTED, "unknown", "ESCALATION_REQUIRED", NOT_FOUND, 0.7, 0, 1),
        (replies.PERSON, "answered", "ESCALATION_REQUIRED", "I'll get someone.", None, 0, 0),
        (replies.BROKEN, "error", "ESCALATION_REQUIRED", replies.BROKEN.text, None, 0, 0),
    ],
)
def test_each_response_is_told_as_the_api_promises(  # noqa: PLR0917 - one column each
    response: Response,
    status: str,
    kind: str,
    answer: str,
    confidence: float | None,
    sources: int,
    suggestions: int,
) -> None:
    told = answer_v1("i1", "c1", replies.outcome(response), NOT_FOUND)

    assert (told.status, told.answer_type, told.answer) == (status, kind, answer)
    assert told.confidence == confidence
    assert told.requires_escalation == (kind == "ESCALATION_REQUIRED")
    assert (len(told.sources), len(told.suggestions)) == (sources, suggestions)
    assert told.intent == "DOMAIN"


@pytest.mark.parametrize("response", [replies.UNSURE, replies.NOTHING, replies.FOUND])
def test_where_nothing_was_said_nothing_is_told_as_said(response: Response) -> None:
    outcome = replace(replies.outcome(response), silent=True)

    told = answer_v1("i1", "c1", outcome, NOT_FOUND)

    assert (told.answer_type, told.status, told.answer) == ("SILENT", "unknown", "")
    assert (told.requires_escalation, told.sources) == (False, [])


def test_remarks_are_told_beside_the_answer() -> None:
    outcome = replace(replies.outcome(replies.FOUND), remarks=("I could not read plan.docx.",))

    told = answer_v1("i1", "c1", outcome, NOT_FOUND)

    assert (told.answer, told.remarks) == (replies.FOUND.text, ["I could not read plan.docx."])


def test_a_source_keeps_all_its_parts() -> None:
    told = answer_v1("i1", "c1", replies.outcome(replies.FOUND), NOT_FOUND)

    assert told.sources[0].model_dump() == {
        "chunk_id": "c1",
        "page_id": "vpn.md",
        "title": "VPN",
        "url": "/pages/IT/vpn.md",
        "section": "Set up",
        "quote": "Install the client.",
        "document_page": None,
        "relevance": 0.9,
        "source_type": "folder",
        "source_id": "vpn.md",
        "space": "",
        "updated_at": None,
        "updated_by": "",
        "superseded": "",
    }


def test_a_page_that_is_superseded_is_warned_of_where_it_is_cited_only() -> None:
    old = replace(replies.FOUND.sources[0], superseded="obsolete")
    cited = replies.outcome(replace(replies.FOUND, sources=(old, replace(old, chunk_id="c2"))))
    offered = replies.outcome(replace(replies.UNSURE, suggestions=(old,)))

    told = answer_v1("i1", "c1", cited, NOT_FOUND)

    assert told.warnings == [
        "The page \u201cVPN\u201d is marked as obsolete: it may hold no longer."
    ]
    assert told.sources[0].superseded == "obsolete"
    assert answer_v1("i1", "c1", offered, NOT_FOUND).warnings == []


@pytest.mark.parametrize(
    ("given", "told"), [(1.2, 1.0), (-0.1, 0.0), (float("nan"), None), (0.5, 0.5)]
)
def test_a_confidence_is_a_share(given: float, told: float | None) -> None:
    reply = Reply("hi", "generic", confidence=given)

    assert answer_v1("i1", "c1", replies.outcome(reply), NOT_FOUND).confidence == told


def test_the_pipeline_tells_everything_once_and_is_valid_json() -> None:
    told = json.loads(pipeline_of(replies.outcome(replies.FOUND)).model_dump_json())

    assert set(told) == {
        "route",
        "passages",
        "model_calls",
        "filters",
        "gate",
        "timings_ms",
        "masked_question",
        "notes",
    }
    assert told["route"] == {
        "intent": "DOMAIN",
        "score": 0.9,
        "decided_by": "model",
        "question": "How do I set up the VPN?",
    }
    assert told["passages"][0]["signals"] == {"keyword": 5.0, "vector": 0.8}
    assert [call["prompt"] for call in told["model_calls"]] == ["intent@1", "answer@1"]
    assert told["model_calls"][1]["cost_micro_usd"] == 120
    assert told["filters"][0]["severity"] == "safe"
    assert told["gate"] == {
        "name": "logistic@1",
        "threshold": 0.65,
        "features": {"coverage": 0.75, "margin": None},
    }
    assert told["timings_ms"] == {"route": 1.5, "search": 12.0}
    assert told["masked_question"] is None
    assert told["notes"] == ["one claim dropped"]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://wiki.example.com/a", "https://wiki.example.com/a"),
        ("/pages/IT/vpn.md", "/pages/IT/vpn.md"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("//evil.example", ""),
    ],
)
def test_only_an_address_that_is_safe_to_open_is_told(url: str, told: str) -> None:
    outcome = replies.outcome(replace(replies.FOUND, sources=(replace(replies.SOURCE, url=url),)))

    assert [source.url for source in answer_v1("i", "c", outcome, "").sources] == [told]
