"""What an asker sees of a question that went to people, and can do about it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bot.domain.cases import Act, Actor, ActorRole, Case, CaseStatus, CaseStep, State, Step
from bot.domain.messages import InteractionId
from bot.store.database import Store
from bot.web.chat.case_card import case_card
from tests.bot.adapters.web.stand_in import Browser
from tests.builders import NOON

ANNA = Actor("anna-it", "Anna Lopez", "expert")
BEN = Actor("ben-it", "Ben Okafor", "expert")
CASE = InteractionId("00000000-0000-0000-0000-000000000001")


def case(state: State) -> Case:
    return Case(
        interaction_id=CASE,
        tenant="default",
        standing=CaseStatus(state, "anna-it", "Anna Lopez"),
        reason="asked_for_human",
        question="a person, please",
        asker_id="visitor",
        asker_name="",
        channel="web:visitor",
        private=True,
        opened_at=NOON,
        changed_at=NOON,
        version=3,
    )


def step(what: Step, actor: Actor | None = ANNA, text: str = "", number: int = 1) -> CaseStep:
    return CaseStep(CASE, number, what, actor, text, NOON)


@pytest.mark.parametrize(
    ("state", "step_", "headline", "close", "can_reopen"),
    [
        ("open", "open", "Waiting for a person", "No longer needed", False),
        ("claimed", "claim", "Anna Lopez has it", "No longer needed", False),
        ("answered", "reply", "Anna Lopez answered", "This helped, close it", True),
        ("resolved", "resolve", "Closed", "", True),
        ("declined", "decline", "Anna Lopez can't take this on", "", True),
        ("reopened", "reopen", "Waiting for a person again", "No longer needed", False),
    ],
)
def test_each_state_says_where_it_stands_and_what_can_be_done(
    state: State, step_: Step, headline: str, close: str, *, can_reopen: bool
) -> None:
    view = case_card(case(state), [step(step_)])

    assert (view.headline, view.close, view.can_reopen) == (headline, close, can_reopen)


def test_what_people_and_the_asker_said_is_told_apart() -> None:
    asker = Actor("visitor", "", "asker")
    steps = [
        step("open", asker),
        step("claim"),
        step("reply", text="Try port 443."),
        step("reopen", asker, "It still fails."),
        step("ping", None),
        step("reopen", asker),
        step("resolve", asker),
    ]

    said = case_card(case("resolved"), steps).said

    assert [(each.name, each.mine, each.note, str(each.html)) for each in said] == [
        ("Anna Lopez", False, "", "Try port 443."),
        ("You", True, "", "It still fails."),
        ("You", True, "You asked again", ""),
        ("You", True, "You closed it", ""),
    ]


@pytest.mark.parametrize("role", ["asker", "expert"])
def test_who_answers_is_a_person_even_where_they_asked_themselves(role: ActorRole) -> None:
    steps = [step("reply", Actor("visitor", "", role), "Try port 443.")]

    (said,) = case_card(case("answered"), steps).said

    assert said.mine == (role == "asker")


def test_reminders_are_told_only_while_somebody_waits() -> None:
    assert case_card(replace(case("open"), pings=2), [step("open")]).pings == 2
    assert case_card(replace(case("answered"), pings=2), [step("reply")]).pings == 0


async def handed(browser: Browser) -> tuple[str, InteractionId]:
    """Ask for a person; return the exchange's path and the case's id."""
    path, answer = await browser.ask("a person, please")
    assert "Waiting for a person" in answer
    return path, InteractionId(path.rpartition("/")[2])


async def acted(store: Store, case_id: InteractionId, act: Act, text: str = "") -> None:
    await store.escalations.act("default", case_id, act, ANNA, text)


async def test_asking_for_a_person_shows_at_once_how_it_stands(browser: Browser) -> None:
    path, _ = await browser.ask("pet insurance?")
    asked = re.search(r'id="x-([^"]+)"', await browser.post(f"{path}/person"))
    assert asked
    place = f"{path.rpartition('/')[0]}/{asked.group(1)}"
    while "working" in (answer := await browser.get(place)):
        pass

    assert "Waiting for a person" in answer
    assert "Waiting for a person" in await browser.get("/")


async def test_an_answer_that_went_to_nobody_has_no_card(browser: Browser) -> None:
    path, answer = await browser.ask("error 809")

    assert 'class="case' not in answer
    await browser.get(f"{path}/case", status=404)
    await browser.post(f"{path}/case", status=404, act="resolve")


async def test_a_persons_reply_is_shown_as_theirs_with_dead_markup(
    browser: Browser, store: Store
) -> None:
    path, case_id = await handed(browser)
    await acted(store, case_id, "claim")
    assert "Anna Lopez has it" in await browser.get(f"{path}/case")

    await acted(store, case_id, "reply", "Try this:\n<b>443</b> https://help.example/vpn")

    card = await browser.get(f"{path}/case")
    assert "Anna Lopez answered" in card
    assert "a person</span>" in card
    assert "Try this:\n&lt;b&gt;443&lt;/b&gt;" in card
    assert '<a href="https://help.example/vpn"' in card
    assert card.strip() in await browser.get("/")


async def test_a_card_that_is_known_is_not_sent_again(browser: Browser, store: Store) -> None:
    path, case_id = await handed(browser)
    version = re.search(r"version=(\d+)", await browser.get(f"{path}/case"))
    assert version

    await browser.get(f"{path}/case?version={version.group(1)}", status=204)

    await acted(store, case_id, "claim")
    await browser.get(f"{path}/case?version={version.group(1)}")


async def test_the_asker_closes_it_and_opens_it_again_with_what_is_missing(
    browser: Browser, store: Store
) -> None:
    path, case_id = await handed(browser)
    await acted(store, case_id, "reply", "Try port 443.")

    closed = await browser.post(f"{path}/case", act="resolve")
    opened = await browser.post(f"{path}/case", act="reopen", text="It\r\nstill fails.")

    assert "You closed it" in closed
    assert "Waiting for a person again" in opened
    steps = await store.escalations.steps("default", case_id)
    assert [(each.step, each.text) for each in steps][-2:] == [
        ("resolve", ""),
        ("reopen", "It\nstill fails."),
    ]


async def test_what_cannot_be_done_any_more_is_said_on_the_card(
    browser: Browser, store: Store
) -> None:
    path, case_id = await handed(browser)
    await acted(store, case_id, "claim")

    card = await browser.post(f"{path}/case", act="reopen")

    assert 'role="alert"' in card
    assert "Anna Lopez has it" in card


@pytest.mark.parametrize(
    "form", [{"act": "claim"}, {"act": ""}, {"act": "reopen", "text": "x" * 1001}]
)
async def test_an_act_that_is_not_the_askers_is_refused(
    browser: Browser, form: dict[str, str]
) -> None:
    path, _ = await handed(browser)

    await browser.post(f"{path}/case", status=422, **form)


async def test_nobody_else_sees_or_closes_it(browser: Browser, store: Store) -> None:
    path, case_id = await handed(browser)

    browser.client.session.cookie_jar.clear()

    await browser.get(f"{path}/case", status=404)
    await browser.post(f"{path}/case", status=404, act="resolve")
    kept = await store.escalations.get("default", case_id)
    assert kept is not None
    assert kept.standing.state == "open"


async def test_without_scripts_a_button_leads_back_to_the_page(browser: Browser) -> None:
    path, case_id = await handed(browser)
    origin = str(browser.client.make_url("/")).rstrip("/")

    sent = await browser.client.post(
        f"{path}/case", data={"act": "resolve"}, headers={"Origin": origin}, allow_redirects=False
    )

    assert (sent.status, sent.headers["Location"]) == (303, f"/#x-{case_id}")
    assert "You closed it" in await browser.get("/")


async def test_a_withdrawn_question_takes_its_card_with_it(browser: Browser) -> None:
    path, _ = await handed(browser)

    await browser.post(f"{path}/withdraw")

    await browser.get(f"{path}/case", status=404)
