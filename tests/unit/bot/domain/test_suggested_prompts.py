"""Test what is offered where a conversation begins, and how a company words it."""

from __future__ import annotations

import pytest

from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.domain.suggested_prompts import DEFAULT_PROMPTS, SuggestedPrompt


def configured(**given: object) -> Settings:
    return load_settings(_env_file=None, **given)


def test_without_a_setting_the_prompts_suit_every_wiki() -> None:
    assert configured().prompts == DEFAULT_PROMPTS


@pytest.mark.mended(id="teams-5")
def test_a_prompt_has_a_title_of_its_own_or_is_its_question() -> None:
    own = configured(suggested_prompts="Leave = How many days? ; Is a=b?; Who pays?;")

    assert own.prompts == (
        SuggestedPrompt("Leave", "How many days?"),
        SuggestedPrompt("Is a", "b?"),
        SuggestedPrompt("Who pays?", "Who pays?"),
    )


def test_a_semicolon_alone_offers_nothing() -> None:
    assert configured(suggested_prompts=";").prompts == ()


@pytest.mark.parametrize("wrong", ["a;b;c;d;e", "=How?", "Leave=", "x" * 61, f"Leave={'x' * 301}"])
def test_what_a_platform_would_not_show_stops_the_start(wrong: str) -> None:
    with pytest.raises(SettingInvalid, match="SUGGESTED_PROMPTS"):
        configured(suggested_prompts=wrong)


def test_the_web_chat_offers_the_same_unless_it_has_examples_of_its_own() -> None:
    same = configured(suggested_prompts="Leave=How many days?")
    own = configured(suggested_prompts="Leave=How many days?", chat_examples="Who pays?")

    assert same.chat_starters == ("How many days?",)
    assert own.chat_starters == ("Who pays?",)
