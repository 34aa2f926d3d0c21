"""Tests of the components: which models are called, and the sample company's index."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.answering.gate import GATE_FILE, calibration_name, load_gate_file
from bot.answering.gate_file import CAREFUL
from bot.answering.grounded_answer import MODEL_FAILED
from bot.app.cli.doctor import doctor
from bot.app.component_status import status
from bot.app.components import Components, open_components
from bot.app.documents import reindex_sample
from bot.domain.errors import SettingInvalid
from bot.domain.health import calibration
from bot.domain.interactions import Escalation, Outcome, Reply
from bot.domain.messages import NO_MODEL, Attached, Policy, Stage
from bot.domain.settings import Settings
from prompts.files import load_prompt
from rag.errors import ModelUnavailable
from rag.types import Page
from tests.fakes.builders import ALL, chunk, inquiry, message
from tests.fakes.http_server import LIKELY, LOW, settings_for, write_index
from tests.fakes.model_server import (
    KEY,
    Answer,
    OpenAIServer,
    calls_tool,
    embeds,
    fails,
    openai_server,
    replies_citing,
    resets,
    says,
    sends,
    slowly,
)
from tests.fakes.model_server import VECTOR_LENGTH as VECTOR
from tests.fakes.search_service.service import SearchService

FACT = "blocks UDP port 4500"
GROUNDED = replies_citing(("The office router blocks UDP port 4500.", FACT))


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with openai_server(GROUNDED) as opened:
        yield opened


@pytest.fixture
async def settings(server: OpenAIServer, tmp_path: Path) -> Settings:
    made = settings_for(
        tmp_path / "data",
        confidence_threshold=LOW,
        openai_base_url=server.url,
        openai_api_key=KEY,
        openai_model="large",
        openai_channel_models="small, large",
    )
    await write_index(made, tmp_path / "pages")
    return made


async def quiet(_: Stage, __: int = 0) -> None:
    """Nobody waits."""


async def asked(
    settings: Settings, policy: Policy, text: str = LIKELY, *, overheard: bool = False
) -> Outcome:
    said = replace(message(text, private=False), overheard=overheard)
    async with open_components(settings) as parts:
        return await parts.desk.handle(replace(inquiry(said), policy=policy), quiet)


def models(server: OpenAIServer) -> set[object]:
    return {seen.body["model"] for seen in server.seen}


@pytest.mark.parametrize(
    ("named", "asked_for"), [("", "large"), ("large", "large"), ("small", "small"), ("x", "large")]
)
async def test_a_channel_is_answered_with_the_model_of_its_policy(
    settings: Settings, server: OpenAIServer, named: str, asked_for: str
) -> None:
    outcome = await asked(settings, Policy(model=named))

    assert models(server) == {asked_for}
    assert isinstance(outcome.response, Reply)
    assert outcome.response.tone == "answer"
    assert bool(outcome.trace.notes) == (named == "x")


@pytest.mark.parametrize("text", [LIKELY, "Who wrote Faust?", "tell me a joke", "und der Preis?"])
async def test_without_a_model_no_call_is_made_whatever_is_asked(
    settings: Settings, server: OpenAIServer, text: str
) -> None:
    outcome = await asked(settings, Policy(model=NO_MODEL), text)

    assert server.seen == []
    assert outcome.trace.calls == ()


async def test_without_a_model_pages_are_quoted_and_judged_as_quotes(
    settings: Settings,
) -> None:
    outcome = await asked(settings, Policy(model=NO_MODEL))

    assert isinstance(outcome.response, Reply)
    assert outcome.response.tone == "found"


@pytest.mark.parametrize("text", ["Who wrote Faust?", "tell me a joke", "thanks!", "xqz zzkw?"])
async def test_what_is_overheard_costs_nothing_before_the_index_speaks_of_it(
    settings: Settings, server: OpenAIServer, text: str
) -> None:
    outcome = await asked(settings, Policy(), text, overheard=True)

    assert outcome.silent
    assert server.seen == []


async def test_what_is_spoken_of_is_answered(settings: Settings, server: OpenAIServer) -> None:
    outcome = await asked(settings, Policy(), overheard=True)

    assert not outcome.silent
    assert len(server.seen) == 1


async def test_a_planned_search_is_made_and_recorded(
    settings: Settings, server: OpenAIServer
) -> None:
    server.answers = [calls_tool({"query": "router ports", "space": "IT"}), says("done"), GROUNDED]

    outcome = await asked(settings.model_copy(update={"search": "planned"}), Policy())

    assert [each.query for each in outcome.trace.searches] == ["router ports"]
    assert [each.purpose for each in outcome.trace.calls] == [
        "search_plan",
        "search_plan",
        "answer",
    ]
    assert isinstance(outcome.response, Reply)


async def test_what_is_overheard_is_searched_for_once(
    settings: Settings, server: OpenAIServer
) -> None:
    planned = settings.model_copy(update={"search": "planned"})

    outcome = await asked(planned, Policy(), overheard=True)

    assert not outcome.silent
    assert len(server.seen) == 1


async def test_a_file_is_read_by_the_model(settings: Settings, server: OpenAIServer) -> None:
    log = Attached("vpn.log", "start\nError 809: UDP port 4500 is blocked\nend of it all")
    asked_with = replace(inquiry(message("What is wrong here?")), attached=(log,))

    async with open_components(settings) as parts:
        outcome = await parts.desk.handle(asked_with, quiet)

    assert "end of it all" in json.dumps(server.seen[-1].body)
    assert isinstance(outcome.response, Reply)
    assert outcome.trace.calls[-1].prompt == "answer_attached@2"


TOOL_CALL = says(None, tool_calls=[{"id": "1", "type": "function", "function": {}}])


@pytest.mark.parametrize(
    "failure",
    [
        fails(401),
        fails(429, {"Retry-After": "60"}),
        fails(429, code="insufficient_quota"),
        fails(500),
        resets,
        sends(b"<html>busy</html>", "text/html"),
        says("I think so."),
        says('{"parts": [', finish_reason="length"),
        TOOL_CALL,
        slowly(30, says("Yes.")),
    ],
    ids="key busy quota broken reset html garbage cut tool silence".split(),
)
async def test_on_a_bad_day_of_the_model_its_questions_are_answered_without_it(
    settings: Settings, server: OpenAIServer, failure: Answer
) -> None:
    server.answers = [failure]
    impatient = settings.model_copy(update={"openai_timeout_seconds": 2.0})

    outcome = await asked(impatient, Policy())

    plain = await asked(settings, Policy(model=NO_MODEL))
    assert outcome.response == plain.response
    assert isinstance(outcome.response, Reply)
    assert outcome.response.sources
    assert outcome.remarks == (MODEL_FAILED,)
    assert server.seen


@pytest.mark.parametrize(("floor", "called"), [(-1.0, True), (1.0, False)])
async def test_the_floor_of_the_settings_decides_whether_a_model_is_asked(
    settings: Settings, server: OpenAIServer, floor: float, *, called: bool
) -> None:
    await asked(
        settings.model_copy(update={"similarity_floor": floor}),
        Policy(),
        "company policy on xylophones",
    )

    assert bool(server.seen) == called


async def test_after_three_failures_the_model_is_left_alone(
    settings: Settings, server: OpenAIServer
) -> None:
    server.answers = [fails(401)]
    async with open_components(settings) as parts:
        for _ in range(5):
            outcome = await parts.desk.handle(inquiry(message(LIKELY, private=False)), quiet)
            assert outcome.remarks == (MODEL_FAILED,)
    assert len(server.seen) == 3


async def test_an_evaluation_measures_the_model_and_nothing_in_its_place(
    settings: Settings, server: OpenAIServer
) -> None:
    server.answers = [fails(401)]
    async with open_components(settings, lambda composer: composer) as parts:
        for _ in range(5):
            outcome = await parts.desk.handle(inquiry(message(LIKELY, private=False)), quiet)
            assert isinstance(outcome.response, Escalation)
    assert len(server.seen) == 5


async def test_models_without_calibration_are_named_until_there_is_one(
    settings: Settings,
) -> None:
    async with open_components(settings) as parts:
        named = parts.uncalibrated
    shown = calibration(settings, named)

    prompt = load_prompt("answer").id
    assert (shown.state, f"large with {prompt}" in shown.detail) == ("absent", True)
    assert f"small with {prompt}" in shown.detail

    known = load_gate_file()
    own = {calibration_name("large", prompt): known.calibrations["extractive"]}
    with_own = known.model_copy(update={"calibrations": {**known.calibrations, **own}})
    (settings.data_dir / GATE_FILE.name).write_text(with_own.model_dump_json())
    async with open_components(settings) as parts:
        assert f"large with {prompt}" not in parts.uncalibrated
        assert f"small with {prompt}" in parts.uncalibrated


async def test_a_models_answer_is_judged_carefully_until_it_is_learned(
    settings: Settings,
) -> None:
    assert (await asked(settings, Policy())).trace.calibration == CAREFUL
    assert (await asked(settings, Policy(model=NO_MODEL))).trace.calibration != CAREFUL


def test_no_model_can_be_called_none(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="stands for no model"):
        settings_for(tmp_path, openai_channel_models="small,none")


@pytest.fixture
async def twin() -> AsyncIterator[OpenAIServer]:
    async with openai_server(GROUNDED) as opened:
        opened.key = "sk-twin"
        yield opened


@pytest.fixture
def with_twin(settings: Settings, twin: OpenAIServer) -> Settings:
    """The default model by the same name at another server, which takes another key."""
    own = {"model": "large", "base_url": twin.url, "api_key": twin.key}
    prices = {"input_usd_per_million": 10, "output_usd_per_million": 100}
    return settings.model_validate({**settings.model_dump(), "models": {"twin": {**own, **prices}}})


async def test_a_named_model_is_asked_at_its_own_server_with_its_own_key(
    with_twin: Settings, server: OpenAIServer, twin: OpenAIServer
) -> None:
    outcome = await asked(with_twin, Policy(model="twin"))

    assert isinstance(outcome.response, Reply)
    assert outcome.response.tone == "answer"
    assert (server.seen, models(twin)) == ([], {"large"})
    assert outcome.trace.notes == ()
    (call,) = outcome.trace.calls
    assert (call.model, call.answered_by) == ("twin", "gpt-4o-mini-2024-07-18")
    assert call.cost_micro_usd == 10 * call.input_tokens + 100 * call.output_tokens


async def test_a_calibration_is_never_used_for_the_same_name_elsewhere(
    with_twin: Settings,
) -> None:
    known = load_gate_file()
    default, twin = with_twin.default_model, with_twin.further_models[-1]
    assert default is not None
    named = calibration_name(default.calibrated_as, load_prompt("answer").id)
    own = {named: known.calibrations["extractive"]}
    with_own = known.model_copy(update={"calibrations": {**known.calibrations, **own}})
    (with_twin.data_dir / GATE_FILE.name).write_text(with_own.model_dump_json())

    assert twin.model == default.model
    assert (await asked(with_twin, Policy())).trace.calibration == named
    assert (await asked(with_twin, Policy(model="twin"))).trace.calibration == CAREFUL


async def test_a_named_models_failures_leave_the_others_alone(
    with_twin: Settings, server: OpenAIServer, twin: OpenAIServer
) -> None:
    twin.answers = [fails(401)]
    policies = [Policy(model="twin")] * 5 + [Policy()]
    async with open_components(with_twin) as parts:
        for policy in policies:
            said = replace(inquiry(message(LIKELY, private=False)), policy=policy)
            outcome = await parts.desk.handle(said, quiet)

    assert (len(twin.seen), len(server.seen)) == (3, 1)
    assert outcome.remarks == ()


async def test_every_model_is_tried_and_named_by_the_doctor(
    with_twin: Settings, twin: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    twin.answers = [fails(401)]

    assert await doctor(with_twin) == 1

    told = capsys.readouterr().out
    assert "! model twin" in told
    assert "MODELS__TWIN__API_KEY" in told
    assert "+ model small" in told
    assert twin.key not in told


async def test_a_named_model_without_a_key_is_refused_by_its_variable(settings: Settings) -> None:
    own = {"own": {"model": "gpt-5", "base_url": "https://api.openai.com/v1/"}}
    keyless = settings.model_validate({**settings.model_dump(), "models": own})

    with pytest.raises(ModelUnavailable, match="MODELS__OWN__API_KEY"):
        async with open_components(keyless):
            pass


async def test_search_embeds_by_the_server_and_routing_by_what_is_installed(
    tmp_path: Path,
) -> None:
    async with openai_server(embeds(VECTOR)) as vectors:
        settings = settings_for(
            tmp_path / "data",
            embedding_model="small",
            embedding_base_url=vectors.url,
            embedding_api_key=KEY,
            embedding_dimensions=VECTOR,
        )
        async with open_components(settings) as parts:
            assert parts.embedder is not None
            assert parts.embedder.name == f"small@{VECTOR}"
            asked = inquiry(message("where is the canteen menu kept?", channel="c"))
            await parts.desk.handle(asked, quiet)

    assert len(vectors.seen) == 1


async def test_search_is_by_keyword_when_the_server_that_embeds_refuses(tmp_path: Path) -> None:
    async with openai_server(fails(401)) as vectors:
        settings = settings_for(
            tmp_path / "data",
            embedding_model="small",
            embedding_base_url=vectors.url,
            embedding_api_key=KEY,
        )
        async with open_components(settings) as parts:
            assert parts.embedder is None
            assert "EMBEDDING_API_KEY" in parts.embedder_trouble


async def put(parts: Components, space: str) -> None:
    page = Page("default", space, "vpn.md", "1", ALL)
    await parts.index.upsert_page(page, [chunk("Text.", chunk_id=space, space=space)], None)


async def test_the_sample_goes_once_pages_of_ones_own_are_indexed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with open_components(settings) as parts:
        await put(parts, "SAMPLE-IT")
        await put(parts, "OURS")

        (said,) = await reindex_sample(settings, parts)

        assert dict(await parts.index.spaces("default")) == {"OURS": 1}
    assert "OURS is indexed. Its 1 pages are removed." in said


async def test_an_index_that_cannot_be_read_is_told_as_failed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with open_components(settings) as parts:
        await parts.index.close()

        states = {part.name: part.state for part in await status(settings, parts)}

    assert states["knowledge"] == "failed"


async def test_a_fresh_installation_has_nothing_that_failed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with open_components(settings) as parts:
        assert "failed" not in {part.state for part in await status(settings, parts)}


async def test_the_sample_is_not_written_without_the_vectors_wanted(
    tmp_path: Path,
) -> None:
    async with openai_server(fails(401)) as server:
        settings = settings_for(
            tmp_path, embedding_model="small", embedding_base_url=server.url, embedding_api_key=KEY
        )
        async with open_components(settings, fills=True) as parts:
            (said,) = await reindex_sample(settings, parts)

            assert dict(await parts.index.spaces("default")) == {}
    assert "left as it is" in said
    assert "EMBEDDING_API_KEY" in said


async def test_the_sample_goes_into_an_index_in_azure_as_well(tmp_path: Path) -> None:
    async with SearchService().serving() as service, openai_server(embeds()) as vectors:
        settings = settings_for(
            tmp_path,
            azure_search_endpoint=service.url,
            azure_search_key=service.access.admin_key,
            embedding_model="small",
            embedding_base_url=vectors.url,
            embedding_api_key=KEY,
            embedding_dimensions=VECTOR,
        )
        async with open_components(settings, fills=True) as parts:
            lines = await reindex_sample(settings, parts)

            assert set(await parts.index.spaces("default")) == {"SAMPLE-IT", "SAMPLE-HR"}
    assert not [line for line in lines if line.startswith(("Failed", "Warning"))]
