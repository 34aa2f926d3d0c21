"""Test the settings of a channel: a dialog for admins, saved as the board and the desk know it."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.adapters import ChatContext
from bot.chat.commands.channel_settings import (
    ALL_SPACES,
    SETTINGS_CHANGED,
    ChannelSettingsForm,
    SubmittedSettings,
    build_form,
    current_values,
    read_form,
)
from bot.domain.errors import StoreUnavailable
from bot.domain.messages import NO_MODEL, Policy
from bot.platforms.teams.channel_settings import (
    NOT_A_CHANNEL,
    NOT_THERE,
    OTHERS_READ,
    settings_card,
    submitted_values,
)
from bot.platforms.teams.rendering.text import ACTIVITY_BUDGET, size
from bot.store.database import Store
from tests.fakes.chat_context import MemoryDocuments, chat_context_over
from tests.fakes.desk import KeepingInbox
from tests.fakes.teams import cards
from tests.fakes.teams.activities import BotTestClient
from tests.fakes.teams.cards import card_problems
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.interactions import Dialog
from tests.fakes.teams.interactions import fill_fields as typed
from tests.fakes.teams.names import ALICE, ELSEWHERE, GROUP, GUESTS, HELP, PEOPLE, SHARED
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor

FULL = Policy(frozenset({"HR"}), "questions", follow_ups=True, people=PEOPLE, model=NO_MODEL)
LINK = (
    f"https://teams.microsoft.com/l/channel/{quote(PEOPLE, safe='')}/people"
    "?groupId=aaaaaaaa-2222-3333-4444-555555555555&tenantId=99999999-8888"
)
MESSAGE_LINK = f"https://teams.cloud.microsoft/l/message/{PEOPLE}/1760000000001?context=%7B%7D"


@pytest.fixture
def context(store: Store, inbox: KeepingInbox, shelf: MemoryDocuments) -> ChatContext:
    context = chat_context_over(store, inbox, tenant="acme", shelf=shelf)
    return replace(
        context, commands=replace(context.commands, usual_model="gpt", models=("small",))
    )


async def opened(teams: FakeTeams, person: Visitor, where: str = HELP) -> Dialog:
    await person.say(where, "settings")
    return await person.open(teams.posts_in(where)[-1], "Settings")


async def policy(store: Store, channel: str = HELP) -> Policy:
    return await store.policies.of("acme", f"teams:{channel}") or Policy()


async def saved(alice: Visitor, dialog: Dialog, **inputs: object) -> str:
    """Send the form; return what is shown then."""
    shown = await alice.submit(dialog, "Save", **inputs)
    return shown.shown if shown else ""


async def test_an_admin_changes_what_a_channel_allows_and_that_is_audited(
    teams: FakeTeams, alice: Visitor, store: Store
) -> None:
    dialog = await opened(teams, alice)
    told = await saved(
        alice,
        dialog,
        answers="Also to questions not addressed to anyone, if I'm sure",
        follow_ups=True,
        spaces=["HR"],
        people=PEOPLE,
        model="Quote the pages, without a model",
        reviewers="bob-id, carol-id ,",
    )

    reviewers = frozenset({"bob-id", "carol-id"})
    assert await policy(store) == replace(FULL, reviewers=reviewers)
    assert "Saved. From the next question on" in told
    assert "I answer from HR." in told
    (act,) = await store.audits.newest("acme", 9)
    assert (act.actor, act.subject) == (f"teams:{ALICE}", f"teams:{HELP}")


async def test_a_group_chat_has_settings_as_a_channel_has(
    teams: FakeTeams, alice: Visitor, store: Store
) -> None:
    await saved(alice, await opened(teams, alice, GROUP), answers="Never")

    assert (await policy(store, GROUP)).answers == "off"


async def test_the_form_shows_what_holds_and_sent_as_it_is_it_changes_nothing(
    teams: FakeTeams, alice: Visitor, store: Store
) -> None:
    await store.policies.set("acme", f"teams:{HELP}", FULL, actor="board:anna")
    told = await saved(alice, await opened(teams, alice))

    assert "Nothing was changed." in told
    assert await policy(store) == FULL


async def test_what_was_chosen_can_be_cleared(
    teams: FakeTeams, alice: Visitor, store: Store
) -> None:
    await store.policies.set("acme", f"teams:{HELP}", FULL, actor="board:anna")
    dialog = await opened(teams, alice)
    await saved(
        alice,
        dialog,
        spaces=["All spaces"],
        people="",
        follow_ups=False,
    )

    now = await policy(store)
    assert (now.spaces, now.people, now.follow_ups) == (None, "", False)


async def test_no_space_chosen_is_refused(teams: FakeTeams, alice: Visitor, store: Store) -> None:
    again = await alice.submit(await opened(teams, alice), "Save", spaces=[], answers="Never")

    assert again is not None
    assert again.labels == ["Save"]
    assert await policy(store) == Policy()


async def test_what_somebody_else_changed_meanwhile_is_shown_and_kept(
    teams: FakeTeams, alice: Visitor, store: Store
) -> None:
    dialog = await opened(teams, alice)
    await store.policies.set("acme", f"teams:{HELP}", FULL, actor="board:anna")
    again = await alice.submit(dialog, "Save", answers="Never")

    assert again is not None
    assert SETTINGS_CHANGED in again.shown
    assert await policy(store) == FULL
    await saved(alice, again, follow_ups=False)
    assert await policy(store) == replace(FULL, follow_ups=False)


@pytest.mark.parametrize("people", [PEOPLE, LINK, MESSAGE_LINK, f"  {PEOPLE} "])
async def test_the_peoples_channel_is_named_by_its_id_or_a_link(
    teams: FakeTeams, alice: Visitor, store: Store, people: str
) -> None:
    await saved(alice, await opened(teams, alice), people=people)

    assert (await policy(store)).people == PEOPLE


@pytest.mark.parametrize(
    ("people", "said"),
    [
        ("people", NOT_A_CHANNEL),
        ("a:alice-and-bot", NOT_A_CHANNEL),
        ("https://evil.example/19", NOT_A_CHANNEL),
        (ELSEWHERE, NOT_THERE),
        ("19:nowhere@thread.tacv2", NOT_THERE),
        (GUESTS, OTHERS_READ),
        (SHARED, OTHERS_READ),
    ],
)
async def test_people_are_asked_only_where_the_bot_is_and_colleagues_read(
    teams: FakeTeams, alice: Visitor, store: Store, people: str, said: str
) -> None:
    dialog = await opened(teams, alice)
    again = await alice.submit(dialog, "Save", people=people, answers="Never")

    assert again is not None
    assert said in again.shown
    assert await policy(store) == Policy()
    kept = {str(each["id"]): each.get("value") for each in cards.inputs(again.card)}
    assert (kept["people"], kept["answers"]) == (people, "=off"), "what was put in is kept"


async def test_while_teams_does_not_tell_the_form_asks_to_be_sent_again(
    teams: FakeTeams, alice: Visitor, store: Store
) -> None:
    dialog = await opened(teams, alice)
    teams.fail(Fault(500), call="members")
    again = await alice.submit(dialog, "Save", people=PEOPLE)
    assert again is not None
    assert "try again in a minute" in again.shown
    await saved(alice, again)

    assert (await policy(store)).people == PEOPLE


async def test_a_personal_chat_has_no_settings(teams: FakeTeams, alice: Visitor) -> None:
    await alice.say(alice.chat, "settings")

    (post,) = teams.posts_in(alice.chat)
    assert "Personal chats have no settings." in post.shown
    assert post.cards == []


async def test_who_is_no_admin_neither_opens_the_form_nor_sends_it(
    teams: FakeTeams, client: BotTestClient, alice: Visitor, bob: Visitor, store: Store
) -> None:
    dialog = await opened(teams, alice)
    refused = await bob.open(teams.posts_in(HELP)[-1], "Settings")
    sent = await bob.submit(dialog, "Save", answers="Never")
    await bob.say(HELP, "settings")

    assert "Only Frontdesk" in refused.words
    assert ") can do this" in (sent.words if sent else "")
    assert teams.posts_in(HELP)[-1].cards == []
    assert await policy(store) == Policy()


async def test_what_can_not_be_saved_is_said_in_the_form(
    teams: FakeTeams, alice: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("password=hunter2")

    dialog = await opened(teams, alice)
    monkeypatch.setattr(store.policies, "set", away)
    again = await alice.submit(dialog, "Save", answers="Never")

    assert again is not None
    assert again.labels == ["Save"]
    assert "try again in a minute" in again.shown
    assert "hunter2" not in again.shown


def _form(policy: Policy, *spaces: str) -> ChannelSettingsForm:
    return build_form("teams:19:x", policy, spaces=spaces, models=("small",), usual="gpt")


def test_fields_that_teams_leaves_out_are_empty() -> None:
    form = _form(FULL, "HR", "IT")

    assert submitted_values({"answers": "=off", "model": "="}, form) == SubmittedSettings(
        answers="off", follow_ups=True
    )


def test_what_the_form_did_not_show_stays() -> None:
    empty = replace(_form(FULL, "HR"), spaces=())

    assert submitted_values({}, empty).spaces == ("HR",)


def test_of_very_many_spaces_the_names_are_typed() -> None:
    names = tuple(f"S{number:03}" for number in range(101))
    form = _form(Policy(frozenset({"S003", "S001"})), *names)
    card = settings_card(form, current_values(form.policy), {})
    fields = {str(each["id"]): each for each in cards.inputs(card)}

    assert fields["spaces"]["value"] == "S001, S003"
    assert size(card) < ACTIVITY_BUDGET
    assert submitted_values({"spaces": "S001 ,S100"}, form).spaces == ("S001", "S100")


policies = st.sampled_from([Policy(follow_ups=True), Policy(other_bots=True, people="19:a")])
names = st.text(min_size=1, max_size=40).map(str.strip).filter(bool).filter(ALL_SPACES.__ne__)


@given(
    st.frozensets(names, max_size=5),
    st.frozensets(names, max_size=20),
    policies,
)
def test_whatever_spaces_are_called_the_form_brings_them_back(
    chosen: frozenset[str], others: frozenset[str], policy: Policy
) -> None:
    before = replace(policy, spaces=chosen)
    form = _form(before, *others, *chosen)
    card = settings_card(form, current_values(form.policy), {})

    assert card_problems(card) == []
    assert read_form(submitted_values(typed(cards.inputs(card), {}), form), form) == before
