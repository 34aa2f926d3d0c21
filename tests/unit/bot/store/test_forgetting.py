"""Tests of forgetting a person: nothing is left in any table or file, and others keep theirs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.cases import ActDetail, Actor, CaseQuery
from bot.domain.errors import InteractionUnknown, StoreUnavailable
from bot.domain.interactions import Escalation
from bot.domain.messages import InteractionId
from bot.domain.personal_data import FORGOTTEN_QUESTION, PSEUDONYM, ForgetProgress, ForgetRequest
from bot.store.connections import Transactions
from bot.store.database import Store
from bot.store.escalations import StoredEscalations
from bot.store.forgetting import StoredForgetting
from bot.store.people import StoredPeople
from bot.store.person_tables import READ_BY_CODE, WITHOUT_PEOPLE, acted_rows, owned_rows
from bot.store.rows import utc_now
from bot.store.tables import InteractionRow, Table
from tests.fakes.personal_data import (
    CANARY,
    EXPERT,
    TWIN,
    Somebody,
    files_with,
    leave_traces,
    record,
    rows_with,
    said_by,
)
from tests.fakes.record_rows import count

WITHOUT_WORDS = {
    "progress",
    "notices",
    "corrections",
    "question_facts",
    "cited_pages",
    "saved_answers",
}
"""Tables of a person's questions with neither words nor identity: they go with the question."""


async def asked_to_forget(store: Store, *identities: str) -> ForgetRequest:
    keys = await store.people.keys("default", identities)
    return await store.forgetting.request("default", keys, "board:Ada", utc_now())


async def forget(store: Store, *identities: str) -> ForgetProgress:
    """Forget somebody, with a platform that removes all replies at once."""
    request = await asked_to_forget(store, *identities)
    cancel = partial(store.work.cancel, keep_acts=True)
    await store.forgetting.carry_out("default", request, cancel)
    await remove_replies(store)
    return await store.forgetting.carry_out("default", request, cancel)


async def remove_replies(store: Store) -> None:
    """Have the platforms remove what was posted of withdrawn questions."""
    for each in await store.work.unfinished():
        interaction = await store.work.get(each.id)
        if interaction is not None and interaction.status == "cancelling":
            await store.work.cancelled(each.id)


async def test_nothing_of_a_forgotten_person_is_left_anywhere(
    store: Store, url: str, tmp_path: Path
) -> None:
    await leave_traces(store, CANARY)
    await leave_traces(store, TWIN)
    await store.pauses.pause("default", "we move", f"board:{CANARY.name}")
    twins = rows_with(url, TWIN)
    listed = {each.__tablename__ for each in Table.__subclasses__() if each not in WITHOUT_PEOPLE}
    assert listed - {each.where for each in rows_with(url, CANARY)} == WITHOUT_WORDS

    progress = await forget(store, CANARY.email)

    assert progress.done
    assert rows_with(url, CANARY) == []
    assert rows_with(url, TWIN) == twins
    assert not await store.forgetting.open_requests("default")
    await store.close()
    assert files_with(tmp_path, CANARY) == []


async def test_each_id_and_the_address_lead_to_the_same_person(store: Store) -> None:
    await leave_traces(store, CANARY)
    await leave_traces(store, TWIN)

    found = [
        await store.people.keys("default", [each])
        for each in (CANARY.email.upper(), CANARY.slack, CANARY.teams, CANARY.web)
    ]

    assert found[0].ids >= {CANARY.slack, CANARY.teams, CANARY.web}
    assert {each.emails for each in found} == {frozenset({CANARY.email})}
    assert {each.names for each in found} == {frozenset({CANARY.name})}
    assert all(CANARY.direct in each.channels for each in found)
    assert not any(each.ids & {TWIN.slack, TWIN.teams, TWIN.web, "zoe"} for each in found)


async def test_no_table_is_missing_from_the_list(store: Store) -> None:
    keys = await store.people.keys("default", ["anna"])
    listed = {*owned_rows("default", keys), *acted_rows("default", keys)}
    assert listed | WITHOUT_PEOPLE | READ_BY_CODE == set(Table.__subclasses__())


class Killed(StoreUnavailable):
    """The process ended."""


class MortalTransactions(Transactions):
    """Loses the process after a number of writes."""

    def __init__(self, url: str, writes: int) -> None:
        super().__init__(url)
        self.writes = writes

    @asynccontextmanager
    async def writing(
        self, *, lasting: bool = True, urgent: bool = False
    ) -> AsyncIterator[AsyncConnection]:
        if self.writes == 0:
            raise Killed("killed")
        self.writes -= 1
        async with super().writing(lasting=lasting, urgent=urgent) as connection:
            yield connection


async def test_a_request_survives_kills_at_any_write(store: Store, url: str) -> None:
    await leave_traces(store, CANARY)
    await asked_to_forget(store, CANARY.slack)
    kills = 0
    for writes in range(1, 500):
        mortal = MortalTransactions(url, writes)
        people = StoredPeople(mortal)
        forgetting = StoredForgetting(mortal, people, StoredEscalations(mortal))
        (request,) = await forgetting.open_requests("default") or (None,)
        if request is None:
            await mortal.close()
            break
        try:
            await forgetting.carry_out(
                "default", request, partial(store.work.cancel, keep_acts=True)
            )
        except Killed:
            kills += 1
        await mortal.close()
        await remove_replies(store)

    assert kills > len(CANARY.signs)
    assert rows_with(url, CANARY) == []


async def test_a_repeated_request_is_the_one_that_is_open(store: Store) -> None:
    await leave_traces(store, CANARY)

    first = await asked_to_forget(store, CANARY.slack)
    second = await asked_to_forget(store, CANARY.email)

    assert first == second
    acts = [each.subject for each in await store.audits.newest("default", 50)]
    assert acts.count(first.pseudonym) == 1


async def test_a_reply_that_a_platform_keeps_keeps_the_request_open(store: Store) -> None:
    asked = await leave_traces(store, CANARY)
    request = await asked_to_forget(store, CANARY.slack)

    progress = await store.forgetting.carry_out(
        "default", request, partial(store.work.cancel, keep_acts=True)
    )

    assert progress.waiting == len(asked)
    assert await store.forgetting.open_requests("default") == [request]
    assert await store.forgetting.unposted("default", request) == [asked["web"]]


async def test_what_is_asked_after_the_request_stays(store: Store) -> None:
    request = await asked_to_forget(store, CANARY.slack)
    later = said_by(CANARY, "slack", CANARY.direct, name="later", private=True)
    await record(store, later, Escalation("I'll ask.", "low_confidence", later.text))

    await store.forgetting.carry_out("default", request, store.work.cancel)

    assert await count(store, InteractionRow) == 1


async def test_experts_acts_on_a_case_stay_without_its_asker(store: Store) -> None:
    asked = await leave_traces(store, CANARY)
    await forget(store, CANARY.web)

    (case,) = [
        each
        for each in await store.escalations.find("default", CaseQuery(), limit=9)
        if each.interaction_id == asked["case"]
    ]

    assert (case.question, case.asker_name, case.status.owner_name) == (
        FORGOTTEN_QUESTION,
        "",
        EXPERT.name,
    )
    assert case.asker_id.startswith(PSEUDONYM)
    steps = await store.escalations.steps("default", asked["case"])
    acts = ("claim", "note", "ask_more", "reply", "resolve")
    assert [(each.step, each.actor, each.text) for each in steps] == [
        (act, replace(EXPERT, also=frozenset()), "") for act in acts
    ]
    with pytest.raises(InteractionUnknown):
        await store.escalations.act("default", asked["case"], "reopen", EXPERT)


async def test_a_forgotten_experts_open_case_is_free_again(store: Store) -> None:
    await leave_traces(store, CANARY)
    await forget(store, CANARY.web)

    cases = await store.escalations.find("default", CaseQuery(words="parking"), limit=9)

    assert [(each.status.state, each.status.owner_id) for each in cases] == [("open", "")]
    steps = await store.escalations.steps("default", cases[0].interaction_id)
    acts = [(each.step, each.text) for each in steps if each.actor and each.actor.role == "expert"]
    assert acts == [("claim", ""), ("reply", "The company pays."), ("release", "")]
    assert all(each.actor.id.startswith(PSEUDONYM) for each in steps if each.actor and each.text)


async def test_a_forgotten_expert_is_not_offered_for_a_case(store: Store) -> None:
    await leave_traces(store, CANARY)
    case = (await store.escalations.find("default", CaseQuery(words="parking"), limit=9))[0]
    owner = Actor(case.status.owner_id, case.status.owner_name, "expert")
    await store.escalations.act("default", case.interaction_id, "release", owner)
    given = ActDetail(to=owner)
    await store.escalations.act("default", case.interaction_id, "assign", EXPERT, "Yours.", given)
    offered = {each.id for each in await store.escalations.experts("default")}

    await forget(store, CANARY.web)

    left = {each.id for each in await store.escalations.experts("default")}
    assert offered - left == {owner.id}
    assert not any(each.startswith(PSEUDONYM) for each in left)
    audited = await store.audits.newest("default", 99)
    assert {owner.id, owner.name}.isdisjoint(each.detail for each in audited)


async def test_a_live_answer_stays_in_its_experts_words_alone(store: Store) -> None:
    await leave_traces(store, CANARY)
    await forget(store, CANARY.web)

    answer = await store.answers.get("default", f"answer-{CANARY.tag}")

    assert answer is not None
    assert answer.content.question == "IT sets this up within a day."
    assert answer.content.variants == ("help desk hours",)
    assert (answer.owner, answer.owner_name) == (EXPERT.id, EXPERT.name)
    assert [each.person for each in answer.complaints] == ["zoe"]


async def test_a_colleagues_follow_up_keeps_their_own_words(store: Store) -> None:
    await leave_traces(store, CANARY)
    await forget(store, CANARY.web)

    found = await store.interactions.answered("default", 99)
    (follow_up,) = [each for each in found if each.message.text == "and for guests?"]

    assert follow_up.outcome is not None
    route = follow_up.outcome.trace.route
    assert (route.question, route.leaned_on) == ("and for guests?", ())


async def test_an_export_has_everything_and_nobody_else(store: Store, url: str) -> None:
    await leave_traces(store, CANARY)
    await leave_traces(store, TWIN)
    keys = await store.people.keys("default", [CANARY.teams])

    export = await store.people.export("default", keys, utc_now())

    text = json.dumps(export)
    records = export["records"]
    assert isinstance(records, dict)
    assert {each.where for each in rows_with(url, CANARY)} <= set(records)
    assert json.loads(text)["person"]["emails"] == [CANARY.email]
    for other in (EXPERT.name, EXPERT.id, '"zoe"', *TWIN.signs):
        assert other not in text


async def test_a_summary_counts_rows_by_table(store: Store) -> None:
    asked = await leave_traces(store, CANARY)
    keys = await store.people.keys("default", [CANARY.teams])

    summary = await store.people.summary("default", keys)

    assert summary.counts["interactions"] == len(asked)
    assert summary.counts["sessions"] == 1
    nobody = await store.people.keys("default", ["nobody"])
    assert (await store.people.summary("default", nobody)).total == 0


async def handed_over(store: Store, who: Somebody) -> InteractionId:
    """Hand over a private question of somebody's."""
    asked = said_by(who, "slack", who.direct, name="same", private=True)
    await record(store, asked, Escalation("Noted.", "low_confidence", asked.text))
    return asked.interaction_id


@pytest.mark.parametrize("leads", [True, False])
async def test_who_asked_the_same_as_a_forgotten_person_is_answered(
    store: Store, url: str, *, leads: bool
) -> None:
    forgotten, left = await handed_over(store, CANARY), await handed_over(store, TWIN)
    joined, lead = (left, forgotten) if leads else (forgotten, left)
    await store.escalations.join("default", joined, lead, EXPERT)
    await store.escalations.act("default", lead, "claim", EXPERT)
    twins = rows_with(url, TWIN)

    assert (await forget(store, CANARY.email)).done

    assert rows_with(url, CANARY) == []
    assert {each.where for each in rows_with(url, TWIN)} == {each.where for each in twins}
    case = await store.escalations.get("default", left)
    assert case is not None
    assert (case.joined_to, case.askers, case.status.state) == (None, 1, "claimed")
    await store.escalations.act("default", left, "reply", EXPERT, "At the desk.")
    told = await store.notices.due("me", utc_now(), 99)
    assert {each.interaction_id for each in told} == {left}
