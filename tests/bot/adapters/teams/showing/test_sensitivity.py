"""How sensitive an answer is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.errors import SettingInvalid
from bot.domain.interactions import Clarification
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import connect
from bot.platforms.teams.rendering.labels import NO_SENSITIVITY, sensitivity_of
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, VPN
from tests.bot.adapters.teams.tenant.names import APP_ID, ENTRA

SECRET = replace(VPN, labels=("it", "Secret"))
INTERNAL = replace(VPN, labels=("internal",))
MARKED = sensitivity_of(("secret=Confidential \\ IT", "internal=Internal only"))


def test_the_most_sensitive_page_wins_wherever_it_stands() -> None:
    answer = replace(ANSWER, sources=(VPN, INTERNAL, SECRET))
    assert MARKED.usage(answer) == {"@type": "CreativeWork", "name": "Confidential \\ IT"}


def test_pages_that_are_only_offered_count() -> None:
    for response in (
        replace(HANDED_OVER, suggestions=(VPN, INTERNAL)),
        Clarification(text="Which?", suggestions=(INTERNAL,)),
    ):
        assert MARKED.usage(response) == {"@type": "CreativeWork", "name": "Internal only"}


def test_pages_without_such_a_label_are_not_marked() -> None:
    assert MARKED.usage(ANSWER) is None
    assert NO_SENSITIVITY.usage(replace(ANSWER, sources=(SECRET,))) is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("secret", "'secret', which is not LABEL=Words"),
        ("=Confidential", "LABEL=Words"),
        ("secret=", "LABEL=Words"),
        (f"secret={'x' * 81}", "at most 80"),
        ("secret=A,Secret=B", "'secret' twice"),
    ],
)
def test_a_setting_that_says_nothing_stops_the_start(given: str, told: str) -> None:
    settings = load_settings(
        _env_file=None,
        microsoft_app_id=APP_ID,
        microsoft_app_password="secret",
        microsoft_app_tenant_id=ENTRA,
        teams_sensitivity=given,
    )
    with pytest.raises(SettingInvalid, match=told) as refused:
        connect(settings)
    assert "TEAMS_SENSITIVITY" in str(refused.value)
