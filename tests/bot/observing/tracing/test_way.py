"""The spans of real runs of the desk: index, embedder and gate as they are shipped."""

from __future__ import annotations

from pathlib import Path

from opentelemetry.trace import StatusCode

from bot.answering.desk import Desk
from bot.answering.gate import load_gate
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.router import Router
from bot.app.components import Components, open_components
from bot.domain.handoff import HandoffWording
from bot.domain.interactions import Delivery, Escalation, Outcome, Reply
from bot.domain.messages import Message, Stage
from bot.observability.tracing import deliver_span, interaction_span
from prompts.files import load_prompt
from rag.answer.grounded import GroundedComposer
from rag.errors import ModelUnavailable
from rag.models.chat.openai_compatible import TracedModel
from rag.pipeline import Pipeline
from rag.ports import Prompt
from rag.types import EVERYONE, Principal
from tests.bot.house import LIKELY, LOW, write_index
from tests.bot.server import settings_for
from tests.builders import inquiry, message
from tests.fakes import ScriptedModel
from tests.rag.models.stating import stating
from tests.spans import Spans

SAID = "The office router blocks UDP port 4500."
STATED = [(SAID, "blocks UDP port 4500"), ("It costs 99 euros.", "blocks UDP port 4500")]
WORDING = HandoffWording(not_found="Not there.", uncertain="Not sure.")


async def unseen(_: Stage, __: int = 0) -> None:
    """Nobody waits."""


async def answered(asked: Message, desk: Desk) -> Outcome:
    """Do to a message what the work on it does, and deliver it."""
    with interaction_span(asked) as opened:
        outcome = await desk.handle(inquiry(asked), unseen)
        opened.answered(outcome)
        with deliver_span(Delivery("d", asked.interaction_id, asked, outcome)):
            pass
    return outcome


async def asked_here(tmp_path: Path, asked: Message) -> Outcome:
    settings = settings_for(tmp_path / "data", confidence_threshold=LOW)
    await write_index(settings, tmp_path / "pages")
    async with open_components(settings) as parts:
        return await answered(asked, parts.desk)


def with_model(parts: Components, model: ScriptedModel) -> Desk:
    """The same desk with a model that composes."""
    traced = TracedModel(model)
    composer = GroundedComposer(traced, load_prompt("answer"))
    return Desk(
        router=Router(parts.embedder, None, traced),
        generic=GenericAnswers(traced),
        pipeline=Pipeline(parts.index, parts.embedder, composer),
        gate=load_gate(LOW),
        wording=WORDING,
    )


async def test_an_answer_without_a_model_has_every_span(tmp_path: Path, spans: Spans) -> None:
    outcome = await asked_here(tmp_path, message(LIKELY))

    assert isinstance(outcome.response, Reply)
    assert spans.names == [
        "route",
        "retrieval",
        "generation",
        "grounding",
        "gate",
        "deliver",
        "interaction",
    ]
    assert {spans.parent_of(name) for name in spans.names[:-1]} == {"interaction"}
    assert len(spans.trace_ids()) == 1
    assert spans.told("route")["frontdesk.intent"] in {"DOMAIN", "UNKNOWN"}
    retrieval = spans.told("retrieval")
    assert retrieval["frontdesk.retrieval.found"] == len(outcome.trace.passages)
    assert retrieval["frontdesk.retrieval.wanted"] == 5
    assert spans.told("generation")["frontdesk.composer"] == "extractive"
    kept = spans.told("grounding")["frontdesk.grounding.claims_kept"]
    assert isinstance(kept, int)
    assert kept > 0
    gate = spans.told("gate")
    assert gate["gen_ai.evaluation.score.value"] == outcome.response.confidence
    assert (gate["gen_ai.evaluation.score.label"], gate["frontdesk.gate.threshold"]) == (
        "passed",
        LOW,
    )
    told = spans.told("interaction")
    assert (told["frontdesk.answer_type"], told["frontdesk.confidence_level"]) == ("RAG", "sure")


async def test_nothing_of_question_page_or_answer_is_in_any_span(
    tmp_path: Path, spans: Spans
) -> None:
    outcome = await asked_here(tmp_path, message(LIKELY))

    written = spans.written().lower()
    texts = [LIKELY, outcome.response.text, "vpn", "error 809", "blocks", "socket", "wiki.example"]
    assert [text for text in texts if text.lower() in written] == []


async def test_small_talk_is_routed_and_neither_searched_nor_gated(
    tmp_path: Path, spans: Spans
) -> None:
    await asked_here(tmp_path, message("Hello!"))

    assert spans.names == ["route", "deliver", "interaction"]
    assert spans.told("interaction")["frontdesk.intent"] == "GENERIC"


async def test_with_a_model_each_call_is_a_span_where_it_is_made(
    tmp_path: Path, spans: Spans
) -> None:
    def script(prompt: Prompt) -> str:
        said = stating(prompt.messages[-1].content, STATED)
        return said if prompt.id.startswith("answer") else "DOMAIN"

    settings = settings_for(tmp_path / "data")
    await write_index(settings, tmp_path / "pages")
    async with open_components(settings) as parts:
        outcome = await answered(message(LIKELY), with_model(parts, ScriptedModel(script)))

    generations = [span for span in spans.all if span.name == "generation"]
    prompts = [dict(span.attributes or {})["gen_ai.prompt.name"] for span in generations]
    assert prompts == [call.purpose for call in outcome.trace.calls] == ["intent", "answer"]
    ids = {span.name: span.context.span_id for span in spans.all if span.context}
    inside = [span.parent.span_id for span in generations if span.parent]
    assert inside == [ids["route"], ids["interaction"]]
    assert spans.told("grounding") == {
        "frontdesk.composer": "model",
        "frontdesk.grounding.claims_kept": 1,
        "frontdesk.grounding.claims_dropped": 1,
    }


async def test_a_model_that_fails_marks_its_span_and_the_question_goes_to_people(
    tmp_path: Path, spans: Spans
) -> None:
    def script(prompt: Prompt) -> str:
        if prompt.id.startswith("answer"):
            raise ModelUnavailable("the key sk-1 was refused")
        return "DOMAIN"

    settings = settings_for(tmp_path / "data")
    await write_index(settings, tmp_path / "pages")
    async with open_components(settings) as parts:
        outcome = await answered(message(LIKELY), with_model(parts, ScriptedModel(script)))

    assert isinstance(outcome.response, Escalation)
    failed = [span.name for span in spans.all if span.status.status_code is StatusCode.ERROR]
    assert failed == ["generation"]
    assert spans.told("interaction")["frontdesk.escalation.reason"] == "unavailable"


async def test_the_private_addition_is_told_apart(tmp_path: Path, spans: Spans) -> None:
    asker = frozenset({EVERYONE, Principal("group:admins")})
    asked = message("Where is the rescue password?", private=False, principals=asker)
    await asked_here(tmp_path, asked)

    names = spans.names
    assert spans.parent_of("private_reply") == "interaction"
    assert (names.count("retrieval"), names.count("gate")) == (2, 2)
