"""Tests of how outcomes become answers in versions 1 and 2 of the API."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from bot.domain.interactions import ErrorCode, Escalation, Outcome, Reply, Response
from bot.domain.messages import Limit, Message, Refusal, SearchFilters
from bot.domain.outcomes import error_code, refused_outcome, unavailable_outcome
from bot.store.database import Store
from bot.web.api import OPERATIONS, openapi_document
from bot.web.api.answers import NOT_FOUND_V1, answer_v1, answer_v2, pipeline_of
from bot.web.api.operations import V1, V2
from rag.errors import (
    IndexMismatch,
    IndexUnavailable,
    ModelAnswerInvalid,
    ModelFilesInvalid,
    ModelUnavailable,
    RagError,
)
from rag.parts import Omission, Quotation, Translation, paragraph
from tests.fakes.bot_ports import EchoDesk
from tests.fakes.http_server import Client, serving, settings_for
from tests.fakes.record_rows import add_interaction
from tests.unit.bot.web.api import replies

NOT_FOUND_TEXT = "Not in the wiki."


@pytest.mark.parametrize(
    ("response", "status", "kind", "answer", "confidence", "sources", "suggestions"),
    [
        (replies.FOUND, "answered", "RAG", replies.FOUND.text, 0.91, 1, 0),
        (replies.ANSWERED, "answered", "RAG", replies.ANSWERED.text, 0.8, 1, 0),
        (replies.HELLO, "answered", "GENERIC", "Hello!", None, 0, 0),
        (replies.REFUSED, "answered", "GENERIC", replies.REFUSED.text, 0.3, 0, 0),
        (replies.UNSOURCED, "unknown", "ESCALATION_REQUIRED", NOT_FOUND_TEXT, 0.99, 0, 0),
        (
            replies.WHICH,
            "answered",
            "CLARIFICATION",
            "Which one?\n\n- Laptop\n- Phone",
            0.5,
            0,
            1,
        ),
        (replies.UNSURE, "unknown", "ESCALATION_REQUIRED", NOT_FOUND_TEXT, 0.4, 0, 1),
        (replies.NOTHING, "unknown", "ESCALATION_REQUIRED", NOT_FOUND_TEXT, 0.0, 0, 0),
        (replies.UNSUPPORTED, "unknown", "ESCALATION_REQUIRED", NOT_FOUND_TEXT, 0.7, 0, 1),
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
    told = answer_v1("i1", "c1", replies.outcome(response), NOT_FOUND_TEXT)

    assert (told.status, told.answer_type, told.answer) == (status, kind, answer)
    assert told.confidence == confidence
    assert told.requires_escalation == (kind == "ESCALATION_REQUIRED")
    assert (len(told.sources), len(told.suggestions)) == (sources, suggestions)
    assert told.intent == "DOMAIN"


@pytest.mark.parametrize("response", [replies.UNSURE, replies.NOTHING, replies.FOUND])
def test_where_nothing_was_said_nothing_is_told_as_said(response: Response) -> None:
    outcome = replace(replies.outcome(response), silent=True)

    told = answer_v1("i1", "c1", outcome, NOT_FOUND_TEXT)

    assert (told.answer_type, told.status, told.answer) == ("SILENT", "unknown", "")
    assert (told.requires_escalation, told.sources) == (False, [])


def test_remarks_are_told_beside_the_answer() -> None:
    outcome = replace(replies.outcome(replies.FOUND), remarks=("I could not read plan.docx.",))

    told = answer_v1("i1", "c1", outcome, NOT_FOUND_TEXT)

    assert (told.answer, told.remarks) == (replies.FOUND.text, ["I could not read plan.docx."])


def test_a_source_keeps_all_its_parts() -> None:
    told = answer_v1("i1", "c1", replies.outcome(replies.FOUND), NOT_FOUND_TEXT)

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

    told = answer_v1("i1", "c1", cited, NOT_FOUND_TEXT)

    assert told.warnings == [
        "The page \u201cVPN\u201d is marked as obsolete, so it may be out of date."
    ]
    assert told.sources[0].superseded == "obsolete"
    assert answer_v1("i1", "c1", offered, NOT_FOUND_TEXT).warnings == []


@pytest.mark.parametrize(
    ("given", "told"), [(1.2, 1.0), (-0.1, 0.0), (float("nan"), None), (0.5, 0.5)]
)
def test_a_confidence_is_a_share(given: float, told: float | None) -> None:
    reply = Reply("hi", "generic", confidence=given)

    assert answer_v1("i1", "c1", replies.outcome(reply), NOT_FOUND_TEXT).confidence == told


def test_the_pipeline_tells_everything_once_and_is_valid_json() -> None:
    filters = SearchFilters(frozenset({"IT", "HR"}), "upload")
    told = json.loads(pipeline_of(replies.outcome(replies.FOUND), filters).model_dump_json())

    assert set(told) == {
        "route",
        "searches",
        "passages",
        "model_calls",
        "filters",
        "gate",
        "timings_ms",
        "masked_question",
        "masked",
        "notes",
        "search_filters",
    }
    assert told["route"] == {
        "intent": "DOMAIN",
        "score": 0.9,
        "decided_by": "model",
        "question": "How do I set up the VPN?",
        "language": "",
        "search_query": "",
    }
    assert told["searches"] == [
        {
            "query": "client set-up",
            "space": "IT",
            "label": None,
            "changed_since": "2026-01-02",
            "found": 3,
        }
    ]
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
    assert told["masked"] == []
    assert told["notes"] == ["one claim dropped"]
    assert told["search_filters"] == {"spaces": ["HR", "IT"], "source_type": "upload"}


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


LATER = timedelta(hours=1)
Kind = Literal["rate", "budget", "pause", "queue"]
NOTHING = replace(replies.NOTHING, text="Not there. Shall I ask?", statement="Not there.")
UNSURE = replace(replies.UNSURE, text="Not sure. Shall I ask?", statement="Not sure.")


def always(outcome: Callable[[Message], Outcome]) -> EchoDesk:
    async def answer(message: Message) -> Outcome:
        return outcome(message)

    return EchoDesk(answer)


def saying(response: Response) -> EchoDesk:
    return always(lambda _: replies.outcome(response))


async def ask(client: Client, root: str, key: str = "") -> Any:  # noqa: ANN401 - JSON
    headers = {"Idempotency-Key": key} if key else {}
    response = await client.post(f"{root}/ask", json={"question": "hi"}, headers=headers)
    return response, await response.json()


@pytest.mark.mended(id="mission-S4")
@pytest.mark.parametrize(
    ("kind", "status", "least", "most"),
    [
        ("rate", 429, 3000, 3600),
        ("budget", 429, 3000, 3600),
        ("pause", 503, 60, 600),
        ("queue", 503, 5, 60),
    ],
)
async def test_a_limit_is_an_error_that_says_when_to_come_back(
    store: Store, tmp_path: Path, kind: Kind, status: int, least: int, most: int
) -> None:
    until = datetime.now(UTC) + LATER if kind in {"rate", "budget"} else None
    limit = Refusal("Too much.", kind, limit=Limit(kind, until))
    desk = always(lambda message: refused_outcome(message, limit))
    async with serving(store, settings_for(tmp_path), desk=desk) as client:
        first, told = await ask(client, V2, "k")
        again, told_again = await ask(client, V2, "k")
        shown = await (await client.get(f"{V2}/interactions/{told['interaction_id']}")).json()
        _, before = await ask(client, V1)

    assert first.status == again.status == status
    assert first.content_type == "application/problem+json"
    assert least <= int(first.headers["Retry-After"]) <= most
    assert (told["detail"], told["limit"]) == ("Too much.", kind)
    assert told == told_again
    assert (shown["status"], shown["limit"]["kind"]) == ("refused", kind)
    assert (before["status"], before["answer_type"]) == ("answered", "GENERIC")
    assert "limit" not in before
    assert len(desk.handled) == 2


async def test_a_limit_that_is_over_tells_the_shortest_wait(store: Store, tmp_path: Path) -> None:
    past = Limit("rate", datetime.now(UTC) - timedelta(days=1))
    desk = always(lambda message: refused_outcome(message, Refusal("Wait.", "rate", limit=past)))
    async with serving(store, settings_for(tmp_path), desk=desk) as client:
        response, _ = await ask(client, V2)

    assert response.headers["Retry-After"] == "1"


@pytest.mark.mended(id="mission-A12")
@pytest.mark.parametrize("response", [NOTHING, UNSURE])
async def test_what_is_so_and_the_escalation_message_are_both_told(
    store: Store, tmp_path: Path, response: Escalation
) -> None:
    async with serving(store, settings_for(tmp_path), desk=saying(response)) as client:
        _, told = await ask(client, V2)

    assert (told["status"], told["error"], told["limit"]) == ("unknown", None, None)
    assert told["answer"] == response.statement
    assert told["escalation_message"] == response.text


@pytest.mark.parametrize("silent", [False, True])
def test_what_an_older_version_recorded_is_told_as_it_was_said(*, silent: bool) -> None:
    outcome = replace(replies.outcome(replies.BROKEN), silent=silent)

    told = answer_v2("i", "c", outcome, "Not sure.")

    assert told.status == "error"
    assert told.error == "internal"
    assert told.answer == ("" if silent else replies.BROKEN.text)
    assert told.escalation_message == (None if silent else replies.BROKEN.text)


def test_a_reply_without_a_source_is_never_shown() -> None:
    told = answer_v2("i", "c", replies.outcome(replies.UNSOURCED), "Not sure.")

    assert (told.status, told.answer) == ("unknown", "Not sure.")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [({}, NOT_FOUND_V1), ({"not_found_message": "Not here."}, "Not here.")],
    ids=["default", "set"],
)
async def test_version_1_says_the_old_sentence_unless_another_is_set(
    store: Store, tmp_path: Path, changes: dict[str, str], sentence: str
) -> None:
    settings = settings_for(tmp_path, **changes)
    async with serving(store, settings, desk=saying(UNSURE)) as client:
        _, told = await ask(client, V1)

    assert told["answer"] == sentence
    assert "escalation_message" not in told


@pytest.mark.mended(id="mission-S4")
@pytest.mark.parametrize("error", get_args(ErrorCode))
async def test_what_did_not_work_is_told_by_a_code(
    store: Store, tmp_path: Path, error: ErrorCode
) -> None:
    desk = always(lambda message: unavailable_outcome(message, "broken", error))
    async with serving(store, settings_for(tmp_path), desk=desk) as client:
        response, told = await ask(client, V2)
        _, before = await ask(client, V1)

    assert (response.status, told["status"], told["error"]) == (200, "error", error)
    assert before["status"] == "error"
    assert "error" not in before


def test_a_model_that_fails_in_small_talk_is_an_error_and_no_answer() -> None:
    silent = Reply("Later, please.", "generic", error="model_unavailable")

    told = answer_v2("i", "c", replies.outcome(silent), "Not sure.")

    assert (told.status, told.error, told.answer) == ("error", "model_unavailable", silent.text)


@pytest.mark.mended(id="mission-S4")
def test_every_code_that_can_occur_is_listed_and_documented() -> None:
    page = (Path(__file__).parents[5] / "docs" / "api-asking.md").read_text(encoding="utf-8")
    raised = [
        *(IndexMismatch, IndexUnavailable, ModelAnswerInvalid, ModelFilesInvalid),
        *(ModelUnavailable, RagError, RuntimeError, TimeoutError),
    ]

    codes = {error_code(error("what happened")) for error in raised}
    shown = openapi_document()["components"]["schemas"]["AnswerV2"]["properties"]["error"]["anyOf"]

    assert codes == set(get_args(ErrorCode)) == set(shown[0]["enum"])
    assert all(f"| `{code}` |" in page for code in codes)


async def test_version_1_is_marked_as_deprecated_and_names_its_successor(client: Client) -> None:
    good, _ = await ask(client, V1)
    bad = await client.get(f"{V1}/documents/HR/a%2Fb.md?x=1")
    new, _ = await ask(client, V2)

    assert good.headers["Link"] == '</api/v2/ask>; rel="successor-version"'
    assert bad.headers["Link"] == '</api/v2/documents/HR/a%2Fb.md>; rel="successor-version"'
    assert good.headers["Deprecation"].removeprefix("@").isdecimal()
    assert not {"Deprecation", "Link"} & set(new.headers)


def test_each_operation_of_version_1_has_a_successor() -> None:
    paths = openapi_document()["paths"]
    first = [each for each in OPERATIONS if each.path.startswith(V1)]

    assert first
    for operation in first:
        method = operation.method.lower()
        successor = paths[operation.path.replace(V1, V2)][method]
        assert paths[operation.path][method]["deprecated"]
        assert "deprecated" not in successor
        assert successor["operationId"] != paths[operation.path][method]["operationId"]


GUESS = replace(replies.ANSWERED, confidence=0.5, confidence_level="unsure")
PARTIAL = replace(replies.ANSWERED, confidence_level="partial", missing="Who pays.")


@pytest.mark.parametrize(
    ("response", "level", "missing"),
    [
        (replace(replies.ANSWERED, confidence_level="sure"), "sure", None),
        (PARTIAL, "partial", "Who pays."),
        (GUESS, "unsure", None),
        (replies.ANSWERED, None, None),
        (replies.HELLO, None, None),
        (replies.UNSURE, None, None),
    ],
    ids=["sure", "partial", "unsure", "recorded before", "generic", "escalated"],
)
def test_version_2_tells_how_an_answer_is_meant(
    response: Response, level: str | None, missing: str | None
) -> None:
    told = answer_v2("i1", "c1", replies.outcome(response), "Not sure.")

    assert (told.confidence_level, told.missing) == (level, missing)


def test_version_2_tells_the_parts_of_an_answer_from_the_wiki_alone() -> None:
    parts = (Quotation((paragraph("Restart it."),), (1,)), Omission("steps", 2, 4))
    told = answer_v2("i1", "c1", replies.outcome(replace(replies.ANSWERED, parts=parts)), "")
    small_talk = answer_v2("i1", "c1", replies.outcome(replace(replies.HELLO, parts=parts)), "")

    quoted, omitted = told.model_dump()["parts"]
    assert (quoted["kind"], quoted["citations"]) == ("quotation", [1])
    assert quoted["blocks"][0]["texts"] == [{"text": "Restart it.", "citations": []}]
    assert (omitted["of"], omitted["first"], omitted["last"]) == ("steps", 2, 4)
    assert small_talk.model_dump()["parts"] == []


def test_version_2_tells_a_translation_apart() -> None:
    reply = replace(replies.ANSWERED, translation=Translation("de", "Im Portal."))

    told = answer_v2("i1", "c1", replies.outcome(reply), "Not sure.")

    assert told.translation is not None
    assert told.translation.model_dump() == {"language": "de", "text": "Im Portal."}
    assert answer_v2("i1", "c1", replies.outcome(GUESS), "Not sure.").translation is None


async def test_version_1_knows_no_guess_but_its_pages(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), desk=saying(GUESS)) as client:
        _, told = await ask(client, V1)
        path = f"{V1}/interactions/{told['interaction_id']}"
        again = await (await client.get(path)).json()

    for each in (told, again):
        assert (each["answer_type"], each["status"]) == ("ESCALATION_REQUIRED", "unknown")
        assert each["answer"] == NOT_FOUND_V1
        assert (len(each["sources"]), len(each["suggestions"])) == (0, 1)
        assert "confidence_level" not in each


async def test_version_2_lists_questions_with_a_level(store: Store, client: Client) -> None:
    await add_interaction(store, "sure", answer_type="RAG", confidence_level="sure")
    await add_interaction(store, "guess", answer_type="RAG", confidence_level="unsure")
    response = await client.get(f"{V2}/interactions?confidence_level=unsure")
    (guess,) = (await response.json())["questions"]
    before = (await (await client.get(f"{V1}/interactions")).json())["questions"]
    refused = await client.get(f"{V1}/interactions?confidence_level=unsure")

    assert (guess["interaction_id"], guess["confidence_level"]) == ("guess", "unsure")
    assert [set(guess) - set(each) for each in before] == 2 * [{"confidence_level"}]
    assert refused.status == 422
