from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.domain.errors import SettingInvalid
from bot.domain.settings_loading import load_settings
from bot.domain.usage import UsageLimits, day_of, usage_limits


def test_a_day_is_that_of_utc() -> None:
    assert day_of(datetime.fromisoformat("2026-11-23T01:30:00+02:00")) == datetime(
        2026, 11, 22, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("model", "limits"), [("m", UsageLimits(1, 2, 3, 4.5, 6)), (None, UsageLimits(1, 2))]
)
def test_budgets_hold_only_where_there_is_a_model(model: str | None, limits: UsageLimits) -> None:
    configured = load_settings(
        _env_file=None,
        openai_model=model,
        rate_per_user_per_minute=1,
        rate_per_channel_per_minute=2,
        model_tokens_per_day=3,
        model_usd_per_day=4.5,
        model_tokens_per_user_per_day=6,
    )

    assert usage_limits(configured) == limits


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate_per_user_per_minute": -1},
        {"rate_per_channel_per_minute": -1},
        {"model_tokens_per_day": -1},
        {"model_usd_per_day": -0.1},
        {"model_usd_per_day": float("nan")},
        {"model_tokens_per_user_per_day": -1},
    ],
    ids=str,
)
def test_a_limit_below_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingInvalid, match=next(iter(wrong)).upper()):
        load_settings(_env_file=None, **wrong)
