"""Tests of the whole way of a question through the desk, with fakes at its edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.gate import Judgement, calibration_name
from bot.answering.grounded_answer import MODEL_FAILED
from bot.answering.reply_text import (
    MISSING_INTRO,
    QUOTES_INTRO,
    UNSURE_INTRO,
    with_superseded_marks,
)
from bot.answering.routing.languages import texts_in
from bot.domain.handoff import (
    HANDOFF_QUESTION,
    PERSON_REQUEST,
    HandoffWording,
    person_request,
)
from bot.domain.health import NOTHING_INDEXED
from bot.domain.interactions import (
    Clarification,
    Escalation,
    Outcome,
    Reply,
    Response,
    Route,
    Source,
)
from bot.domain.messages import Inquiry, Intent, Policy, Stage
from rag.errors import IndexUnavailable, ModelUnavailable, RagError
from rag.parts import Translation, paragraph
from rag.pipeline import Pipeline
from rag.ports import Composition
from rag.search_scope import Asked
from rag.types import (
    EVERYONE,
    Chunk,
    Citation,
    Claim,
    ModelCall,
    Passage,
    Principal,
    Question,
    Turn,
)
from tests.fakes.builders import chunk, inquiry, message, passage
from tests.fakes.desk import ANSWER, HANDED_OVER, TRACE, VPN

HR = Principal("group:hr")
WORDING = HandoffWording(not_found="Not there.", uncertain="Not sure.")


@dataclass
class ListIndex:
    """An index over a list: everything readable is found, in order."""

    chunks: list[Chunk] = field(default_factory=list)
    searched: list[tuple[Question, frozenset[Principal]]] = field(default_factory=list)
    broken: bool = False

    async def search(
        self, question: Question, readers: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        self.searched.append((question, readers))
        if self.broken:
            raise IndexUnavailable("gone")
        readable = [
            each
            for each in self.chunks
            if each.readers and all(allowed & readers for allowed in each.readers)
        ]
        return tuple(passage(each, 0.9 - n / 100) for n, each in enumerate(readable[:k]))

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        return {"IT": len(self.chunks)} if self.chunks else {}

    async def page(self, *_: object) -> tuple[Chunk, ...]:
        return ()

    async def vocabulary(self, *_: object) -> None: ...

    async def name_in(self, *_: object) -> frozenset[str]:
        return frozenset()


@dataclass
class FirstLine:
    """Claims the first line of the best passage; can be silent, broken or a refuser."""

    fails: bool = False
    error: RagError = field(default_factory=lambda: ModelUnavailable("slow"))
    silent: bool = False
    refusal: str | None = None
    name: str = "extractive"
    composed: int = 0
    calls: tuple[ModelCall, ...] = ()
    missing: str | None = None
    translation: Translation | None = None

    async def compose(
        self,
        question: str,
        passages: Sequence[Passage],
        attached: Sequence[str] = (),
        asked: Asked | None = None,
    ) -> Composition:
        del attached, asked
        self.composed += 1
        if self.fails:
            raise self.error
        if self.refusal or self.silent:
            return Composition(claims=(), refusal=self.refusal, dropped_claims=int(self.silent))
        best = passages[0].chunk
        line = best.text.splitlines()[0]
        claim = Claim((paragraph(line),), (Citation(best.id, line),))
        return Composition(
            (claim,), calls=self.calls, missing=self.missing, translation=self.translation
        )


@dataclass
class FixedRouter:
    intent: Intent
    question: str = ""
    language: str = ""

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route:
        return Route(
            intent=self.intent,
            score=0.9,
            decided_by="rule",
            question=self.question or text,
            language=self.language,
        )


class Greeter:
    async def reply(
        self, route: Route, text: str, history: tuple[Turn, ...]
    ) -> tuple[Reply, tuple[ModelCall, ...]]:
        return Reply(text="Hello!", tone="generic"), ()


@dataclass
class FixedGate:
    value: float

    def judge(self, features: Mapping[str, float], name: str) -> Judgement:
        return Judgement(self.value, threshold=0.65, unsure_from=0.4, by=name)


@dataclass
class Bench:
    """A desk with its stand-ins in reach."""

    intent: Intent = Intent.DOMAIN
    question: str = ""
    language: str = ""
    sure: float = 0.9
    index: ListIndex = field(default_factory=ListIndex)
    composer: FirstLine = field(default_factory=FirstLine)
    stages: list[Stage] = field(default_factory=list)
    pages: int = 0
    others: dict[str, ModelProfile] = field(default_factory=dict)

    def desk(self) -> Desk:
        return Desk(
            ModelProfile(
                route=FixedRouter(self.intent, self.question, self.language).route,
                reply_generically=Greeter().reply,
                pipeline=Pipeline(self.index, None, self.composer),  # type: ignore[arg-type]  # only what the pipeline calls
            ),
            gate=FixedGate(self.sure).judge,
            wording=WORDING,
            others=self.others,
        )

    def way(self, composer: FirstLine, intent: Intent | None = None) -> ModelProfile:
        """Return another way over the same index."""
        return ModelProfile(
            route=FixedRouter(intent or self.intent, self.question).route,
            reply_generically=Greeter().reply,
            pipeline=Pipeline(self.index, None, composer),  # type: ignore[arg-type]  # as in desk
        )

    async def ask(self, text: str = "what is error 809", **options: object) -> Outcome:
        asked = message(text, **options)  # type: ignore[arg-type]  # builder's keywords
        return await self.handle(inquiry(asked))

    async def handle(self, asked: Inquiry) -> Outcome:
        async def report(stage: Stage, pages: int = 0) -> None:
            self.stages.append(stage)
            self.pages = pages or self.pages

        return await self.desk().handle(asked, report)


@pytest.fixture
def bench() -> Bench:
    return Bench(index=ListIndex([chunk("Error 809: the port is blocked.\nCall IT.")]))


async def test_a_generic_message_never_touches_the_index(bench: Bench) -> None:
    bench.intent = Intent.GENERIC

    outcome = await bench.ask("hi")

    assert outcome.response == Reply(text="Hello!", tone="generic")
    assert bench.index.searched == []


async def test_a_sure_answer_is_a_reply_with_sources(bench: Bench) -> None:
    outcome = await bench.ask()

    assert isinstance(outcome.response, Reply)
    assert outcome.response.sources[0].quote == "Error 809: the port is blocked."
    assert outcome.response.confidence == 0.9
    assert outcome.trace.gate == "passed"


@pytest.mark.parametrize("intent", [Intent.DOMAIN, Intent.UNKNOWN])
async def test_domain_and_unknown_go_the_same_way(bench: Bench, intent: Intent) -> None:
    bench.intent = intent

    assert isinstance((await bench.ask()).response, Reply)


@pytest.mark.parametrize("private", [True, False])
async def test_an_unsure_answer_is_shown_as_a_guess_and_goes_to_nobody(
    bench: Bench, *, private: bool
) -> None:
    bench.sure = 0.64

    outcome = await bench.ask(private=private)

    assert isinstance(outcome.response, Reply)
    assert outcome.response.confidence_level == "unsure"
    assert outcome.response.text.startswith(UNSURE_INTRO)
    assert outcome.response.sources
    assert QUOTES_INTRO not in outcome.response.text
    assert outcome.trace.gate == "unsure"


async def test_a_part_of_an_answer_says_what_the_pages_lack(bench: Bench) -> None:
    bench.composer.missing = "what the port is for"

    response = (await bench.ask()).response

    assert isinstance(response, Reply)
    assert (response.confidence_level, response.missing) == ("partial", "what the port is for")
    assert response.text.endswith(f"{MISSING_INTRO} what the port is for")


async def test_a_sure_answer_lacks_nothing(bench: Bench) -> None:
    response = (await bench.ask()).response

    assert isinstance(response, Reply)
    assert (response.confidence_level, response.missing) == ("sure", None)
    assert MISSING_INTRO not in response.text


@pytest.mark.parametrize(("sure", "missing"), [(0.5, None), (0.9, "when")], ids=["guess", "part"])
async def test_only_sure_answers_are_said(bench: Bench, sure: float, missing: str | None) -> None:
    asked = replace(message("what is error 809", private=False), overheard=True)
    assert not (await bench.handle(inquiry(asked))).silent

    bench.sure, bench.composer.missing = sure, missing
    assert (await bench.handle(inquiry(asked))).silent


async def test_an_answer_is_judged_by_its_model_and_prompt(bench: Bench) -> None:
    call = ModelCall("answer", "gpt-own-2026-08-06", "answer@7", 1, 1, 1.0)
    composer = FirstLine(name="model", calls=(call,))
    way = replace(bench.way(composer), model="own", calibrated_as="gpt-own")
    bench.others["own"] = way
    asked = replace(inquiry(message("what is error 809")), policy=Policy(model="own"))

    outcome = await bench.handle(asked)

    assert outcome.trace.calibration == calibration_name("gpt-own", "answer@7")


async def test_below_both_bounds_pages_are_handed_over_unconfirmed(bench: Bench) -> None:
    bench.sure = 0.39

    response = (await bench.ask()).response

    assert isinstance(response, Escalation)
    assert response.reason == "low_confidence"
    assert response.confidence == 0.39
    assert [source.page_id for source in response.suggestions] == ["vpn.md"]


async def test_nothing_found_composes_nothing(bench: Bench) -> None:
    bench.index.chunks.clear()

    response = (await bench.ask()).response

    assert isinstance(response, Escalation)
    assert (response.reason, response.suggestions) == ("nothing_found", ())
    assert bench.composer.composed == 0


@pytest.mark.mended(id="mission-A12")
@pytest.mark.parametrize(
    ("readers", "said"), [({HR}, WORDING.not_found), ({EVERYONE}, WORDING.uncertain)]
)
async def test_what_is_so_is_stated_apart_from_what_is_done_about_it(
    bench: Bench, readers: set[Principal], said: str
) -> None:
    bench.sure = 0.1
    bench.index.chunks = [replace(bench.index.chunks[0], readers=(frozenset(readers),))]

    response = (await bench.ask()).response

    assert isinstance(response, Escalation)
    assert response.statement == said
    assert response.text.startswith(f"{said} ")


@pytest.mark.mended(id="ux-9")
async def test_an_empty_index_is_named_instead_of_a_gap_in_the_wiki(bench: Bench) -> None:
    hidden = replace(bench.index.chunks[0], readers=(frozenset({HR}),))
    bench.index.chunks = [hidden]
    assert WORDING.not_found in (await bench.ask()).response.text

    bench.index.chunks.clear()
    response = (await bench.ask()).response
    assert isinstance(response, Escalation)
    assert NOTHING_INDEXED in response.text
    assert WORDING.not_found not in response.text
    assert response.statement == NOTHING_INDEXED


async def test_an_empty_index_is_named_to_who_asks_in_another_language(bench: Bench) -> None:
    bench.language = "de"
    bench.index.chunks.clear()
    response = (await bench.ask("Wie setze ich mein Passwort zurück?")).response
    assert isinstance(response, Escalation)
    assert response.statement == NOTHING_INDEXED
    assert response.text.startswith(f"{NOTHING_INDEXED} {HANDOFF_QUESTION} ")


async def test_claims_that_all_failed_their_checks_are_handed_over(bench: Bench) -> None:
    bench.composer.silent = True

    response = (await bench.ask()).response

    assert isinstance(response, Escalation)
    assert response.reason == "unsupported"


async def test_without_claims_no_confidence_is_enough(bench: Bench) -> None:
    bench.composer.silent, bench.sure = True, 1.0

    assert isinstance((await bench.ask()).response, Escalation)


async def test_a_failing_model_hands_over_what_was_found(bench: Bench) -> None:
    bench.composer.fails = True

    outcome = await bench.ask()

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.reason == "unavailable"
    assert outcome.response.error == "model_unavailable"
    assert [source.page_id for source in outcome.response.suggestions] == ["vpn.md"]
    assert "slow" not in outcome.response.text


async def test_what_the_model_fails_to_answer_is_answered_without_it(bench: Bench) -> None:
    failing = replace(bench.way(FirstLine(name="model", fails=True)), model="gpt-own")
    bench.others["gpt-own"] = failing
    asked = replace(inquiry(message("what is error 809")), policy=Policy(model="gpt-own"))

    outcome = await bench.handle(asked)

    plain = await bench.ask()
    assert outcome.response == plain.response
    assert (outcome.remarks, plain.remarks) == ((MODEL_FAILED,), ())
    assert outcome.trace.calibration == plain.trace.calibration == "extractive"
    assert any("model_unavailable" in note for note in outcome.trace.notes)


async def test_that_the_model_failed_is_told_in_the_askers_language(bench: Bench) -> None:
    failing = replace(bench.way(FirstLine(name="model", fails=True)), model="gpt-own")
    bench.others["gpt-own"] = replace(failing, route=FixedRouter(Intent.DOMAIN, "", "de").route)
    asked = replace(inquiry(message("was ist los")), policy=Policy(model="gpt-own"))

    assert (await bench.handle(asked)).remarks == (texts_in("de").model_failed,)


@pytest.mark.parametrize("both_fail", [True, False])
async def test_without_the_model_nothing_hides_that_the_index_failed(
    bench: Bench, *, both_fail: bool
) -> None:
    failing = FirstLine(name="model", fails=True)
    failing.error = failing.error if both_fail else IndexUnavailable("gone")
    bench.composer.fails, bench.composer.error = both_fail, IndexUnavailable("gone")
    bench.others["gpt-own"] = replace(bench.way(failing), model="gpt-own")
    asked = replace(inquiry(message("what is error 809")), policy=Policy(model="gpt-own"))

    outcome = await bench.handle(asked)

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.error == ("model_unavailable" if both_fail else "index_unavailable")
    assert outcome.response.suggestions
    assert outcome.remarks == ()


async def test_a_failing_index_hands_over(bench: Bench) -> None:
    bench.index.broken = True

    response = (await bench.ask()).response

    assert isinstance(response, Escalation)
    assert (response.reason, response.error) == ("unavailable", "index_unavailable")
    assert "gone" not in response.text


async def test_a_refusal_is_an_outcome_and_keeps_the_models_words_to_itself(bench: Bench) -> None:
    bench.composer.refusal = "I must not."

    response = (await bench.ask()).response

    assert isinstance(response, Reply)
    assert response.refused
    assert "I must not." not in response.text


async def test_a_person_is_asked_without_a_search(bench: Bench) -> None:
    bench.intent = Intent.HUMAN

    response = (await bench.ask("a human please, my screen is dark", private=False)).response

    assert isinstance(response, Escalation)
    assert response.reason == "asked_for_human"
    assert not response.consent_needed
    assert bench.index.searched == []


async def test_a_person_gets_the_question_before_the_wish_too(bench: Bench) -> None:
    bench.intent, bench.question = Intent.HUMAN, "who fixes error 809?"

    response = (await bench.ask("a human please")).response

    assert isinstance(response, Escalation)
    assert response.question == "who fixes error 809?\na human please"


async def test_who_accepts_an_offer_is_told_so_in_its_language(bench: Bench) -> None:
    bench.intent, bench.question = Intent.HUMAN, "Drucker kaputt"
    german = texts_in("de").closing
    offered = Turn("assistant", f"Hm. {german.offer} {german.seen}")

    agreed = inquiry(message("ja"), Turn("user", "Drucker kaputt"), offered)
    later = replace(agreed, history=(*agreed.history, Turn("assistant", "Gern.")))

    assert (await bench.handle(agreed)).response.text == german.passed_on
    assert (await bench.handle(later)).response.text.startswith("Of course.")


async def test_what_a_button_says_is_not_put_to_a_person(bench: Bench) -> None:
    bench.intent, bench.question = Intent.HUMAN, "who fixes error 809?"

    response = (await bench.ask(PERSON_REQUEST)).response

    assert isinstance(response, Escalation)
    assert response.question == "who fixes error 809?"


async def test_a_wish_about_an_earlier_question_puts_that_one_to_a_person(bench: Bench) -> None:
    bench.intent, bench.question = Intent.HUMAN, "where is the canteen?"

    response = (await bench.ask(person_request("who fixes error 809?"))).response

    assert isinstance(response, Escalation)
    assert response.question == "who fixes error 809?"


async def test_in_private_a_hand_over_needs_consent_and_in_a_channel_not(bench: Bench) -> None:
    bench.sure = 0.1

    private = (await bench.ask(private=True)).response
    channel = (await bench.ask(private=False)).response

    assert isinstance(private, Escalation)
    assert isinstance(channel, Escalation)
    assert (private.consent_needed, channel.consent_needed) == (True, False)


async def test_a_channel_is_searched_as_everyone_whoever_asks(bench: Bench) -> None:
    await bench.ask(private=False, principals=frozenset({EVERYONE, HR}))

    assert bench.index.searched[0][1] == {EVERYONE}


async def test_what_only_the_asker_may_read_is_answered_to_them_alone(bench: Bench) -> None:
    secret = chunk(
        "Band 7 pays 90,000.", chunk_id="s", page_id="pay.md", readers=(frozenset({HR}),)
    )
    bench.index.chunks.insert(0, secret)

    outcome = await bench.ask(private=False, principals=frozenset({EVERYONE, HR}))

    assert isinstance(outcome.response, Reply)
    assert "90,000" not in outcome.response.text
    assert "90,000" not in repr(outcome.trace)
    assert outcome.private is not None
    assert "90,000" in outcome.private.text


@pytest.mark.parametrize("sure", [0.9, 0.1], ids=["given", "held back"])
async def test_what_a_private_reply_costs_counts_as_well(bench: Bench, sure: float) -> None:
    bench.sure = sure
    bench.composer.calls = (ModelCall("answer", "m", "answer@1", 10, 1, 1.0),)
    readers = (frozenset({HR}),)
    bench.index.chunks.insert(0, chunk("Pay.", chunk_id="s", page_id="pay.md", readers=readers))

    outcome = await bench.ask(private=False, principals=frozenset({EVERYONE, HR}))

    assert (outcome.private is not None, len(outcome.trace.calls)) == (sure == 0.9, 2)


async def test_nobody_gets_a_private_reply_that_adds_nothing(bench: Bench) -> None:
    outcome = await bench.ask(private=False, principals=frozenset({EVERYONE, HR}))

    assert outcome.private is None


async def test_a_broad_question_that_is_unsure_is_asked_back(bench: Bench) -> None:
    bench.sure = 0.3
    bench.index.chunks[:] = [
        chunk("Reset the Mac password so.", chunk_id="a", page_id="a.md", title="Mac password"),
        chunk("Reset the pay password so.", chunk_id="b", page_id="b.md", title="Pay password"),
    ]

    response = (await bench.ask("how do I reset my password")).response

    assert isinstance(response, Clarification)
    assert response.options == ("Mac password", "Pay password")


async def test_the_one_who_waits_sees_the_stages_in_order(bench: Bench) -> None:
    await bench.ask()

    assert bench.stages == [Stage.ROUTING, Stage.SEARCHING, Stage.READING, Stage.CHECKING]
    assert bench.pages == 1


async def test_the_pages_that_are_read_are_counted_once_each(bench: Bench) -> None:
    bench.index.chunks = [
        chunk("Error 809: the port is blocked.", chunk_id=name, page_id=page)
        for name, page in (("c1", "vpn.md"), ("c2", "vpn.md"), ("c3", "ports.md"))
    ]

    await bench.ask()

    assert bench.pages == 2


async def test_the_record_says_what_was_read_and_how_sure(bench: Bench) -> None:
    trace = (await bench.ask()).trace

    assert [found.chunk_id for found in trace.passages] == ["c1"]
    assert trace.threshold == 0.65
    assert {"route", "search", "compose"} <= set(trace.timings_ms)


@pytest.mark.mended(id="slack-5")
@pytest.mark.parametrize(
    ("said", "before", "kind"),
    [
        ("human", "", "clarification"),
        ("Can I talk to a real person, please?", "", "clarification"),
        (PERSON_REQUEST, "", "clarification"),
        ("a human please, my screen is dark", "", "escalation"),
        ("human", "who fixes error 809?", "escalation"),
        ("who can I call right now", "", "escalation"),
    ],
)
async def test_it_is_asked_back_only_where_nothing_says_what_a_person_is_for(
    bench: Bench, said: str, before: str, kind: str
) -> None:
    bench.intent, bench.question = Intent.HUMAN, before

    assert (await bench.ask(said)).response.kind == kind


@pytest.mark.mended(id="slack-5")
async def test_who_reads_along_in_their_own_thread_is_asked_back_too(bench: Bench) -> None:
    bench.intent = Intent.HUMAN
    asked = replace(message("human", private=False), overheard=True)
    talk = (Turn("user", "hi"), Turn("assistant", "Hello!"))

    assert not (await bench.handle(inquiry(asked, *talk))).silent
    assert (await bench.handle(inquiry(asked))).silent


OLD = replace(VPN, labels=("how-to", "Archived"))


def _sources(response: Response) -> tuple[Source, ...]:
    return response.sources if response.kind == "reply" else response.suggestions


def test_cited_offered_and_private_pages_are_marked_by_their_own_label() -> None:
    cited = Outcome(replace(ANSWER, sources=(OLD, VPN)), TRACE, replace(ANSWER, sources=(OLD,)))
    offered = Outcome(replace(HANDED_OVER, suggestions=(OLD,)), TRACE)

    both = with_superseded_marks(cited, ("superseded", "archived"))

    assert [each.superseded for each in _sources(both.response)] == ["Archived", ""]
    assert both.private is not None
    assert both.private.sources[0].superseded == "Archived"
    assert (
        _sources(with_superseded_marks(offered, ["ARCHIVED"]).response)[0].superseded == "Archived"
    )


def test_without_such_a_label_nothing_changes() -> None:
    outcome = Outcome(replace(ANSWER, sources=(OLD, VPN)), TRACE)
    assert with_superseded_marks(outcome, ["superseded"]) == outcome
    assert with_superseded_marks(outcome, ()) == outcome
