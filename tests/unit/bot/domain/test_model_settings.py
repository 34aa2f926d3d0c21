"""Tests of the settings of named models: what they mean, and how a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.domain.errors import SettingInvalid
from bot.domain.model_settings import LanguageModel
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.domain.usage import usage_limits

SECRET = "sk-very-secret"
OWN = {"MODELS__OWN__MODEL": "llama3.1", "MODELS__OWN__BASE_URL": "http://gpu.example:8000/v1/"}


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name, field in Settings.model_fields.items():
        monkeypatch.delenv((field.alias or name).upper(), raising=False)


def loaded(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return load_settings()


def only(settings: Settings) -> LanguageModel:
    (model,) = settings.further_models
    return model


def test_a_named_model_has_a_server_key_and_prices_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(f"MODELS__OWN__API_KEY={SECRET}\nOPENAI_API_KEY=sk-default\n")
    own = only(
        loaded(
            monkeypatch,
            **OWN,
            MODELS__OWN__INPUT_USD_PER_MILLION="0",
            MODELS__OWN__OUTPUT_USD_PER_MILLION="0.5",
            MODELS__OWN__REASONING_EFFORT="high",
            MODELS__OWN__TIMEOUT_SECONDS="60",
        )
    )

    assert (own.name, own.model, own.prices) == ("own", "llama3.1", (0.0, 0.5))
    assert own.api_key is not None
    assert own.api_key.get_secret_value() == SECRET
    assert (own.reasoning_effort, own.timeout_seconds) == ("high", 60)
    assert own.variable("API_KEY") == "MODELS__OWN__API_KEY"
    assert SECRET not in repr(own)


@pytest.mark.parametrize(
    ("address", "key"),
    [("", "sk-default"), ("https://api.openai.com/v1", "sk-default"), ("https://a.example", None)],
)
def test_the_default_key_stays_with_the_default_server(
    monkeypatch: pytest.MonkeyPatch, address: str, key: str | None
) -> None:
    named = {"MODELS__OWN__MODEL": "m", "MODELS__OWN__BASE_URL": address}
    own = only(loaded(monkeypatch, OPENAI_API_KEY="sk-default", **named))

    assert (own.api_key and own.api_key.get_secret_value()) == key


def test_a_calibration_belongs_to_model_address_and_effort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = loaded(
        monkeypatch,
        OPENAI_MODEL="llama3.1",
        OPENAI_CHANNEL_MODELS="other",
        **OWN,
        MODELS__TWIN__MODEL="llama3.1",
        MODELS__TWIN__BASE_URL="http://someone:secret@GPU2.example:8000/v1",
        MODELS__SLOW__MODEL="llama3.1",
        MODELS__SLOW__BASE_URL="http://gpu.example:8000/v1",
        MODELS__SLOW__REASONING_EFFORT="high",
    )

    assert {each.name: each.calibrated_as for each in settings.language_models} == {
        "llama3.1": "llama3.1",
        "other": "other",
        "own": "llama3.1@gpu.example:8000/v1",
        "twin": "llama3.1@gpu2.example:8000/v1",
        "slow": "llama3.1@gpu.example:8000/v1,high",
    }


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"MODELS__OWN__API_KEY": SECRET}, "MODELS__OWN__MODEL=(hidden)"),
        ({**OWN, "MODELS__OWN__APIKEY": SECRET}, "MODELS__OWN__APIKEY=(hidden)"),
        ({**OWN, "MODELS__OWN__API_KEY__X": SECRET}, "MODELS__OWN__API_KEY=(hidden)"),
        ({**OWN, "MODELS__OWN__TIMEOUT_SECONDS": "0"}, "MODELS__OWN__TIMEOUT_SECONDS='0'"),
        ({**OWN, "MODELS__OWN__INPUT_USD_PER_MILLION": "1"}, "OWN__OUTPUT_USD_PER_MILLION"),
        ({"MODELS": "own,other"}, "docs/models.md"),
        ({"MODELS__Ä__MODEL": "m"}, "letters, digits"),
        ({"MODELS__NONE__MODEL": "m"}, "a name of its own"),
        ({"MODELS__USUAL__MODEL": "m"}, "a name of its own"),
        ({**OWN, "OPENAI_MODEL": "own"}, "a name of its own"),
        ({**OWN, "REST_MODELS": "own, big"}, "REST_MODELS names 'big'"),
    ],
)
def test_what_is_wrong_is_named_with_a_cure_and_without_a_key(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    with pytest.raises(SettingInvalid) as raised:
        loaded(monkeypatch, **variables)

    assert words in str(raised.value)
    assert SECRET not in str(raised.value)


def test_requests_may_name_no_model_unless_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded(monkeypatch, **OWN).rest_models == ()
    assert loaded(monkeypatch, REST_MODELS="own, none").rest_models == ("own", "none")


def test_budgets_hold_where_only_channels_have_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch, **OWN, MODEL_USD_PER_DAY="2")

    assert settings.default_model is None
    assert usage_limits(settings).usd == 2


def test_models_written_as_one_mapping_are_refused_without_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SettingInvalid) as raised:
        loaded(monkeypatch, MODELS=f'{{"local": {{"model": "m", "api_key": "{SECRET}"}}}}')

    assert SECRET not in str(raised.value)
    assert "docs/models.md" in str(raised.value)
