from __future__ import annotations

from bot.answering.limits import limits_status
from bot.domain.errors import StoreUnavailable
from bot.domain.health import ComponentStatus
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.domain.usage import Pause
from tests.bot.ledger import Ledger
from tests.builders import NOON


def settings(**limits: object) -> Settings:
    return load_settings(_env_file=None, **{"openai_model": "m", **limits})


async def part(configured: Settings, ledger: Ledger) -> ComponentStatus:
    return await limits_status(configured, ledger, ledger, now=lambda: NOON)


async def test_what_is_configured_is_listed() -> None:
    shown = await part(
        settings(
            model_tokens_per_day=2_000_000,
            model_usd_per_day=5,
            model_tokens_per_user_per_day=50_000,
        ),
        Ledger(),
    )

    assert shown.state == "ready"
    assert shown.detail == (
        "10 messages a minute from one person; 60 in one channel; 2,000,000 tokens a day; "
        "5.00 USD a day; 50,000 tokens a day for one person"
    )


async def test_without_limits_it_says_so() -> None:
    shown = await part(
        settings(rate_per_user_per_minute=0, rate_per_channel_per_minute=0), Ledger()
    )

    assert (shown.state, shown.detail) == ("absent", "nothing is limited.")


async def test_budgets_mean_nothing_without_a_model() -> None:
    ledger = Ledger()
    ledger.spend(10, 10.0)
    shown = await part(
        settings(openai_model=None, model_tokens_per_day=1, model_usd_per_day=1), ledger
    )

    assert (shown.state, "day" in shown.detail) == ("ready", False)


async def test_a_used_up_budget_is_shown_with_its_figures() -> None:
    ledger = Ledger()
    ledger.spend(1200, 0.5)
    ledger.spend(10**6, 100.0, hours=-13)
    shown = await part(settings(model_tokens_per_day=1000, model_usd_per_day=0.5), ledger)

    assert shown.state == "limited"
    assert shown.detail == "used up: 1,200 of 1,000 tokens today; 0.50 of 0.50 USD today."
    assert shown.line().startswith("  ~ limits           used up")


async def test_a_pause_is_shown_with_who_when_and_why() -> None:
    ledger = Ledger()
    ledger.pause = Pause("We move\nthe wiki.", "ops", NOON)
    shown = await part(settings(), ledger)

    assert shown.line() == (
        "  = limits           paused by ops since 2026-11-22 12:00 UTC: We move the wiki. "
        "Answer again: python -m bot resume"
    )
    assert shown.state == "paused"


async def test_a_record_that_is_away_is_a_failure() -> None:
    class Away(Ledger):
        async def current(self, tenant: str) -> Pause | None:
            raise StoreUnavailable("The disk is full.")

    assert await part(settings(), Away()) == ComponentStatus(
        "limits", "failed", "The disk is full."
    )
