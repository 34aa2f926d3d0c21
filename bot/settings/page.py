"""The settings as documentation: one table, made from the settings themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

_HEAD = """# Settings

By environment variable or in a file named `.env` beside the Makefile; the environment wins. An empty value counts as unset.
A wrong value stops the start with one line: variable, value, cure. Made by `python -m bot settings`.

| variable | meaning | default |
|---|---|---|
"""

Classes = Sequence[type[BaseSettings]]
"""The settings of all processes; what several have in common is told as the first says it."""


def settings_page(classes: Classes) -> str:
    """Return docs/settings.md."""
    return _HEAD + "".join(_row(name, field) for name, field in fields_of(classes).items())


def env_example(classes: Classes) -> str:
    """Return .env.example: every variable, commented out."""
    lines = ["# Copy to .env and fill in what you need; docs/settings.md explains each.\n"]
    for name, field in fields_of(classes).items():
        lines.append(f"\n# {field.description}\n# {name}={_default(field)}\n")
    return "".join(lines)


def fields_of(classes: Classes) -> Mapping[str, FieldInfo]:
    """Return every setting once, by its environment variable, in order."""
    fields: dict[str, FieldInfo] = {}
    for settings in classes:
        for name, field in settings.model_fields.items():
            fields.setdefault(variable(name, field), field)
    return fields


def variable(name: str, field: FieldInfo) -> str:
    """Return the environment variable of a field."""
    return (field.alias or name).upper()


def _row(name: str, field: FieldInfo) -> str:
    meaning = (field.description or "").replace("|", "\\|")
    default = _default(field)
    return f"| `{name}` | {meaning} | {f'`{default}`' if default else ''} |\n"


def _default(field: FieldInfo) -> str:
    value = field.get_default()
    if value is None or isinstance(value, tuple):
        return ",".join(value or ())
    return str(value).lower() if isinstance(value, bool) else str(value)
