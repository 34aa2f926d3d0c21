"""Ask for what a first set-up needs, try each part at once, and write `.env`."""

from __future__ import annotations

import asyncio
import getpass
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import dotenv

from bot.app.cli.doctor import model_answers, slack_checks, teams_checks
from bot.app.confluence import confluence_checks
from bot.app.language_models import PROBE, open_language_models, personal_data_masking
from bot.domain.errors import BotError
from bot.domain.health import ComponentStatus
from bot.domain.settings_loading import load_settings
from ingestion.config import ENV_FILE
from ingestion.errors import IngestionError
from rag.errors import RagError

_MODEL = "model"

Ask = Callable[[str], str]
"""Shows a prompt and returns the typed line. Raises EOFError at the end of the input."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A setting that is asked for; ``hint`` says where its value is found."""

    name: str
    hint: str
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Topic:
    """Settings that are asked for and tried together.

    ``check`` reads them from a file in the form of `.env` and tries them for real.
    """

    question: str
    guide: str
    variables: Sequence[Variable]
    check: Callable[[Path], Awaitable[Sequence[ComponentStatus]]]


async def _check_slack(file: Path) -> Sequence[ComponentStatus]:
    return await slack_checks(load_settings(_env_file=file))


async def _check_teams(file: Path) -> Sequence[ComponentStatus]:
    return await teams_checks(load_settings(_env_file=file))


async def _check_confluence(file: Path) -> Sequence[ComponentStatus]:
    return await confluence_checks(file)


async def _check_model(file: Path) -> Sequence[ComponentStatus]:
    settings = load_settings(_env_file=file)
    configured = settings.default_model
    if configured is None:
        return [ComponentStatus(_MODEL, "failed", "OPENAI_MODEL is empty.", "Name a model.")]
    async with AsyncExitStack() as closing:
        opened = open_language_models(
            [configured], closing, guarded=False, masking=personal_data_masking(settings)
        )
        return [await model_answers(_MODEL, opened[configured.name].chat, PROBE)]


async def _check_people(file: Path) -> Sequence[ComponentStatus]:
    return [*await _check_slack(file), *await _check_teams(file)]


TOPICS = (
    Topic(
        "Connect Slack, over Socket Mode (no public address needed)?",
        "docs/slack.md",
        (
            Variable("SLACK_BOT_TOKEN", "xoxb-…, from Install App", secret=True),
            Variable("SLACK_APP_TOKEN", "xapp-…, from Basic Information", secret=True),
        ),
        _check_slack,
    ),
    Topic(
        "Connect Microsoft Teams?",
        "docs/teams.md",
        (
            Variable("MICROSOFT_APP_ID", "from the Azure Bot's Configuration"),
            Variable("MICROSOFT_APP_PASSWORD", "a client secret", secret=True),
            Variable("MICROSOFT_APP_TENANT_ID", "the Entra tenant"),
            Variable("PUBLIC_URL", "https://… where Microsoft reaches this server"),
        ),
        _check_teams,
    ),
    Topic(
        "Answer from Confluence?",
        "docs/confluence.md",
        (
            Variable("CONFLUENCE_URL", "https://SITE.atlassian.net/wiki"),
            Variable("CONFLUENCE_EMAIL", "the account's address; empty on Data Center"),
            Variable("CONFLUENCE_TOKEN", "its API token", secret=True),
        ),
        _check_confluence,
    ),
    Topic(
        "Use a language model?",
        "docs/models.md",
        (
            Variable("OPENAI_BASE_URL", "empty for OpenAI; http://127.0.0.1:11434/v1 for Ollama"),
            Variable("OPENAI_MODEL", "the model's name"),
            Variable("OPENAI_API_KEY", "empty for servers without keys", secret=True),
        ),
        _check_model,
    ),
    Topic(
        "Name the channels where people answer what Frontdesk can't?",
        "docs/escalations.md",
        (
            Variable("SLACK_ESCALATION_CHANNEL", "C…, from the channel's details; or empty"),
            Variable("TEAMS_ESCALATION_CHANNEL", "19:…@thread.tacv2; or empty"),
        ),
        _check_people,
    ),
)


async def run(
    file: Path = ENV_FILE,
    topics: Sequence[Topic] = TOPICS,
    *,
    ask: Ask = input,
    ask_secret: Ask = getpass.getpass,
) -> int:
    """Ask topic by topic and write the file; return 0, 2 without a terminal, 130 if stopped.

    All is written at once after the last answer; other lines of the file stay as they are. Until
    then what was typed is in a draft beside it, which only its owner can read.
    """
    if ask is input and not sys.stdin.isatty():
        print("init asks questions, and there is no terminal. Fill in .env: see .env.example.")
        return 2
    draft = _draft_of(file)
    interview = _Interview(draft, ask, ask_secret)
    try:
        for topic in topics:
            await interview.about(topic)
        if not interview.accepted:
            print("Nothing was changed.")
            return 0
        draft.replace(file)
    except (EOFError, KeyboardInterrupt, asyncio.CancelledError):
        print("\nStopped. Nothing was written.")
        return 130
    finally:
        draft.unlink(missing_ok=True)
    print(f"\nWritten: {file}. Next: `make run`, or `frontdesk serve`.")
    return 0


_OWNER_ONLY = 0o600


def _draft_of(file: Path) -> Path:
    """Return a copy of the file, or an empty one, that only its owner can read."""
    draft = file.with_name(f"{file.name}.draft")
    draft.unlink(missing_ok=True)
    draft.touch(mode=_OWNER_ONLY)
    if file.exists():
        draft.write_bytes(file.read_bytes())
    return draft


class _Interview:
    """Asks one topic at a time; the draft holds what was accepted."""

    def __init__(self, draft: Path, ask: Ask, ask_secret: Ask) -> None:
        self._draft, self._ask, self._ask_secret = draft, ask, ask_secret
        self.accepted = False

    async def about(self, topic: Topic) -> None:
        """Ask for a topic's variables until they work, are kept all the same, or are left out."""
        if not await self._yes(f"\n{topic.question} [y/N] "):
            return
        print(f"Where each value is found: {topic.guide}. Enter keeps what is in brackets.")
        before = self._draft.read_bytes()
        choice = "t"
        while choice != "k":
            for variable in topic.variables:
                await self._set(variable)
            found = await _tried(topic, self._draft)
            print("\n".join(part.line() for part in found))
            if not any(part.state == "failed" for part in found):
                break
            choice = await self._line("Type it again, keep it anyway, or leave it out? [t/k/l] ")
            if choice == "l":
                self._draft.write_bytes(before)
                return
        self.accepted = True

    async def _set(self, variable: Variable) -> None:
        known = dotenv.dotenv_values(self._draft, interpolate=False).get(variable.name)
        shown = f" [{'set' if variable.secret else known}]" if known else ""
        ask = self._ask_secret if variable.secret else self._ask
        typed = await asyncio.to_thread(ask, f"{variable.name} ({variable.hint}){shown}: ")
        if typed.strip():
            dotenv.set_key(self._draft, variable.name, typed.strip(), quote_mode="auto")

    async def _yes(self, prompt: str) -> bool:
        return await self._line(prompt) in {"y", "yes"}

    async def _line(self, prompt: str) -> str:
        return (await asyncio.to_thread(self._ask, prompt)).strip().lower()


async def _tried(topic: Topic, draft: Path) -> Sequence[ComponentStatus]:
    try:
        return await topic.check(draft)
    except (BotError, IngestionError, RagError) as error:
        return [ComponentStatus("settings", "failed", str(error))]
