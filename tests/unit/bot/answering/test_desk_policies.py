"""Tests of the desk with a channel's policy, an overheard question or attached files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.routing.generic_replies import GenericAnswers
from bot.domain.handoff import HandoffWording
from bot.domain.interactions import Escalation, Outcome, Reply
from bot.domain.messages import (
    NO_MODEL,
    Attached,
    Attachment,
    Inquiry,
    Intent,
    Person,
    Policy,
    Stage,
)
from prompts.files import load_prompt
from rag.answer.grounded import GroundedComposer
from rag.pipeline import Pipeline
from rag.types import EVERYONE, ModelCall, Turn
from tests.fakes.builders import chunk, inquiry, message
from tests.fakes.model_server import answer_json, answer_part
from tests.fakes.rag_ports import ScriptedModel
from tests.unit.bot.answering.test_desk import (
    HR,
    WORDING,
    Bench,
    FirstLine,
    FixedGate,
    FixedRouter,
    ListIndex,
)

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


async def test_a_model_that_is_gone_falls_back_to_the_default_and_says_so(
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


async def test_an_overheard_question_is_answered_from_pages_if_it_is_sure(
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


LOG = Attached("vpn.log", "started\nTunnelError: VPN-809: the port is blocked\n17 retries")
ANSWER = answer_json(
    answer_part("The port is blocked.", 1), answer_part("There were 17 retries.", 1)
)


@pytest.fixture
def bench_with_files() -> Bench:
    return Bench(index=ListIndex([chunk("VPN-809: the port is blocked.\nCall IT.")]))


def with_log(text: str = "What does this mean?", file: Attached = LOG) -> Inquiry:
    came = Attachment(file.name, "text/plain", len(file.text), "https://files.example/vpn.log")
    asked = replace(message(text), attachments=(came,))
    return replace(inquiry(asked), attached=(file,))


async def test_the_index_is_asked_for_question_and_telling_line(
    bench_with_files: Bench,
) -> None:
    await bench_with_files.handle(with_log())

    (question, _), *_ = bench_with_files.index.searched
    assert question.text.startswith("What does this mean? ")
    assert "VPN-809" in question.text
    assert "started" not in question.text


async def test_what_is_recorded_holds_no_line_of_the_file(bench_with_files: Bench) -> None:
    bench_with_files.sure = 0.1
    secret = Attached("vpn.log", "Error: password hunter2 refused")

    outcome = await bench_with_files.handle(with_log(file=secret))

    assert "hunter2" in bench_with_files.index.searched[0][0].text
    assert "hunter2" not in repr(outcome)


async def test_a_file_without_a_word_is_asked_about(bench_with_files: Bench) -> None:
    bench_with_files.intent = Intent.GENERIC

    outcome = await bench_with_files.handle(with_log(text=" "))

    assert isinstance(outcome.response, Reply)
    assert outcome.trace.route.intent is Intent.DOMAIN
    assert outcome.trace.route.question == "vpn.log"
    assert bench_with_files.index.searched[0][0].text == "TunnelError: VPN-809: the port is blocked"


async def test_small_talk_with_a_file_is_about_the_file(bench_with_files: Bench) -> None:
    bench_with_files.intent = Intent.GENERIC

    outcome = await bench_with_files.handle(with_log(text="Hi!"))

    assert outcome.trace.route.intent is Intent.UNKNOWN
    assert bench_with_files.index.searched


async def test_small_talk_with_a_file_that_is_unread_is_small_talk(
    bench_with_files: Bench,
) -> None:
    bench_with_files.intent = Intent.GENERIC
    unread = replace(with_log(text="Hi!"), attached=(), remarks=("I did not read a.png.",))

    outcome = await bench_with_files.handle(unread)

    assert isinstance(outcome.response, Reply)
    assert outcome.response.tone == "generic"
    assert outcome.remarks == ("I did not read a.png.",)


@pytest.mark.parametrize(
    ("text", "put"),
    [("Who knows this?", "Who knows this?\n(with vpn.log)"), ("", "(with vpn.log)")],
)
async def test_people_are_told_which_file_came_with_the_question(
    bench_with_files: Bench, text: str, put: str
) -> None:
    bench_with_files.sure = 0.1

    response = (await bench_with_files.handle(with_log(text=text))).response

    assert isinstance(response, Escalation)
    assert response.question == put


async def test_a_model_reads_the_file_but_takes_no_figure_of_it(
    bench_with_files: Bench,
) -> None:
    model = ScriptedModel(lambda _: ANSWER)
    composer = GroundedComposer(
        model, load_prompt("answer"), attached_prompt=load_prompt("answer_attached")
    )
    desk = Desk(
        ModelProfile(
            route=FixedRouter(Intent.DOMAIN).route,
            reply_generically=GenericAnswers(None).reply,
            pipeline=Pipeline(bench_with_files.index, None, composer),  # type: ignore[arg-type]  # what it calls
        ),
        gate=FixedGate(0.9).judge,
        wording=WORDING,
    )

    async def report(stage: Stage, pages: int = 0) -> None:
        del stage, pages

    outcome = await desk.handle(with_log(), report)

    assert "(vpn.log)\nstarted\nTunnelError" in model.prompts[0].messages[1].content
    assert isinstance(outcome.response, Reply)
    assert outcome.response.text == "The port is blocked. [1]"
