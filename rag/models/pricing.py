"""What a call costs, from the price table that comes with genai-prices; never from the network."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from genai_prices import calc_price
from genai_prices import types as prices

from rag.models.wire import Usage

_MICRO = Decimal(1_000_000)


def cost_micro_usd(usage: Usage, models: tuple[str, ...], base_url: str) -> int | None:
    """Return the price in millionths of a US dollar at the vendor behind ``base_url``.

    Args:
        usage: what the server counted.
        models: names to look up, the likeliest first; an Azure deployment may have any name,
            while the answer says which model stands behind it.
        base_url: decides whose prices hold.

    Returns:
        None when neither vendor nor model is in the table, as for one's own server.
    """
    counted = prices.Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cache_read_tokens=min(usage.cached_tokens, usage.prompt_tokens),
    )
    for model in models:
        try:
            price = calc_price(counted, model, provider_api_url=base_url)
        except LookupError:
            continue
        return int((price.total_price * _MICRO).to_integral_value(ROUND_HALF_UP))
    return None
