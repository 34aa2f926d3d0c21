"""Tests of commands, who may give them, and the form of a channel's settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot import __version__
from bot.answering.admission import VouchedDirectory
from bot.chat.commands.channel_settings import (
    ALL_SPACES,
    ChannelSettingsForm,
    Field,
    InvalidSettings,
    OutdatedSettings,
    SubmittedSettings,
    build_form,
    current_values,
    describe_changes,
    read_form,
)
from bot.chat.commands.digest_switch import DigestSwitch
from bot.chat.commands.executor import CommandExecutor, is_admin, parse_admins, refusal_text
from bot.chat.commands.reindexing import ReindexRuns
from bot.chat.commands.run_status import RunWatcher
from bot.chat.commands.types import (
    Admins,
    AllSpaces,
    CommandCaller,
    DigestRequest,
    Done,
    Refused,
    ReindexCancelRequest,
    ReindexRequest,
    ShareRequest,
    Started,
)
from bot.chat.documents import SeenBy
from bot.domain.errors import DeliveryFailed, StoreUnavailable
from bot.domain.health import ComponentStatus
from bot.domain.messages import NO_MODEL, InteractionId, Person, Policy
from bot.domain.settings import Settings
from bot.escalations.own_cases import CaseFinder
from bot.learning.question_words import QuestionWords
from bot.store.database import open_store, sqlite_url
from ingestion.library import Space
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry
from rag.types import EVERYONE, Principal
from tests.fakes.builders import NOON
from tests.fakes.chat_commands import (
    RUNNING,
    FakeGroups,
    MemoryAudits,
    MemoryPolicies,
    command_caller,
)
from tests.fakes.chat_context import MemoryDocuments, ReadsPages, document
from tests.fakes.digests import MONDAY_MORNING, MemoryDigests
from tests.fakes.escalations import MemoryCases, MemoryRecord
from tests.fakes.http_server import (
    PAGES,
    TOKEN,
    Client,
    serving_application,
    settings_for,
    write_index,
)
from tests.fakes.learning import MemoryNotes, NoWorkers
from tests.unit.bot.chat.commands.command_platform import PATH

EVERYBODY = frozenset({EVERYONE})
ALL = ReindexRequest(AllSpaces())
ADMIN, OTHER = command_caller("U1"), command_caller("U2")


async def parts() -> Sequence[ComponentStatus]:
    return (ComponentStatus("knowledge", "ready", "2 chunks (HR 1, IT 1)"),)


def shelf() -> MemoryDocuments:
    kept = MemoryDocuments()
    kept.kept["HR", "pay.md"] = document("HR", "pay.md", readers="group:hr")
    kept.kept["IT", "vpn.md"] = document("IT", "vpn.md")
    return kept


async def no_link(_: InteractionId) -> None:
    """The question was asked where no link leads."""


def orders(
    kept: MemoryDocuments | None = None,
    *,
    policies: MemoryPolicies | None = None,
    audits: MemoryAudits | None = None,
    served: frozenset[str] | None = None,
    digests: MemoryDigests | None = None,
    cases: MemoryCases | None = None,
) -> CommandExecutor:
    kept, policies = kept or shelf(), policies or MemoryPolicies()
    found = CaseFinder("default", cases or MemoryCases(), MemoryRecord().get, no_link)
    return CommandExecutor(
        tenant="default",
        reindexing=ReindexRuns(
            tenant="default", documents=kept, runs=kept, audits=audits or MemoryAudits()
        ),
        watch=RunWatcher(kept.get),
        policies=policies,
        list_channels=policies.channels,
        directory=VouchedDirectory(),
        check_parts=parts,
        cases=found,
        words=QuestionWords(NoWorkers(), MemoryNotes(), ReadsPages()),
        digests=DigestSwitch("default", digests or MemoryDigests(), MONDAY_MORNING, lambda: NOON),
        served=served,
        models=("small",),
        usual_model="gpt",
    )


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (OTHER, "Only Frontdesk admins ("),
        (command_caller("U1", admins=Admins("SLACK_ADMINS")), "until SLACK_ADMINS names somebody"),
        (
            command_caller("U2", in_group=FakeGroups(away=True)),
            "I can't check your permissions right now. Please try again in a minute",
        ),
    ],
)
async def test_who_may_not_is_refused_everything_that_changes_or_shows_the_inside(
    by: CommandCaller, said: str
) -> None:
    kept, policies, audits = MemoryDocuments(RUNNING), MemoryPolicies(), MemoryAudits()
    room = orders(kept, policies=policies, audits=audits)
    with capture_logs() as logs:
        answers = [
            await room.reindex(ALL, by),
            await room.reindex_status(by),
            await room.cancel(ReindexCancelRequest(), by),
            await room.settings("C1", by),
            await room.save("C1", lambda _: SubmittedSettings(answers="off"), by, version=""),
        ]

    for answer in answers:
        assert isinstance(answer, Refused)
        assert said in answer.text
    assert (kept.runs, policies.kept, audits.acts) == ([RUNNING], {}, [])
    refused = [line for line in logs if line["event"] == "orders.refused"]
    assert [line["order"] for line in refused] == [
        "reindex",
        "reindex status",
        "reindex cancel",
        "settings",
        "save settings",
    ]
    assert {line["actor"] for line in refused} == {by.actor}


async def test_who_is_in_a_group_of_admins_may_order_and_follow_a_run_to_its_end() -> None:
    by = command_caller("U7", in_group=FakeGroups(("U7", "S1")))
    room = orders()

    started = await room.reindex(ALL, by)

    assert isinstance(started, Started)
    assert [told.state async for told in room.follow(started.run_id)] == ["done"]


async def test_help_and_status_fit_who_asks() -> None:
    room = orders()

    assert "reindex" in (await room.help(ADMIN)).text
    assert "reindex" not in (await room.help(OTHER)).text
    admins, others = await room.status(ADMIN), await room.status(OTHER)
    in_public = await room.status(replace(ADMIN, alone=False))
    assert isinstance(admins, Done)
    assert isinstance(others, Done)
    assert "Components:" in admins.text
    assert "Components:" not in others.text
    assert in_public == others


async def test_each_person_lets_others_see_their_own_questions() -> None:
    room = orders()

    off = await room.answer(ShareRequest(), OTHER)
    on = await room.answer(ShareRequest(shares=True), OTHER)
    assert on != off
    assert await room.answer(ShareRequest(), OTHER) == on
    assert await room.answer(ShareRequest(), ADMIN) != on
    assert await room.answer(ShareRequest(shares=False), OTHER) == off
    assert await room.words.agrees("default", ADMIN.person) is False


async def test_status_names_only_spaces_that_all_who_read_it_may_know_and_that_are_served() -> None:
    everybody = await orders().status(OTHER)
    nobody = await orders(served=frozenset({"HR"})).status(OTHER)

    assert isinstance(everybody, Done)
    assert isinstance(nobody, Done)
    assert "- IT: 1 page" in everybody.text
    assert "IT" not in nobody.text


async def test_the_settings_of_a_channel_are_shown_changed_and_told() -> None:
    policies = MemoryPolicies()
    room = orders(policies=policies)

    form = await room.settings("C1", ADMIN)
    assert isinstance(form, ChannelSettingsForm)
    assert (form.channel, form.policy) == ("slack:C1", Policy())
    assert [choice.value for choice in form.spaces] == ["HR", "IT"]
    filled = SubmittedSettings(answers="off", spaces=("HR",))
    saved = await room.save("C1", lambda _: filled, ADMIN, version=form.version)

    assert isinstance(saved, Done)
    assert "I answer: never." in saved.text
    assert policies.kept == {"slack:C1": Policy(frozenset({"HR"}), "off")}
    assert policies.actors == ["slack:U1"]


async def test_what_is_saved_unchanged_or_wrong_changes_nothing() -> None:
    policies = MemoryPolicies()
    room = orders(policies=policies)

    same = await room.save("C1", lambda _: FILLED, ADMIN, version=form().version)
    unknown = replace(FILLED, spaces=("PAY",))
    wrong = await room.save("C1", lambda _: unknown, ADMIN, version=form().version)

    assert same == Done("Nothing was changed.")
    assert isinstance(wrong, InvalidSettings)
    assert policies.kept == {}


@pytest.mark.parametrize("when", ["before", "during"])
async def test_settings_that_others_changed_meanwhile_are_not_overwritten(when: str) -> None:
    policies = MemoryPolicies()
    room = orders(policies=policies)
    shown = await room.settings("C1", ADMIN)
    other = Policy(frozenset({"IT"}))

    def read(_: ChannelSettingsForm) -> SubmittedSettings:
        policies.kept["slack:C1"] = other
        return replace(FILLED, answers="off")

    assert isinstance(shown, ChannelSettingsForm)
    if when == "before":
        policies.kept["slack:C1"] = other
    saved = await room.save("C1", read, ADMIN, version=shown.version)

    assert isinstance(saved, OutdatedSettings)
    assert saved.form.policy == other
    assert policies.kept == {"slack:C1": other}
    assert policies.actors == []


class Away(MemoryDocuments):
    """A shelf that can't be read."""

    async def spaces(self, seen_by: SeenBy) -> Sequence[Space]:
        raise StoreUnavailable("The index '/srv/data/index.sqlite' is away.")


async def test_what_can_not_be_reached_is_told_kindly_and_the_cause_is_in_the_log() -> None:
    room = orders(Away(), audits=MemoryAudits(away=True))
    with capture_logs() as logs:
        answers = [
            await room.status(OTHER),
            await room.settings("C1", ADMIN),
            await room.reindex(ALL, ADMIN),
        ]

    for answer in answers:
        assert isinstance(answer, Refused)
        assert "try again in a minute" in answer.text
        assert "/srv" not in answer.text
    assert [line["event"] for line in logs] == ["orders.unavailable"] * 3


async def test_an_address_counts_only_as_verified() -> None:
    admins = Admins("X", emails=frozenset({"anna@acme.example"}))
    anna = command_caller("U9", admins=admins)
    verified = replace(anna, person=replace(anna.person, email="Anna@acme.example"))

    assert isinstance(await orders().reindex(ALL, anna), Refused)
    assert isinstance(await orders().reindex(ALL, verified), Started)


ADMINS = parse_admins(
    ("U1", " S1 ", "Anna@Acme.example", ""), setting="X", is_group=lambda name: name[0] == "S"
)


def test_names_are_sorted_into_people_groups_and_addresses() -> None:
    assert ADMINS.ids == {"U1"}
    assert ADMINS.groups == {"S1"}
    assert ADMINS.emails == {"anna@acme.example"}


@pytest.mark.parametrize(
    ("person", "may"),
    [
        (Person("U1"), True),
        (Person("u1"), False),
        (Person("U2"), False),
        (Person("U2", email="ANNA@acme.example"), True),
        (Person("U2", name="anna@acme.example"), False),
        (Person("anna@acme.example"), False),
        (Person("S1"), False),
        (Person("U2", principals=frozenset({EVERYONE, Principal("group:S1")})), True),
        (Person("U3"), True),
    ],
)
async def test_who_is_named_or_in_a_group_that_is_may(person: Person, *, may: bool) -> None:
    assert await is_admin(person, ADMINS, FakeGroups(("U3", "S1"))) is may


async def test_with_nobody_named_nobody_may_and_the_setting_is_told() -> None:
    nobody = Admins("SLACK_ADMINS")

    assert not await is_admin(Person("U1", email="a@b.example"), nobody, FakeGroups(("U1", "S1")))
    assert "until SLACK_ADMINS names somebody" in refusal_text(nobody)
    assert "admins (X)" in refusal_text(ADMINS)


async def test_a_group_is_asked_only_for_those_who_are_not_named() -> None:
    groups = FakeGroups(away=True)

    assert await is_admin(Person("U1"), ADMINS, groups)
    assert groups.asked == 0
    with pytest.raises(DeliveryFailed):
        await is_admin(Person("U2"), ADMINS, groups)


async def test_without_a_way_to_ask_no_group_lets_in() -> None:
    assert not await is_admin(Person("U3"), ADMINS)


FILLED = current_values(Policy())


def form(policy: Policy = Policy(), usual: str | None = "gpt") -> ChannelSettingsForm:  # noqa: B008 - frozen
    return build_form("slack:C1", policy, spaces=["HR", "IT"], models=["small"], usual=usual)


def test_what_is_offered_is_what_there_is() -> None:
    shown = form()

    assert [choice.value for choice in shown.answers] == [
        "mentions",
        "questions",
        "shadow",
        "off",
    ]
    assert [choice.value for choice in shown.spaces] == ["HR", "IT"]
    assert [choice.value for choice in shown.models] == ["", NO_MODEL, "small"]
    assert [choice.value for choice in form(usual=None).models] == ["", "small"]


def test_what_was_chosen_and_is_gone_can_be_kept() -> None:
    policy = Policy(frozenset({"OLD", "HR"}), model="big")
    shown = form(policy)

    assert [choice.value for choice in shown.spaces] == ["HR", "IT", "OLD"]
    assert "big (no longer configured)" in [choice.label for choice in shown.models]
    kept = replace(FILLED, spaces=("OLD", "HR"), model="big")
    assert read_form(kept, shown) == policy
    assert describe_changes(policy, policy, shown) == ()


def test_all_fields_become_the_policy() -> None:
    filled = SubmittedSettings(
        answers="questions",
        follow_ups=True,
        spaces=("IT", "HR"),
        people="C9",
        model=NO_MODEL,
        other_bots=True,
    )

    assert read_form(filled, form()) == Policy(
        spaces=frozenset({"HR", "IT"}),
        answers="questions",
        follow_ups=True,
        people="C9",
        model=NO_MODEL,
        other_bots=True,
    )


@pytest.mark.parametrize("policy", [Policy(), Policy(frozenset({"HR"}))])
def test_an_empty_choice_of_spaces_never_means_all(policy: Policy) -> None:
    wrong = read_form(replace(FILLED, spaces=()), form(policy))

    assert isinstance(wrong, InvalidSettings)
    assert list(wrong.errors) == ["spaces"]


def test_where_no_space_is_searched_none_is_until_some_are_chosen() -> None:
    shown = form(Policy(frozenset()))

    assert read_form(current_values(shown.policy), shown) == shown.policy
    assert read_form(FILLED, shown) == Policy()


@pytest.mark.parametrize(
    ("filled", "field", "said"),
    [
        (replace(FILLED, answers="always"), "answers", "\u201calways\u201d"),
        (replace(FILLED, spaces=("HR", "PAY")), "spaces", "PAY"),
        (
            replace(FILLED, spaces=(ALL_SPACES, "HR")),
            "spaces",
            "You selected all spaces and single ones. Choose one or the other",
        ),
        (replace(FILLED, model="huge"), "model", "\u201chuge\u201d"),
        (replace(FILLED, people="the help channel"), "people", "is not a channel"),
        (replace(FILLED, people="C" * 999), "people", "is not a channel"),
    ],
)
def test_what_can_not_be_taken_is_told_at_its_field(
    filled: SubmittedSettings, field: Field, said: str
) -> None:
    wrong = read_form(filled, form())

    assert isinstance(wrong, InvalidSettings)
    assert list(wrong.errors) == [field]
    assert said in wrong.errors[field]


def test_all_that_is_wrong_is_told_at_once() -> None:
    filled = SubmittedSettings(answers="", spaces=("X",), people=" ", model="y")

    wrong = read_form(filled, form())

    assert isinstance(wrong, InvalidSettings)
    assert set(wrong.errors) == {"answers", "spaces", "people", "model"}


def test_what_is_different_is_said_in_words() -> None:
    after = Policy(frozenset({"HR"}), "questions", True, "C9", NO_MODEL, True)  # noqa: FBT003 - as stored

    assert describe_changes(Policy(), after, form()) == (
        "I answer: when mentioned, and questions not addressed to anyone if it is sure.",
        "In threads I'm in, no mention is needed.",
        "I answer from HR.",
        "People are asked in C9.",
        "Answers come from: Quote the pages, without a model.",
        "Other bots can ask me.",
    )
    assert len(describe_changes(after, Policy(), form())) == 6


POLICIES = st.builds(
    Policy,
    spaces=st.none() | st.frozensets(st.sampled_from(["HR", "IT"]), min_size=1),
    answers=st.sampled_from(["mentions", "questions", "off"]),
    follow_ups=st.booleans(),
    people=st.sampled_from(["", "C1", "C2"]),
    model=st.sampled_from(["", NO_MODEL, "small"]),
    other_bots=st.booleans(),
)


@given(before=POLICIES, after=POLICIES)
def test_what_is_filled_in_comes_out_and_each_difference_is_one_sentence(
    before: Policy, after: Policy
) -> None:
    fields = ("spaces", "answers", "follow_ups", "people", "model", "other_bots")
    different = [name for name in fields if getattr(before, name) != getattr(after, name)]

    assert read_form(current_values(after), form(before)) == after
    assert len(describe_changes(before, after, form(before))) == len(different)
    assert (form(before).version == form(after).version) == (before == after)


@pytest.fixture
async def settings(tmp_path: Path) -> Settings:
    made = settings_for(
        tmp_path, adapters=("tests.unit.bot.chat.commands.command_platform",), admin_token=TOKEN
    )
    folder = tmp_path / "pages"
    await write_index(made, folder)
    entry = FolderEntry(str(folder), (("everyone",),), "https://wiki.example/it")
    await Ledger(sqlite_in(tmp_path), made.tenant).note_folder("IT", entry)
    return made


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[Client]:
    async with serving_application(settings) as serving:
        yield serving


async def say(client: Client, text: str, person: str = "anna") -> list[str]:
    async with asyncio.timeout(60):
        async with client.post(PATH, json={"person": person, "text": text}) as response:
            assert response.status == 200, await response.text()
            return list(await response.json())


async def test_what_is_ordered_is_done_told_and_audited(client: Client, settings: Settings) -> None:
    first = await say(client, "reindex it")
    by_page = await say(client, "reindex <https://wiki.example/it/vpn.md#x|VPN> \u2014dry-run")
    status = await say(client, "status", "bea")
    saved = await say(client, "settings")

    assert first[0].startswith("I'm reindexing IT.")
    assert first[-1].startswith("Reindexing IT: done")
    assert "in the space IT. I'm checking what would change" in by_page[0]
    assert f"{len(PAGES)} pages unchanged" in by_page[-1]
    assert "- IT: 3 pages, updated less than a minute ago" in status[0]
    assert status[0].endswith(f"Frontdesk {__version__}")
    assert saved == ["Saved. From the next question on:\nI answer: never."]
    store = await open_store(sqlite_url(settings.data_dir))
    acts = await store.audits.newest(settings.tenant, 9)
    policy = await store.policies.of(settings.tenant, "scribe:room")
    await store.close()
    assert policy == Policy(answers="off")
    assert [(act.actor, act.act, act.subject) for act in acts] == [
        ("scribe:anna", "set policy", "scribe:room"),
        ("scribe:anna", "reindex", "IT"),
        ("scribe:anna", "reindex", "IT"),
    ]


CHANNEL_ADMIN, MINE = replace(ADMIN, channel="C9"), replace(OTHER, channel="")


async def test_admins_switch_the_digest_of_a_channel() -> None:
    kept = MemoryDigests()
    done = orders(digests=kept)

    on = await done.answer(DigestRequest(wanted=True), CHANNEL_ADMIN)
    off = await done.answer(DigestRequest(wanted=False), CHANNEL_ADMIN)

    assert kept.acts == [
        (CHANNEL_ADMIN.actor, "digest on", "slack:C9"),
        (CHANNEL_ADMIN.actor, "digest off", "slack:C9"),
    ]
    assert "this channel" in on.text
    assert "this channel" in off.text
    assert kept.kept["slack:C9"].reader is None


async def test_others_switch_their_own_digest_off_and_nothing_else() -> None:
    kept = MemoryDigests()
    done = orders(digests=kept)
    await done.answer(DigestRequest(wanted=True), ADMIN)
    kept.kept["slack:U2"] = replace(kept.kept["slack:U1"], target="slack:U2")

    assert isinstance(await done.answer(DigestRequest(wanted=False), MINE), Done)
    in_channel = replace(OTHER, channel="C9")
    for refused in (DigestRequest(wanted=True), DigestRequest()):
        assert isinstance(await done.answer(refused, in_channel), Refused)
    assert isinstance(await done.answer(DigestRequest(wanted=True), MINE), Refused)

    assert kept.kept["slack:U2"].off
    assert not kept.kept["slack:U1"].off


def test_drafts_need_somebody_to_read_them() -> None:
    nobody = SubmittedSettings(answers="shadow", spaces=("IT",))

    wrong = read_form(nobody, form())
    assert isinstance(wrong, InvalidSettings)
    assert set(wrong.errors) == {"reviewers"}
    named = read_form(replace(nobody, reviewers=("U1", "U2")), form())
    assert named == Policy(frozenset({"IT"}), "shadow", reviewers=frozenset({"U1", "U2"}))
    assert isinstance(read_form(replace(nobody, reviewers=("U1 U2",)), form()), InvalidSettings)
