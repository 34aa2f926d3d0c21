"""Open the components that every process needs, and report their status.

Components are the index, the embedder, the chat model, the pipeline and the desk. Readiness, the
board and the start-up lines show their status.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Mapping,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from bot.answering.answer_cache import SavedAnswers
from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.gate import GATE_FILE, Gate, calibration_name, load_gate
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.intent_classifier import IntentClassifier, load_classifier
from bot.answering.routing.languages import LanguageDetector
from bot.answering.routing.router import Router
from bot.answering.standard_answers import StandardAnswers
from bot.app.answer_cache import build_answer_cache
from bot.app.language_models import (
    OpenModel,
    PersonalDataMasking,
    named_models,
    open_language_models,
    personal_data_masking,
)
from bot.domain.errors import SettingInvalid
from bot.domain.handoff import HandoffWording
from bot.domain.messages import NO_MODEL
from bot.domain.model_settings import LanguageModel
from bot.domain.ports import RechecksPermissions
from bot.domain.settings import Settings
from prompts.files import load_prompt
from rag.answer.extractive import ExtractiveComposer
from rag.answer.grounded import GroundedComposer, approximate_tokens, utc_today
from rag.embedding import word_test
from rag.errors import ModelUnavailable
from rag.factory import open_embedder, open_installed_embedder, open_search_index
from rag.personal_data.names import DirectoryNames
from rag.pipeline import Pipeline
from rag.ports import ChatModel, Composer, Embedder, SearchIndex
from rag.search_planning import SearchPlanner

if TYPE_CHECKING:
    from rag.index.azure.index import Opening

_ANSWER, _ANSWER_ATTACHED, _ANSWER_TRANSLATED = ANSWERING = (
    "answer",
    "answer_attached",
    "answer_translated",
)
"""The prompts that answer from passages."""


@dataclass(frozen=True, slots=True)
class Components:
    """The open components of a process.

    ``embedder`` embeds questions, ``page_embedder`` pages, whose text is never masked;
    ``embedder_trouble`` is why there is none; search is by keyword alone then. ``names`` are those
    of the workspace's people, which are masked for models elsewhere, None if nothing is. ``models``
    are by name, ``pipeline`` is that of the default one, or of none. ``recheck``
    checks pages once more before they are shown, where that is configured. ``uncalibrated`` names
    the models, each with its prompt, whose answers the gate judges by its careful default.
    """

    index: SearchIndex
    embedder: Embedder | None
    embedder_trouble: str
    models: Mapping[str, OpenModel]
    pipeline: Pipeline
    desk: Desk
    gate: Gate
    recheck: RechecksPermissions | None = None
    uncalibrated: tuple[str, ...] = ()
    page_embedder: Embedder | None = None
    names: DirectoryNames | None = None


@asynccontextmanager
async def open_components(
    settings: Settings,
    observe: Callable[[Composer], Composer] | None = None,
    *,
    fills: bool = False,
    recheck: RechecksPermissions | None = None,
    today: Callable[[], date] = utc_today,
    superseded: Collection[str] = (),
    watch: Callable[[ChatModel], ChatModel] | None = None,
    measured: str = "",
    gate: Path | None = None,
    saved: SavedAnswers | None = None,
    azure: Opening | None = None,
) -> AsyncIterator[Components]:
    """Open index, embedder and model, and build the desk from them.

    ``observe`` wraps the composer; evaluation uses it to record what the gate holds back. What is
    observed is one model alone, the ``measured`` one by name (default: the usual one): its
    failures are neither answered without it nor counted against it. ``watch`` wraps that model.
    ``gate`` is the gate's file, default: that of the settings.
    ``fills``: this process writes pages itself, so a missing index is created in Azure too; a
    process that only answers lacks that right, and does not need it. ``today`` returns the day that
    the model is given, which evaluation fixes; ``superseded`` are the labels of pages that the
    model is warned of, and that are marked as sources. ``saved`` are the answers of the record, for
    ANSWER_CACHE; None composes every answer. ``azure`` are options of Azure AI Search beyond the
    settings.

    Raises IndexUnavailable, IndexMismatch; SettingInvalid or ModelUnavailable for settings that
    cannot work.
    """
    async with AsyncExitStack() as closing:
        page_embedder, trouble = await _open_embedder(settings, closing)
        index = await _open_index(settings, page_embedder, closing, fills=fills, azure=azure)
        masking = personal_data_masking(settings)
        embedder = masking.for_questions(page_embedder)
        default, wanted = settings.default_model, settings.language_models
        if observe is not None:
            (default,) = named_models(settings, [measured] if measured else [])
            wanted = () if default is None else (default,)
        models = open_language_models(
            wanted, closing, guarded=observe is None, masking=masking, watch=watch
        )
        near = await _open_local_embedder(settings, embedder, closing)
        context = _PromptContext(today, superseded)
        detector = LanguageDetector(settings.wiki_language, word_test(near))
        pipelines = _ModelPipelines(
            settings, index, embedder, near, load_classifier(), detector, context, masking
        )
        profiles = {name: pipelines.build(each, observe) for name, each in models.items()}
        plain = pipelines.build(None, None if profiles else observe)
        configured = plain if default is None else profiles[default.name]
        gate = gate or gate_path(settings)
        judge = load_gate(settings.confidence_threshold, gate)
        cache = build_answer_cache(
            settings,
            saved,
            index,
            embedder=embedder,
            gate=judge,
            gate_file=gate,
            recheck=recheck,
            today=today,
            superseded=superseded,
        )
        yield Components(
            index=index,
            embedder=embedder,
            embedder_trouble=trouble,
            models=models,
            pipeline=configured.pipeline,
            desk=Desk(
                configured,
                others={**profiles, NO_MODEL: plain},
                gate=judge.judge,
                wording=_handoff_wording(settings),
                recheck=recheck,
                superseded=superseded,
                falls_back=observe is None,
                standard=StandardAnswers(index, near),
                cache=cache,
            ),
            gate=judge,
            recheck=recheck,
            uncalibrated=_uncalibrated_models(judge, profiles.values()),
            page_embedder=page_embedder,
            names=masking.names,
        )


def gate_path(settings: Settings) -> Path:
    """Return the path of the gate file: the one in the data directory, else the one shipped."""
    certified = settings.data_dir / GATE_FILE.name
    return certified if certified.exists() else GATE_FILE


async def _open_embedder(
    settings: Settings, closing: AsyncExitStack
) -> tuple[Embedder | None, str]:
    try:
        return await closing.enter_async_context(open_embedder(settings))
    except ModelUnavailable as error:
        # Keyword search alone is better than none.
        return None, str(error)


async def _open_local_embedder(
    settings: Settings, embedder: Embedder | None, closing: AsyncExitStack
) -> Embedder | None:
    """Return the embedder for routing and for picking sentences, which must be fast on many texts.

    The classifier and the weights of both were trained with the installed embedder, whatever
    embedder search uses.
    """
    if settings.embedding_model is None:
        return embedder
    near, _ = await closing.enter_async_context(open_installed_embedder(settings))
    return near


async def _open_index(
    settings: Settings,
    embedder: Embedder | None,
    closing: AsyncExitStack,
    *,
    fills: bool,
    azure: Opening | None,
) -> SearchIndex:
    _create_data_dir(settings.data_dir)
    write = fills or not settings.azure_search_configured
    index = await open_search_index(settings, embedder, write=write, azure=azure)
    closing.push_async_callback(index.close)
    return index


def _create_data_dir(data_dir: Path) -> None:
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingInvalid(
            f"FRONTDESK_DATA_DIR={str(data_dir)!r} can't be used: {error.strerror}. Name a folder "
            "that this user may write to."
        ) from error


@dataclass(frozen=True, slots=True)
class _PromptContext:
    """A model's input beside question and pages; see ``open_components``."""

    today: Callable[[], date]
    superseded: Collection[str]


@dataclass(frozen=True, slots=True)
class _ModelPipelines:
    """Builds answer pipelines over shared components; ``near`` is an embedder in this process."""

    settings: Settings
    index: SearchIndex
    embedder: Embedder | None
    near: Embedder | None
    classifier: IntentClassifier | None
    detector: LanguageDetector
    context: _PromptContext
    masking: PersonalDataMasking

    def build(
        self, opened: OpenModel | None, observe: Callable[[Composer], Composer] | None = None
    ) -> ModelProfile:
        """Return the profile that answers with a model, or without one."""
        model = opened.chat if opened else None
        mode = self.settings.router if model else "cascade"
        composer = _composer_for(model, self.near, self.context)
        composer = observe(composer) if observe else composer
        top_k = self.settings.model_top_k if model else self.settings.top_k
        profile = ModelProfile(
            masker=self.masking.masker if self.settings.masks_embedded else None,
            route=Router(
                self.near, self.classifier, model, mode=mode, detector=self.detector
            ).route,
            reply_generically=GenericAnswers(model).reply,
            pipeline=Pipeline(
                self.index,
                self.embedder,
                composer,
                top_k=top_k,
                similarity_floor=self.settings.similarity_floor,
                planner=self._planner_for(model),
                is_word=word_test(self.near) if self.settings.spelling else None,
            ),
        )
        return profile if opened is None else self._of_model(profile, opened.configured)

    def _of_model(self, profile: ModelProfile, configured: LanguageModel) -> ModelProfile:
        masks = self.settings.masks_for(configured.base_url)
        return replace(
            profile,
            model=configured.name,
            calibrated_as=configured.calibrated_as,
            seconds=configured.timeout_seconds,
            masker=self.masking.masker if masks else profile.masker,
        )

    def _planner_for(self, model: ChatModel | None) -> SearchPlanner | None:
        if model is None or self.settings.search != "planned":
            return None
        return SearchPlanner(model, load_prompt("search_plan"), self.context.today)


def _composer_for(
    model: ChatModel | None, embedder: Embedder | None, context: _PromptContext
) -> Composer:
    if model is None:
        return ExtractiveComposer(embedder)
    count_tokens = approximate_tokens if embedder is None else embedder.count_tokens
    return GroundedComposer(
        model,
        load_prompt(_ANSWER),
        attached_prompt=load_prompt(_ANSWER_ATTACHED),
        translated_prompt=load_prompt(_ANSWER_TRANSLATED),
        count_tokens=count_tokens,
        today=context.today,
        superseded=context.superseded,
    )


def _platforms_with_experts(settings: Settings) -> frozenset[str]:
    """Return the platforms with a configured escalation channel."""
    places = {
        "slack": settings.slack_escalation_channel,
        "teams": settings.teams_escalation_channel,
    }
    return frozenset(platform for platform, place in places.items() if place)


def _platforms_naming_experts(settings: Settings) -> frozenset[str]:
    """Return the platforms on which a channel may name its own experts."""
    platforms = {"slack": settings.slack_configured, "teams": settings.teams_configured}
    return frozenset(platform for platform, is_on in platforms.items() if is_on)


def _uncalibrated_models(gate: Gate, profiles: Iterable[ModelProfile]) -> tuple[str, ...]:
    prompts = [load_prompt(name).id for name in ANSWERING]
    return tuple(
        f"{profile.model} with {prompt}"
        for profile in profiles
        for prompt in prompts
        if not gate.knows(calibration_name(profile.calibrated_as, prompt))
    )


def _handoff_wording(settings: Settings) -> HandoffWording:
    return HandoffWording(
        not_found=settings.not_found_message,
        uncertain=settings.escalation_message,
        wiki_language=settings.wiki_language,
        asks_people=_platforms_with_experts(settings),
        asks_named=_platforms_naming_experts(settings),
    )
