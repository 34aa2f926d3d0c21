"""The parts that every process of the bot is made of, opened and closed together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from bot.desk import Desk
from bot.domain.errors import SettingInvalid
from bot.domain.handoff import HandoffWording
from bot.domain.ports import StillReadable
from bot.domain.settings import Settings
from bot.domain.types import NO_MODEL
from bot.gating.gate import GATE_FILE, Gate, load_gate
from bot.gating.gate_file import calibration_name
from bot.routing.generic import GenericAnswers
from bot.routing.intents.classifier import IntentClassifier, load_classifier
from bot.routing.router import Router
from bot.ways import Way
from prompts.files import load_prompt
from rag.answer.extractive import ExtractiveComposer
from rag.answer.grounded import GroundedComposer, approximate_tokens, utc_today
from rag.errors import ModelUnavailable
from rag.factory import open_embedder, open_installed_embedder, open_search_index
from rag.pipeline import Pipeline
from rag.ports import ChatModel, Composer, Embedder, SearchIndex

_ANSWER, _ANSWER_ATTACHED = "answer", "answer_attached"
"""The prompts that answer from passages."""


@dataclass(frozen=True, slots=True)
class Parts:
    """``embedder_trouble`` says why there is none; then search is by keyword alone.

    ``still`` takes a last look at pages before they are shown, where that is wanted.
    ``uncalibrated`` names the models, each with its prompt, whose answers the gate judges by its
    careful default.
    """

    index: SearchIndex
    embedder: Embedder | None
    embedder_trouble: str
    model: ChatModel | None
    pipeline: Pipeline
    desk: Desk
    still: StillReadable | None = None
    uncalibrated: tuple[str, ...] = ()


def _as_it_is(composer: Composer) -> Composer:
    return composer


@asynccontextmanager
async def open_parts(
    settings: Settings,
    observe: Callable[[Composer], Composer] = _as_it_is,
    *,
    fills: bool = False,
    still: StillReadable | None = None,
    today: Callable[[], date] = utc_today,
    superseded: Collection[str] = (),
) -> AsyncIterator[Parts]:
    """Open index, embedder and model, and make the desk of them.

    ``observe`` may wrap the composer; evaluation records by it what the gate holds back.
    ``fills``: this process writes pages itself, so that also an index in Azure is made where there
    is none; whoever only answers has no right to that, and needs none.
    ``today`` is the day that a model is told, which evaluation fixes; ``superseded`` are the labels
    of pages that it is warned of.

    Raises IndexUnavailable, IndexMismatch; SettingInvalid or ModelUnavailable for settings that
    cannot work.
    """
    async with AsyncExitStack() as closing:
        embedder, trouble = await _embedder(settings, closing)
        index = await _index(settings, embedder, closing, fills=fills)
        model = _model(settings, settings.openai_model, closing)
        near = await _near(settings, embedder, closing)
        context = _Context(today, superseded)
        ways = _Ways(settings, index, embedder, near, load_classifier(), context)
        configured = ways.made(model, observe)
        others = {NO_MODEL: ways.made(None)}
        for name in settings.openai_channel_models:
            other = None if name == settings.openai_model else _model(settings, name, closing)
            others[name] = ways.made(other) if other else configured
        gate = load_gate(settings.confidence_threshold, gate_path(settings))
        yield Parts(
            index=index,
            embedder=embedder,
            embedder_trouble=trouble,
            model=model,
            pipeline=configured.pipeline,
            desk=_desk(settings, configured, others, still, gate),
            still=still,
            uncalibrated=_uncalibrated(gate, (configured, *others.values())),
        )


def gate_path(settings: Settings) -> Path:
    """Return the gate's file: one's own in the data directory, else the one that is shipped."""
    own = settings.data_dir / GATE_FILE.name
    return own if own.exists() else GATE_FILE


async def _embedder(settings: Settings, closing: AsyncExitStack) -> tuple[Embedder | None, str]:
    try:
        return await closing.enter_async_context(open_embedder(settings))
    except ModelUnavailable as error:
        # Better found by their words than not at all.
        return None, str(error)


async def _near(
    settings: Settings, embedder: Embedder | None, closing: AsyncExitStack
) -> Embedder | None:
    """Return what routes a question and picks sentences: many texts, and nobody may wait.

    The classifier and the weights of both were learned with the installed embedder, whatever
    search embeds with.
    """
    if settings.embedding_model is None:
        return embedder
    near, _ = await closing.enter_async_context(open_installed_embedder())
    return near


async def _index(
    settings: Settings, embedder: Embedder | None, closing: AsyncExitStack, *, fills: bool
) -> SearchIndex:
    _make(settings.data_dir)
    write = fills or not settings.azure_search_configured
    index = await open_search_index(settings, embedder, write=write)
    closing.push_async_callback(index.close)
    return index


def _make(data_dir: Path) -> None:
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingInvalid(
            f"FRONTDESK_DATA_DIR={str(data_dir)!r} can't be used: {error.strerror}. Name a folder "
            "that this user may write to."
        ) from error


def _model(settings: Settings, name: str | None, closing: AsyncExitStack) -> ChatModel | None:
    if name is None:
        return None
    from rag.models.chat.openai_compatible import ModelSettings, TracedModel, open_model

    key = settings.openai_api_key
    model = open_model(
        ModelSettings(
            model=name,
            base_url=settings.openai_base_url,
            api_key=key.get_secret_value() if key else None,
            timeout_seconds=settings.openai_timeout_seconds,
        )
    )
    closing.push_async_callback(model.close)
    return TracedModel(model, settings.openai_base_url)


@dataclass(frozen=True, slots=True)
class _Context:
    """What a model is told beside question and pages; see ``open_parts``."""

    today: Callable[[], date]
    superseded: Collection[str]


@dataclass(frozen=True, slots=True)
class _Ways:
    """What every way of answering has in common; ``near`` is an embedder in this process."""

    settings: Settings
    index: SearchIndex
    embedder: Embedder | None
    near: Embedder | None
    classifier: IntentClassifier | None
    context: _Context

    def made(
        self, model: ChatModel | None, observe: Callable[[Composer], Composer] = _as_it_is
    ) -> Way:
        """Return the way that answers with a model, or without one."""
        mode = self.settings.router if model else "cascade"
        composer = observe(_composer(model, self.near, self.context))
        top_k = self.settings.model_top_k if model else self.settings.top_k
        return Way(
            router=Router(self.near, self.classifier, model, mode=mode),
            generic=GenericAnswers(model),
            pipeline=Pipeline(self.index, self.embedder, composer, top_k=top_k),
            model=model.name if model else "",
        )


def _composer(model: ChatModel | None, embedder: Embedder | None, context: _Context) -> Composer:
    if model is None:
        return ExtractiveComposer(embedder)
    count_tokens = approximate_tokens if embedder is None else embedder.count_tokens
    return GroundedComposer(
        model,
        load_prompt(_ANSWER),
        attached_prompt=load_prompt(_ANSWER_ATTACHED),
        count_tokens=count_tokens,
        today=context.today,
        superseded=context.superseded,
    )


def _asks_people(settings: Settings) -> frozenset[str]:
    """Return the platforms that have a place where people are asked."""
    places = {
        "slack": settings.slack_escalation_channel,
        "teams": settings.teams_escalation_channel,
    }
    return frozenset(platform for platform, place in places.items() if place)


def _asks_named(settings: Settings) -> frozenset[str]:
    """Return the platforms on which a channel may name its people."""
    platforms = {"slack": settings.slack_configured, "teams": settings.teams_configured}
    return frozenset(platform for platform, is_on in platforms.items() if is_on)


def _uncalibrated(gate: Gate, ways: Iterable[Way]) -> tuple[str, ...]:
    models = dict.fromkeys(way.model for way in ways if way.model)
    prompts = [load_prompt(name).id for name in (_ANSWER, _ANSWER_ATTACHED)]
    wanted = [(model, prompt) for model in models for prompt in prompts]
    return tuple(
        f"{model} with {prompt}"
        for model, prompt in wanted
        if not gate.knows(calibration_name(model, prompt))
    )


def _desk(
    settings: Settings,
    configured: Way,
    others: Mapping[str, Way],
    still: StillReadable | None,
    gate: Gate,
) -> Desk:
    return Desk(
        router=configured.router,
        generic=configured.generic,
        pipeline=configured.pipeline,
        model=configured.model,
        others=others,
        gate=gate,
        wording=HandoffWording(
            not_found=settings.not_found_message,
            uncertain=settings.escalation_message,
            asks_people=_asks_people(settings),
            asks_named=_asks_named(settings),
        ),
        still=still,
    )
