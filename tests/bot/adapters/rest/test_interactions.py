from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.domain.interactions import Outcome, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.store.database import Store
from tests.bot.adapters.rest import replies
from tests.bot.fakes import EchoDesk, Gate
from tests.bot.recorded import answered
from tests.bot.server import BEARER, PAGE_VIEW, TOKEN, Client, serving, settings_for
from tests.bot.store.filled import add_interaction
from tests.builders import message

HOSTILE = ["../ask", "%00", "'; DROP TABLE interactions; --", "x" * 5000, "00000000"]


async def found(_: Message) -> Outcome:
    return replies.outcome(replies.FOUND)


async def asked(client: Client, **body: object) -> str:
    response = await client.post("/api/v1/ask", json={"question": "VPN?", **body})
    path: str = (await response.json())["interaction_id"]
    return f"/api/v1/interactions/{path}"


async def body_of(client: Client, path: str, headers: dict[str, str] | None = None) -> Any:  # noqa: ANN401 - JSON
    response = await client.get(path, headers=headers or {})
    assert response.status == 200
    return await response.json()


async def test_an_interaction_is_the_answer_with_question_time_and_judgements(
    store: Store, tmp_path: Path
) -> None:
    async with serving(store, settings_for(tmp_path), desk=EchoDesk(found)) as client:
        answer = await (await client.post("/api/v1/ask", json={"question": "VPN?"})).json()
        path = f"/api/v1/interactions/{answer['interaction_id']}"
        kept = await body_of(client, path)
        why = await body_of(client, f"{path}?show_pipeline=true")

    assert set(kept) == set(answer) | {"question", "created_at", "feedback"}
    assert {key: kept[key] for key in answer} == answer
    assert (kept["question"], kept["feedback"]) == ("VPN?", [])
    assert kept["created_at"].endswith("Z")
    assert why["pipeline"]["gate"]["threshold"] == 0.65


async def test_a_judgement_is_kept_replaced_and_taken_back(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path)) as client:
        path = await asked(client)
        first = await client.put(f"{path}/feedback", json={"vote": "up"})
        second = await client.put(
            f"{path}/feedback",
            json={"vote": "down", "rating": 2, "reason": "outdated", "comment": " old "},
        )
        kept = (await body_of(client, path))["feedback"]
        removed = await client.delete(f"{path}/feedback")
        again = await client.delete(f"{path}/feedback")
        left = (await body_of(client, path))["feedback"]

        assert (first.status, second.status) == (200, 200)
        assert kept == [await second.json()]
        assert (kept[0]["person_id"], kept[0]["vote"], kept[0]["rating"]) == ("local", "down", 2)
        assert (kept[0]["reason"], kept[0]["comment"]) == ("outdated", "old")
        assert (removed.status, again.status, left) == (204, 204, [])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "vote"),
        ({"vote": "sideways"}, "vote"),
        ({"vote": "up", "rating": 0}, "rating"),
        ({"vote": "up", "rating": 6}, "rating"),
        ({"vote": "up", "rating": 2.5}, "rating"),
        ({"vote": "up", "rating": True}, "rating"),
        ({"vote": "up", "reason": "boring"}, "reason"),
        ({"vote": "up", "comment": "x" * 2001}, "comment"),
        ({"vote": "up", "stars": 5}, "stars"),
    ],
)
async def test_a_wrong_judgement_is_told_by_field(
    store: Store, tmp_path: Path, body: dict[str, object], field: str
) -> None:
    async with serving(store, settings_for(tmp_path)) as client:
        path = await asked(client)
        response = await client.put(f"{path}/feedback", json=body)
        told = await response.json()

    assert response.status == 422
    assert told["errors"][0]["field"] == field


async def test_what_is_not_answered_cannot_be_judged(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    settings = settings_for(tmp_path)
    async with serving(store, settings, desk=EchoDesk(gate), ask_seconds=0.05) as client:
        late = await (await client.post("/api/v1/ask", json={"question": "hi"})).json()
        response = await client.put(f"{late['poll']}/feedback", json={"vote": "up"})

    assert response.status == 409


async def test_only_the_asker_and_admins_see_an_interaction(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN)) as client:
        await client.get("/", headers=PAGE_VIEW)
        path = await asked(client)
        assert (await client.get(path)).status == 200
        client.session.cookie_jar.clear()

        local = await client.get(path)
        await client.get("/", headers=PAGE_VIEW)
        other = await client.get(path)
        judged = await client.put(f"{path}/feedback", json={"vote": "down"})
        removed = await client.delete(f"{path}/feedback")
        admin = await client.get(path, headers=BEARER)

        assert [r.status for r in (local, other, judged, removed, admin)] == [404] * 4 + [200]
        told = (await local.json())["detail"]
        missing = await client.get("/api/v1/interactions/00000000-0000-0000-0000-000000000000")
        assert missing.status == 404
        assert told.partition("'")[0] == (await missing.json())["detail"].partition("'")[0]


async def test_others_judgements_are_for_admins(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN)) as client:
        path = await asked(client)
        await client.put(f"{path}/feedback", json={"vote": "up"})
        judged = {"vote": "down", "user": {"id": "anna"}}
        assert (await client.put(f"{path}/feedback", json=judged, headers=BEARER)).status == 200

        own = (await body_of(client, path))["feedback"]
        every = (await body_of(client, path, BEARER))["feedback"]
        taken = await client.delete(f"{path}/feedback?user=anna", headers=BEARER)
        left = (await body_of(client, path, BEARER))["feedback"]

    assert [item["person_id"] for item in own] == ["local"]
    assert [item["person_id"] for item in every] == ["local", "anna"]
    assert taken.status == 204
    assert [item["person_id"] for item in left] == ["local"]


async def test_judging_for_somebody_else_needs_the_right_to(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path)) as client:
        path = await asked(client)
        put = await client.put(f"{path}/feedback", json={"vote": "up", "user": {"id": "anna"}})
        taken = await client.delete(f"{path}/feedback?user=anna")
        nobody = await client.delete(f"{path}/feedback?user=")

    assert (put.status, taken.status, nobody.status) == (403, 403, 422)


async def test_the_platforms_questions_are_for_admins_only(store: Store, tmp_path: Path) -> None:
    question = message("hi", platform="slack", channel="local")
    await answered(store, question, "hello")
    await store.work.posted(question.interaction_id, PostedRef("C1", "1"))
    path = f"/api/v1/interactions/{question.interaction_id}"

    async with serving(store, settings_for(tmp_path, admin_token=TOKEN)) as client:
        assert (await client.get(path)).status == 404
        assert (await body_of(client, path, BEARER))["question"] == "hi"


async def test_another_tenants_questions_are_nobodys(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN)) as client:
        path = await asked(client)
    other = settings_for(tmp_path, admin_token=TOKEN, tenant="other")
    async with serving(store, other) as client:
        assert (await client.get(path, headers=BEARER)).status == 404


async def test_a_withdrawn_question_is_gone(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path)) as client:
        path = await asked(client)
        await store.work.cancel(InteractionId(path.rpartition("/")[2]))

        assert (await client.get(path)).status == 404
        assert (await client.put(f"{path}/feedback", json={"vote": "up"})).status == 404


async def test_an_answer_that_no_platform_took_is_still_an_answer(
    store: Store, tmp_path: Path
) -> None:
    question = message("hi", platform="slack")
    kept_answer = await answered(store, question, "hello")
    await store.work.fail(kept_answer, "The channel is gone.")

    async with serving(store, settings_for(tmp_path, admin_token=TOKEN)) as client:
        kept = await body_of(client, f"/api/v1/interactions/{question.interaction_id}", BEARER)

    assert (kept["status"], kept["answer"]) == ("answered", "hello")


async def test_work_that_an_older_version_gave_up_is_an_error(store: Store, tmp_path: Path) -> None:
    question = message("hi", platform="rest").interaction_id
    await add_interaction(store, question, status="failed", posted=False)

    async with serving(store, settings_for(tmp_path, admin_token=TOKEN)) as client:
        kept = await body_of(client, f"/api/v1/interactions/{question}", BEARER)

    assert (kept["status"], kept["requires_escalation"]) == ("error", True)


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_ids_are_no_interactions(store: Store, tmp_path: Path, name: str) -> None:
    async with serving(store, settings_for(tmp_path)) as client:
        response = await client.get(f"/api/v1/interactions/{name}")

    assert response.status in {404, 405}
    assert response.content_type == "application/problem+json"


async def test_a_wrong_switch_is_told(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path)) as client:
        path = await asked(client)
        response = await client.get(f"{path}?show_pipeline=1")

    assert response.status == 422


async def test_a_question_is_changed_until_it_is_answered(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    settings = settings_for(tmp_path)
    async with serving(store, settings, desk=EchoDesk(gate), ask_seconds=0.05) as client:
        late = await (await client.post("/api/v1/ask", json={"question": "old"})).json()
        changed = await client.patch(late["poll"], json={"question": " new "})
        working = await changed.json()
        gate.open()
        for _ in range(500):
            done = await client.get(late["poll"])
            if done.status != 202:
                break
        answer = await done.json()
        refused = await client.patch(late["poll"], json={"question": "newer"})
        kept = await body_of(client, late["poll"])

    assert (changed.status, working["status"], working["question"]) == (200, "working", "new")
    assert (answer["question"], answer["answer"]) == ("new", "You said: new")
    assert refused.status == 409
    assert (kept["question"], kept["answer"]) == ("new", "You said: new")


async def test_what_is_withdrawn_by_its_asker_is_gone(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path)) as client:
        path = await asked(client)
        withdrawn = await client.delete(path)
        text = await withdrawn.text()
        after = [
            (await client.get(path)).status,
            (await client.delete(path)).status,
            (await client.patch(path, json={"question": "x"})).status,
        ]
        recorded = await store.interactions.get(InteractionId(path.rpartition("/")[2]))

    assert (withdrawn.status, text, after) == (204, "", [404, 404, 404])
    assert recorded is not None
    assert (recorded.message.text, recorded.outcome) == ("", None)


async def test_only_the_asker_and_admins_change_or_withdraw(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN)) as client:
        path = await asked(client)
        await client.get("/", headers=PAGE_VIEW)
        other = [
            (await client.patch(path, json={"question": "x"})).status,
            (await client.delete(path)).status,
        ]
        kept = await body_of(client, path, BEARER)
        admin = (await client.delete(path, headers=BEARER)).status

    assert (other, kept["question"], admin) == ([404, 404], "VPN?", 204)
