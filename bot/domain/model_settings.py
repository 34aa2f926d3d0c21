"""Settings of the language models: the default one, more of its server, and named ones elsewhere.

A named model is configured by variables of its own, ``MODELS__NAME__…``, so that its key can be a
secret of the container like every other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints
from pydantic_settings import NoDecode

from bot.domain.errors import SettingInvalid
from bot.domain.messages import NO_MODEL
from bot.domain.urls import is_local_host, origin_of
from rag.config import SearchSettings

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high"]

NESTED = "__"
"""Between the parts of a named model's variables."""
USUAL_MODEL = "usual"
"""Stands for the default model where a channel's model is chosen; no model may be called so."""
_OPENAI_URL = "https://api.openai.com/v1/"

ModelName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]


class NamedModel(BaseModel):
    """One model with a server, key and prices of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: str = Field(
        min_length=1, description="Model or deployment of a named model (you choose NAME)."
    )
    base_url: str | None = Field(
        None, description="Its server, any compatible one; unset: OPENAI_BASE_URL."
    )
    api_key: SecretStr | None = Field(
        None,
        description="Its key; unset: OPENAI_API_KEY if that is for the same server, or "
        "azure-identity.",
    )
    timeout_seconds: float | None = Field(
        None,
        gt=0,
        le=300,
        description="Time limit of all its calls for one question; unset: OPENAI_TIMEOUT_SECONDS.",
    )
    reasoning_effort: ReasoningEffort | None = Field(
        None, description="How long it may think; unset: the lowest that it accepts."
    )
    input_usd_per_million: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="US dollars per million input tokens; unset: list price.",
    )
    output_usd_per_million: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="US dollars per million output tokens; set both or none.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageModel:
    """One configured model, whatever settings it comes from.

    ``name`` is what policies and requests call it, ``model`` what its server does. ``base_url``
    None is OpenAI itself. ``prices`` are US dollars for a million tokens of input and of output,
    None as listed. ``variables`` begin the names of its settings.
    """

    name: str
    model: str
    base_url: str | None
    api_key: SecretStr | None = field(repr=False)
    timeout_seconds: float
    reasoning_effort: ReasoningEffort | None
    prices: tuple[float, float] | None
    variables: str = "OPENAI_"

    @property
    def calibrated_as(self) -> str:
        """Return what its calibrations are kept by.

        For the default model and others of its server this is the name alone. A named model's adds
        all that makes its answers other ones: host, port and path of the server, and the reasoning
        effort. So the same model at two addresses never shares a calibration, nor does a name that
        is given to another model.
        """
        if self.variables == "OPENAI_":
            return self.model
        effort = f",{self.reasoning_effort}" if self.reasoning_effort else ""
        return f"{self.model}@{self.where}{effort}"

    @property
    def where(self) -> str:
        """Return host, port and path of its server, without credentials."""
        parts = urlsplit(self.base_url or _OPENAI_URL)
        return parts.netloc.rpartition("@")[2].lower() + parts.path.rstrip("/")

    def variable(self, name: str) -> str:
        """Return the environment variable of one of its settings, such as ``API_KEY``."""
        return f"{self.variables}{name}"


class LanguageModelSettings(SearchSettings):
    """The settings of all language models."""

    # The model
    openai_model: str | None = Field(
        None,
        description="Name of the language model, or of the deployment on Azure; unset: no model.",
    )
    openai_channel_models: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="More models or deployments on this server, separated by commas, that single "
        "channels can choose.",
    )
    openai_timeout_seconds: float = Field(
        20.0, gt=0, le=300, description="Time limit of all model calls for one question together."
    )
    openai_reasoning_effort: ReasoningEffort | None = Field(
        None,
        description="How long reasoning models may think; unset: the lowest that they accept.",
    )
    openai_input_usd_per_million: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="US dollars per million input tokens, for servers without known prices.",
    )
    openai_output_usd_per_million: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="US dollars per million output tokens; set both or none.",
    )
    models: Annotated[Mapping[ModelName, NamedModel], NoDecode] = Field(
        default_factory=dict,
        description="Named models, each with a server and key of its own: MODELS__NAME__MODEL "
        "and so on, docs/models.md.",
    )
    rest_models: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Models that a REST request may choose, separated by commas: names of "
        "configured models, or `none`.",
    )

    # Personal data: docs/personal-data.md
    pii_masking: Literal["remote", "always", "off"] = Field(
        "remote",
        description="For which models personal data is masked: those on other machines (`remote`), "
        "all on servers (`always`), or none (`off`).",
    )
    pii_masking_reversible: bool = Field(
        default=True,
        description="Restore masked values in the answer to their own question; `false`: show "
        "their kind, such as [email].",
    )
    pii_trusted_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Hosts of model servers, separated by commas, that count as this machine.",
    )

    @property
    def default_model(self) -> LanguageModel | None:
        """The model of channels that name none."""
        return None if self.openai_model is None else self._same_server(self.openai_model)

    @property
    def further_models(self) -> tuple[LanguageModel, ...]:
        """The models that a channel may name beside the default one."""
        there = dict.fromkeys(self.openai_channel_models)
        others = (self._same_server(name) for name in there if name != self.openai_model)
        return (*others, *(self._named(name, each) for name, each in self.models.items()))

    @property
    def language_models(self) -> tuple[LanguageModel, ...]:
        """All configured models, the default one first."""
        default = self.default_model
        return (*(() if default is None else (default,)), *self.further_models)

    @property
    def model_configured(self) -> bool:
        """Whether there is any model: the default one, or one that a channel may name."""
        return bool(self.language_models)

    def masks_for(self, base_url: str | None) -> bool:
        """Return whether personal data is masked for a model server; None is OpenAI itself."""
        if self.pii_masking != "remote":
            return self.pii_masking == "always"
        given = base_url or _OPENAI_URL
        try:
            host = urlsplit(given).hostname or ""
        except ValueError:
            # Opening the model rejects such an address, and names its variable.
            return True
        trusted = {each.casefold() for each in self.pii_trusted_hosts}
        return not is_local_host(given) and host.casefold() not in trusted

    @property
    def masks_embedded(self) -> bool:
        """Whether questions are masked for the embedder; the installed one is in this process."""
        address = self.embedding_base_url or self.openai_base_url
        return self.embedding_model is not None and self.masks_for(address)

    def _same_server(self, name: str) -> LanguageModel:
        return LanguageModel(
            name=name,
            model=name,
            base_url=self.openai_base_url,
            api_key=self.openai_api_key,
            timeout_seconds=self.openai_timeout_seconds,
            reasoning_effort=self.openai_reasoning_effort,
            prices=_prices(self.openai_input_usd_per_million, self.openai_output_usd_per_million),
        )

    def _named(self, name: str, given: NamedModel) -> LanguageModel:
        # The default model's key stays with the default model's server.
        shared = given.base_url is None or _origin(given.base_url) == _origin(self.openai_base_url)
        return LanguageModel(
            name=name,
            model=given.model,
            base_url=given.base_url or self.openai_base_url,
            api_key=given.api_key or (self.openai_api_key if shared else None),
            timeout_seconds=given.timeout_seconds or self.openai_timeout_seconds,
            reasoning_effort=given.reasoning_effort,
            prices=_prices(given.input_usd_per_million, given.output_usd_per_million),
            variables=f"MODELS{NESTED}{name.upper()}{NESTED}",
        )


def check_models(settings: LanguageModelSettings) -> None:
    """Reject names and prices that can't hold. Raises SettingInvalid, with the cure."""
    if NO_MODEL in settings.openai_channel_models:
        raise SettingInvalid(
            f"OPENAI_CHANNEL_MODELS names {NO_MODEL!r}, which stands for no model. Leave it out; "
            "every channel may be answered without one."
        )
    there = {settings.openai_model, *settings.openai_channel_models, NO_MODEL, USUAL_MODEL}
    for name in settings.models:
        if name in there:
            raise SettingInvalid(
                f"MODELS{NESTED}{name.upper()}{NESTED}… names a model {name!r}, which stands for "
                "another model already, or for none. Give it a name of its own."
            )
    known = [*(each.name for each in settings.language_models), NO_MODEL]
    unknown = [name for name in settings.rest_models if name not in known]
    if unknown:
        raise SettingInvalid(
            f"REST_MODELS names {unknown[0]!r}, which is no configured model. Name some of "
            f"{', '.join(known)}, or configure it: docs/models.md."
        )
    for variables, prices in _price_pairs(settings):
        if prices.count(None) == 1:
            raise SettingInvalid(
                f"One of {variables}INPUT_USD_PER_MILLION and {variables}OUTPUT_USD_PER_MILLION is "
                "set. Set both, or none: without them prices come from the list that is installed."
            )


def _price_pairs(
    settings: LanguageModelSettings,
) -> Iterator[tuple[str, tuple[float | None, float | None]]]:
    yield (
        "OPENAI_",
        (settings.openai_input_usd_per_million, settings.openai_output_usd_per_million),
    )
    for name, each in settings.models.items():
        given = (each.input_usd_per_million, each.output_usd_per_million)
        yield f"MODELS{NESTED}{name.upper()}{NESTED}", given


def _prices(input_usd: float | None, output_usd: float | None) -> tuple[float, float] | None:
    return None if input_usd is None or output_usd is None else (input_usd, output_usd)


def _origin(address: str | None) -> str:
    given = address or _OPENAI_URL
    try:
        return origin_of(given)
    except ValueError:
        # Opening the model rejects such an address, and names its variable.
        return given
