"""Prints every setting there is: docs/settings.md, or .env.example."""

from __future__ import annotations

from bot.app.settings import ALL_SETTINGS
from bot.domain.settings_reference import env_example, settings_page


def settings_table(*, example: bool) -> int:
    """Print the table, or an example of the file."""
    text = env_example(ALL_SETTINGS) if example else settings_page(ALL_SETTINGS)
    print(text, end="")
    return 0
