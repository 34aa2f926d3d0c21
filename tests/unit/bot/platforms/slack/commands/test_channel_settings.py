"""Test the form of a channel's settings: who opens it, what it saves and refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.adapters import ChatContext
from bot.chat.commands.channel_settings import (
    SETTINGS_CHANGED,
    ChannelSettingsForm,
    SubmittedSettings,
    build_form,
    read_form,
)
from bot.domain.errors import StoreUnavailable
from bot.domain.messages import NO_MODEL, Policy
from bot.domain.settings import Settings
from bot.platforms.slack.channel_settings import (
    settings_modal,
    submitted_values,
)
from bot.platforms.slack.payloads.actions import SETTINGS_FORM
from bot.store.database import Store
from tests.fakes.chat_context import MemoryDocuments, chat_context_over, document
from tests.fakes.desk import KeepingInbox
from tests.fakes.http_server import wait_until
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.interactions import initial
from tests.fakes.slack.names import ALICE, BOB, DIRECT, ELSEWHERE, HELP, PEOPLE, SHARED
from tests.fakes.slack.posts import View, view_problem, with_ids
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor

FULL = Policy(frozenset({"HR"}), "questions", follow_ups=True, people=PEOPLE, model=NO_MODEL)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"slack_admins": ("Alice@ACME.example",)})


@pytest.fixture
def context(store: Store, inbox: KeepingInbox) -> ChatContext:
    shelf = MemoryDocuments()
    for space in ("HR", "IT"):
        shelf.kept[space, "a.md"] = document(space, "a.md")
    context = chat_context_over(store, inbox, tenant="acme", shelf=shelf)
    return replace(
        context, commands=replace(context.commands, usual_model="gpt", models=("small",))
    )


async def opened(alice: Visitor, channel: str = HELP) -> View:
    await alice.command(channel, "/frontdesk", "settings")
    (view,) = alice.workspace.open_views
    return view


def whispered(slack: FakeSlack, user: str = ALICE) -> str:
    return "\n".join(post.shown for post in slack.posts if post.only_for == user)


async def of(store: Store, channel: str = HELP) -> Policy | None:
    return await store.policies.of("acme", f"slack:{channel}")


async def test_an_admin_changes_everything_and_is_told_what_is_different(
    alice: Visitor, slack: FakeSlack, store: Store
) -> None:
    view = await opened(alice)
    answer = await alice.submit(
        view,
        {
            "answers": "Also to questions not addressed to anyone, if I'm sure",
            "follow_ups": ["on"],
            "spaces": ["HR"],
            "people": PEOPLE,
            "model": "small",
            "other_bots": ["on"],
            "reviewers": [BOB, ALICE],
        },
    )

    assert answer == {}
    changed = replace(FULL, model="small", other_bots=True, reviewers=frozenset({ALICE, BOB}))
    assert await of(store) == changed
    await wait_until(lambda: "Saved. From the next question on" in whispered(slack))
    assert "I answer from HR." in whispered(slack)
    (act,) = await store.audits.newest("acme", 9)
    assert (act.actor, act.act, act.subject) == (f"slack:{ALICE}", "set policy", f"slack:{HELP}")


async def test_sent_as_it_was_opened_it_changes_nothing(
    alice: Visitor, slack: FakeSlack, store: Store
) -> None:
    await store.policies.set("acme", f"slack:{HELP}", FULL, actor="anna")

    await alice.submit(await opened(alice))

    assert await of(store) == FULL
    await wait_until(lambda: "Nothing was changed." in whispered(slack))


async def test_all_spaces_are_a_choice_and_no_channel_is_the_usual_one(
    alice: Visitor, store: Store
) -> None:
    await store.policies.set("acme", f"slack:{HELP}", FULL, actor="anna")
    view = await opened(alice)
    view.values = {
        **initial(with_ids(view.payload["blocks"])),
        "people": {"people": {"type": "conversations_select", "selected_conversation": None}},
    }
    await alice.submit(view, {"spaces": ["All spaces"]})

    assert await of(store) == replace(FULL, spaces=None, people="")


async def test_no_space_chosen_is_refused_at_its_field(alice: Visitor, store: Store) -> None:
    answer = await alice.submit(await opened(alice), {"spaces": []})

    assert list(answer["errors"]) == ["spaces"]
    assert await of(store) is None


async def test_what_somebody_else_changed_meanwhile_is_shown_and_kept(
    alice: Visitor, store: Store
) -> None:
    view = await opened(alice)
    await store.policies.set("acme", f"slack:{HELP}", FULL, actor="anna")
    await alice.submit(view, {"answers": "Never"})

    assert await of(store) == FULL
    assert SETTINGS_CHANGED in view.shown
    assert "spaces: HR" in view.shown


async def test_people_are_not_asked_where_the_bot_is_not(alice: Visitor, store: Store) -> None:
    view = await opened(alice)
    answer = await alice.submit(view, {"people": ELSEWHERE})

    assert "I'm not in that channel" in answer["errors"]["people"]
    assert await of(store) is None
    alice.workspace.channels.add(ELSEWHERE)
    assert await alice.submit(view, {"people": ELSEWHERE}) == {}


@pytest.mark.parametrize("place", [SHARED, DIRECT, BOB, "#help"])
async def test_people_are_not_asked_where_another_company_or_one_person_reads(
    alice: Visitor, store: Store, place: str
) -> None:
    view = await opened(alice)
    view.values = initial(with_ids(view.payload["blocks"]))
    view.values["people"] = {
        "people": {"type": "conversations_select", "selected_conversation": place}
    }
    answer = await alice.submit(view)

    assert "shared with another company" in answer["errors"]["people"]
    assert await of(store) is None


async def test_what_is_not_offered_is_wrong_by_its_field(
    alice: Visitor, slack: FakeSlack, store: Store
) -> None:
    view = await opened(alice)
    view.values = initial(with_ids(view.payload["blocks"]))
    wrong = {"selected_option": {"value": "=sometimes"}}
    view.values["answers"]["answers"] = wrong
    view.values["model"]["model"] = {"selected_option": {"value": "=evil"}}
    view.values["spaces"]["spaces"] = {"selected_options": [{"value": "=SECRET"}]}
    answer = await alice.submit(view)

    assert set(answer["errors"]) == {"answers", "model", "spaces"}
    assert await of(store) is None


async def test_who_is_no_admin_is_told_who_can(
    alice: Visitor, slack: FakeSlack, store: Store
) -> None:
    bob = Visitor(slack, alice.door, BOB)
    await bob.command(HELP, "/frontdesk", "settings")

    assert "SLACK_ADMINS" in whispered(slack, BOB)
    assert slack.open_views == []


async def test_who_is_an_admin_no_more_saves_nothing(
    alice: Visitor, slack: FakeSlack, store: Store
) -> None:
    view = await opened(alice)
    view.user = BOB
    answer = await Visitor(slack, alice.door, BOB).submit(view, {"answers": "Never"})

    assert "SLACK_ADMINS" in answer["errors"]["answers"]
    assert await of(store) is None


async def test_a_record_that_is_away_leaves_the_form_open(
    alice: Visitor,
    slack: FakeSlack,
    context: ChatContext,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("hunter2")

    view = await opened(alice)
    monkeypatch.setattr(context.policies, "set", away)
    answer = await alice.submit(view, {"answers": "Never"})

    assert "try again in a minute" in answer["errors"]["answers"]
    assert slack.open_views == [view]


async def test_a_direct_conversation_has_no_settings(alice: Visitor, slack: FakeSlack) -> None:
    await alice.command(DIRECT, "/frontdesk", "settings")

    assert "no settings" in whispered(slack)
    assert slack.open_views == []


async def test_a_form_that_slack_does_not_open_is_told(alice: Visitor, slack: FakeSlack) -> None:
    slack.fail("views.open", Fault(error="expired_trigger_id"))
    await alice.command(HELP, "/frontdesk", "settings")

    assert "try again in a minute" in whispered(slack)


async def test_what_was_saved_long_after_the_command_is_told_directly(
    alice: Visitor, slack: FakeSlack
) -> None:
    view = await opened(alice)
    slack.fail("response_url", Fault(status=404, error="expired_url"))
    await alice.submit(view, {"answers": "Never"})

    await wait_until(lambda: slack.answers(DIRECT))
    assert "I answer: never." in slack.answers(DIRECT)[0].shown


def form(policy: Policy, spaces: int = 2) -> ChannelSettingsForm:
    names = [f"SPACE{number:03}" for number in range(spaces)]
    return build_form("slack:C1", policy, spaces=names, models=("small",), usual="gpt")


def sent_back(shown: ChannelSettingsForm) -> SubmittedSettings:
    """Return what comes back of a form that nobody changed."""
    view = settings_modal(shown, HELP, "")
    values = initial(with_ids(list(view["blocks"])))  # type: ignore[call-overload]
    return submitted_values({**view, "state": {"values": values}}, shown)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(),
        Policy(spaces=frozenset()),
        Policy(answers="shadow", reviewers=frozenset({ALICE, BOB})),
        replace(FULL, spaces=frozenset({"SPACE001", "GONE"}), other_bots=True),
        Policy(people="#help-desk", model="old-model"),
        Policy(spaces=frozenset(f"SPACE{number:03}" for number in range(150))),
    ],
)
@pytest.mark.parametrize("spaces", [0, 2, 100, 101, 250])
def test_whatever_was_allowed_slack_takes_the_form_and_leaves_it_as_it_was(
    policy: Policy, spaces: int
) -> None:
    shown = form(policy, spaces)

    assert view_problem(settings_modal(shown, HELP, "https://hooks.slack.com/x")) == ""
    assert read_form(sent_back(shown), shown) == policy


@pytest.mark.parametrize("metadata", ["", "[]", '"x"', "{", '{"channel": "<!here>"}'])
async def test_a_form_about_no_channel_saves_nothing(
    alice: Visitor, store: Store, metadata: str
) -> None:
    view = await opened(alice)
    view.payload["private_metadata"] = metadata

    assert "errors" in await alice.submit(view, {"answers": "Never"})
    assert await store.policies.all("acme") == []


def test_the_form_is_called_as_it_is_taken() -> None:
    assert settings_modal(form(Policy()), HELP, "")["callback_id"] == SETTINGS_FORM
