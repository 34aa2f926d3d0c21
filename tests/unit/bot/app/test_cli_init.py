"""Tests of `frontdesk init`: what it asks, tries and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import dotenv
import pytest

from bot.app.cli import init
from bot.app.cli.init import TOPICS, run
from tests.fakes.model_server import KEY, OpenAIServer, openai_server, says
from tests.fakes.slack.names import APP_TOKEN, PEOPLE, TOKEN
from tests.fakes.slack.server import FakeSlack

Printed = pytest.CaptureFixture[str]

SLACK, _, CONFLUENCE, MODEL, PEOPLE_CHANNELS = TOPICS


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without `.env`, and an environment that configures nothing."""
    for topic in TOPICS:
        for variable in topic.variables:
            monkeypatch.delenv(variable.name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".env"


def files_beside(file: Path) -> list[str]:
    return [each.name for each in file.parent.iterdir()]


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


def write(file: Path, text: str) -> None:
    file.write_text(text)


def written(file: Path) -> str | None:
    """Return the text of the file; None if there is none."""
    return file.read_text() if file.exists() else None


def typing(*lines: str) -> Callable[[str], str]:
    """Return what types the lines one after another, and then ends the input."""
    left: Iterator[str] = iter(lines)

    def ask(prompt: str) -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError(prompt) from None

    return ask


def model_answers(server: OpenAIServer, *further: str) -> Callable[[str], str]:
    return typing("y", server.url, "small", *further)


async def test_what_works_is_written_for_the_owner_alone(file: Path, capsys: Printed) -> None:
    async with openai_server(says("ready")) as server:
        code = await run(file, [MODEL], ask=model_answers(server), ask_secret=typing(KEY))

    assert code == 0
    assert dotenv.dotenv_values(file) == {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_MODEL": "small",
        "OPENAI_API_KEY": KEY,
    }
    assert mode(file) == 0o600
    assert KEY not in capsys.readouterr().out


async def test_a_refused_key_can_be_typed_again(file: Path, capsys: Printed) -> None:
    async with openai_server(says("ready")) as server:
        ask = model_answers(server, "t", "", "")
        assert await run(file, [MODEL], ask=ask, ask_secret=typing("sk-wrong", KEY)) == 0

    assert dotenv.get_key(file, "OPENAI_API_KEY") == KEY
    assert "  ! model" in capsys.readouterr().out


@pytest.mark.parametrize(("choice", "kept"), [("k", "sk-wrong"), ("l", None)])
async def test_what_fails_is_kept_or_left_out_as_chosen(
    file: Path, choice: str, kept: str | None
) -> None:
    write(file, "LOG_LEVEL=debug\n")
    async with openai_server(says("ready")) as server:
        ask = model_answers(server, choice)
        assert await run(file, [MODEL], ask=ask, ask_secret=typing("sk-wrong")) == 0

    assert dotenv.dotenv_values(file).get("OPENAI_API_KEY") == kept
    assert dotenv.get_key(file, "LOG_LEVEL") == "debug"


async def test_other_lines_of_the_file_stay_as_they_are(file: Path) -> None:
    write(file, "# ours\nRAG_TOP_K=7  # more\nOPENAI_MODEL=old\nHOST='a b'")
    async with openai_server(says("ready")) as server:
        await run(file, [MODEL], ask=model_answers(server), ask_secret=typing(KEY))

    lines = (written(file) or "").splitlines()
    assert lines[:2] == ["# ours", "RAG_TOP_K=7  # more"]
    assert "HOST='a b'" in lines
    assert [line for line in lines if line.startswith("OPENAI_MODEL=")] == ["OPENAI_MODEL=small"]


async def test_an_interrupted_interview_writes_nothing(file: Path) -> None:
    write(file, "LOG_LEVEL=debug\n")
    async with openai_server(says("ready")) as server:
        ask, secret = model_answers(server), typing(KEY)
        assert await run(file, [MODEL, SLACK], ask=ask, ask_secret=secret) == 130

    assert written(file) == "LOG_LEVEL=debug\n"
    assert files_beside(file) == [file.name]


async def test_saying_no_to_everything_makes_no_file(file: Path) -> None:
    no = typing(*["n"] * len(TOPICS))

    assert await run(file, ask=no, ask_secret=typing()) == 0
    assert written(file) is None


async def test_slack_and_the_channel_of_people_are_tried(file: Path, capsys: Printed) -> None:
    async with FakeSlack().serving() as slack:
        write(file, f"SLACK_API_URL={slack.url}\n")
        ask = typing("y", "y", PEOPLE, "")
        secret = typing(TOKEN, APP_TOKEN)
        code = await run(file, [SLACK, PEOPLE_CHANNELS], ask=ask, ask_secret=secret)

    assert code == 0
    assert "  + Slack" in capsys.readouterr().out
    assert dotenv.get_key(file, "SLACK_ESCALATION_CHANNEL") == PEOPLE


async def test_a_malformed_value_is_said_and_asked_again(file: Path, capsys: Printed) -> None:
    ask = typing("y", "no address", "anna@acme.example", "l")

    assert await run(file, [CONFLUENCE], ask=ask, ask_secret=typing("token")) == 0
    assert "CONFLUENCE_URL" in capsys.readouterr().out
    assert written(file) is None


async def test_without_a_terminal_it_says_what_to_do(file: Path, capsys: Printed) -> None:
    assert await init.run(file) == 2
    assert ".env.example" in capsys.readouterr().out
