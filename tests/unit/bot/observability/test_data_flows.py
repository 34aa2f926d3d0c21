"""Tests of what leaves the machine: by the settings, and as the docs tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.domain.settings_loading import load_settings
from bot.observability.data_flows import DataFlow, data_flows, markdown_table
from ingestion.config import Settings as IngestionSettings

SECURITY = Path(__file__).parents[4] / "docs" / "security.md"
MOST_WORDS = 1500
SECRET = "hunter2"


def flows(variables: dict[str, str], **given: object) -> dict[str, DataFlow]:
    settings = load_settings(_env_file=None, **given)
    wiki = IngestionSettings(
        _env_file=None,
        confluence_url="https://acme.atlassian.net/wiki",
        confluence_token=SECRET,
        confluence_directory="entra",
    )
    return {each.name: each for each in data_flows(settings, wiki, variables)}


def test_with_the_defaults_nothing_leaves() -> None:
    settings = load_settings(_env_file=None)
    assert not [each for each in data_flows(settings, None, {}) if each.hosts]


@pytest.mark.parametrize(
    ("name", "given", "hosts"),
    [
        ("Language models", {"openai_model": "m"}, ("api.openai.com",)),
        (
            "Language models",
            {"openai_model": "m", "openai_base_url": "http://127.0.0.1:11434/v1"},
            ("127.0.0.1:11434",),
        ),
        ("Embedding server", {"embedding_model": "m"}, ("api.openai.com",)),
        (
            "Azure AI Search",
            {"azure_search_endpoint": "https://acme.search.windows.net"},
            ("acme.search.windows.net",),
        ),
        (
            "Microsoft sign-in for Azure",
            {"azure_search_endpoint": "https://acme.search.windows.net"},
            ("login.microsoftonline.com",),
        ),
        ("PostgreSQL", {"database_url": f"postgresql://me:{SECRET}@db:5432/x"}, ("db:5432",)),
        (
            "Slack",
            {"slack_bot_token": "xoxb-1", "slack_app_token": "xapp-1"},
            ("slack.com",),
        ),
        (
            "Sign-in (OpenID Connect)",
            {
                "oidc_issuer": "https://login.example/v2",
                "oidc_client_id": "desk",
                "public_url": "https://desk.example",
            },
            ("login.example",),
        ),
        (
            "Mail server",
            {"smtp_url": f"smtps://me:{SECRET}@mail.example:465", "smtp_from": "a@b.example"},
            ("mail.example:465",),
        ),
        (
            "Webhook for cases",
            {
                "case_webhook_url": f"https://tickets.example/{SECRET}",
                "case_webhook_secret": f"whsec_{'a' * 32}",
            },
            ("tickets.example",),
        ),
    ],
)
def test_a_setting_names_its_host_alone(
    name: str, given: dict[str, object], hosts: tuple[str, ...]
) -> None:
    found = flows({}, **given)
    assert found[name].hosts == hosts
    assert SECRET not in str(found)


def test_the_wikis_and_tracings_hosts_are_named() -> None:
    found = flows({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.example:4318"})
    assert found["Confluence"].hosts == ("acme.atlassian.net",)
    assert "graph.microsoft.com" in found["Microsoft Graph"].hosts
    assert found["Traces (OpenTelemetry)"].hosts == ("otlp to collector.example:4318",)


def test_the_docs_have_the_very_table_and_stay_short() -> None:
    text = SECURITY.read_text("utf-8")
    assert markdown_table(data_flows(load_settings(_env_file=None), None, {})) in text
    assert len(text.split()) <= MOST_WORDS
