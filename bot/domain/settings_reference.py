"""Describe every setting: variable, meaning, default, and the source of its current value.

Generates docs/settings.md and .env.example, and the data of the board's settings page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource

from bot.domain.model_settings import NESTED, NamedModel

_HEAD = """# Settings

By environment variable or in a file named `.env` beside the Makefile; the environment wins. An empty value counts as unset.
A wrong value stops the start with one line: variable, value, cure. Made by `python -m bot settings`.

| variable | meaning | default |
|---|---|---|
"""

SettingsClasses = Sequence[type[BaseSettings]]
"""The settings of all processes; the first description of a shared setting counts."""


def settings_page(classes: SettingsClasses) -> str:
    """Return docs/settings.md."""
    return _HEAD + "".join(_row(name, field) for name, field in fields_of(classes).items())


def env_example(classes: SettingsClasses) -> str:
    """Return .env.example: every variable, commented out."""
    lines = ["# Copy to .env and fill in what you need; docs/settings.md explains each.\n"]
    for name, field in fields_of(classes).items():
        lines.append(f"\n# {field.description}\n# {name}={_default(field)}\n")
    return "".join(lines)


def fields_of(classes: SettingsClasses) -> Mapping[str, FieldInfo]:
    """Return every setting once by its environment variable, in order."""
    fields: dict[str, FieldInfo] = {}
    for settings in classes:
        for name, field in settings.model_fields.items():
            for variable_name, each in _variables(name, field):
                fields.setdefault(variable_name, each)
    return fields


def _variables(name: str, field: FieldInfo) -> Iterator[tuple[str, FieldInfo]]:
    """Yield a field by its variable; for the named models each of a model's variables."""
    if name != "models":
        yield variable(name, field), field
        return
    for own, each in NamedModel.model_fields.items():
        yield NESTED.join(("MODELS", "NAME", own.upper())), each


def variable(name: str, field: FieldInfo) -> str:
    """Return the environment variable of a field."""
    return (field.alias or name).upper()


def _row(name: str, field: FieldInfo) -> str:
    meaning = (field.description or "").replace("|", "\\|")
    default = _default(field)
    return f"| `{name}` | {meaning} | {f'`{default}`' if default else ''} |\n"


def _default(field: FieldInfo) -> str:
    value = None if field.is_required() else field.get_default()
    if value is None or isinstance(value, tuple):
        return ",".join(value or ())
    return str(value).lower() if isinstance(value, bool) else str(value)


SettingOrigin = Literal["environment", ".env", "default", "command"]
"""command: set by the running command. An empty value counts as unset."""


def setting_origins(*read: BaseSettings) -> Mapping[str, SettingOrigin]:
    """Read environment and ``.env`` again, and return the source of each field by its name.

    For a shared field the first settings count. Call it right after reading the settings, before
    either source can change.
    """
    sources: dict[str, SettingOrigin] = {}
    for settings in read:
        sources = {**_origins(settings), **sources}
    return sources


def _origins(settings: BaseSettings) -> Mapping[str, SettingOrigin]:
    kind = type(settings)
    environment = _fields_in(kind, EnvSettingsSource(kind)())
    file = _fields_in(kind, DotEnvSettingsSource(kind)())
    sources: dict[str, SettingOrigin] = {}
    for name in kind.model_fields:
        if name not in settings.model_fields_set:
            sources[name] = "default"
        elif name in environment:
            sources[name] = "environment"
        else:
            sources[name] = ".env" if name in file else "command"
    return sources


def _fields_in(kind: type[BaseSettings], values: Mapping[str, object]) -> frozenset[str]:
    """Return the fields that a source provides; it names them by field or by alias."""
    return frozenset(
        name
        for name, field in kind.model_fields.items()
        if name in values or (field.alias is not None and field.alias in values)
    )
