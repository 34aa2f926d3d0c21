"""Tests of evaluate --sample, train and certify against a model server over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from aiohttp import web

from bot.__main__ import main
from bot.answering.evaluation import question_cases
from bot.answering.evaluation.evaluate import PlannedQuestion
from bot.answering.evaluation.labelled_questions import LabelledQuestion
from bot.answering.evaluation.model_trial import sample_plan
from bot.answering.evaluation.report import Trials
from bot.answering.gate import GATE_FILE, calibration_name, load_gate_file
from bot.app import documents
from bot.app.cli import questions
from bot.app.cli.questions import (
    STOPPED,
    run_certification,
    run_evaluation,
    run_sample_evaluation,
    run_training,
)
from bot.app.components import gate_path
from bot.domain.errors import ModelGaveUp, SettingInvalid
from bot.domain.settings import Settings
from prompts.files import load_prompt
from rag.errors import ModelUnavailable
from tests.fakes.http_server import PAGES, settings_for, write_index
from tests.fakes.model_server import (
    KEY,
    OpenAIServer,
    answer_citing,
    completion,
    fails,
    openai_server,
    replies_citing,
    says,
)

Printed = pytest.CaptureFixture[str]

FACT = "blocks UDP port 4500"
GOOD = replies_citing(("The office router blocks UDP port 4500.", FACT))


def labelled(name: str, question: str, fact: str = "", **fields: object) -> LabelledQuestion:
    kind = "answerable" if fact else "near_miss"
    given = {"id": name, "question": question, "kind": kind, "key_facts": [fact] if fact else []}
    pages = {"pages": ["vpn.md"]} if fact else {}
    return LabelledQuestion.model_validate({**given, **pages, **fields})


VPN = labelled("vpn", "what does vpn error 809 mean", "4500")
PLAN = (
    PlannedQuestion(VPN),
    PlannedQuestion(labelled("fees", "vpn error 809 on the parking meter")),
    PlannedQuestion(VPN, withheld=True),
)


@pytest.fixture(autouse=True)
def _small_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A sample of few pages: what is tested is the way, not the sample."""
    for space in documents.SAMPLE_SPACES.values():
        (tmp_path / "sample" / space).mkdir(parents=True)
    for name, text in PAGES.items():
        (tmp_path / "sample" / "it" / name).write_text(text)
    (tmp_path / "sample" / "hr" / "pay.md").write_text("# Payday\n\nPayday is the 25th.\n")
    (tmp_path / "sample" / "questions.jsonl").write_text(VPN.model_dump_json())
    monkeypatch.setattr(documents, "SAMPLE", tmp_path / "sample")
    monkeypatch.setattr(questions, "SAMPLE", tmp_path / "sample")
    monkeypatch.setattr(question_cases, "WAITS_SECONDS", (0.0, 0.0))


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with openai_server(GOOD) as opened:
        yield opened


@pytest.fixture
def settings(tmp_path: Path, server: OpenAIServer) -> Settings:
    return settings_for(
        tmp_path / "data",
        openai_base_url=server.url,
        openai_api_key=KEY,
        openai_model="large",
        models={"own": {"model": "m", "base_url": server.url, "api_key": KEY}},
    )


def test_the_questions_that_ship_are_170_with_the_withheld_ones() -> None:
    plan = sample_plan(Path("infra/sample"))

    assert (len(plan), sum(each.withheld for each in plan)) == (170, 36)


async def test_nothing_is_sent_before_the_cost_is_agreed_to(
    settings: Settings, server: OpenAIServer, capsys: Printed
) -> None:
    assert await run_sample_evaluation(settings, [], plan=PLAN) == 2

    assert server.seen == []
    assert "to ask 3; about 10,500 tokens" in capsys.readouterr().out


async def test_models_stand_side_by_side_with_what_to_think_of_each(
    settings: Settings, server: OpenAIServer, capsys: Printed, tmp_path: Path
) -> None:
    out = tmp_path / "trials.json"
    named = ["large", "own", "none"]

    code = await run_sample_evaluation(settings, named, plan=PLAN, yes=True, out=out)

    told = capsys.readouterr().out
    found = Trials.model_validate_json(out.read_bytes())
    assert [trial.model for trial in found.trials] == ["none", "large", "own"]
    assert {str(seen.body["model"]) for seen in server.seen} == {"large", "m"}
    assert f"**large: {found.trials[1].verdict}.**" in told
    assert code == int(found.trials[1].verdict != "good enough")


async def test_a_run_goes_on_where_a_failing_model_stopped_it(
    settings: Settings, server: OpenAIServer, capsys: Printed
) -> None:
    # Its trial call and the first question are answered, then its key is withdrawn.
    server.answers = [GOOD, GOOD, fails(401)]

    assert await run_sample_evaluation(settings, [], plan=PLAN, yes=True) == STOPPED

    assert "OPENAI_API_KEY" in capsys.readouterr().err
    server.answers = [GOOD]
    server.seen.clear()
    code = await run_sample_evaluation(settings, [], plan=PLAN, yes=True)
    told = capsys.readouterr().out
    assert code != STOPPED
    assert "to ask 2" in told
    answered = [seen for seen in server.seen if "response_format" in seen.body]
    assert 1 <= len(answered) <= 2
    server.seen.clear()
    assert await run_sample_evaluation(settings, [], plan=PLAN) == code
    assert server.seen == []
    await run_sample_evaluation(settings, [], plan=PLAN, yes=True, again=True)
    assert server.seen


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ({"openai_timeout_seconds": 30.0}, 0),
        ({"openai_reasoning_effort": "high"}, 1),
        ({"openai_base_url": "http://other.example/v1"}, 1),
    ],
    ids=["time limit", "effort", "server"],
)
async def test_kept_answers_are_of_the_server_and_effort_in_force(
    settings: Settings, capsys: Printed, changed: dict[str, object], asked: int
) -> None:
    await run_sample_evaluation(settings, [], plan=PLAN[:1], yes=True)
    capsys.readouterr()

    code = await run_sample_evaluation(settings.model_copy(update=changed), [], plan=PLAN[:1])

    assert ("to ask 1" in capsys.readouterr().out) == (code == 2) == bool(asked)


async def test_a_model_that_is_down_stops_before_any_question(
    settings: Settings, server: OpenAIServer
) -> None:
    server.answers = [fails(401)]

    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        await run_sample_evaluation(settings, [], plan=PLAN, yes=True)
    assert len(server.seen) == 1


async def test_a_failure_is_asked_again_and_no_wrong_answer(
    settings: Settings, server: OpenAIServer, tmp_path: Path
) -> None:
    out = tmp_path / "trials.json"
    server.answers = [GOOD, fails(401), GOOD]

    await run_sample_evaluation(settings, [], plan=PLAN[:1], yes=True, out=out)

    trial = Trials.model_validate_json(out.read_bytes()).trials[1]
    assert trial.found.composed_right.value == 1.0
    assert trial.unusable == ()


async def test_the_sample_is_asked_in_its_language_whatever_the_wikis_is(
    settings: Settings, server: OpenAIServer
) -> None:
    german = settings.model_copy(update={"wiki_language": "de"})

    await run_sample_evaluation(settings, [], plan=PLAN[:1], yes=True)
    asked = [seen.body for seen in server.seen]
    server.seen.clear()
    await run_sample_evaluation(german, [], plan=PLAN[:1], yes=True, again=True)

    assert [seen.body for seen in server.seen] == asked


async def test_an_answer_without_a_usable_form_is_the_models_own(
    settings: Settings, server: OpenAIServer, tmp_path: Path
) -> None:
    out = tmp_path / "trials.json"
    server.answers = [says("no JSON")]

    code = await run_sample_evaluation(settings, [], plan=PLAN[:1], yes=True, out=out)

    assert code == 1
    assert Trials.model_validate_json(out.read_bytes()).trials[1].unusable == ("vpn",)


def written(path: Path, rows: Sequence[LabelledQuestion]) -> Path:
    path.write_text("\n".join(row.model_dump_json() for row in rows))
    return path


async def test_certifying_counts_no_failure_as_a_wrong_answer(
    settings: Settings, server: OpenAIServer, tmp_path: Path
) -> None:
    await write_index(settings, tmp_path / "pages")
    server.answers = [fails(401)]

    with pytest.raises(ModelGaveUp):
        await run_certification(settings, written(tmp_path / "own.jsonl", [VPN]))
    with pytest.raises(ModelGaveUp):
        await run_evaluation(settings, written(tmp_path / "own.jsonl", [VPN]), out=None)


async def test_only_the_calibration_of_the_model_is_certified(
    settings: Settings, tmp_path: Path
) -> None:
    await write_index(settings, tmp_path / "pages")
    unheard = [labelled(f"n{n}", f"xylophone zzkw {n}") for n in range(3)]

    with pytest.raises(SettingInvalid, match="no calibration for answers of this model"):
        await run_certification(settings, written(tmp_path / "own.jsonl", [VPN, *unheard]))
    assert gate_path(settings) == GATE_FILE


async def test_too_few_labels_are_refused_before_any_call(
    settings: Settings, server: OpenAIServer, tmp_path: Path
) -> None:
    with pytest.raises(SettingInvalid, match="at least 60 and 40"):
        await run_training(settings, written(tmp_path / "own.jsonl", [VPN]))
    assert server.seen == []


def test_a_model_that_nobody_configured_is_named_with_those_there_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MODELS__OWN__MODEL", "m")

    assert main(["evaluate", "--sample", "--model", "huge"]) == 2
    assert "no model 'huge'. Name one of own, none" in capsys.readouterr().err


MANY = 64
DESKS = {f"desk{n}.md": f"# Desk {n}\n\nDesk {n} has the socket {1000 + n}.\n" for n in range(MANY)}


def own_questions() -> list[LabelledQuestion]:
    """Each desk's socket, which is on its page, and its painter, who is on none."""
    sockets = [
        labelled(f"a{n}", f"what is the socket of desk {n}", f"{1000 + n}", pages=[f"desk{n}.md"])
        for n in range(MANY)
    ]
    return [*sockets, *(labelled(f"m{n}", f"who painted desk {n} blue") for n in range(MANY))]


async def hesitates(_: web.Request, body: dict[str, object]) -> web.StreamResponse:
    """Answer with certainty medium where it is right, and with some line and low where not."""
    assert isinstance(body["messages"], list)
    prompt = str(body["messages"][-1]["content"])
    asked = re.search(r"the socket of desk (\d+)", prompt)
    line = f"Desk {asked[1]} has the socket {1000 + int(asked[1])}." if asked else ""
    known = line and line in prompt
    some = re.search(r"Desk \d+ has the socket \d+\.", prompt)
    said = line if known else some[0] if some else ""
    certainty = "medium" if known else "low"
    reply = answer_citing(prompt, [(said, said)] if said else [], certainty=certainty)
    return web.json_response(completion(reply if "response_format" in body else "DOMAIN"))


async def test_a_gate_fitted_to_ones_own_model_judges_it_from_then_on(
    settings: Settings, server: OpenAIServer, tmp_path: Path, capsys: Printed
) -> None:
    await write_index(settings, tmp_path / "pages", DESKS)
    path = written(tmp_path / "own.jsonl", own_questions())
    shipped = GATE_FILE.read_bytes()
    server.answers = [hesitates]

    assert await run_training(settings, path, model="own") == 0

    told = capsys.readouterr().out
    assert "cross-validation" in told
    assert GATE_FILE.read_bytes() == shipped
    (own,) = settings.further_models
    name = calibration_name(own.calibrated_as, load_prompt("answer").id)
    file = load_gate_file(gate_path(settings))
    assert gate_path(settings) == settings.data_dir / GATE_FILE.name
    assert {name, "extractive"} <= set(file.calibrations)
    assert file.calibrations[name].trained_on[0].right >= MANY // 2
    assert json.loads(shipped)["calibrations"].keys() == file.calibrations.keys() - {name}

    await run_certification(settings, path, model="own")
    assert name in load_gate_file(gate_path(settings)).calibrations


@pytest.mark.parametrize("changed", [{}, {"wiki_language": "de"}, {"spelling": False}])
async def test_kept_answers_are_of_the_language_and_spelling_in_force(
    settings: Settings,
    server: OpenAIServer,
    tmp_path: Path,
    capsys: Printed,
    changed: dict[str, object],
) -> None:
    await write_index(settings, tmp_path / "pages", DESKS)
    path = written(tmp_path / "own.jsonl", own_questions())
    server.answers = [hesitates, fails(401)]
    assert await run_training(settings, path, model="own") == STOPPED
    server.answers = [fails(401)]
    capsys.readouterr()

    await run_training(settings.model_copy(update=changed), path, model="own")

    assert ("answered already" in capsys.readouterr().out) == (not changed)
