"""The settings as documentation: one table, made from the settings themselves."""

from __future__ import annotations

from pydantic.fields import FieldInfo

from bot.config import Settings

_HEAD = """# Settings

By environment variable or in a file named `.env` beside the Makefile; the environment wins. An empty value counts as unset.
A wrong value stops the start with one line: variable, value, cure. Made by `python -m bot settings`.

| variable | meaning | default |
|---|---|---|
"""


def settings_page() -> str:
    """Return docs/settings.md."""
    return _HEAD + "".join(_row(name, field) for name, field in Settings.model_fields.items())


def env_example() -> str:
    """Return .env.example: every variable, commented out."""
    lines = ["# Copy to .env and fill in what you need; docs/settings.md explains each.\n"]
    for name, field in Settings.model_fields.items():
        lines.append(f"\n# {field.description}\n# {variable(name, field)}={_default(field)}\n")
    return "".join(lines)


def variable(name: str, field: FieldInfo) -> str:
    """Return the environment variable of a field."""
    return (field.alias or name).upper()


def _row(name: str, field: FieldInfo) -> str:
    meaning = (field.description or "").replace("|", "\\|")
    default = _default(field)
    return f"| `{variable(name, field)}` | {meaning} | {f'`{default}`' if default else ''} |\n"


def _default(field: FieldInfo) -> str:
    value = field.get_default()
    if value is None or isinstance(value, tuple):
        return ",".join(value or ())
    return str(value).lower() if isinstance(value, bool) else str(value)
