"""Describe every setting by its variable: docs/settings.md, .env.example, the board's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from bot.domain.model_settings import NESTED, NamedModel
from bot.domain.settings_loading import variable

START_HERE = "Start here"

GROUPS: Mapping[str, Sequence[str]] = {
    START_HERE: (
        "SLACK_BOT_TOKEN",
        "SLACK_APP_TOKEN",
        "MICROSOFT_APP_ID",
        "MICROSOFT_APP_PASSWORD",
        "MICROSOFT_APP_TENANT_ID",
        "CONFLUENCE_URL",
        "CONFLUENCE_TOKEN",
        "OPENAI_MODEL",
        "OPENAI_API_KEY",
        "PUBLIC_URL",
    ),
    "Slack": ("SLACK_",),
    "Microsoft Teams": ("MICROSOFT_", "TEAMS_"),
    "Confluence": ("CONFLUENCE_",),
    "Language models": ("OPENAI_", "MODELS__", "REST_MODELS"),
    "Embeddings": ("EMBEDDING_",),
    "Search and answers": (
        "RAG_",
        "SEARCH",
        "ROUTER",
        "CONFIDENCE_",
        "WIKI_LANGUAGE",
        "NOT_FOUND_MESSAGE",
        "FRONTDESK_SPACES",
        "ANSWER_CACHE",
        "SUGGESTED_PROMPTS",
        "PII_",
    ),
    "Azure AI Search": ("AZURE_SEARCH_",),
    "People and escalations": ("ESCALATION_", "CASE_WEBHOOK_"),
    "Learning from use": (
        "GAP_",
        "LEARNING_",
        "ANSWER_DAYS",
        "ANSWERS_",
        "REVIEW_",
        "CORRECTIONS_",
        "DIGEST_",
        "SMTP_",
        "TIME_ZONE",
    ),
    "Limits": ("RATE_", "MODEL_TOKENS_", "MODEL_USD_"),
    "Web chat, board and signing in": (
        "UI_LANGUAGE",
        "OIDC_",
        "SESSION_",
        "CHAT_",
        "FRONTDESK_ADMIN_TOKEN",
    ),
    "Server and data": (
        "HOST",
        "PORT",
        "DATABASE_URL",
        "FRONTDESK_",
        "LOG_",
        "RETENTION_",
        "MAX_UPLOAD_",
    ),
}
"""The variables of each group, by name or by how the name begins; the first group that fits counts.

A variable of START_HERE stands there alone, in the order given."""

OTHER = "Other"

SettingsClasses = Sequence[type[BaseSettings]]
"""The settings of all processes; the first description of a shared setting counts."""

_HEAD = """# Settings

Every setting with its meaning and default value, for whoever runs Frontdesk.

Set them as environment variables or in a file named `.env` next to the Makefile. The environment takes precedence. An empty value counts as unset.
If a value is invalid, the server refuses to start and prints one line: the variable, its value, and how to fix it. Made by `python -m bot settings`.
"""

_TABLE_HEAD = "| variable | meaning | default |\n|---|---|---|\n"


def settings_page(classes: SettingsClasses) -> str:
    """Return docs/settings.md: a table for each group."""
    return _HEAD + "".join(
        f"\n## {title}\n\n{_TABLE_HEAD}" + "".join(_row(*each) for each in fields.items())
        for title, fields in grouped_fields(classes).items()
    )


def env_example(classes: SettingsClasses) -> str:
    """Return .env.example: every variable, commented out, by group."""
    lines = ["# Copy to .env and fill in what you need; docs/settings.md explains each.\n"]
    for title, fields in grouped_fields(classes).items():
        lines.append(f"\n\n# ---- {title} ----\n")
        lines += [
            f"\n# {field.description}\n# {name}={_default(field)}\n"
            for name, field in fields.items()
        ]
    return "".join(lines)


def grouped_fields(classes: SettingsClasses) -> Mapping[str, Mapping[str, FieldInfo]]:
    """Return every setting once by its group and environment variable, in order."""
    fields = fields_of(classes)
    first = {name: fields[name] for name in GROUPS[START_HERE]}
    groups: dict[str, dict[str, FieldInfo]] = {title: {} for title in (*GROUPS, OTHER)}
    groups[START_HERE] = first
    for name, field in fields.items():
        if name not in first:
            groups[_group(name)][name] = field
    return {title: found for title, found in groups.items() if found}


def _group(name: str) -> str:
    return next(
        (title for title, starts in GROUPS.items() if name.startswith(tuple(starts))), OTHER
    )


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


def _row(name: str, field: FieldInfo) -> str:
    meaning = (field.description or "").replace("|", "\\|")
    default = _default(field)
    return f"| `{name}` | {meaning} | {f'`{default}`' if default else ''} |\n"


def _default(field: FieldInfo) -> str:
    value = None if field.is_required() else field.get_default()
    if value is None or isinstance(value, tuple):
        return ",".join(value or ())
    return str(value).lower() if isinstance(value, bool) else str(value)
