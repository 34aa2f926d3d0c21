"""From message to inquiry."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.answering.admission import Admission, VouchedDirectory, audience_of
from bot.answering.attachments import AttachmentReader
from bot.domain.handoff import ASK_TOPIC
from bot.domain.interactions import Clarification, Outcome
from bot.domain.messages import Attached, Inquiry, Introduction, Message, Person, Policy, Refusal
from bot.store.database import Store
from rag.types import EVERYONE, Principal, Turn
from tests.bot.attachments.files import Drive, PdfOfText, with_files
from tests.bot.fakes import replied
from tests.bot.recorded import answered
from tests.bot.test_introductions import ANNA, Registrar, introductions
from tests.builders import message

HR = Principal("group:hr")


async def admitted(admission: Admission, asked: Message) -> Inquiry:
    inquiry = await admission.admit(asked)
    assert isinstance(inquiry, Inquiry)
    return inquiry


def test_a_private_thread_may_read_what_its_asker_may() -> None:
    audience = audience_of(message("pay?", principals=frozenset({HR})))

    assert audience.kind == "private"
    assert audience.principals == {HR, EVERYONE}


def test_a_channel_may_read_what_everyone_may_whoever_asks() -> None:
    audience = audience_of(message("pay?", private=False, principals=frozenset({HR})))

    assert audience.kind == "channel"
    assert audience.principals == {EVERYONE}


async def test_an_unknown_person_is_everyone_and_nobody_more() -> None:
    asked = message("pay?", principals=frozenset())

    assert await VouchedDirectory().principals("default", asked.author) == {EVERYONE}


class OnePolicy:
    """Knows the policy of one channel."""

    def __init__(self, channel: str, policy: Policy) -> None:
        self._kept = {("default", channel): policy}

    async def of(self, tenant: str, channel: str) -> Policy | None:
        return self._kept.get((tenant, channel))


IT_ONLY, HR_ONLY, BOTH = frozenset({"IT"}), frozenset({"HR"}), frozenset({"IT", "HR"})


@pytest.mark.parametrize(
    ("everywhere", "own", "allowed"),
    [
        (None, None, None),
        (None, IT_ONLY, IT_ONLY),
        (IT_ONLY, None, IT_ONLY),
        (IT_ONLY, BOTH, IT_ONLY),
        (BOTH, IT_ONLY, IT_ONLY),
        (IT_ONLY, HR_ONLY, frozenset()),
        (IT_ONLY, frozenset(), frozenset()),
        (None, frozenset(), frozenset()),
    ],
)
async def test_a_channel_narrows_what_is_allowed_everywhere_and_never_widens_it(
    store: Store,
    everywhere: frozenset[str] | None,
    own: frozenset[str] | None,
    allowed: frozenset[str] | None,
) -> None:
    policies = OnePolicy("slack:C1", Policy(own))
    admission = Admission(store.interactions, VouchedDirectory(), Policy(everywhere), policies)

    inquiry = await admitted(admission, message("pay?", platform="slack", channel="C1"))
    elsewhere = await admitted(admission, message("pay?", platform="teams", channel="C1"))

    assert inquiry.policy.spaces == allowed
    assert elsewhere.policy.spaces == everywhere


async def test_a_policy_that_is_set_holds_for_the_next_question(store: Store) -> None:
    admission = Admission(store.interactions, VouchedDirectory(), Policy(), store.policies)
    asked = message("pay?", platform="slack", channel="C1")
    assert (await admitted(admission, asked)).policy.spaces is None

    await store.policies.set("default", "slack:C1", Policy(IT_ONLY), actor="cli:anna")

    assert (await admitted(admission, asked)).policy.spaces == IT_ONLY


async def test_an_inquiry_carries_what_was_said_before_in_its_thread(store: Store) -> None:
    first = await answered(store, message("one"), "two")
    later = message("three", message_id="m2")
    await store.work.open(later, "me")
    admission = Admission(store.interactions, VouchedDirectory(), Policy(), store.policies)

    inquiry = await admitted(admission, later)

    assert inquiry.message == later
    assert inquiry.history == (
        Turn("user", "one", first.id),
        Turn("assistant", "two", first.id),
    )
    assert inquiry.audience.kind == "private"


@pytest.mark.mended(id="slack-5")
@pytest.mark.parametrize(("minutes", "kept"), [(59, 2), (61, 0)])
async def test_a_topic_is_not_waited_for_all_day_in_a_chat(
    store: Store, minutes: int, kept: int
) -> None:
    """Such a chat is one thread, and the next question in it is for the wiki again."""
    asked = Outcome(Clarification(ASK_TOPIC), replied("").trace)
    first = await answered(store, message("human"), asked)
    at = first.message.received_at + timedelta(minutes=minutes)
    later = replace(message("How do I book a room?", message_id="m2"), received_at=at)
    admission = Admission(store.interactions, VouchedDirectory(), Policy(), store.policies)

    assert len((await admitted(admission, later)).history) == kept


async def test_what_a_channel_says_of_itself_holds_besides_its_spaces(store: Store) -> None:
    own = Policy(answers="questions", follow_ups=True, people="C9", model="none", other_bots=True)
    admission = Admission(
        store.interactions, VouchedDirectory(), Policy(IT_ONLY), OnePolicy("slack:C1", own)
    )

    inquiry = await admitted(admission, message("pay?", platform="slack", channel="C1"))

    assert inquiry.policy == replace(own, spaces=IT_ONLY)


async def test_where_answers_are_off_a_message_is_refused_before_anything_is_looked_up(
    store: Store,
) -> None:
    admission = Admission(
        store.interactions,
        VouchedDirectory(),
        Policy(),
        OnePolicy("slack:C1", Policy(answers="off")),
        introductions=introductions(store, Registrar(None)),
    )

    refused = await admission.admit(message("pay?", platform="slack", channel="C1"))

    assert isinstance(refused, Refusal)
    assert refused.note == "channel_off"
    assert refused.text.startswith("I'm turned off here.")


async def test_an_introduced_colleague_asks_with_what_they_may_read(store: Store) -> None:
    admission = Admission(
        store.interactions,
        VouchedDirectory(),
        Policy(),
        store.policies,
        introductions=introductions(store, Registrar()),
    )

    inquiry = await admitted(admission, message("pay?", platform="slack", channel="D1"))

    assert inquiry.message.author == ANNA
    assert inquiry.audience.principals == ANNA.principals
    assert inquiry.asker == ANNA


class Generous:
    """A directory that gives everybody everything."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        return person.principals | {HR, EVERYONE}


@pytest.mark.parametrize("private", [True, False])
async def test_no_directory_gives_an_outsider_more_than_everyone(
    store: Store, *, private: bool
) -> None:
    shared = Registrar(Introduction(ANNA, outsiders=True))
    admission = Admission(
        store.interactions,
        Generous(),
        Policy(),
        store.policies,
        introductions=introductions(store, shared, IT_ONLY),
    )
    claiming = replace(
        message("pay?", platform="slack", channel="C1", private=private), author=ANNA
    )

    inquiry = await admitted(admission, claiming)

    assert inquiry.message.author.principals == {EVERYONE}
    assert inquiry.audience.principals == {EVERYONE}
    assert len(inquiry.notes) == 1


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize(
    ("everywhere", "channel", "searched"),
    [
        (None, None, BOTH),
        (IT_ONLY, None, IT_ONLY),
        (None, HR_ONLY, HR_ONLY),
        (IT_ONLY, HR_ONLY, ()),
    ],
)
async def test_for_outsiders_the_allowed_spaces_are_narrowed_to_the_open_ones(
    store: Store,
    everywhere: frozenset[str] | None,
    channel: frozenset[str] | None,
    searched: frozenset[str],
) -> None:
    admission = Admission(
        store.interactions,
        VouchedDirectory(),
        Policy(spaces=everywhere),
        OnePolicy("slack:C1", Policy(spaces=channel, model="small")),
        introductions=introductions(store, Registrar(Introduction(ANNA, outsiders=True)), BOTH),
    )

    inquiry = await admitted(admission, message("pay?", platform="slack", channel="C1"))

    assert inquiry.policy == Policy(spaces=frozenset(searched), model="small")
    assert inquiry.outsiders


async def test_files_are_read_and_what_was_not_read_is_told(store: Store) -> None:
    drive = Drive()
    log = drive.add("vpn.log", b"Error 809")
    picture = drive.add("screen.png", b"", "image/png")
    admission = Admission(
        store.interactions,
        VouchedDirectory(),
        Policy(),
        store.policies,
        reading=AttachmentReader({"slack": drive}, PdfOfText()),
    )

    inquiry = await admitted(admission, with_files(log, picture))

    assert inquiry.attached == (Attached("vpn.log", "Error 809"),)
    assert inquiry.remarks == ("I did not read screen.png: I read text, logs and PDF only.",)
