"""Open the desk on a set and ask its questions, without a model and with the recorded one."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from pydantic import SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource
from tqdm import tqdm

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.evaluation.evaluate import (
    Progress,
    ask_all,
    questions_and_withheld,
    report_of,
    run_of,
)
from bot.answering.evaluation.labelled_questions import RecordingComposer, load_questions
from bot.answering.evaluation.model_trial import drawn
from bot.answering.evaluation.question_cases import Case, Subject
from bot.answering.evaluation.report import Report
from bot.answering.gate import load_gate
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.message_text import condense
from bot.app.components import Components, open_components
from bot.domain.handoff import HandoffWording
from bot.domain.interactions import Route
from bot.domain.messages import Intent
from bot.domain.settings import Settings
from ingestion.config import Settings as IngestionSettings
from ingestion.documents.chunker import CHUNKER
from ingestion.documents.convert import CONVERTER
from ingestion.sync.report import ProgressBar, report_lines
from ingestion.sync.sync import Folder, sync_folder
from rag.answer.extractive import ExtractiveComposer
from rag.index.embedded.schema import SCHEMA
from rag.pipeline import Pipeline
from rag.ports import Composer
from rag.types import Turn
from tests.evals.recorded.server import MODEL, PromptKind, Replay, load_replies, replaying
from tests.evals.sets import DRAWS, EvalSet

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".build" / "evals"
TENANT = "default"

TODAY = date(2026, 11, 23)
"""The day of every evaluation: a prompt that names the day must stay the same to be replayed."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A set's report and the cases behind it; ``missing`` are prompts that have no reply."""

    of: EvalSet
    report: Report
    cases: Sequence[Case]
    missing: Mapping[str, PromptKind] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opened:
    """The parts of a process, and who looks over the shoulder of its composer."""

    parts: Components
    composer: RecordingComposer

    def subject(self, one: EvalSet) -> Subject:
        """Return the whole desk, or one past the router where the set is general knowledge."""
        return self._of(self.parts.desk) if one.routed else self.past_the_router()

    def past_the_router(self) -> Subject:
        """Return a desk that puts every question to the index."""
        return self._of(_desk(self.parts.pipeline))

    def by_keyword(self) -> Subject:
        """Return a desk that puts every question to the index, which searches by keyword alone."""
        composer = RecordingComposer(ExtractiveComposer(None))
        pipeline = Pipeline(self.parts.index, None, composer)
        return Subject(_desk(pipeline), composer, self.parts.index, None, TENANT)

    def _of(self, desk: Desk) -> Subject:
        parts = self.parts
        return Subject(desk, self.composer, parts.index, parts.embedder, TENANT)


async def without_model(one: EvalSet) -> Measured:
    """Ask every question of a set, and each answerable one again with its pages withheld."""
    async with opened(one) as found:
        subject = found.subject(one)
        asks = questions_and_withheld(load_questions(one.questions))
        cases = await ask_all(subject, asks, bar(one.name))
        run = await run_of(subject, one.questions, cases, name=one.name)
    return Measured(one, report_of(run, cases), cases)


async def with_recorded_model(one: EvalSet, prompts: Path | None, **changes: object) -> Measured:
    """Ask the set's fixed draw; prompts without a reply go to ``prompts``.

    ``changes`` are settings other than by default.
    """
    replay = Replay(one.name, load_replies(one.name), prompts)
    show = bar(f"{one.name}, {MODEL} model")

    def advance(done: int, total: int) -> None:
        replay.next_question()
        show(done, total)

    async with replaying(replay) as url, opened(one, url, RecordingComposer, **changes) as found:
        subject = found.subject(one)
        asks = drawn(DRAWS[one.name], load_questions(one.questions))
        cases = await ask_all(subject, asks, advance)
        run = await run_of(subject, one.questions, cases, name=one.name)
    named = run.model_copy(update={"model": _described(replay)})
    return Measured(one, report_of(named, cases), cases, dict(replay.missing))


@asynccontextmanager
async def opened(
    one: EvalSet,
    model_url: str | None = None,
    recording: Callable[[Composer], RecordingComposer] = RecordingComposer,
    **changes: object,
) -> AsyncIterator[Opened]:
    """Open the desk on a set that is indexed first, where it is not yet.

    ``changes`` are settings other than by default.
    """
    recorders: list[RecordingComposer] = []

    def observe(composer: Composer) -> Composer:
        recorders.append(recording(composer))
        return recorders[-1]

    settings = _settings(one, model_url).model_copy(update=changes)
    superseded = IngestionSettings(_env_file=None).confluence_superseded_labels
    async with open_components(
        settings, observe, today=lambda: TODAY, superseded=superseded
    ) as parts:
        await _index(one, parts, settings.data_dir)
        yield Opened(parts, recorders[0])


def bar(name: str) -> Progress:
    """Return a progress bar on the terminal."""
    shown = tqdm(desc=name, unit="question", mininterval=1)

    def show(done: int, total: int) -> None:
        if done == 1:
            shown.reset(total)
        shown.update(done - shown.n)

    return show


def _desk(pipeline: Pipeline) -> Desk:
    settings = _Defaults()
    return Desk(
        ModelProfile(
            route=_ToTheIndex().route,
            reply_generically=GenericAnswers(None).reply,
            pipeline=pipeline,
        ),
        gate=load_gate(settings.confidence_threshold).judge,
        wording=HandoffWording(
            not_found=settings.not_found_message, uncertain=settings.escalation_message
        ),
    )


class _ToTheIndex:
    """Every question is searched for, a follow-up as it stands."""

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route:
        del history
        return Route(Intent.DOMAIN, 1.0, "default", condense(text))


class _Defaults(Settings):
    """The settings as they are by default, whatever the environment says."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)


def _settings(one: EvalSet, model_url: str | None) -> Settings:
    made_with = f"{one.digest()}-{CHUNKER}.{CONVERTER}.{SCHEMA}"
    return _Defaults(
        data_dir=WORK / "indexes" / f"{one.name.replace(' ', '-')}-{made_with}",
        tenant=TENANT,
        openai_model=MODEL if model_url else None,
        openai_base_url=model_url,
        openai_api_key=SecretStr("none") if model_url else None,
    )


async def _index(one: EvalSet, parts: Components, data_dir: Path) -> None:
    for space, path in one.spaces.items():
        report = await sync_folder(
            Folder(path, space),
            parts.index,
            parts.embedder,
            tenant=TENANT,
            data_dir=data_dir,
            progress=ProgressBar(sys.stderr),
        )
        print("\n".join(report_lines(report)[:2]))


def _described(replay: Replay) -> str:
    """Say what is behind the figures: how many replies, from when."""
    days = " to ".join(dict.fromkeys(day.isoformat() for day in replay.dates or ()))
    answers, short = replay.count("answer"), replay.count("short")
    return f"recorded model ({answers} answers, {short} short replies, {days})"
