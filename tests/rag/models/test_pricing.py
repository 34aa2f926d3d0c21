from __future__ import annotations

import pytest

from rag.models.client import cost_micro_usd
from rag.models.protocol import CachedTokens, Usage

OPENAI = "https://api.openai.com/v1/"
AZURE = "https://acme.openai.azure.com/openai/v1/"
USAGE = Usage(prompt_tokens=1_000_000, completion_tokens=1_000_000)


@pytest.mark.parametrize("base_url", [OPENAI, AZURE])
def test_a_known_model_has_a_price_in_whole_millionths(base_url: str) -> None:
    assert cost_micro_usd(USAGE, ("gpt-4o-mini",), base_url) == 750_000


def test_a_small_call_is_rounded_to_the_nearest_millionth() -> None:
    assert cost_micro_usd(Usage(prompt_tokens=10), ("gpt-4o-mini",), OPENAI) == 2


def test_an_azure_deployment_is_priced_by_the_model_that_answered() -> None:
    assert cost_micro_usd(USAGE, ("gpt-4o-mini-2024-07-18", "helpdesk"), AZURE) == 750_000
    assert cost_micro_usd(USAGE, ("helpdesk",), AZURE) is None


def test_cached_input_costs_less() -> None:
    cached = USAGE.model_copy(update={"prompt_tokens_details": CachedTokens(cached_tokens=500_000)})
    assert cost_micro_usd(cached, ("gpt-4o-mini",), OPENAI) == 712_500


def test_more_cached_than_sent_is_no_error() -> None:
    odd = Usage(prompt_tokens=10, prompt_tokens_details=CachedTokens(cached_tokens=99))
    assert cost_micro_usd(odd, ("gpt-4o-mini",), OPENAI) == 1


def test_ones_own_server_has_no_price() -> None:
    assert cost_micro_usd(USAGE, ("llama3.1", "gpt-4o-mini"), "http://127.0.0.1:11434/v1/") is None
