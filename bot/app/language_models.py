"""Open the configured language models, each with its own server, prices and circuit breaker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.domain.errors import SettingInvalid
from bot.domain.messages import NO_MODEL
from bot.domain.model_settings import LanguageModel
from bot.domain.settings import Settings
from rag.personal_data.names import DirectoryNames
from rag.ports import ChatMessage, ChatModel, Embedder, Prompt

if TYPE_CHECKING:
    # The clients of model servers take a second to import; without a model nobody needs them.
    from rag.models.chat_model import ModelSettings
    from rag.personal_data.masking import Masker


PROBE = Prompt(
    id="doctor@1",
    messages=(ChatMessage("user", "Answer with the one word: ready"),),
    max_output_tokens=64,
)
"""Shows for a few tokens whether a model answers at all."""


@dataclass(frozen=True, slots=True)
class OpenModel:
    """An open model, and what is configured of it."""

    configured: LanguageModel
    chat: ChatModel


@dataclass(frozen=True, slots=True)
class PersonalDataMasking:
    """Puts what masks personal data before the models and the embedder that may not get it.

    ``masker`` is None where no setting asks for masking.
    """

    settings: Settings
    masker: Masker | None

    @property
    def names(self) -> DirectoryNames | None:
        """The names of people that are masked, None where nothing is."""
        return None if self.masker is None else self.masker.names

    def model(self, configured: LanguageModel, model: ChatModel) -> ChatModel:
        """Return what calls a model with masked prompts, or the model itself."""
        if self.masker is None or not self.settings.masks_for(configured.base_url):
            return model
        from rag.models.masking_wrappers import MaskingModel

        return MaskingModel(model, self.masker, reversible=self.settings.pii_masking_reversible)

    def for_questions(self, embedder: Embedder | None) -> Embedder | None:
        """Return what embeds questions without personal data, or the embedder itself."""
        if embedder is None or self.masker is None or not self.settings.masks_embedded:
            return embedder
        from rag.models.masking_wrappers import MaskingEmbedder

        return MaskingEmbedder(embedder, self.masker)


def personal_data_masking(settings: Settings) -> PersonalDataMasking:
    """Return the masking that settings ask for; without any, no recogniser is imported."""
    models = any(settings.masks_for(each.base_url) for each in settings.language_models)
    if not models and not settings.masks_embedded:
        return PersonalDataMasking(settings, None)
    from rag.personal_data.masking import Masker

    return PersonalDataMasking(settings, Masker(DirectoryNames()))


def open_language_models(
    chosen: Sequence[LanguageModel],
    closing: AsyncExitStack,
    *,
    guarded: bool,
    masking: PersonalDataMasking,
    watch: Callable[[ChatModel], ChatModel] | None = None,
) -> Mapping[str, OpenModel]:
    """Open models and return them by name; ``guarded`` by a circuit breaker each.

    ``masking`` keeps personal data from those that may not get it. ``watch`` wraps each, for
    evaluation.

    Nothing is sent yet. Raises ModelUnavailable, which names the setting to change.
    """
    opened = {
        each.name: masking.model(each, _open(each, closing, guarded=guarded)) for each in chosen
    }
    return {
        each.name: OpenModel(each, watch(opened[each.name]) if watch else opened[each.name])
        for each in chosen
    }


def _open(configured: LanguageModel, closing: AsyncExitStack, *, guarded: bool) -> ChatModel:
    from rag.models.chat_model import TracedModel, open_model
    from rag.models.circuit_breaker import CircuitBreaker

    model = open_model(client_settings(configured))
    closing.push_async_callback(model.close)
    traced = TracedModel(model, configured.base_url, requested=configured.model)
    return CircuitBreaker(traced) if guarded else traced


def client_settings(configured: LanguageModel) -> ModelSettings:
    """Return the settings of a model's client."""
    from rag.models.chat_model import ModelSettings
    from rag.models.client import SettingNames
    from rag.models.protocol import Prices

    key, prices = configured.api_key, configured.prices
    return ModelSettings(
        model=configured.model,
        base_url=configured.base_url,
        api_key=key.get_secret_value() if key else None,
        timeout_seconds=configured.timeout_seconds,
        reasoning_effort=configured.reasoning_effort,
        prices=None if prices is None else Prices(*prices),
        name="" if configured.name == configured.model else configured.name,
        names=SettingNames(
            model=configured.variable("MODEL"),
            base_url=configured.variable("BASE_URL"),
            api_key=configured.variable("API_KEY"),
            timeout=configured.variable("TIMEOUT_SECONDS"),
        ),
    )


def estimated_micro_usd(
    configured: LanguageModel, input_tokens: int, output_tokens: int
) -> int | None:
    """Return the price of some tokens in millionths of a US dollar; None if it is unknown."""
    from rag.models.client import OPENAI_BASE_URL, cost_micro_usd
    from rag.models.protocol import Prices, Usage

    usage = Usage(prompt_tokens=input_tokens, completion_tokens=output_tokens)
    if configured.prices is not None:
        return Prices(*configured.prices).micro_usd(usage)
    return cost_micro_usd(usage, (configured.model,), configured.base_url or OPENAI_BASE_URL)


def named_models(settings: Settings, names: Sequence[str]) -> tuple[LanguageModel | None, ...]:
    """Return the models of some names, each once; None stands for NO_MODEL.

    Without names the default one, or None if there is none. Raises SettingInvalid for a name that
    is not configured.
    """
    if not names:
        return (settings.default_model,)
    known = {each.name: each for each in settings.language_models}
    unknown = [name for name in names if name not in {*known, NO_MODEL}]
    if unknown:
        raise SettingInvalid(
            f"There is no model {unknown[0]!r}. Name one of {', '.join([*known, NO_MODEL])}, or "
            f"configure it: MODELS__{unknown[0].upper()}__MODEL and so on, docs/models.md."
        )
    return tuple(known.get(name) for name in dict.fromkeys(names))
