"""How botbuilder is set up."""

from __future__ import annotations

from typing import Any

from msrest.universal_http.requests import ClientRetryPolicy

from bot.adapters.teams.calling.registration import set_up_quickly


def test_msrest_searches_no_list_of_codes_whenever_it_is_set_up() -> None:
    """ClientRetryPolicy looks 999 codes up in a list of 501: 3.4 ms, four times an activity."""
    before = _retried()
    set_up_quickly()
    assert isinstance(ClientRetryPolicy.safe_codes, frozenset)
    assert _retried() == before
    assert 408 in before
    assert 200 not in before


def _retried() -> list[int]:
    set_up: Any = ClientRetryPolicy
    return list(set_up().policy.status_forcelist)
