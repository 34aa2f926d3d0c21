"""The record over HTTP: questions, escalations, usage."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain.record_search import Cursor, encode_cursor
from bot.store.database import Store
from tests.bot.server import BEARER, TOKEN, Client, serving, settings_for
from tests.bot.store.filled import add_escalation, add_interaction, add_usage
from tests.builders import NOON

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


async def test_questions_are_listed_newest_first_and_page_by_page(
    store: Store, tmp_path: Path
) -> None:
    for hours in range(5):
        await add_interaction(store, f"i{hours}", at=NOON + timedelta(hours=hours))

    async with serving(store, settings_for(tmp_path)) as client:
        first = await told(client, QUESTIONS, limit="3")
        second = await told(client, QUESTIONS, limit="3", cursor=first["next"])

    pages = [[each["interaction_id"] for each in page["questions"]] for page in (first, second)]
    assert pages == [["i4", "i3", "i2"], ["i1", "i0"]]
    assert second["next"] is None
    assert first["questions"][0]["platform"] == "web"


async def test_questions_are_found_by_words_and_time(store: Store, tmp_path: Path) -> None:
    await add_interaction(store, "early", at=NOON - timedelta(days=2))
    await add_interaction(store, "late", at=NOON)

    async with serving(store, settings_for(tmp_path)) as client:
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
    store: Store, tmp_path: Path, path: str, query: dict[str, str], named: str
) -> None:
    async with serving(store, settings_for(tmp_path)) as client:
        problem = await told(client, path, 422, **query)

    assert named in problem["detail"]
    assert problem["cure"]


async def test_escalations_are_listed_longest_waiting_first_and_by_state(
    store: Store, tmp_path: Path
) -> None:
    await waiting(store, "a", "b", "c")

    async with serving(store, settings_for(tmp_path)) as client:
        await done(client, "b", "claim", name="Bea")
        first = await told(client, ESCALATIONS, limit="2")
        rest = await told(client, ESCALATIONS, limit="2", cursor=first["next"])
        claimed = await told(client, f"{ESCALATIONS}?state=claimed&state=answered")

    listed = [each["interaction_id"] for page in (first, rest) for each in page["escalations"]]
    assert sorted(listed) == ["a", "b", "c"]
    assert [each["owner_name"] for each in claimed["escalations"]] == ["Bea"]


async def test_who_claims_or_releases_says_nothing_by_it(store: Store, tmp_path: Path) -> None:
    await waiting(store, "a")

    async with serving(store, settings_for(tmp_path)) as client:
        await done(client, "a", "claim", name="Bea", text="Only for us: he asks each week.")
        released = await done(client, "a", "release", name="Bea", text="No time.")

    assert [each["text"] for each in released["history"][-2:]] == ["", ""]


async def test_an_escalation_is_claimed_answered_resolved_and_reopened(
    store: Store, tmp_path: Path
) -> None:
    await waiting(store, "a")

    async with serving(store, settings_for(tmp_path)) as client:
        for act in ("claim", "reply", "resolve", "reopen"):
            case = await done(client, "a", act, name="Bea", text="Use the blue socket.")
        again = await told(client, f"{ESCALATIONS}/a")

    assert case == again
    assert case["state"] == "reopened"
    steps = [(each["step"], each["by_name"]) for each in case["history"]]
    assert [step for step, _ in steps][-4:] == ["claim", "reply", "resolve", "reopen"]
    assert {by for step, by in steps if step != "open"} == {"Bea"}


async def test_who_comes_second_is_told_who_has_it(store: Store, tmp_path: Path) -> None:
    await waiting(store, "a")
    settings = settings_for(tmp_path, dev_identities=True)

    async with serving(store, settings) as client:
        await done(client, "a", "claim", name="Bea", user={"id": "bea"})
        problem = await done(client, "a", "claim", 409, name="Carl", user={"id": "carl"})

    assert problem["detail"].startswith("Bea has it already.")


@pytest.mark.parametrize("act", ["reply", "decline"])
async def test_a_reply_and_a_refusal_need_words(store: Store, tmp_path: Path, act: str) -> None:
    await waiting(store, "a")

    async with serving(store, settings_for(tmp_path)) as client:
        problem = await done(client, "a", act, 422, text="   ")

    assert act in problem["detail"]


async def test_unknown_escalations_and_acts_are_not_there(store: Store, tmp_path: Path) -> None:
    await waiting(store, "a")

    async with serving(store, settings_for(tmp_path)) as client:
        await told(client, f"{ESCALATIONS}/none", 404)
        problem = await done(client, "a", "forget", 404)

    assert "claim" in problem["cure"]


async def test_beyond_this_machine_the_record_is_for_those_who_answer(
    store: Store, tmp_path: Path
) -> None:
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


async def test_usage_is_summed_by_what_is_asked(store: Store, tmp_path: Path) -> None:
    await add_usage(store, 1)
    await add_usage(store, 2, model="large", cost_usd=None)
    since = (NOON - timedelta(days=1)).isoformat()
    until = (NOON + timedelta(days=1)).isoformat()

    async with serving(store, settings_for(tmp_path)) as client:
        by_day = await told(client, USAGE, since=since, until=until)
        by_model = await told(client, USAGE, by="model", since=since, until=until)
        backwards = await told(client, USAGE, 422, since=until, until=since)

    assert [(each["calls"], each["unpriced_calls"]) for each in by_day["sums"]] == [(2, 1)]
    assert {each["key"] for each in by_model["sums"]} == {"small", "large"}
    assert "can't be summed up" in backwards["detail"]


async def test_who_is_signed_in_acts_under_their_own_name(store: Store, tmp_path: Path) -> None:
    await waiting(store, "a")

    async with serving(store, settings_for(tmp_path), sample=True) as client:
        own = {"Origin": f"http://127.0.0.1:{client.port}"}
        await client.post("/session/demo", data={"persona": "tomas"}, headers=own)
        refused = await done(client, "a", "claim", 403, name="The managing director")
        case = await done(client, "a", "claim")

    assert "managing director" in refused["detail"]
    assert (case["owner_id"], case["owner_name"]) == ("demo-tomas", "Tomas")
