"""Where each setting comes from, told by the same readers that the settings are read with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource

Source = Literal["environment", ".env", "default", "command"]
"""command: the command that runs gave it. A source that holds an empty value counts for nothing."""


def sources_of(*read: BaseSettings) -> Mapping[str, Source]:
    """Read environment and ``.env`` once more, and return the source of each field, by its name.

    What several settings have in common is told of the first. Call it where the settings were
    just read, before either can have changed.
    """
    sources: dict[str, Source] = {}
    for settings in read:
        sources = {**_sources(settings), **sources}
    return sources


def _sources(settings: BaseSettings) -> Mapping[str, Source]:
    kind = type(settings)
    environment = _given(kind, EnvSettingsSource(kind)())
    file = _given(kind, DotEnvSettingsSource(kind)())
    sources: dict[str, Source] = {}
    for name in kind.model_fields:
        if name not in settings.model_fields_set:
            sources[name] = "default"
        elif name in environment:
            sources[name] = "environment"
        else:
            sources[name] = ".env" if name in file else "command"
    return sources


def _given(kind: type[BaseSettings], values: Mapping[str, object]) -> frozenset[str]:
    """Return the fields that a reader found; it names them by field or by alias."""
    return frozenset(
        name
        for name, field in kind.model_fields.items()
        if name in values or (field.alias is not None and field.alias in values)
    )
