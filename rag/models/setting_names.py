"""What the settings of a model are called, so that each error names the one to change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SettingNames:
    """The variables that say which model, where it is, and the key to it."""

    model: str = "OPENAI_MODEL"
    base_url: str = "OPENAI_BASE_URL"
    api_key: str = "OPENAI_API_KEY"


CHAT = SettingNames()
