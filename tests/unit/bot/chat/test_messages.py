"""Tests of which messages are taken, and of edits in the order of their times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.messages import (
    ListeningPolicy,
    MessageEdits,
    ReceivedMessage,
    reads_like_a_question,
    should_take,
)
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import Attachment, Message, Person, Policy, Thread
from bot.domain.ports import Interactions, Policies
from bot.store.database import Store
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON, message
from tests.fakes.desk import KeepingInbox
from tests.fakes.durable_inbox import record_answer

ASKS = "how do I reset my VPN token"
QUESTIONS = Policy(answers="questions")
FOLLOW_UPS = Policy(follow_ups=True)


@dataclass
class OnePolicy:
    """The same policy in every channel; counts how often it is read."""

    policy: Policy | None
    read: list[tuple[str, str]] = field(default_factory=list)

    async def of(self, tenant: str, channel: str) -> Policy | None:
        self.read.append((tenant, channel))
        return self.policy


@dataclass
class OneThread:
    """What was asked and answered in every thread."""

    kept: Sequence[Interaction] = ()

    async def in_thread(self, thread: Thread, limit: int) -> Sequence[Interaction]:
        return self.kept[-limit:]


def said(text: str) -> Message:
    return message(text, platform="slack", channel="C1", private=False)


def asked(outcome: Outcome | None, *, overheard: bool = False) -> Interaction:
    kept = replace(said(ASKS), overheard=overheard)
    return Interaction(kept.interaction_id, kept, "done", NOON, outcome)


SILENT = replace(generic_outcome("nothing sure"), silent=True)


def listening(policies: OnePolicy, thread: OneThread) -> ListeningPolicy:
    return ListeningPolicy(cast("Policies", policies), cast("Interactions", thread))


async def heard(text: str, policy: Policy | None, *kept: Interaction, begins: bool = True) -> bool:
    return await listening(OnePolicy(policy), OneThread(kept)).hears(said(text), begins=begins)


@pytest.mark.parametrize(
    ("policy", "taken"),
    [
        (None, False),
        (Policy(), False),
        (FOLLOW_UPS, False),
        (QUESTIONS, True),
        (Policy(answers="off", follow_ups=True), False),
    ],
)
async def test_a_question_to_nobody_is_heard_only_where_a_policy_says_so(
    *, policy: Policy | None, taken: bool
) -> None:
    assert await heard(ASKS, policy) is taken


@pytest.mark.parametrize(
    ("policy", "taken"),
    [
        (None, False),
        (QUESTIONS, False),
        (FOLLOW_UPS, True),
        (Policy(answers="off", follow_ups=True), False),
    ],
)
async def test_a_follow_up_is_heard_only_where_a_policy_says_so(
    *, policy: Policy | None, taken: bool
) -> None:
    spoken = asked(generic_outcome("Press the button."))

    assert await heard("and on the phone", policy, spoken, begins=False) is taken


@pytest.mark.parametrize(
    ("kept", "taken"),
    [
        ((), False),
        ((asked(SILENT, overheard=True),), False),
        ((asked(None, overheard=True),), False),
        ((asked(None),), True),
        ((asked(SILENT, overheard=True), asked(generic_outcome("Yes."))), True),
    ],
    ids=["nothing asked", "silent", "still thinking of what it overheard", "asked", "answered"],
)
async def test_a_thread_is_the_bots_only_once_it_has_spoken_or_was_asked(
    *, kept: tuple[Interaction, ...], taken: bool
) -> None:
    assert await heard("and on the phone", FOLLOW_UPS, *kept, begins=False) is taken


async def test_ordinary_talk_does_not_even_read_a_policy() -> None:
    policies = OnePolicy(QUESTIONS)

    assert not await listening(policies, OneThread()).hears(said("Lunch is ready."), begins=True)
    assert policies.read == []


async def test_other_bots_are_heard_only_where_a_policy_says_so() -> None:
    for policy, taken in ((None, False), (Policy(), False), (Policy(other_bots=True), True)):
        policies = OnePolicy(policy)
        assert await listening(policies, OneThread()).hears_bots("default", "slack:C1") is taken
        assert policies.read == [("default", "slack:C1")]


async def test_a_follow_up_below_an_answer_is_heard_over_the_record(store: Store) -> None:
    await store.policies.set("default", "slack:C1", FOLLOW_UPS, actor="cli:anna")
    hearing = ListeningPolicy(store.policies, store.interactions)
    later = replace(said("and on the phone"), id="m2")
    assert not await hearing.hears(later, begins=False)

    await record_answer(store, said(ASKS), "Press the button.")

    assert await hearing.hears(later, begins=False)
    elsewhere = replace(later, thread=replace(later.thread, id="t2"))
    assert not await hearing.hears(elsewhere, begins=False)


@pytest.mark.parametrize(
    "text",
    [
        "how do I reset my VPN token",
        "Hi all, how do I reset my VPN token",
        "Hey Anna Lopez, where is the form",
        "Good morning! Does anyone know the Wi-Fi password",
        "Quick question: who approves travel",
        "My laptop died. What now",
        "the printer is on fire?",
        "Can someone unlock my account",
        "Wie beantrage ich Urlaub",
        "Hallo zusammen, wo finde ich die Reiserichtlinie",
        "Weiß jemand, wer Reisen freigibt",
        "Kurze Frage: kann ich das WLAN am Wochenende nutzen",
        "Gibt es hier einen Drucker",
        "VPN kaputt?",
    ],
)
def test_what_asks_reads_like_a_question(text: str) -> None:
    assert reads_like_a_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "???",
        ":tada: :tada:",
        "Lunch is ready.",
        "Thanks, that worked",
        "What a day!",
        "Wie schön!",
        "The laptop, which I got on Monday, is fine",
        "Das ist genau das, was ich meinte",
        "see https://wiki.example/search?q=vpn",
        "<https://wiki.example/?a=1>",
        "```\nwhy = lambda x: x ? 1 : 0\n```",
        "run `is_ok?` first",
        "Is fixed now.",
        "Ist erledigt.",
    ],
)
def test_ordinary_talk_does_not(text: str) -> None:
    assert not reads_like_a_question(text)


@given(st.text(max_size=400))
def test_any_text_is_a_question_or_not(text: str) -> None:
    assert reads_like_a_question(text) in {True, False}


@given(st.text("abcdefgh ,.äöüß", min_size=1, max_size=80).filter(lambda text: text.strip(" ,.")))
def test_words_before_a_question_mark_always_ask(text: str) -> None:
    assert reads_like_a_question(f"{text.strip(' ,.')}?")


@given(st.text(max_size=100).filter(lambda text: "`" not in text))
def test_what_stands_in_code_never_asks(text: str) -> None:
    assert not reads_like_a_question(f"```{text}```")


@given(st.integers(0, 3000))
async def test_only_a_text_of_bearable_length_is_heard(length: int) -> None:
    text = f"{'x' * length}?"

    assert await heard(text, QUESTIONS) is (1 <= length <= 999)


class Hears:
    """Hears everything, and other bots in one channel."""

    def __init__(self) -> None:
        self.asked: list[bool] = []

    async def hears(self, message: Message, *, begins: bool) -> bool:
        self.asked.append(begins)
        return True

    async def hears_bots(self, tenant: str, channel: str) -> bool:
        return (tenant, channel) == ("acme", "teams:open")


@pytest.mark.parametrize(
    ("channel", "overheard", "by_bot", "taken"),
    [
        ("shut", False, False, True),
        ("shut", True, False, True),
        ("shut", False, True, False),
        ("open", False, True, True),
        ("open", True, True, False),
    ],
)
async def test_bots_are_heard_where_allowed_and_never_overheard(
    channel: str, *, overheard: bool, by_bot: bool, taken: bool
) -> None:
    message = Message(
        id="1",
        thread=Thread("teams", "acme", channel, "1"),
        author=Person("a"),
        text="vpn?",
        received_at=datetime.now(UTC),
        overheard=overheard,
    )
    hearing = Hears()

    received = ReceivedMessage(message, begins=True, by_bot=by_bot)

    assert await should_take(cast("ListeningPolicy", hearing), received) is taken
    assert hearing.asked == [True] * (overheard and not by_bot)


FILE = Attachment("vpn.log", "text/plain", 3, "here")
ASKED = Message(
    id="1.1",
    thread=Thread("elsewhere", "default", "C1", "1.1"),
    author=Person("alice"),
    text="vpn?",
    received_at=datetime(2026, 11, 21, tzinfo=UTC),
)


@pytest.fixture
def inbox() -> KeepingInbox:
    return KeepingInbox()


MakesEdits = Callable[[], MessageEdits]


@pytest.fixture
async def another_process(store: Store, inbox: KeepingInbox) -> MakesEdits:
    await store.work.open(ASKED, "owner")
    await inbox.accept(ASKED)
    return lambda: MessageEdits(inbox, store.interactions, store.notes)


def reads(text: str, **changes: object) -> Message:
    return replace(ASKED, text=text, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("times", "stands"),
    [
        (("10.000001", "10.000002"), "second"),
        (("10.000002", "10.000001"), "first"),
        (("9.9", "10.1"), "second"),
        (("10.5", "10.25"), "first"),
        (("10.5", "10.5"), "first"),
        (("10.5", ""), "second"),
    ],
)
async def test_the_newest_stands_whichever_comes_first(
    another_process: MakesEdits, inbox: KeepingInbox, times: tuple[str, str], stands: str
) -> None:
    edits = another_process()
    for text, at in zip(("first", "second"), times, strict=True):
        await edits.amend(reads(text), at)

    assert inbox.only.text == stands


async def test_another_process_knows_what_was_edited_last(
    another_process: MakesEdits, inbox: KeepingInbox, store: Store
) -> None:
    await another_process().amend(reads("newer"), "11")
    await another_process().amend(reads("older"), "10")

    assert inbox.only.text == "newer"
    assert await store.notes.get("default", f"elsewhere:edited:{ASKED.interaction_id}") == "11"


async def test_an_older_edit_still_brings_its_files(
    another_process: MakesEdits, inbox: KeepingInbox
) -> None:
    await another_process().amend(reads("newer"), "11")
    await another_process().amend(reads("older", attachments=(FILE,)), "10")

    assert inbox.only.attachments == (FILE,)


async def test_an_edit_by_somebody_else_counts_for_nothing(
    another_process: MakesEdits, inbox: KeepingInbox
) -> None:
    await another_process().amend(reads("theirs", author=Person("eve")), "12")
    await another_process().amend(reads("mine"), "11")

    assert inbox.only.text == "mine"
