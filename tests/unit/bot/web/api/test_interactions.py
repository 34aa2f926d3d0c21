"""Tests of questions, escalations and usage over the API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.domain.cases import ActDetail, Actor
from bot.domain.interactions import Outcome, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.domain.record_search import Cursor, encode_cursor
from bot.store.database import Store
from tests.fakes.bot_ports import AnswerBarrier, EchoDesk
from tests.fakes.builders import NOON, message
from tests.fakes.durable_inbox import record_answer
from tests.fakes.http_server import BEARER, PAGE_VIEW, TOKEN, Client, serving, settings_for
from tests.fakes.record_rows import add_escalation, add_interaction, add_usage
from tests.unit.bot.web.api import replies

HOSTILE = ["../ask", "%00", "'; DROP TABLE interactions; --", "x" * 5000, "00000000"]


BEA, AL = Actor("bea", "Bea", "expert"), Actor("al", "Al", "expert")


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


async def test_an_interaction_is_the_answer_and_its_story(store: Store, tmp_path: Path) -> None:
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


async def test_a_judgement_is_kept_replaced_and_taken_back(client: Client) -> None:
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
    client: Client, body: dict[str, object], field: str
) -> None:
    path = await asked(client)
    response = await client.put(f"{path}/feedback", json=body)
    told = await response.json()

    assert response.status == 422
    assert told["errors"][0]["field"] == field


async def test_what_is_not_answered_cannot_be_judged(store: Store, tmp_path: Path) -> None:
    gate = AnswerBarrier()
    settings = settings_for(tmp_path)
    async with serving(store, settings, desk=EchoDesk(gate), ask_seconds=0.05) as client:
        late = await (await client.post("/api/v1/ask", json={"question": "hi"})).json()
        response = await client.put(f"{late['poll']}/feedback", json={"vote": "up"})

    assert response.status == 409


async def test_only_the_asker_and_admins_see_an_interaction(guarded: Client) -> None:
    await guarded.get("/", headers=PAGE_VIEW)
    path = await asked(guarded)
    assert (await guarded.get(path)).status == 200
    guarded.session.cookie_jar.clear()

    local = await guarded.get(path)
    await guarded.get("/", headers=PAGE_VIEW)
    other = await guarded.get(path)
    judged = await guarded.put(f"{path}/feedback", json={"vote": "down"})
    removed = await guarded.delete(f"{path}/feedback")
    admin = await guarded.get(path, headers=BEARER)

    assert [r.status for r in (local, other, judged, removed, admin)] == [404] * 4 + [200]
    told = (await local.json())["detail"]
    missing = await guarded.get("/api/v1/interactions/00000000-0000-0000-0000-000000000000")
    assert missing.status == 404
    assert told.partition("'")[0] == (await missing.json())["detail"].partition("'")[0]


async def test_others_judgements_are_for_admins(guarded: Client) -> None:
    path = await asked(guarded)
    await guarded.put(f"{path}/feedback", json={"vote": "up"})
    judged = {"vote": "down", "user": {"id": "anna"}}
    assert (await guarded.put(f"{path}/feedback", json=judged, headers=BEARER)).status == 200

    own = (await body_of(guarded, path))["feedback"]
    every = (await body_of(guarded, path, BEARER))["feedback"]
    taken = await guarded.delete(f"{path}/feedback?user=anna", headers=BEARER)
    left = (await body_of(guarded, path, BEARER))["feedback"]

    assert [item["person_id"] for item in own] == ["local"]
    assert [item["person_id"] for item in every] == ["local", "anna"]
    assert taken.status == 204
    assert [item["person_id"] for item in left] == ["local"]


async def test_judging_for_somebody_else_needs_the_right_to(client: Client) -> None:
    path = await asked(client)
    put = await client.put(f"{path}/feedback", json={"vote": "up", "user": {"id": "anna"}})
    taken = await client.delete(f"{path}/feedback?user=anna")
    nobody = await client.delete(f"{path}/feedback?user=")

    assert (put.status, taken.status, nobody.status) == (403, 403, 422)


async def test_the_platforms_questions_are_for_admins_only(store: Store, guarded: Client) -> None:
    question = message("hi", platform="slack", channel="local")
    await record_answer(store, question, "hello")
    await store.work.posted(question.interaction_id, PostedRef("C1", "1"))
    path = f"/api/v1/interactions/{question.interaction_id}"

    assert (await guarded.get(path)).status == 404
    assert (await body_of(guarded, path, BEARER))["question"] == "hi"


async def test_another_tenants_questions_are_nobodys(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN)) as client:
        path = await asked(client)
    other = settings_for(tmp_path, admin_token=TOKEN, tenant="other")
    async with serving(store, other) as client:
        assert (await client.get(path, headers=BEARER)).status == 404


async def test_a_withdrawn_question_is_gone(store: Store, client: Client) -> None:
    path = await asked(client)
    await store.work.cancel(InteractionId(path.rpartition("/")[2]))

    assert (await client.get(path)).status == 404
    assert (await client.put(f"{path}/feedback", json={"vote": "up"})).status == 404


async def test_an_answer_no_platform_took_is_an_answer(store: Store, guarded: Client) -> None:
    question = message("hi", platform="slack")
    kept_answer = await record_answer(store, question, "hello")
    await store.work.fail(kept_answer, "The channel is gone.")

    kept = await body_of(guarded, f"/api/v1/interactions/{question.interaction_id}", BEARER)

    assert (kept["status"], kept["answer"]) == ("answered", "hello")


async def test_work_an_older_version_gave_up_is_an_error(store: Store, guarded: Client) -> None:
    question = message("hi", platform="rest").interaction_id
    await add_interaction(store, question, status="failed", posted=False)

    kept = await body_of(guarded, f"/api/v1/interactions/{question}", BEARER)

    assert (kept["status"], kept["requires_escalation"]) == ("error", True)


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_ids_are_no_interactions(client: Client, name: str) -> None:
    response = await client.get(f"/api/v1/interactions/{name}")

    assert response.status in {404, 405}
    assert response.content_type == "application/problem+json"


async def test_a_wrong_switch_is_told(client: Client) -> None:
    path = await asked(client)
    response = await client.get(f"{path}?show_pipeline=1")

    assert response.status == 422


async def test_a_question_is_changed_until_it_is_answered(store: Store, tmp_path: Path) -> None:
    gate = AnswerBarrier()
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


async def test_what_is_withdrawn_by_its_asker_is_gone(store: Store, client: Client) -> None:
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


async def test_only_the_asker_and_admins_change_or_withdraw(guarded: Client) -> None:
    path = await asked(guarded)
    await guarded.get("/", headers=PAGE_VIEW)
    other = [
        (await guarded.patch(path, json={"question": "x"})).status,
        (await guarded.delete(path)).status,
    ]
    kept = await body_of(guarded, path, BEARER)
    admin = (await guarded.delete(path, headers=BEARER)).status

    assert (other, kept["question"], admin) == ([404, 404], "VPN?", 204)


QUESTIONS, ESCALATIONS, USAGE = "/api/v1/interactions", "/api/v1/escalations", "/api/v1/usage"


async def told(client: Client, path: str, status: int = 200, **query: str) -> Mapping[str, Any]:
    response = await client.get(path, params=query)
    assert response.status == status, await response.text()
    found: Mapping[str, Any] = await response.json()
    return found


async def done(
    client: Client, case: str, act: str, status: int = 200, **body: object
) -> Mapping[str, Any]:
    response = await client.post(f"{ESCALATIONS}/{case}/{act}", json=body)
    assert response.status == status, await response.text()
    found: Mapping[str, Any] = await response.json()
    return found


async def waiting(store: Store, *names: str) -> None:
    for hours, name in enumerate(names):
        await add_interaction(store, name, at=NOON + timedelta(hours=hours))
        await add_escalation(store, name, opened_at=NOON + timedelta(hours=hours), asker="anna")


async def test_questions_are_listed_newest_first_by_pages(store: Store, client: Client) -> None:
    for hours in range(5):
        await add_interaction(store, f"i{hours}", at=NOON + timedelta(hours=hours))

    first = await told(client, QUESTIONS, limit="3")
    second = await told(client, QUESTIONS, limit="3", cursor=first["next"])

    pages = [[each["interaction_id"] for each in page["questions"]] for page in (first, second)]
    assert pages == [["i4", "i3", "i2"], ["i1", "i0"]]
    assert second["next"] is None
    assert first["questions"][0]["platform"] == "web"


async def test_questions_are_found_by_words_and_time(store: Store, client: Client) -> None:
    await add_interaction(store, "early", at=NOON - timedelta(days=2))
    await add_interaction(store, "late", at=NOON)

    by_words = await told(client, QUESTIONS, q="vpn WHERE")
    by_other = await told(client, QUESTIONS, q="payroll")
    since = (NOON - timedelta(days=1)).isoformat()
    by_time = await told(client, QUESTIONS, since=since)

    assert [each["interaction_id"] for each in by_words["questions"]] == ["late", "early"]
    assert by_other["questions"] == []
    assert [each["interaction_id"] for each in by_time["questions"]] == ["late"]


@pytest.mark.parametrize(
    ("path", "query", "named"),
    [
        (QUESTIONS, {"limit": "0"}, "limit"),
        (QUESTIONS, {"limit": "many"}, "limit"),
        (QUESTIONS, {"vote": "sideways"}, "vote"),
        (QUESTIONS, {"since": "yesterday"}, "since"),
        (QUESTIONS, {"since": "2026-11-01T00:00:00"}, "since"),
        (QUESTIONS, {"least": "nan"}, "least"),
        (QUESTIONS, {"colour": "red"}, "colour"),
        (QUESTIONS, {"cursor": "!"}, "cursor"),
        (QUESTIONS, {"cursor": "AAAA"}, "cursor"),
        (QUESTIONS, {"cursor": "W10"}, "cursor"),
        (QUESTIONS, {"cursor": encode_cursor(Cursor(NOON, ("not a number",)))}, "cursor"),
        (QUESTIONS, {"cursor": encode_cursor(Cursor(NOON, ("9" * 30,)))}, "cursor"),
        (ESCALATIONS, {"cursor": encode_cursor(Cursor(NOON, ("a", "b")))}, "cursor"),
        (ESCALATIONS, {"state": "lost"}, "state"),
        (ESCALATIONS, {"cursor": "eyJhIjoxfQ"}, "cursor"),
        (USAGE, {"by": "mood"}, "by"),
    ],
)
async def test_a_query_that_is_not_understood_is_told_with_its_cure(
    client: Client, path: str, query: dict[str, str], named: str
) -> None:
    problem = await told(client, path, 422, **query)

    assert named in problem["detail"]
    assert problem["cure"]


async def test_escalations_are_listed_by_wait_and_by_state(store: Store, client: Client) -> None:
    await waiting(store, "a", "b", "c")

    await done(client, "b", "claim", name="Bea")
    first = await told(client, ESCALATIONS, limit="2")
    rest = await told(client, ESCALATIONS, limit="2", cursor=first["next"])
    claimed = await told(client, f"{ESCALATIONS}?state=claimed&state=answered")

    listed = [each["interaction_id"] for page in (first, rest) for each in page["escalations"]]
    assert sorted(listed) == ["a", "b", "c"]
    assert [each["owner_name"] for each in claimed["escalations"]] == ["Bea"]


async def test_who_claims_or_releases_says_nothing_by_it(store: Store, client: Client) -> None:
    await waiting(store, "a")

    await done(client, "a", "claim", name="Bea", text="Only for us: he asks each week.")
    released = await done(client, "a", "release", name="Bea", text="No time.")

    assert [each["text"] for each in released["history"][-2:]] == ["", ""]


async def test_a_case_is_claimed_answered_resolved_reopened(store: Store, client: Client) -> None:
    await waiting(store, "a")

    for act in ("claim", "reply", "resolve", "reopen"):
        case = await done(client, "a", act, name="Bea", text="Use the blue socket.")
    again = await told(client, f"{ESCALATIONS}/a")

    assert case == again
    assert case["state"] == "reopened"
    steps = [(each["step"], each["by_name"]) for each in case["history"]]
    assert [step for step, _ in steps][-4:] == ["claim", "reply", "resolve", "reopen"]
    assert {by for step, by in steps if step != "open"} == {"Bea"}


async def test_a_case_is_given_to_one_who_answered_before(store: Store, client: Client) -> None:
    await waiting(store, "a", "b")
    await store.escalations.act("default", InteractionId("b"), "claim", BEA)

    given = await done(client, "a", "assign", name="Al", text="She knows it.", to="bea")

    assert (given["state"], given["owner_id"]) == ("claimed", "bea")
    last = given["history"][-1]
    assert (last["step"], last["text"], last["to_name"]) == ("assign", "She knows it.", "Bea")


async def test_a_reply_is_corrected_and_taken_back(store: Store, client: Client) -> None:
    await waiting(store, "a")
    replied = await done(client, "a", "reply", name="Bea", text="Blue.")
    about = replied["history"][-1]["number"]

    amended = await done(client, "a", "amend", name="Bea", text="Red.", about=about)
    assert [each["text"] for each in amended["history"]][-2:] == ["Red.", ""]

    back = await done(client, "a", "retract", name="Bea", about=about)
    assert back["state"] == "claimed"
    assert [each["text"] for each in back["history"]][-3:] == ["", "", ""]


async def test_an_asker_reads_no_note_and_no_reason_of_an_assignment(
    store: Store, guarded: Client
) -> None:
    await guarded.get("/", headers=PAGE_VIEW)
    case_id = InteractionId((await asked(guarded)).rpartition("/")[2])
    await add_escalation(store, case_id, asker="anna")
    act = partial(store.escalations.act, "default", case_id)
    await act("note", BEA, "He asks each week.")
    await act("assign", BEA, "He is rude.", ActDetail(AL))
    await act("reply", AL, "Blue.")

    seen = await body_of(guarded, f"{ESCALATIONS}/{case_id}")
    experts = await body_of(guarded, f"{ESCALATIONS}/{case_id}", BEARER)

    assert steps_of(seen) == [("assign", ""), ("reply", "Blue.")]
    assert steps_of(experts)[:2] == [("note", "He asks each week."), ("assign", "He is rude.")]


def steps_of(case: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(each["step"], each["text"]) for each in case["history"]]


async def test_who_comes_second_is_told_who_has_it(store: Store, tmp_path: Path) -> None:
    await waiting(store, "a")
    settings = settings_for(tmp_path, dev_identities=True)

    async with serving(store, settings) as client:
        await done(client, "a", "claim", name="Bea", user={"id": "bea"})
        problem = await done(client, "a", "claim", 409, name="Carl", user={"id": "carl"})

    assert problem["detail"].startswith("It is assigned to Bea.")


@pytest.mark.parametrize("act", ["reply", "decline"])
async def test_a_reply_and_a_refusal_need_words(store: Store, client: Client, act: str) -> None:
    await waiting(store, "a")

    problem = await done(client, "a", act, 422, text="   ")

    assert act in problem["detail"]


async def test_unknown_escalations_and_acts_are_not_there(store: Store, client: Client) -> None:
    await waiting(store, "a")

    await told(client, f"{ESCALATIONS}/none", 404)
    problem = await done(client, "a", "forget", 404)

    assert "claim" in problem["cure"]


async def test_from_outside_the_record_is_for_experts(store: Store, tmp_path: Path) -> None:
    await waiting(store, "a")
    settings = settings_for(tmp_path, host="0.0.0.0", admin_token=TOKEN)  # noqa: S104 - not bound

    async with serving(store, settings) as client:
        closed = {(await client.get(path)).status for path in (QUESTIONS, ESCALATIONS, USAGE)}
        opened = {
            (await client.get(path, headers=BEARER)).status
            for path in (QUESTIONS, ESCALATIONS, USAGE)
        }

    assert closed == {401}
    assert opened == {200}


async def test_usage_is_summed_by_what_is_asked(store: Store, client: Client) -> None:
    await add_usage(store, 1)
    await add_usage(store, 2, model="large", cost_usd=None)
    since = (NOON - timedelta(days=1)).isoformat()
    until = (NOON + timedelta(days=1)).isoformat()

    by_day = await told(client, USAGE, since=since, until=until)
    by_model = await told(client, USAGE, by="model", since=since, until=until)
    backwards = await told(client, USAGE, 422, since=until, until=since)

    assert [(each["calls"], each["unpriced_calls"]) for each in by_day["sums"]] == [(2, 1)]
    assert {each["key"] for each in by_model["sums"]} == {"small", "large"}
    assert "can't be summed up" in backwards["detail"]


async def test_who_is_signed_in_acts_by_their_name(store: Store, sample_client: Client) -> None:
    await waiting(store, "a")

    own = {"Origin": f"http://127.0.0.1:{sample_client.port}"}
    await sample_client.post("/session/demo", data={"persona": "tomas"}, headers=own)
    refused = await done(sample_client, "a", "claim", 403, name="The managing director")
    case = await done(sample_client, "a", "claim")

    assert "managing director" in refused["detail"]
    assert (case["owner_id"], case["owner_name"]) == ("demo-tomas", "Tomas")
