"""Tests of admission: from a message to an inquiry, and who asks it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from bot.answering.admission import Admission, VouchedDirectory, audience_of
from bot.answering.asker_identity import (
    EVERYONE_PRINCIPALS,
    READS_NOTHING,
    AskerIdentification,
    IdentifiedAsker,
    Reader,
    ReaderLookup,
)
from bot.answering.attachments import AttachmentReader
from bot.domain.errors import AskerUnknown, DeliveryFailed
from bot.domain.handoff import ASK_TOPIC
from bot.domain.interactions import Clarification, Outcome
from bot.domain.messages import (
    NO_MODEL,
    Attached,
    Inquiry,
    Introduction,
    Message,
    Person,
    Policy,
    Refusal,
)
from bot.domain.ports import Directory, Policies
from bot.store.database import Store
from rag.types import EVERYONE, Principal, Turn
from tests.fakes.bot_ports import Drive, PdfOfText, generic_outcome, with_files
from tests.fakes.builders import message
from tests.fakes.durable_inbox import record_answer
from tests.fakes.slack.builders import question

ANNA = Person(
    "anna", "Anna Lopez", "anna@acme.example", frozenset({EVERYONE, Principal("user:anna")})
)
GUEST = Person("gil", "Gil Guest", outsider="guest")
FAQ = frozenset({"FAQ"})


@dataclass
class Registrar:
    """Introduces everyone as it is told to, or fails."""

    introduction: Introduction | None = field(default_factory=lambda: Introduction(ANNA))

    async def introduce(self, message: Message) -> Introduction:
        if self.introduction is None:
            raise DeliveryFailed("Slack is away.")
        return self.introduction


def asked(text: str = "pay?", message_id: str = "m1", *, private: bool = False) -> Message:
    return message(text, message_id=message_id, platform="slack", channel="C1", private=private)


def introductions(
    store: Store, registrar: Registrar, open_spaces: frozenset[str] = frozenset()
) -> AskerIdentification:
    return AskerIdentification(
        {"slack": registrar}, open_spaces={"slack": open_spaces}, notes=store.notes
    )


async def test_a_colleague_is_who_their_platform_says(store: Store) -> None:
    told = await introductions(store, Registrar()).of(asked())

    assert told == IdentifiedAsker(ANNA, recorded=ANNA)


async def test_a_platform_that_introduces_nobody_is_believed_as_it_says(
    store: Store,
) -> None:
    on_the_web = message("pay?")

    told = await introductions(store, Registrar()).of(on_the_web)

    assert told == IdentifiedAsker(on_the_web.author)


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize("author", [ANNA, GUEST])
async def test_where_outsiders_ask_or_read_only_their_spaces_are_open(
    store: Store, author: Person
) -> None:
    registrar = Registrar(Introduction(author, outsiders=True))

    told = await introductions(store, registrar, FAQ).of(asked())

    assert isinstance(told, IdentifiedAsker)
    assert told.author == replace(author, principals=frozenset({EVERYONE}))
    assert (told.open, told.spaces) == (False, FAQ)
    assert told.recorded == told.author
    assert "FAQ" in told.notes[0]


@pytest.mark.mended(id="slack-2")
async def test_a_stranger_and_a_colleague_beside_one_are_told_differently(store: Store) -> None:
    texts = set()
    for number, author in enumerate((ANNA, GUEST)):
        await store.work.open(asked(message_id=f"m{number}"), "me")
        shut = introductions(store, Registrar(Introduction(author, outsiders=True)))
        told = await shut.of(asked(message_id=f"m{number}"))
        assert isinstance(told, Refusal)
        texts.add(told.text)

    assert len(texts) == len((ANNA, GUEST))


async def test_what_was_overheard_is_not_the_one_time_that_somebody_is_told(store: Store) -> None:
    shut = introductions(store, Registrar(Introduction(GUEST, outsiders=True)))
    overheard, addressed = replace(asked(), overheard=True), asked(message_id="m2")
    for each in (overheard, addressed):
        await store.work.open(each, "me")
        refusal = await shut.of(each)

    assert isinstance(refusal, Refusal)
    assert not refusal.silent


async def test_where_outsiders_are_not_answered_each_person_is_told_once(store: Store) -> None:
    shut = introductions(store, Registrar(Introduction(ANNA, outsiders=True)))
    later = asked(message_id="m2")
    elsewhere = message("pay?", platform="slack", channel="C2", private=False)
    for each in (asked(), later, elsewhere):
        await store.work.open(each, "me")

    refusals = [await shut.of(each) for each in (asked(), asked(), later, elsewhere)]

    assert all(isinstance(each, Refusal) and each.note == "outsiders" for each in refusals)
    silent = [each.silent for each in refusals if isinstance(each, Refusal)]
    assert silent == [False, False, True, False]


async def test_a_colleague_is_answered_from_more_than_outsiders_are(store: Store) -> None:
    told = await introductions(store, Registrar(), FAQ).of(asked())

    assert told == IdentifiedAsker(ANNA, recorded=ANNA)


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("open_spaces", [frozenset[str](), FAQ])
async def test_while_it_is_not_known_who_reads_along_nobody_is_introduced(
    store: Store, open_spaces: frozenset[str], *, private: bool
) -> None:
    with pytest.raises(AskerUnknown):
        await introductions(store, Registrar(None), open_spaces).of(asked(private=private))


HERS = frozenset({EVERYONE, Principal("user:alice@acme.example")})


class Known:
    """Implements Introduces: everybody is Alice, or nobody is known."""

    def __init__(self, *, outsiders: bool = False, away: bool = False) -> None:
        self._outsiders = outsiders
        self._away = away

    async def introduce(self, message: Message) -> Introduction:
        if self._away:
            raise DeliveryFailed("users.info: Slack cannot be reached.")
        person: Person = replace(message.author, principals=HERS)
        return Introduction(person, outsiders=self._outsiders)


def readers(known: Known, *open_spaces: str, directory: Directory | None = None) -> ReaderLookup:
    return ReaderLookup(known, directory or VouchedDirectory(), open_spaces=open_spaces)


async def test_in_private_the_asker_may_read_their_own() -> None:
    assert await readers(Known(), "FAQ").of_thread(question(private=True)) == Reader(HERS)


async def test_in_a_channel_everyone_reads_along() -> None:
    assert await readers(Known(), "FAQ").of_thread(question()) == Reader(EVERYONE_PRINCIPALS)
    assert await readers(Known(), "FAQ").of_asker(question()) == Reader(HERS)


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize("open_spaces", [(), ("FAQ",)])
async def test_where_outsiders_read_only_their_spaces_open(
    open_spaces: tuple[str, ...],
) -> None:
    shared = readers(Known(outsiders=True), *open_spaces)
    theirs = Reader(EVERYONE_PRINCIPALS, frozenset(open_spaces))
    assert await shared.of_asker(question()) == theirs
    assert await shared.of_thread(question()) == theirs
    assert await shared.of_thread(question(private=True)) == theirs


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize("private", [True, False])
async def test_while_slack_does_not_tell_nothing_is_open(*, private: bool) -> None:
    away = readers(Known(away=True), "FAQ")
    assert await away.of_thread(question(private=private)) == READS_NOTHING
    with pytest.raises(DeliveryFailed):
        await away.of_asker(question())


class InConfluence:
    """Implements Directory: everybody has an account there."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        return person.principals | {Principal(f"user:confluence:{tenant}")}


async def test_the_directory_says_what_the_asker_may_read_and_of_outsiders_it_is_not_asked() -> (
    None
):
    asked = question(private=True)
    account = Principal(f"user:confluence:{asked.thread.tenant}")
    known = readers(Known(), directory=InConfluence())
    shared = readers(Known(outsiders=True), directory=InConfluence())
    assert (await known.of_asker(asked)).principals == HERS | {account}
    assert (await shared.of_asker(asked)).principals == EVERYONE_PRINCIPALS
    assert (await known.of_thread(question())).principals == EVERYONE_PRINCIPALS


HR = Principal("group:hr")


def admission_over(
    store: Store,
    everywhere: Policy | None = None,
    policies: Policies | None = None,
    *,
    directory: Directory | None = None,
    introductions: AskerIdentification | None = None,
    reading: AttachmentReader | None = None,
) -> Admission:
    return Admission(
        store.interactions,
        directory or VouchedDirectory(),
        everywhere or Policy(),
        policies or store.policies,
        introductions=introductions,
        reading=reading,
    )


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

    async def set(
        self,
        tenant: str,
        channel: str,
        allowed: Policy,
        *,
        actor: str,
        instead_of: Policy | None = None,
    ) -> bool:
        raise NotImplementedError


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
    admission = admission_over(store, Policy(everywhere), policies)

    inquiry = await admitted(admission, message("pay?", platform="slack", channel="C1"))
    elsewhere = await admitted(admission, message("pay?", platform="teams", channel="C1"))

    assert inquiry.policy.spaces == allowed
    assert elsewhere.policy.spaces == everywhere


async def test_a_policy_that_is_set_holds_for_the_next_question(store: Store) -> None:
    admission = admission_over(store)
    asked = message("pay?", platform="slack", channel="C1")
    assert (await admitted(admission, asked)).policy.spaces is None

    await store.policies.set("default", "slack:C1", Policy(IT_ONLY), actor="cli:anna")

    assert (await admitted(admission, asked)).policy.spaces == IT_ONLY


async def test_an_inquiry_carries_what_was_said_before_in_its_thread(store: Store) -> None:
    first = await record_answer(store, message("one"), "two")
    later = message("three", message_id="m2")
    await store.work.open(later, "me")
    admission = admission_over(store)

    inquiry = await admitted(admission, later)

    assert inquiry.message == later
    assert inquiry.history == (
        Turn("user", "one", first.id),
        Turn("assistant", "two", first.id),
    )
    assert inquiry.audience.kind == "private"


@pytest.mark.mended(id="slack-5")
@pytest.mark.parametrize(("minutes", "kept"), [(59, 2), (61, 0)])
async def test_no_topic_is_waited_for_all_day(store: Store, minutes: int, kept: int) -> None:
    """Such a chat is one thread, and the next question in it is for the wiki again."""
    asked = Outcome(Clarification(ASK_TOPIC), generic_outcome("").trace)
    first = await record_answer(store, message("human"), asked)
    at = first.message.received_at + timedelta(minutes=minutes)
    later = replace(message("How do I book a room?", message_id="m2"), received_at=at)
    admission = admission_over(store)

    assert len((await admitted(admission, later)).history) == kept


async def test_what_a_channel_says_of_itself_holds_besides_its_spaces(store: Store) -> None:
    own = Policy(answers="questions", follow_ups=True, people="C9", model="none", other_bots=True)
    admission = admission_over(store, Policy(IT_ONLY), OnePolicy("slack:C1", own))

    inquiry = await admitted(admission, message("pay?", platform="slack", channel="C1"))

    assert inquiry.policy == replace(own, spaces=IT_ONLY)


async def test_where_answers_are_off_nothing_is_looked_up_for_a_message(
    store: Store,
) -> None:
    admission = admission_over(
        store,
        Policy(),
        OnePolicy("slack:C1", Policy(answers="off")),
        introductions=introductions(store, Registrar(None)),
    )

    refused = await admission.admit(message("pay?", platform="slack", channel="C1"))

    assert isinstance(refused, Refusal)
    assert refused.note == "channel_off"
    assert refused.text.startswith("I'm turned off here.")


async def test_an_introduced_colleague_asks_with_what_they_may_read(store: Store) -> None:
    admission = admission_over(store, introductions=introductions(store, Registrar()))

    inquiry = await admitted(admission, message("pay?", platform="slack", channel="D1"))

    assert inquiry.message.author == ANNA
    assert inquiry.audience.principals == ANNA.principals
    assert inquiry.asker == ANNA


class Generous:
    """A directory that gives everybody everything."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        return person.principals | {HR, EVERYONE}


@pytest.mark.parametrize("private", [True, False])
async def test_no_directory_gives_outsiders_more_than_all(store: Store, *, private: bool) -> None:
    shared = Registrar(Introduction(ANNA, outsiders=True))
    admission = admission_over(
        store, directory=Generous(), introductions=introductions(store, shared, IT_ONLY)
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
    admission = admission_over(
        store,
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
    admission = admission_over(store, reading=AttachmentReader({"slack": drive}, PdfOfText().text))

    inquiry = await admitted(admission, with_files(log, picture))

    assert inquiry.attached == (Attached("vpn.log", "Error 809"),)
    assert inquiry.remarks == ("I did not read screen.png: I read text, logs and PDF only.",)


@pytest.mark.parametrize(("own", "used"), [("", "small"), ("big", "small"), (NO_MODEL, NO_MODEL)])
async def test_a_request_names_its_model_but_not_where_there_is_none(
    store: Store, own: str, used: str
) -> None:
    await store.policies.set("default", "slack:C1", Policy(model=own), actor="cli:anna")

    inquiry = await admitted(admission_over(store), replace(asked(), model="small"))

    assert inquiry.policy.model == used
