"""Which messages that nobody addressed to the bot are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.messages import ListeningPolicy, reads_like_a_question
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import Message, Policy, Thread
from bot.store.database import Store
from tests.bot.fakes import replied
from tests.bot.recorded import answered
from tests.builders import NOON, message

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


SILENT = replace(replied("nothing sure"), silent=True)


async def heard(text: str, policy: Policy | None, *kept: Interaction, begins: bool = True) -> bool:
    return await ListeningPolicy(OnePolicy(policy), OneThread(kept)).hears(
        said(text), begins=begins
    )


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
    spoken = asked(replied("Press the button."))

    assert await heard("and on the phone", policy, spoken, begins=False) is taken


@pytest.mark.parametrize(
    ("kept", "taken"),
    [
        ((), False),
        ((asked(SILENT, overheard=True),), False),
        ((asked(None, overheard=True),), False),
        ((asked(None),), True),
        ((asked(SILENT, overheard=True), asked(replied("Yes."))), True),
    ],
    ids=["nothing asked", "silent", "still thinking of what it overheard", "asked", "answered"],
)
async def test_a_thread_is_the_bots_only_once_it_has_spoken_or_was_asked(
    *, kept: tuple[Interaction, ...], taken: bool
) -> None:
    assert await heard("and on the phone", FOLLOW_UPS, *kept, begins=False) is taken


async def test_ordinary_talk_does_not_even_read_a_policy() -> None:
    policies = OnePolicy(QUESTIONS)

    assert not await ListeningPolicy(policies, OneThread()).hears(
        said("Lunch is ready."), begins=True
    )
    assert policies.read == []


async def test_other_bots_are_heard_only_where_a_policy_says_so() -> None:
    for policy, taken in ((None, False), (Policy(), False), (Policy(other_bots=True), True)):
        policies = OnePolicy(policy)
        assert (
            await ListeningPolicy(policies, OneThread()).hears_bots("default", "slack:C1") is taken
        )
        assert policies.read == [("default", "slack:C1")]


async def test_a_follow_up_below_an_answer_is_heard_over_the_record(store: Store) -> None:
    await store.policies.set("default", "slack:C1", FOLLOW_UPS, actor="cli:anna")
    hearing = ListeningPolicy(store.policies, store.interactions)
    later = replace(said("and on the phone"), id="m2")
    assert not await hearing.hears(later, begins=False)

    await answered(store, said(ASKS), "Press the button.")

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
    assert reads_like_a_question(f"{text.strip()}?")


@given(st.text(max_size=100).filter(lambda text: "`" not in text))
def test_what_stands_in_code_never_asks(text: str) -> None:
    assert not reads_like_a_question(f"```{text}```")


@given(st.integers(0, 3000))
async def test_only_a_text_of_bearable_length_is_heard(length: int) -> None:
    text = f"{'x' * length}?"

    assert await heard(text, QUESTIONS) is (1 <= length <= 999)
