"""Tests of the command line: cases, pause, doctor, measuring, and what the start says."""

from __future__ import annotations

import getpass
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.answering.evaluation.labelled_questions import load_questions
from bot.answering.gate import GATE_FILE
from bot.app.cli import administration
from bot.app.cli.administration import escalations, export_labels
from bot.app.cli.doctor import doctor
from bot.app.cli.questions import ask, run_certification, run_evaluation
from bot.app.cli.serve import address_lines
from bot.app.components import gate_path
from bot.domain.cases import Actor
from bot.domain.errors import EscalationTaken, InteractionUnknown, SettingInvalid
from bot.domain.health import NOTHING_INDEXED
from bot.domain.messages import InteractionId, Person
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.domain.usage import Pause
from bot.domain.users import SignedIn
from bot.learning.labels import Label, LabelKey
from bot.store.database import Store, open_store, sqlite_url
from rag.factory import open_embedder
from tests.fakes.azure_index import open_test_index
from tests.fakes.builders import NOON
from tests.fakes.http_server import settings_for, write_index
from tests.fakes.model_server import KEY, VECTOR_LENGTH, embeds, openai_server
from tests.fakes.record_rows import add_escalation, add_interaction
from tests.fakes.search_service.service import SearchService
from tests.fakes.slack import names
from tests.fakes.slack.names import TOKEN
from tests.fakes.slack.server import FakeSlack

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def configured(tmp_path: Path, store: Store) -> Settings:
    return Settings(data_dir=tmp_path)


async def add_two(store: Store) -> None:
    for name in ("i1", "i2"):
        await add_interaction(store, name, channel="slack:C1")
        await add_escalation(store, name, asker="anna", question=f"help\nwith \x1b[31m{name}")


async def test_what_waits_is_listed_in_one_line_each(
    configured: Settings, store: Store, capsys: Printed
) -> None:
    await add_two(store)

    assert await escalations(configured, done=None, everything=False, limit=10) == 0

    assert capsys.readouterr().out.splitlines() == [
        "i1  2026-11-22 12:00  slack  asked_for_human  help with \ufffd[31mi1",
        "i2  2026-11-22 12:00  slack  asked_for_human  help with \ufffd[31mi2",
    ]


async def test_what_is_done_leaves_the_list_and_an_act(
    configured: Settings, store: Store, capsys: Printed
) -> None:
    await add_two(store)

    assert await escalations(configured, done="i1", everything=False, limit=10) == 0
    assert capsys.readouterr().out.startswith(f"Resolved by {administration.operator()} on 20")

    await escalations(configured, done=None, everything=False, limit=10)
    assert "i1  " not in capsys.readouterr().out
    await escalations(configured, done=None, everything=True, limit=10)
    assert f"[resolved by {administration.operator()}] help with" in capsys.readouterr().out
    (act,) = await store.audits.newest("default", 10)
    assert (act.actor, act.subject) == (administration.operator(), "i1")


async def test_a_list_that_is_cut_says_so(
    configured: Settings, store: Store, capsys: Printed
) -> None:
    await add_two(store)

    await escalations(configured, done=None, everything=False, limit=1)

    assert capsys.readouterr().out.splitlines()[1] == "… and more; see them with a larger --limit"


async def test_nothing_that_waits_is_said(configured: Settings, capsys: Printed) -> None:
    await escalations(configured, done=None, everything=False, limit=1)
    await escalations(configured, done=None, everything=True, limit=1)

    assert capsys.readouterr().out.splitlines() == [
        "Nothing waits for a person.",
        "No question ever went to a person.",
    ]


async def test_one_is_shown_with_its_history(
    configured: Settings, store: Store, capsys: Printed
) -> None:
    await add_two(store)
    anna = Actor("u1", "Anna", "expert")
    await store.escalations.act("default", InteractionId("i1"), "reply", anna, "Restart\n\x1bit.")
    asker = Actor("anna", "", "asker")
    await store.escalations.act("default", InteractionId("i1"), "reopen", asker)
    await store.notices.remind(datetime.now(UTC) + timedelta(days=1))

    assert await escalations(configured, shown=" i1 ", everything=False, limit=1) == 0

    first, *entries = capsys.readouterr().out.splitlines()
    assert "[reopened] help with" in first
    assert [entry[20:] for entry in entries] == [
        "reply     Anna  Restart \ufffdit.",
        "reopen    the asker",
        "ping",
    ]
    with pytest.raises(InteractionUnknown, match="escalations --all"):
        await escalations(configured, shown="nobody", everything=False, limit=1)


async def test_what_another_has_is_not_done_from_here(configured: Settings, store: Store) -> None:
    await add_two(store)
    anna = Actor("u1", "Anna", "expert")
    await store.escalations.act("default", InteractionId("i1"), "claim", anna)

    with pytest.raises(EscalationTaken, match="It is assigned to Anna"):
        await escalations(configured, done="i1", everything=False, limit=1)


async def test_an_unknown_one_is_refused_with_the_cure(configured: Settings) -> None:
    with pytest.raises(InteractionUnknown, match="escalations --all"):
        await escalations(configured, done="nobody", everything=False, limit=1)


async def current(configured: Settings) -> Pause | None:
    store = await open_store(sqlite_url(configured.data_dir))
    try:
        return await store.pauses.current(configured.tenant)
    finally:
        await store.close()


async def test_a_pause_is_recorded_with_its_reason_and_who_made_it(
    tmp_path: Path, capsys: Printed
) -> None:
    configured = load_settings(_env_file=None, data_dir=tmp_path)

    assert await administration.pause(configured, reason="We move the wiki", by="ops") == 0
    paused = await current(configured)
    assert paused is not None
    assert (paused.reason, paused.by) == ("We move the wiki", "ops")
    said = capsys.readouterr().out
    assert "Who asks is told: We move the wiki\n" in said
    assert "python -m bot resume" in said


async def test_nobody_named_is_the_systems_user(tmp_path: Path) -> None:
    configured = load_settings(_env_file=None, data_dir=tmp_path)
    await administration.pause(configured, reason="We move the wiki")
    paused = await current(configured)

    assert paused is not None
    assert paused.by == f"cli:{getpass.getuser()}"


async def test_resuming_answers_again_and_says_when_there_was_nothing_to_resume(
    tmp_path: Path, capsys: Printed
) -> None:
    configured = load_settings(_env_file=None, data_dir=tmp_path)
    await administration.pause(configured, reason="We move the wiki")
    capsys.readouterr()

    assert [await administration.resume(configured), await administration.resume(configured)] == [
        0,
        0,
    ]
    assert capsys.readouterr().out == "Questions are answered again.\nIt was not paused.\n"
    assert await current(configured) is None


@pytest.mark.parametrize(
    "words", [["pause"], ["pause", "--reason", "  "], ["pause", "--reason", "x", "--by", ""]]
)
def test_a_pause_without_a_reason_or_a_name_is_refused(words: list[str], capsys: Printed) -> None:
    with pytest.raises(SystemExit) as refused:
        main(words)

    assert refused.value.code == 2
    assert "usage: python -m bot pause" in capsys.readouterr().err


LINES = ("Slack", "Slack events", "Slack people", "Slack admins")


@pytest.fixture
def settings(slack: FakeSlack, tmp_path: Path) -> Settings:
    return settings_for(
        tmp_path,
        slack_bot_token=TOKEN,
        slack_signing_secret="signing-secret",
        slack_api_url=slack.url,
        slack_escalation_channel=names.PEOPLE,
        slack_admins=(names.ALICE,),
    )


async def test_it_ends_well_where_slack_is_all_set_up(settings: Settings, capsys: Printed) -> None:
    code = await doctor(settings)

    told = capsys.readouterr().out
    assert code == 0
    assert all(f"  + {name} " in told for name in LINES)
    assert "All that is configured works." in told


@pytest.mark.mended(id="ux-9")
async def test_an_empty_index_is_said_in_whole_sentences(tmp_path: Path, capsys: Printed) -> None:
    await doctor(settings_for(tmp_path))

    (line,) = (each for each in capsys.readouterr().out.splitlines() if " knowledge " in each)
    assert "nothing is indexed yet. Add pages: " in line
    assert ".;" not in line


@pytest.mark.mended(id="ux-9")
async def test_a_question_to_an_empty_index_is_told_what_to_do(
    tmp_path: Path, capsys: Printed
) -> None:
    assert await ask(settings_for(tmp_path), "vpn error 809?") == 1
    assert capsys.readouterr().out.strip() == NOTHING_INDEXED


async def test_it_names_what_is_broken_on_slack_and_ends_with_one(
    slack: FakeSlack, settings: Settings, capsys: Printed
) -> None:
    slack.channels.discard(names.PEOPLE)

    code = await doctor(settings)

    told = capsys.readouterr().out
    assert code == 1
    assert "Broken: Slack people." in told
    assert "/invite @Frontdesk" in told
    assert TOKEN not in told


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize(
    ("spaces", "sign", "said"),
    [((), "+", "are refused"), (("NOWHERE",), "~", "nothing is indexed in NOWHERE")],
)
async def test_it_says_what_outsiders_get(
    settings: Settings,
    spaces: tuple[str, ...],
    sign: str,
    said: str,
    capsys: Printed,
) -> None:
    code = await doctor(settings.model_copy(update={"slack_outsider_spaces": spaces}))

    lines = capsys.readouterr().out.splitlines()
    (told,) = [line for line in lines if "Slack outsiders" in line]
    assert (code, told.strip()[0], said in told) == (0, sign, True)


async def test_it_says_how_teams_is_set_up(tmp_path: Path, capsys: Printed) -> None:
    await doctor(settings_for(tmp_path, TEAMS_DEV_MODE=True))
    assert "  + Teams            development mode" in capsys.readouterr().out

    code = await doctor(settings_for(tmp_path, microsoft_app_id="1"))
    told = capsys.readouterr().out
    assert code == 1
    assert "Broken: Teams." in told
    assert "MICROSOFT_APP_TENANT_ID is not set" in told


async def test_it_asks_for_one_vector(tmp_path: Path, capsys: Printed) -> None:
    async with openai_server(embeds(VECTOR_LENGTH)) as server:
        settings = settings_for(
            tmp_path,
            embedding_model="small",
            embedding_base_url=server.url,
            embedding_api_key=KEY,
            embedding_dimensions=VECTOR_LENGTH,
        )
        assert await doctor(settings) == 0
        working = capsys.readouterr().out
        server.key = "another"
        assert await doctor(settings) == 1

    told = capsys.readouterr().out
    assert "  + embedder         small@8 at 127.0.0.1; a vector took" in working
    assert "Broken: embedder." in told
    assert "check EMBEDDING_API_KEY" in told
    assert KEY not in told


async def test_it_tries_a_search_in_azure_and_says_which_rights_are_missing(
    tmp_path: Path, capsys: Printed
) -> None:
    async with SearchService().serving() as service:
        azure = {
            "azure_search_endpoint": service.url,
            "azure_search_key": service.access.query_key,
        }
        settings = settings_for(tmp_path, **azure)
        assert await doctor(settings) == 1
        absent = capsys.readouterr().out
        async with open_embedder(settings) as (embedder, _), open_test_index(service, embedder):
            pass
        assert await doctor(settings) == 0

    told = capsys.readouterr().out
    assert "run the ingestion" in absent
    assert "  + Azure AI Search: search" in told
    assert "`Search Index Data Contributor`" in told
    assert "`Search Service Contributor`" in told


@pytest.mark.mended(id="slack-4")
@pytest.mark.parametrize("public_url", [None, "https://help.example"])
async def test_it_warns_that_sources_will_not_be_links(
    settings: Settings,
    tmp_path: Path,
    capsys: Printed,
    public_url: str | None,
) -> None:
    await write_index(settings, tmp_path / "pages")

    await doctor(settings.model_copy(update={"public_url": public_url}))

    told = capsys.readouterr().out
    assert ("sources in Slack will not be links" in told) == (public_url is None)


QUESTIONS = (
    {
        "id": "q1",
        "question": "what does vpn error 809 mean",
        "kind": "answerable",
        "pages": ["vpn.md"],
        "evidence": [],
        "key_facts": ["809"],
        "history": [],
    },
    {
        "id": "q2",
        "question": "hello",
        "kind": "generic",
        "pages": [],
        "evidence": [],
        "key_facts": [],
        "history": [],
    },
)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in QUESTIONS))
    return path


async def test_a_report_is_printed_and_written(
    tmp_path: Path, questions: Path, capsys: Printed
) -> None:
    settings = settings_for(tmp_path)
    await write_index(settings, tmp_path / "pages")

    assert await run_evaluation(settings, questions, out=tmp_path / "report.json") == 0

    assert "1 answerable, 1 generic" in capsys.readouterr().out
    assert json.loads((tmp_path / "report.json").read_text())["run"]["kinds"]["answerable"] == 1


async def test_too_few_questions_certify_nothing_and_say_so(
    tmp_path: Path, questions: Path, capsys: Printed
) -> None:
    settings = settings_for(tmp_path)
    await write_index(settings, tmp_path / "pages")
    assert gate_path(settings) == GATE_FILE

    assert await run_certification(settings, questions) == 1

    assert "Nothing can be promised" in capsys.readouterr().out
    assert gate_path(settings) == tmp_path / "gate.json"


HERE = "http://127.0.0.1:3978"


def test_the_start_names_the_board() -> None:
    assert list(address_lines(HERE, demo=False)) == ["Board http://127.0.0.1:3978/board"]


def test_with_the_sample_it_names_who_one_can_be() -> None:
    _, line = address_lines(HERE, demo=True)

    assert "Mika (sales, asks)" in line
    assert "Tomas (IT admins, answers colleagues)" in line
    assert "You" not in line


async def test_accepted_labels_are_exported_into_a_questions_file(
    configured: Settings, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await add_interaction(store, "i1")
    key = LabelKey(InteractionId("i1"), "thumb")
    label = Label(key, "right", "candidate", NOON, ("vpn.md",))
    await store.labels.propose("default", [label])
    decided = replace(label, state="accepted", question="Where is it?", decided_at=NOON)
    await store.labels.decide("default", decided)

    assert await export_labels(configured, tmp_path / "mine.jsonl") == 0

    (exported,) = load_questions(tmp_path / "mine.jsonl")
    assert exported.question == "Where is it?"
    assert capsys.readouterr().out.startswith("1 ")
    with pytest.raises(SettingInvalid):
        await export_labels(configured, tmp_path)


def test_the_webhook_is_replayed_from_a_time_on(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRONTDESK_DATA_DIR", str(tmp_path))

    assert main(["webhooks", "replay", "--since", "2026-11-20T14:00+02:00"]) == 0
    assert "0 steps since 2026-11-20 12:00" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["webhooks", "replay", "--since", "yesterday"])


async def test_sessions_are_listed_and_ended_by_address(
    configured: Settings, store: Store, capsys: Printed
) -> None:
    anna = SignedIn("oidc", "expert", Person("oidc-1", "Anna\n\x1b[31m", "anna@acme.example"))
    now = datetime.now(UTC)
    await store.sessions.begin("default", "a", anna, now, now + timedelta(hours=1))

    assert await administration.list_sessions(configured) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("oidc-1 ")
    assert "\x1b" not in line
    assert await administration.end_sessions(configured, "Anna@acme.example", by="cli:ops") == 0
    assert await store.sessions.find("default", "a", now) is None
    (act,) = await store.audits.newest("default", 5)
    assert (act.actor, act.act, act.subject) == ("cli:ops", "end sessions", "oidc-1")
    for nobody in ("anna@acme.example", ""):
        with pytest.raises(SettingInvalid):
            await administration.end_sessions(configured, nobody)
