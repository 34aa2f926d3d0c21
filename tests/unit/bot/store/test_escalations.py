"""Tests of the life of escalations in the record, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bot.domain.cases import (
    NO_DETAIL,
    Act,
    ActDetail,
    Actor,
    Case,
    CaseQuery,
    CaseStep,
    State,
)
from bot.domain.errors import ActRefused, EscalationTaken, InteractionUnknown
from bot.domain.handoff import PERSON_REQUEST, person_request_id
from bot.domain.interactions import Clarification, Escalation, Outcome, PostedRef, Trace
from bot.domain.messages import FoundPassage, Intent, InteractionId, Outsider, Person
from bot.escalations.lifecycle import SETTLED, UNSETTLED, WAITING
from bot.store.database import Store, unopened
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON, message, route
from tests.fakes.durable_inbox import record_answer
from tests.fakes.record_rows import add_escalation, add_interaction, rows

ANNA = Actor("u1", "Anna", "expert")
BEN = Actor("u2", "Ben", "expert")
ASKER = Actor("anna", "Asker", "asker")
ONE = InteractionId("i1")
ALL = CaseQuery()


async def add_case(store: Store, name: str = "i1", **more: object) -> InteractionId:
    await add_interaction(store, name, channel="slack:C1")
    await add_escalation(store, name, asker="anna", **more)
    return InteractionId(name)


async def act(
    store: Store,
    act: Act,
    actor: Actor = ANNA,
    text: str = "",
    detail: ActDetail = NO_DETAIL,
    *,
    case_id: InteractionId = ONE,
) -> Case:
    return await store.escalations.act("default", case_id, act, actor, text, detail)


async def history(store: Store, case_id: InteractionId = ONE) -> list[str]:
    return [each.step for each in await store.escalations.steps("default", case_id)]


async def find(store: Store, query: CaseQuery = ALL, tenant: str = "default") -> list[str]:
    found = await store.escalations.find(tenant, query, limit=10)
    return [each.interaction_id for each in found]


async def hand_over(
    store: Store, question: str = "VPN?", *, outsider: Outsider = ""
) -> InteractionId:
    """Have the bot hand a question over, as it does when it can't answer."""
    asked = message("hi", private=False)
    asked = replace(asked, author=Person("anna", "Anna\x00 Lopez", outsider=outsider))
    opened = await store.work.open(asked, "me")
    response = Escalation("Noted.", "low_confidence", question)
    await store.work.close(opened, replace(generic_outcome(""), response=response), last=True)
    return opened.id


async def test_what_is_handed_over_is_a_case_with_a_beginning(store: Store) -> None:
    question = "please \x00" + "help " * 13_000

    case_id = await hand_over(store, question)

    (case,) = await store.escalations.find("default", ALL, limit=10)
    assert case == await store.escalations.get("default", case_id)
    assert (case.status.state, case.version, case.pings) == ("open", 0, 0)
    assert (case.asker_id, case.asker_name, case.private) == ("anna", "Anna\ufffd Lopez", False)
    assert (case.channel, case.reason) == ("web:anna", "low_confidence")
    assert case.question == question.replace("\x00", "\ufffd")
    assert case.due_at == case.opened_at + timedelta(minutes=30)
    (step,) = await store.escalations.steps("default", case_id)
    opener = Actor("anna", "Anna\ufffd Lopez", "asker")
    assert step == CaseStep(case_id, 1, "open", opener, "", case.opened_at)


@pytest.mark.mended(id="slack-2")
async def test_a_case_says_that_its_asker_is_no_colleague(store: Store) -> None:
    case_id = await hand_over(store, outsider="guest")

    (listed,) = await store.escalations.find("default", ALL, limit=10)
    claimed = await act(store, "claim", case_id=case_id)
    assert [listed.outsider, claimed.outsider] == ["guest", "guest"]


TITLE = "Badges: Layoffs"
FOLLOW_UP, STAND_ALONE = "how much is a new one?", "how much is a new badge?"


@pytest.mark.mended(id="ux-5")
@pytest.mark.parametrize("pressed", [True, False])
@pytest.mark.parametrize(
    ("private", "before", "title"),
    [
        (True, "how do I order a badge?", STAND_ALONE),
        (True, "how do I order one?", FOLLOW_UP),
        (False, "how do I order a badge?", FOLLOW_UP),
    ],
    ids=["own words", "words of an answer", "others write too"],
)
async def test_a_wish_about_a_follow_up_names_what_it_is_about(
    store: Store, before: str, title: str, *, pressed: bool, private: bool
) -> None:
    """It stays as written where the words may be another person's, or a page's."""
    earlier = message(before, message_id="m0", private=private)
    await record_answer(store, earlier, generic_outcome("At the desk."))
    asked = message(FOLLOW_UP, message_id="m1", private=private)
    leaned = replace(route(Intent.DOMAIN, STAND_ALONE), leaned_on=(earlier.interaction_id,))
    found = replace(generic_outcome("30 euros."), trace=Trace(leaned))
    await record_answer(store, asked, found)
    wish = replace(asked, id="m2", text="a person please")
    if pressed:
        wish = replace(asked, id=person_request_id(asked.id), text=PERSON_REQUEST)
    response = Escalation("Of course.", "asked_for_human", f"{FOLLOW_UP}\nPlease!")
    handed = Outcome(response, Trace(route(Intent.HUMAN, FOLLOW_UP)))
    case_id = (await record_answer(store, wish, handed)).id

    case = await store.escalations.get("default", case_id)
    assert case is not None
    assert case.question == f"{title}\nPlease!"


@pytest.mark.parametrize(
    ("private", "offered", "found", "named"),
    [
        (True, True, True, "badges?"),
        (True, True, False, "badges?"),
        (False, True, True, "badges?"),
        (True, False, True, TITLE),
    ],
    ids=["private", "closed before the answer", "in a channel", "typed"],
)
async def test_a_page_that_was_chosen_is_not_named_to_experts(
    store: Store, named: str, *, private: bool, offered: bool, found: bool
) -> None:
    """The option is the page's title, which experts may perhaps not read; the asker wrote less."""
    broad = message("badges?", message_id="m0", private=private)
    options = Clarification("Which?", (TITLE,) if offered else ())
    await record_answer(store, broad, Outcome(options, Trace(route(Intent.DOMAIN, broad.text))))
    chosen = message(TITLE, message_id="m1", private=private)
    passages = (FoundPassage("c1", "p1", "Badges", "Layoffs", {}),) if found else ()
    trace = Trace(route(Intent.DOMAIN, TITLE), passages=passages)
    await record_answer(store, chosen, replace(generic_outcome("30 euros."), trace=trace))
    wish = replace(chosen, id=person_request_id(chosen.id), text=PERSON_REQUEST)
    response = Escalation("Of course.", "asked_for_human", f"{TITLE}\nPlease!")
    handed = Outcome(response, Trace(route(Intent.HUMAN, TITLE)))
    case_id = (await record_answer(store, wish, handed)).id

    case = await store.escalations.get("default", case_id)
    assert case is not None
    assert case.question == f"{named}\nPlease!"


async def test_a_follow_up_to_a_chosen_page_does_not_name_it(store: Store) -> None:
    broad, chosen = message("badges?", message_id="m0"), message(TITLE, message_id="m1")
    options = Outcome(Clarification("Which?", (TITLE,)), Trace(route(Intent.DOMAIN, broad.text)))
    await record_answer(store, broad, options)
    trace = Trace(
        route(Intent.DOMAIN, TITLE), passages=(FoundPassage("c1", "p1", "Badges", "Layoffs", {}),)
    )
    await record_answer(store, chosen, replace(generic_outcome("Two."), trace=trace))
    asked = message("when?", message_id="m2")
    leaned = replace(route(Intent.DOMAIN, f"when? ({TITLE})"), leaned_on=(chosen.interaction_id,))
    await record_answer(store, asked, replace(generic_outcome("May."), trace=Trace(leaned)))
    wish = replace(asked, id=person_request_id(asked.id), text=PERSON_REQUEST)
    handed = Outcome(
        Escalation("Of course.", "asked_for_human", "when?"), Trace(route(Intent.HUMAN, "when?"))
    )
    case_id = (await record_answer(store, wish, handed)).id

    case = await store.escalations.get("default", case_id)
    assert case is not None
    assert case.question == "when?"


async def test_a_life_from_claim_to_reopening_is_kept_with_every_word(store: Store) -> None:
    case_id = await hand_over(store)

    claimed = await act(store, "claim", case_id=case_id)
    answered = await act(store, "reply", text="Restart \x00it.", case_id=case_id)
    await act(store, "resolve", ASKER, "thanks", case_id=case_id)
    reopened = await act(store, "reopen", ASKER, "no, not yet", case_id=case_id)

    assert (claimed.status.state, claimed.status.owner_id) == ("claimed", "u1")
    assert (answered.status.state, answered.due_at) == ("answered", None)
    assert (reopened.status.state, reopened.status.owner_id) == ("reopened", "")
    assert reopened.version == 4
    assert reopened.due_at == reopened.changed_at + timedelta(minutes=30)
    assert await store.escalations.get("default", case_id) == reopened
    taken = await store.escalations.steps("default", case_id)
    assert [(each.number, each.step) for each in taken] == list(
        enumerate(["open", "claim", "reply", "resolve", "reopen"], start=1)
    )
    assert [each.text for each in taken] == ["", "", "Restart \ufffdit.", "thanks", "no, not yet"]
    assert taken[1].actor == ANNA
    assert taken[3].actor == ASKER
    assert abs(datetime.now(UTC) - taken[4].at) < timedelta(minutes=1)


@pytest.mark.mended(id="ux-5")
async def test_acts_of_experts_are_audited_and_no_words_are(store: Store) -> None:
    await add_case(store)

    await act(store, "reply", text="my words")
    await act(store, "resolve", ASKER)

    (audited,) = await store.audits.newest("default", 10)
    assert (audited.actor, audited.act, audited.subject) == ("u1", "reply", "i1")
    assert (audited.name, audited.detail) == ("Anna", "")


async def test_what_is_so_already_adds_nothing(store: Store) -> None:
    await add_case(store)
    claimed = await act(store, "claim")

    again = await act(store, "claim")

    assert again == claimed
    assert await history(store) == ["claim"]
    assert len(await store.audits.newest("default", 10)) == 1


async def test_words_with_an_act_that_changes_nothing_are_not_lost_in_silence(
    store: Store,
) -> None:
    await add_case(store)
    await act(store, "decline", text="Ask facilities.")

    again = await act(store, "decline", text="Ask facilities.")
    with pytest.raises(ActRefused, match="not sent"):
        await act(store, "decline", text="Ask the caterers.")

    assert again.version == 1
    assert await history(store) == ["decline"]


async def test_the_same_reply_twice_is_two_replies(store: Store) -> None:
    await add_case(store)

    for _ in range(2):
        answered = await act(store, "reply", text="Restart it.")

    assert answered.version == 2
    assert await history(store) == ["reply", "reply"]


async def test_a_refused_act_leaves_no_trace(store: Store) -> None:
    await add_case(store)
    claimed = await act(store, "claim")

    with pytest.raises(EscalationTaken, match="It is assigned to Anna"):
        await act(store, "reply", BEN, "mine")
    with pytest.raises(ActRefused):
        await act(store, "resolve", Actor("stranger", "", "asker"))

    assert await store.escalations.get("default", ONE) == claimed
    assert await history(store) == ["claim"]


async def test_of_two_who_claim_at_once_the_other_is_told_who(store: Store, url: str) -> None:
    """Two experts, each with a process of their own, reach for 200 questions at the same time."""
    cases = [await add_case(store, f"i{number}") for number in range(200)]
    other = unopened(url)
    experts = ((store, ANNA), (other, BEN))

    outcomes = await asyncio.gather(
        *(act(own, "claim", who, case_id=case_id) for case_id in cases for own, who in experts),
        return_exceptions=True,
    )
    await other.close()

    for number, case_id in enumerate(cases):
        both = outcomes[2 * number : 2 * number + 2]
        (won,) = (each for each in both if isinstance(each, Case))
        (lost,) = (each for each in both if isinstance(each, EscalationTaken))
        assert won.status.owner_id in {"u1", "u2"}
        assert lost.owner_name == won.status.owner_name
        assert won.status.owner_name in str(lost)
        assert await store.escalations.get("default", case_id) == won
        assert await history(store, case_id) == ["claim"]
    audits = await store.audits.newest("default", 1000)
    assert len(audits) == 200


async def test_all_at_once_on_one_question_are_one_act_each(store: Store) -> None:
    await add_case(store)
    acts: Sequence[tuple[Act, Actor]] = [
        ("claim", ANNA),
        ("reply", BEN),
        ("resolve", ASKER),
        ("reopen", ASKER),
        ("decline", ANNA),
        ("release", BEN),
    ] * 5

    outcomes = await asyncio.gather(
        *(act(store, what, who, "words") for what, who in acts), return_exceptions=True
    )

    assert all(isinstance(each, Case | ActRefused) for each in outcomes)
    case = await store.escalations.get("default", ONE)
    assert case is not None
    taken = await store.escalations.steps("default", ONE)
    assert [each.number for each in taken] == list(range(1, case.version + 1))


@settings(
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    acts=st.lists(
        st.tuples(st.sampled_from(get_args(Act)), st.sampled_from([ANNA, BEN, ASKER])), max_size=12
    )
)
async def test_only_what_waits_is_reminded_of_and_the_history_tells_every_change(
    store: Store, acts: Sequence[tuple[Act, Actor]]
) -> None:
    case_id = await add_case(store, f"i{len(await find_all(store))}", due_at=NOON)
    for number, (what, who) in enumerate(acts):
        try:
            case = await act(store, what, who, str(number), case_id=case_id)
        except ActRefused:
            continue
        waits = case.status.state in WAITING
        assert (case.due_at is not None) == waits
        assert bool(case.status.owner_id) or case.status.state in WAITING | SETTLED
        assert case == await store.escalations.get("default", case_id)
        assert case.version == len(await history(store, case_id))


async def find_all(store: Store) -> Sequence[Case]:
    return await store.escalations.find("default", ALL, limit=1000)


async def test_what_waits_longest_comes_first_page_by_page(store: Store) -> None:
    await add_case(store, "late", opened_at=NOON + timedelta(hours=1))
    await add_case(store, "b")
    await add_case(store, "a")

    first = await store.escalations.find("default", ALL, limit=2)
    rest = await store.escalations.find("default", ALL, limit=2, after=first[-1])

    assert [each.interaction_id for each in first] == ["a", "b"]
    assert [each.interaction_id for each in rest] == ["late"]
    assert await store.escalations.find("default", ALL, limit=2, after=rest[-1]) == []
    newest = CaseQuery(newest_first=True)
    assert await find(store, newest) == ["late", "b", "a"]
    (last,) = await store.escalations.find("default", newest, limit=2, after=first[-1])
    assert last.interaction_id == "a"


async def test_cases_are_found_by_state_owner_and_words(store: Store) -> None:
    await add_case(store, "i1", question="The VPN is down")
    await add_case(store, "i2", question="100% of disks full", state="claimed", owner="u1")
    await add_case(store, "i3", question="vpn, again", state="resolved", owner="u1")

    assert await find(store, CaseQuery(states=UNSETTLED)) == ["i1", "i2"]
    assert await find(store, CaseQuery(states=frozenset[State]({"resolved"}))) == ["i3"]
    assert await find(store, CaseQuery(owner_id="u1")) == ["i2", "i3"]
    assert await find(store, CaseQuery(words="vpn")) == ["i1", "i3"]
    assert await find(store, CaseQuery(words="down vpn")) == ["i1"]
    assert await find(store, CaseQuery(words="%")) == ["i2"]
    assert await find(store, CaseQuery(words="v_n")) == []
    assert await find(store, CaseQuery(words="\x00\ud800")) == []


@pytest.mark.parametrize("name", ["nobody", "i\x001", "x" * 70_000])
async def test_an_unknown_one_is_named_with_the_cure(store: Store, name: str) -> None:
    unknown = InteractionId(name)
    assert await store.escalations.get("default", unknown) is None
    assert await store.escalations.steps("default", unknown) == []

    with pytest.raises(InteractionUnknown, match="escalations --all"):
        await act(store, "claim", case_id=unknown)

    assert await store.audits.newest("default", 10) == []


async def test_another_tenants_case_is_unknown(store: Store) -> None:
    case_id = await hand_over(store)

    assert await find(store, tenant="other") == []
    assert await store.escalations.get("other", case_id) is None
    assert await store.escalations.steps("other", case_id) == []
    with pytest.raises(InteractionUnknown):
        await store.escalations.act("other", case_id, "claim", ANNA)


async def test_nothing_is_left_of_a_withdrawn_question(store: Store, url: str) -> None:
    case_id = await hand_over(store, "my secret")
    await act(store, "reply", text="the secret answer", case_id=case_id)

    withdrawn = await store.work.cancel(case_id)

    assert withdrawn.told == ()
    assert await store.escalations.get("default", case_id) is None
    assert await store.escalations.steps("default", case_id) == []
    assert await find(store) == []
    for table in ("escalations", "escalation_steps", "notices", "audit"):
        left = repr(rows(url, f"SELECT * FROM {table}"))  # noqa: S608 - a test's own name
        assert "secret" not in left
        assert "Lopez" not in left
    with pytest.raises(InteractionUnknown):
        await act(store, "reply", text="late", case_id=case_id)
    assert await store.notices.due("me", datetime.now(UTC), 10) == []
    assert await store.notices.remind(datetime.now(UTC) + timedelta(days=1)) == 0

    await store.work.cancelled(case_id)
    for table in ("escalations", "escalation_steps", "notices"):
        assert rows(url, f"SELECT * FROM {table}") == []  # noqa: S608 - a test's own name


async def test_what_people_replied_is_known_until_it_is_taken_back(store: Store) -> None:
    case_id = await hand_over(store)
    for text in ("one", "two"):
        await act(store, "reply", text=text, case_id=case_id)
        told, shown = await store.notices.due("me", datetime.now(UTC), 10)
        assert (told.to, shown.to) == ("asker", "people")
        await store.notices.sent(told, PostedRef("C1", text))
        await store.notices.sent(shown, None)

    withdrawn = await store.work.cancel(case_id)

    assert withdrawn.told == (PostedRef("C1", "one"), PostedRef("C1", "two"))
    taken_up = await store.work.claim(case_id, "another")
    assert taken_up is not None
    assert taken_up.told == withdrawn.told
    await store.work.cancelled(case_id)
    gone = await store.interactions.get(case_id)
    assert gone is not None
    assert gone.told == ()


async def test_experts_who_acted_on_a_case_worked_on_it(store: Store) -> None:
    case, other = await add_case(store), await add_case(store, "i2")
    await store.escalations.act("default", case, "claim", ANNA)
    await store.escalations.act("default", case, "reply", ANNA, "Restart it.")

    found = await store.escalations.workers("default", [case, other])

    assert found == {case: frozenset({ANNA.id})}
    assert not await store.escalations.workers("other", [case])


async def test_a_case_is_given_to_a_colleague_with_the_reason(store: Store) -> None:
    await add_case(store)
    await act(store, "claim")

    given = await act(store, "assign", text="He knows it.", detail=ActDetail(BEN))

    assert (given.status.state, given.status.owner_id) == ("claimed", BEN.id)
    steps = await store.escalations.steps("default", ONE)
    assert (steps[-1].step, steps[-1].text, steps[-1].detail.to) == ("assign", "He knows it.", BEN)
    (audited, _) = await store.audits.newest("default", 2)
    assert (audited.act, audited.detail) == ("assign", BEN.id)


async def test_nobody_is_given_a_case_that_they_asked(store: Store) -> None:
    await add_case(store)

    with pytest.raises(ActRefused):
        await act(store, "assign", text="Yours.", detail=ActDetail(replace(ASKER, role="expert")))


async def test_a_case_stays_answered_while_another_reply_stands(store: Store) -> None:
    await add_case(store)
    for words in ("The blue one.", "The red one."):
        await act(store, "reply", text=words)

    first = await act(store, "retract", detail=ActDetail(about=1))
    second = await act(store, "retract", detail=ActDetail(about=2))

    assert [each.status.state for each in (first, second)] == ["answered", "claimed"]


async def test_a_note_changes_nothing_but_the_version(store: Store) -> None:
    await add_case(store)
    before = await store.escalations.get("default", ONE)
    assert before is not None

    noted = await act(store, "note", BEN, "Seen it before.")

    assert noted == replace(before, version=before.version + 1)
    assert await history(store) == ["note"]
    told = await store.notices.due("me", datetime.now(UTC), 10)
    assert {each.to for each in told} == {"people"}


async def test_a_reply_is_corrected_and_taken_back_by_its_author_alone(store: Store) -> None:
    await add_case(store)
    await act(store, "reply", text="Blue.")
    about = ActDetail(about=1)
    with pytest.raises(ActRefused, match="not one of your replies"):
        await act(store, "amend", BEN, "Red.", about)

    for _ in range(2):
        await act(store, "amend", text="Red.", detail=about)
    for _ in range(2):
        back = await act(store, "retract", detail=about)

    assert await history(store) == ["reply", "amend", "retract"]
    assert back.status.state == "claimed"
    with pytest.raises(ActRefused, match="was withdrawn"):
        await act(store, "amend", text="Green.", detail=about)


async def test_the_open_cases_of_a_thread_are_found_newest_first(store: Store) -> None:
    first, second = message("vpn?", message_id="m1"), message("printer?", message_id="m2")
    elsewhere = replace(first, id="m3", thread=replace(first.thread, id="t9"))
    for each in (first, second, elsewhere):
        opened = await store.work.open(each, "me")
        response = Escalation("Noted.", "low_confidence", each.text)
        await store.work.close(opened, replace(generic_outcome(""), response=response), last=True)

    found = [each.question for each in await store.escalations.open_in(first.thread)]
    assert found == ["printer?", "vpn?"]

    await act(store, "resolve", case_id=second.interaction_id)
    assert [each.question for each in await store.escalations.open_in(first.thread)] == ["vpn?"]
