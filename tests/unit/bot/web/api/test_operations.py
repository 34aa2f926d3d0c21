"""Tests that the OpenAPI document and the server agree, and of the health checks."""

from __future__ import annotations

import io
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, web

from bot.domain.errors import InteractionUnknown, RateExceeded, StoreUnavailable
from bot.domain.health import ComponentStatus
from bot.domain.interactions import Outcome
from bot.domain.messages import InteractionId, Limit, Message, Refusal
from bot.domain.outcomes import refused_outcome as refused_by
from bot.store.database import Store
from bot.web.api import ShadowApi, mount, openapi_document
from bot.web.api.documents import DOCUMENT_OPERATIONS
from bot.web.api.operations import INTERACTION_OPERATIONS, Operation, in_v1
from bot.web.api.record import RecordApi
from bot.web.problems import ProblemDetails
from tests.fakes.bot_ports import AnswerBarrier, EchoDesk
from tests.fakes.chat_context import ReadsEverything, documents_api, draft_review
from tests.fakes.durable_inbox import inbox_over
from tests.fakes.http_server import (
    BEARER,
    TOKEN,
    Client,
    answers_api,
    gaps_api,
    insights_api,
    record_api,
    serving,
    settings_for,
)
from tests.fakes.record_rows import add_escalation, add_interaction

JSON = {"Content-Type": "application/json"}
EVIL = {"Origin": "https://evil.example"}
METHODS = {"get", "put", "post", "patch", "delete"}
FAILED = (ComponentStatus("index", "failed", "gone", "Mend it."),)
documented_api = cache(openapi_document)


def test_every_route_is_documented_and_no_other_is(store: Store, tmp_path: Path) -> None:
    app = web.Application()
    mount(
        app,
        inbox=inbox_over(store).inbox,
        interactions=store.interactions,
        audits=store.audits,
        settings=settings_for(tmp_path),
        check_parts=no_parts,
        record=record_api(store),
        documents=documents_api(store.audits, tmp_path),
        gaps=gaps_api(store),
        answers=answers_api(store, tmp_path),
        insights=insights_api(store),
        shadow=ShadowApi(draft_review(store)),
        readable=ReadsEverything(),
    )

    served = {
        (route.method.lower(), route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    paths = openapi_document()["paths"]
    documented = {(method, path) for path, item in paths.items() for method in item}

    assert served == documented


async def no_parts() -> tuple[ComponentStatus, ...]:
    return ()


def references(node: Any) -> set[str]:  # noqa: ANN401 - JSON
    if isinstance(node, dict):
        own = {node["$ref"]} if "$ref" in node else set()
        return own.union(*(references(value) for value in node.values()))
    if isinstance(node, list):
        return set[str]().union(*(references(value) for value in node))
    return set()


def test_the_document_is_whole() -> None:
    whole = openapi_document()
    schemas = {f"#/components/schemas/{name}" for name in whole["components"]["schemas"]}

    assert whole["openapi"] == "3.1.0"
    assert references(whole) <= schemas
    assert schemas <= references(whole)
    for item in whole["paths"].values():
        for method, operation in item.items():
            assert method in METHODS
            assert operation["summary"]
            assert all(reply["description"] for reply in operation["responses"].values())


def test_an_answer_is_documented_with_its_keys() -> None:
    answer = openapi_document()["components"]["schemas"]["Answer"]

    assert set(answer["properties"]) - {"pipeline"} <= set(answer["required"])
    assert answer["properties"]["status"]["enum"] == ["answered", "unknown", "error"]


async def test_the_document_is_served(client: Client) -> None:
    assert await (await client.get("/openapi.json")).json() == openapi_document()


class Defective:
    """A part of which every method raises the same error."""

    def __init__(self, error: Exception, **working: object) -> None:
        self._error = error
        self._working = working

    def __getattr__(self, name: str) -> Callable[..., Awaitable[object]]:
        async def method(*_: object, **__: object) -> object:
            if name in self._working:
                return self._working[name]
            raise self._error

        return method


DEFECT = RuntimeError("password=hunter2")
AWAY = StoreUnavailable("The disk is full.")
GONE = Defective(InteractionUnknown("Withdrawn."), accept=InteractionId("i1"))
LISTS = frozenset({"questions", "escalations", "usage"})
ESCALATED = "00000000-0000-0000-0000-000000000001"
NOBODY = "00000000-0000-0000-0000-000000000000"


class ServerStates:
    """Servers in the states that bring about every documented response."""

    def __init__(self, stack: AsyncExitStack, store: Store, tmp_path: Path) -> None:
        self._stack = stack
        self._store = store
        self._path = tmp_path

    async def client(self, **options: Any) -> Client:  # noqa: ANN401 - those of serving
        settings = options.pop("settings", None) or settings_for(self._path)
        return await self._stack.enter_async_context(serving(self._store, settings, **options))

    async def guarded(self) -> Client:
        return await self.client(
            settings=settings_for(self._path, admin_token=TOKEN, host="10.1.1.1")
        )

    async def escalated(self, **standing: object) -> None:
        await add_interaction(self._store, ESCALATED)
        await add_escalation(self._store, ESCALATED, **standing)

    async def slow(self) -> Client:
        return await self.client(desk=EchoDesk(AnswerBarrier()), ask_seconds=0.05)


async def send(
    client: Client,
    operation: Operation,
    interaction: str = NOBODY,
    **options: Any,  # noqa: ANN401 - those of aiohttp
) -> ClientResponse:
    """Send a right request of an operation, but for what ``options`` change."""
    known = interaction if "/interactions/" in operation.path else ESCALATED
    path = operation.path.replace("{id}", known).replace("{act}", "claim")
    bodies: dict[str, dict[str, Any]] = {
        "ask": {"question": "hi"},
        "amend": {"question": "ho"},
        "judge": {"vote": "up"},
        "act": {"text": ""},
    }
    body = bodies.get(operation.handler)
    given = {"json": body} if body and "data" not in options else {}
    return await client.request(operation.method, path, **(given | options))


async def interaction_of_a_question(client: Client) -> str:
    response = await client.post("/api/v2/ask", json={"question": "hi"})
    return str((await response.json())["interaction_id"])


async def refused(world: ServerStates, operation: Operation, status: int) -> ClientResponse:
    """Bring about what the doors and the reader of the body refuse."""
    if status == 401:
        return await send(await world.guarded(), operation)
    client = await world.client()
    own = {"Origin": f"http://127.0.0.1:{client.port}"}
    options: dict[int, dict[str, Any]] = {
        400: {"data": b"{", "headers": JSON},
        403: {"headers": EVIL},
        413: {"data": io.BytesIO(b"x" * 1_100_000), "headers": JSON},
        415: {"data": b"x", "headers": own},
    }
    return await send(client, operation, **options[status])


async def failed(world: ServerStates, operation: Operation, status: int) -> ClientResponse:
    """Bring about what breaks inside."""
    if operation.handler == "ready":
        return await send(await world.client(parts=None if status == 500 else FAILED), operation)
    broken: Any = Defective(DEFECT if status == 500 else AWAY)
    record = RecordApi(
        tenant="default",
        searches=broken,
        cases=broken,
        works=broken,
        interactions=broken,
        usage=broken,
    )
    client = await world.client(accepts=broken, interactions=broken, record=record)
    return await send(client, operation)


async def wrong(world: ServerStates, operation: Operation, status: int) -> ClientResponse:
    """Bring about what the operation itself refuses."""
    match operation.handler, status:
        case "ask", 404:
            return await send(await world.client(accepts=GONE), operation)
        case "ask", 409:
            client = await world.client()
            key = {"Idempotency-Key": "k"}
            await send(client, operation, headers=key)
            return await send(client, operation, headers=key, json={"question": "other"})
        case ("ask", 504) | (("judge" | "amend"), 409):
            client = await (world.client() if operation.handler == "amend" else world.slow())
            known = NOBODY if status == 504 else await interaction_of_a_question(client)
            return await send(client, operation, known)
        case "act", 409:
            await world.escalated(state="claimed", owner="bea", owner_name="Bea")
        case (("ask" | "amend" | "judge" | "act"), 422):
            return await send(await world.client(), operation, data=b'{"text": 1}', headers=JSON)
        case _, 422:
            listed = {"limit": "x"} if operation.handler != "usage" else {"by": "x"}
            own = {"show_pipeline": "x", "user": ""}
            query = listed if operation.handler in LISTS else own
            client = await world.client()
            return await send(
                client, operation, await interaction_of_a_question(client), params=query
            )
    return await send(await world.client(), operation)


async def done(world: ServerStates, operation: Operation, status: int) -> ClientResponse:
    """Bring about what goes well."""
    if operation.handler in {"escalation", "act"}:
        await world.escalated()
        return await send(await world.client(), operation)
    unanswered = status == 202 or operation.handler == "amend"
    client = await (world.slow() if unanswered else world.client())
    return await send(client, operation, await interaction_of_a_question(client))


async def limited(world: ServerStates, operation: Operation, _: int) -> ClientResponse:
    """Bring about what a limit refuses; in version 1 what is far beyond one, and not kept."""
    if operation.deprecated:
        beyond = Defective(RateExceeded("Wait.", retry_after_seconds=30))
        return await send(await world.client(accepts=beyond), operation)

    async def too_much(message: Message) -> Outcome:
        return refused_by(message, Refusal("Wait.", "rate", limit=Limit("rate")))

    return await send(await world.client(desk=EchoDesk(too_much)), operation)


V1_OPERATIONS = [
    in_v1(operation)
    for operation in INTERACTION_OPERATIONS
    if operation.handler in {"ask", "interaction"}
]
"""What version 1 maps otherwise; the rest is the same handlers under another address."""

Brings = Callable[[ServerStates, Operation, int], Awaitable[ClientResponse]]

PROMISED = [
    (operation, status)
    for operation in (*INTERACTION_OPERATIONS, *V1_OPERATIONS)
    for status in sorted({*operation.replies, *operation.problems})
]


@pytest.mark.parametrize(
    ("operation", "status"), PROMISED, ids=[f"{item.id}-{code}" for item, code in PROMISED]
)
async def test_every_documented_response_is_given_as_documented(
    store: Store, tmp_path: Path, operation: Operation, status: int
) -> None:
    bring_about: Brings = wrong
    if status in {400, 401, 403, 413, 415}:
        bring_about = refused
    elif status == 429:
        bring_about = limited
    elif status >= 500 and status != 504:
        bring_about = failed
    elif status < 300:
        bring_about = done
    async with AsyncExitStack() as stack:
        response = await bring_about(ServerStates(stack, store, tmp_path), operation, status)
        text = await response.text()

    assert response.status == status
    assert "hunter2" not in text
    model = operation.replies.get(status, ProblemDetails)
    if model is None:
        assert text == ""
        return
    model.model_validate_json(text)
    promised = documented_api()["paths"][operation.path][operation.method.lower()]["responses"]
    assert response.content_type in promised[str(status)]["content"]


def pages_about_the_api() -> str:
    """Return what the documentation says of the API: its page and those about one subject."""
    pages = sorted((Path(__file__).parents[5] / "docs").glob("api*.md"))
    return "\n\n".join(page.read_text(encoding="utf-8") for page in pages)


def test_the_page_about_the_api_knows_every_route_and_every_error() -> None:
    page = pages_about_the_api()
    for operation in (*INTERACTION_OPERATIONS, *DOCUMENT_OPERATIONS):
        assert f"`{operation.method} {operation.path}`" in page
        for status in operation.problems:
            assert f"| {status} |" in page


ASK_IN_FULL = {
    "question": "VPN?",
    "conversation_id": "c-1",
    "user": {"id": "anna", "email": "anna@acme.example", "groups": ["hr"]},
    "show_pipeline": True,
    "spaces": ["IT"],
    "source_type": "folder",
    "model": None,
}
JUDGEMENT_IN_FULL = {
    "vote": "down",
    "rating": 2,
    "reason": "outdated",
    "comment": "It moved.",
    "user": ASK_IN_FULL["user"],
}
DOCUMENT_IN_FULL = {
    "name": "leave.md",
    "title": "Leave",
    "content": "28 days.",
    "format": "markdown",
    "labels": ["hr"],
    "readers": ["group:hr"],
}


async def test_every_field_of_the_docs_is_in_the_document_and_taken(
    store: Store, tmp_path: Path
) -> None:
    page = pages_about_the_api()
    tables = [table.split("\n\n")[0] for table in page.split("| Field | Meaning |")[1:]]
    told = [set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) for table in tables]
    schemas = openapi_document()["components"]["schemas"]
    settings = settings_for(tmp_path, dev_identities=True)
    async with serving(store, settings) as client:
        answered = await client.post("/api/v2/ask", json=ASK_IN_FULL)
        asked = (await answered.json())["interaction_id"]
        judged = await client.put(f"/api/v2/interactions/{asked}/feedback", json=JUDGEMENT_IN_FULL)
        kept = await client.post("/api/v2/documents/HR", json=DOCUMENT_IN_FULL)

    assert told == [set(ASK_IN_FULL), set(JUDGEMENT_IN_FULL), set(DOCUMENT_IN_FULL)]
    assert told == [set(schemas[name]["properties"]) for name in ("Ask", "Judge", "NewDocument")]
    assert set(schemas["DocumentContent"]["properties"]) == told[2] - {"name"}
    assert (answered.status, judged.status, kept.status) == (200, 200, 202)


BROKEN = (
    ComponentStatus(
        "index", "failed", "can't read /srv/index.sqlite.", "Run `python -m ingestion`."
    ),
    ComponentStatus("model", "absent", "not configured.", "Set OPENAI_MODEL."),
)


async def test_a_running_process_is_healthy_with_broken_parts(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), parts=BROKEN) as client:
        response = await client.get("/health")

        assert response.status == 200
        assert await response.json() == {"status": "ok", "role": "all"}
        assert (await client.head("/health")).status == 200


async def test_all_that_is_needed_is_ready(store: Store, tmp_path: Path) -> None:
    parts = (ComponentStatus("index", "ready", "25 pages."), BROKEN[1])
    async with serving(store, settings_for(tmp_path), parts=parts) as client:
        response = await client.get("/ready")
        body = await response.json()

    assert response.status == 200
    assert body["status"] == "ready"
    assert [part["state"] for part in body["parts"]] == ["ready", "absent"]


async def test_a_broken_platform_is_told_and_the_others_go_on(store: Store, tmp_path: Path) -> None:
    parts = (ComponentStatus("Slack", "failed", "The token is refused.", vital=False),)
    async with serving(store, settings_for(tmp_path), parts=parts) as client:
        response = await client.get("/ready")
        body = await response.json()

    assert (response.status, body["status"]) == (200, "ready")
    assert body["parts"][0]["state"] == "failed"


async def test_a_broken_part_is_told_with_its_cure(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), parts=BROKEN) as client:
        response = await client.get("/ready")
        body = await response.json()

    assert response.status == 503
    assert body["status"] == "not_ready"
    assert body["parts"][0]["cure"] == "Run `python -m ingestion`."


async def test_strangers_learn_the_states_but_not_the_details(store: Store, tmp_path: Path) -> None:
    public = settings_for(tmp_path, admin_token=TOKEN, host="0.0.0.0")  # noqa: S104 - reachable
    async with serving(store, public, parts=BROKEN) as client:
        stranger = await (await client.get("/ready")).json()
        admin = await (await client.get("/ready", headers=BEARER)).json()

    assert stranger["parts"][0] == {
        "name": "index",
        "state": "failed",
        "detail": None,
        "cure": None,
    }
    assert "index.sqlite" in admin["parts"][0]["detail"]


async def test_a_server_on_loopback_that_slack_reaches_tells_strangers_no_details(
    store: Store, tmp_path: Path
) -> None:
    tunnelled = settings_for(tmp_path, slack_bot_token="xoxb-1", slack_signing_secret="s")
    async with serving(store, tunnelled, parts=BROKEN) as client:
        told = await (await client.get("/ready")).json()

    assert {part["detail"] for part in told["parts"]} == {None}
