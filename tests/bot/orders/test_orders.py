from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.answering.admission import VouchedDirectory
from bot.chat.commands.channel_settings import (
    ChannelSettingsForm,
    InvalidSettings,
    SubmittedSettings,
)
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.reindexing import ReindexRuns
from bot.chat.commands.run_status import RunWatcher
from bot.chat.commands.types import (
    Admins,
    AllSpaces,
    CommandCaller,
    Done,
    Refused,
    ReindexCancelRequest,
    ReindexRequest,
    Started,
)
from bot.chat.documents import SeenBy
from bot.domain.errors import StoreUnavailable
from bot.domain.health import ComponentStatus
from bot.domain.messages import Policy
from ingestion.library import Space
from rag.types import EVERYONE
from tests.bot.orders.fakes import RUNNING, Groups, MemoryAudits, MemoryPolicies, orderer
from tests.bot.shelves import Shelf, document

EVERYBODY = frozenset({EVERYONE})
ALL = ReindexRequest(AllSpaces())
ADMIN, OTHER = orderer("U1"), orderer("U2")


async def parts() -> Sequence[ComponentStatus]:
    return (ComponentStatus("knowledge", "ready", "2 chunks (HR 1, IT 1)"),)


def shelf() -> Shelf:
    kept = Shelf()
    kept.kept["HR", "pay.md"] = document("HR", "pay.md", readers="group:hr")
    kept.kept["IT", "vpn.md"] = document("IT", "vpn.md")
    return kept


def orders(
    kept: Shelf | None = None,
    *,
    policies: MemoryPolicies | None = None,
    audits: MemoryAudits | None = None,
    served: frozenset[str] | None = None,
) -> CommandExecutor:
    kept = kept or shelf()
    return CommandExecutor(
        tenant="default",
        reindexing=ReindexRuns(
            tenant="default", documents=kept, runs=kept, audits=audits or MemoryAudits()
        ),
        watch=RunWatcher(kept),
        policies=policies or MemoryPolicies(),
        directory=VouchedDirectory(),
        check_parts=parts,
        served=served,
        models=("small",),
        usual_model="gpt",
    )


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (OTHER, "Only Frontdesk's admins"),
        (orderer("U1", admins=Admins("SLACK_ADMINS")), "SLACK_ADMINS names nobody"),
        (orderer("U2", groups=Groups(away=True)), "can't find out right now"),
    ],
)
async def test_who_may_not_is_refused_everything_that_changes_or_shows_the_inside(
    by: CommandCaller, said: str
) -> None:
    kept, policies, audits = Shelf(RUNNING), MemoryPolicies(), MemoryAudits()
    room = orders(kept, policies=policies, audits=audits)
    with capture_logs() as logs:
        answers = [
            await room.reindex(ALL, by),
            await room.reindex_status(by),
            await room.cancel(ReindexCancelRequest(), by),
            await room.settings("C1", by),
            await room.save("C1", SubmittedSettings(answers="off"), by),
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
    assert {line["by"] for line in refused} == {by.actor}


async def test_who_is_in_a_group_of_admins_may_order_and_follow_a_run_to_its_end() -> None:
    by = orderer("U7", groups=Groups(("U7", "S1")))
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
    assert "Parts:" in admins.text
    assert "Parts:" not in others.text
    assert in_public == others


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
    saved = await room.save("C1", SubmittedSettings(answers="off", spaces=("HR",)), ADMIN)

    assert isinstance(saved, Done)
    assert "I answer: never." in saved.text
    assert policies.kept == {"slack:C1": Policy(frozenset({"HR"}), "off")}
    assert policies.actors == ["slack:U1"]


async def test_what_is_saved_unchanged_or_wrong_changes_nothing() -> None:
    policies = MemoryPolicies()
    room = orders(policies=policies)

    same = await room.save("C1", SubmittedSettings(answers="mentions"), ADMIN)
    wrong = await room.save("C1", SubmittedSettings(answers="mentions", spaces=("PAY",)), ADMIN)

    assert same == Done("Nothing was changed.")
    assert isinstance(wrong, InvalidSettings)
    assert policies.kept == {}


class Away(Shelf):
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
    anna = orderer("U9", admins=admins)
    verified = replace(anna, person=replace(anna.person, email="Anna@acme.example"))

    assert isinstance(await orders().reindex(ALL, anna), Refused)
    assert isinstance(await orders().reindex(ALL, verified), Started)
