"""What a channel's policy and an overheard question change on the way through the desk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.domain.handoff import HandoffWording
from bot.domain.interactions import Escalation, Outcome, Reply
from bot.domain.messages import NO_MODEL, Inquiry, Intent, Person, Policy
from rag.types import EVERYONE, ModelCall, Turn
from tests.bot.test_desk import HR, Bench, FirstLine, ListIndex
from tests.builders import chunk, inquiry, message

CALL = ModelCall("answer", "small", "answer@1", 10, 1, 1.0)
BEFORE = (Turn("user", "what is error 809"), Turn("assistant", "The port is blocked."))


@pytest.fixture
def bench() -> Bench:
    return Bench(index=ListIndex([chunk("Error 809: the port is blocked.\nCall IT.")]))


def asked(
    policy: Policy | None = None,
    *history: Turn,
    text: str = "what is error 809",
    overheard: bool = False,
    private: bool = False,
) -> Inquiry:
    said = replace(message(text, platform="slack", private=private), overheard=overheard)
    return replace(inquiry(said, *history), policy=policy or Policy())


def overheard(*history: Turn) -> Inquiry:
    return asked(None, *history, overheard=True)


async def test_a_channel_is_answered_with_the_model_that_it_names(bench: Bench) -> None:
    small = FirstLine(calls=(CALL,))
    bench.others = {"small": bench.way(small), NO_MODEL: bench.way(FirstLine())}

    outcome = await bench.handle(asked(Policy(model="small")))

    assert outcome.trace.calls == (CALL,)
    assert (small.composed, bench.composer.composed) == (1, 0)
    assert outcome.trace.notes == ()


async def test_a_model_that_is_gone_falls_back_to_the_configured_one_and_says_so(
    bench: Bench,
) -> None:
    outcome = await bench.handle(asked(Policy(model="gone")))

    assert isinstance(outcome.response, Reply)
    assert bench.composer.composed == 1
    assert "OPENAI_CHANNEL_MODELS" in outcome.trace.notes[0]


async def test_without_a_model_means_that_none_routes_or_composes(bench: Bench) -> None:
    bench.intent = Intent.GENERIC
    quiet = FirstLine()
    bench.others = {NO_MODEL: bench.way(quiet, Intent.DOMAIN)}

    outcome = await bench.handle(asked(Policy(model=NO_MODEL)))

    assert outcome.trace.route.intent is Intent.DOMAIN
    assert quiet.composed == 1


async def test_people_are_asked_where_the_channel_says(bench: Bench) -> None:
    bench.sure = 0.1

    response = (await bench.handle(asked(Policy(people="C9")))).response

    assert isinstance(response, Escalation)
    assert response.people == "C9"


@pytest.mark.parametrize(
    ("platform", "people", "said"),
    [
        ("slack", "C9", "I've asked the people who look after this"),
        ("slack", "", "on the help desk's list"),
        ("teams", "C9", "on the help desk's list"),
    ],
)
def test_nobody_is_said_to_be_asked_where_nobody_is(platform: str, people: str, said: str) -> None:
    wording = HandoffWording("Not there.", "Not sure.", asks_named=frozenset({"slack"}))

    text = wording.text("low_confidence", private=False, platform=platform, people=people)

    assert said in text


async def test_what_admission_found_out_comes_with_the_outcome(bench: Bench) -> None:
    anna = Person("anna", "Anna Lopez")
    known = replace(asked(), remarks=("I did not read a.png.",), notes=("noted",), asker=anna)

    outcome = await bench.handle(known)

    assert outcome.remarks == ("I did not read a.png.",)
    assert outcome.trace.notes == ("noted",)
    assert outcome.asker == anna


async def test_an_overheard_question_is_answered_from_the_pages_when_it_is_sure(
    bench: Bench,
) -> None:
    outcome = await bench.handle(overheard())

    assert isinstance(outcome.response, Reply)
    assert not outcome.silent


def unsure(bench: Bench) -> None:
    bench.sure = 0.1


def generic(bench: Bench) -> None:
    bench.intent = Intent.GENERIC


def nothing_there(bench: Bench) -> None:
    bench.index.chunks.clear()


def declined(bench: Bench) -> None:
    bench.composer.refusal = "I must not."


def broken(bench: Bench) -> None:
    bench.index.broken = True


def ambiguous(bench: Bench) -> None:
    bench.sure = 0.1
    other = chunk("Error 809 again.", chunk_id="c2", page_id="other.md", title="Error 809")
    bench.index.chunks = [chunk("Error 809 first.", title="Error 809"), other]


@pytest.mark.parametrize("how", [unsure, generic, nothing_there, declined, broken, ambiguous])
@pytest.mark.parametrize("history", [(), BEFORE], ids=["alone", "in a thread"])
async def test_everything_else_that_is_overheard_is_kept_to_oneself(
    bench: Bench, how: object, history: Sequence[Turn]
) -> None:
    assert callable(how)
    how(bench)

    silent = await bench.handle(overheard(*history))
    aloud = await bench.handle(asked(None, *history))

    assert silent.silent
    assert silent.response.text
    assert not aloud.silent


@pytest.mark.parametrize(("history", "silent"), [((), True), (BEFORE, False)])
async def test_a_person_is_asked_unasked_only_in_ones_own_thread(
    bench: Bench, history: Sequence[Turn], *, silent: bool
) -> None:
    bench.intent = Intent.HUMAN

    outcome = await bench.handle(overheard(*history))

    assert isinstance(outcome.response, Escalation)
    assert outcome.silent is silent
    assert not outcome.response.consent_needed


async def test_nothing_is_added_in_private_to_what_was_overheard(bench: Bench) -> None:
    secret = chunk("Band 7 pays more.", chunk_id="s", page_id="p", readers=(frozenset({HR}),))
    bench.index.chunks.insert(0, secret)
    both = frozenset({EVERYONE, HR})
    said = message("what is error 809", private=False, principals=both)

    aloud = await bench.handle(inquiry(said))
    silent = await bench.handle(inquiry(replace(said, overheard=True)))

    assert aloud.private is not None
    assert silent.private is None
    assert bench.composer.composed == 3


@pytest.mark.parametrize("intent", list(Intent))
async def test_what_is_overheard_is_routed_without_a_model(bench: Bench, intent: Intent) -> None:
    composer = FirstLine(calls=(CALL,))
    bench.composer, bench.intent = composer, Intent.GENERIC
    bench.others = {NO_MODEL: bench.way(FirstLine(), intent)}
    bench.index.chunks.clear()

    outcome: Outcome = await bench.handle(overheard())

    assert outcome.trace.route.intent is intent
    assert outcome.trace.calls == ()
    assert composer.composed == 0


@pytest.mark.mended(id="slack-2")
async def test_outsiders_chat_with_no_model_and_get_answers_by_one(bench: Bench) -> None:
    composer = FirstLine(calls=(CALL,))
    bench.composer, bench.intent = composer, Intent.GENERIC
    bench.others = {NO_MODEL: bench.way(FirstLine(), Intent.DOMAIN)}

    outcome = await bench.handle(replace(asked(), outsiders=True))

    assert outcome.trace.route.intent is Intent.DOMAIN
    assert (composer.composed, outcome.trace.calls) == (1, (CALL,))
