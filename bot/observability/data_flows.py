"""What leaves this machine with the settings as they are: to whom, what, when, and how to stop it.

The one source of the board's table, of ``python -m bot outbound`` and of the table in
docs/security.md. Whoever adds a part that speaks to another host adds a flow here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from bot.domain.settings import Settings
from bot.domain.texts import tr
from bot.observability.tracing import read_variables
from ingestion.config import Settings as IngestionSettings

_OPENAI = "https://api.openai.com"
_MICROSOFT_LOGIN = "login.microsoftonline.com"
_BOT_FRAMEWORK = ("login.botframework.com", "api.botframework.com")
_GRAPH = "graph.microsoft.com"
_AZURE_HOSTS = (".azure.com", ".windows.net")


@dataclass(frozen=True, slots=True)
class DataFlow:
    """One kind of recipient. ``hosts`` are its hosts now; empty: nothing is sent.

    ``off`` is how to stop it.
    """

    name: str
    hosts: tuple[str, ...]
    what: str
    when: str
    off: str


def data_flows(
    settings: Settings,
    ingestion: IngestionSettings | None = None,
    variables: Mapping[str, str] | None = None,
) -> Sequence[DataFlow]:
    """Return all flows, also those that are off.

    ``variables`` are those that tracing reads, default: the environment.
    """
    wiki = ingestion if ingestion is not None and ingestion.confluence_configured else None
    return [
        *_models(settings),
        *_records(settings),
        *_wiki(wiki),
        *_platforms(settings),
        *_others(settings, os.environ if variables is None else variables),
    ]


def _models(settings: Settings) -> Iterator[DataFlow]:
    servers = [each.base_url or _OPENAI for each in settings.language_models]
    yield DataFlow(
        tr("Language models"),
        _hosts(servers),
        tr(
            "Questions, earlier messages of the thread, text of attached files, passages that all "
            "readers of the answer may read; for drafts, the experts' replies"
        ),
        tr(
            "When a model interprets a question, answers or drafts; every night for gaps; in the "
            "commands evaluate, train, certify and doctor"
        ),
        tr("Unset OPENAI_MODEL and MODELS__…; for one channel, choose the model “none”"),
    )
    embedder = settings.embedding_base_url or settings.openai_base_url or _OPENAI
    yield DataFlow(
        tr("Embedding server"),
        _hosts([embedder] if settings.embedding_model else []),
        tr("Text of every page; every question searched for"),
        tr("During indexing; for each search; to group gaps"),
        tr("Unset EMBEDDING_MODEL, and index again"),
    )


def _records(settings: Settings) -> Iterator[DataFlow]:
    endpoint = settings.azure_search_endpoint
    yield DataFlow(
        "Azure AI Search",
        _hosts([endpoint] if settings.azure_search_configured and endpoint else []),
        tr(
            "Text, vectors and readers of every page; each search's words and vector; ids, "
            "addresses and groups of the answer's readers"
        ),
        tr("During indexing; for each search"),
        tr("Unset AZURE_SEARCH_ENDPOINT, and index again"),
    )
    yield DataFlow(
        "PostgreSQL",
        _hosts(_secrets(settings.database_url)),
        tr("The whole record"),
        tr("Continuously"),
        tr("Unset DATABASE_URL; this starts a new, empty record in a file"),
    )
    yield DataFlow(
        tr("Microsoft sign-in for Azure"),
        (_MICROSOFT_LOGIN,) if _signs_in_to_azure(settings) else (),
        tr("This server's own credentials; nothing about people"),
        tr("When a token for Azure expires, if no key is set"),
        tr("Set keys for Azure, or turn off what uses it"),
    )


def _wiki(wiki: IngestionSettings | None) -> Iterator[DataFlow]:
    yield DataFlow(
        "Confluence",
        _hosts([wiki.confluence_url] if wiki and wiki.confluence_url else []),
        tr(
            "The token; ids of pages; addresses and accounts of askers; with "
            "CONFLUENCE_ANSWERS_PARENT, published answers"
        ),
        tr("On schedule; when somebody asks or publishes"),
        tr("Unset CONFLUENCE_URL"),
    )
    entra = wiki is not None and (wiki.confluence_directory or "").lower() == "entra"
    yield DataFlow(
        "Microsoft Graph",
        (_GRAPH, _MICROSOFT_LOGIN) if entra else (),
        tr("This server's own credentials; addresses of askers"),
        tr("When somebody asks"),
        tr("Set CONFLUENCE_DIRECTORY to a CSV file"),
    )


def _platforms(settings: Settings) -> Iterator[DataFlow]:
    yield DataFlow(
        "Slack",
        _hosts([settings.slack_api_url] if settings.slack_configured else []),
        tr(
            "Replies with quotes, cards of cases with question and asker, drafts, digests; ids of "
            "members"
        ),
        tr("When something is asked or shown there"),
        tr("Unset SLACK_BOT_TOKEN"),
    )
    teams = (*_hosts([settings.teams_service_url]), _MICROSOFT_LOGIN, *_BOT_FRAMEWORK)
    yield DataFlow(
        "Microsoft Teams",
        teams if settings.teams_configured else (),
        tr("The same as to Slack; this server's own credentials"),
        tr("When something is asked or shown there"),
        tr("Unset MICROSOFT_APP_ID"),
    )
    yield DataFlow(
        tr("Other adapters"),
        tuple(settings.adapters),
        tr("What their packages send"),
        tr("See their documentation"),
        tr("Unset FRONTDESK_ADAPTERS"),
    )


def _others(settings: Settings, variables: Mapping[str, str]) -> Iterator[DataFlow]:
    yield DataFlow(
        tr("Sign-in (OpenID Connect)"),
        _hosts([settings.oidc_issuer] if settings.oidc_issuer else []),
        tr("The client's id and secret, one-time codes"),
        tr("When somebody signs in"),
        tr("Unset OIDC_ISSUER"),
    )
    traced = read_variables(variables)
    yield DataFlow(
        tr("Traces (OpenTelemetry)"),
        (traced.where.removeprefix("on: "),) if "otlp" in traced.exporters else (),
        tr("Times, outcomes, models and ids of interactions; no words and no people"),
        tr("For each question"),
        tr("Unset OTEL_EXPORTER_OTLP_ENDPOINT"),
    )
    mails = settings.smtp_url is not None and settings.smtp_from is not None
    yield DataFlow(
        tr("Mail server"),
        _hosts(_secrets(settings.smtp_url)) if mails else (),
        tr("Digests: counts, titles, questions that the reader may see"),
        tr("Once a week, to subscribers"),
        tr("Unset SMTP_URL"),
    )
    yield DataFlow(
        tr("Webhook for cases"),
        _hosts(_secrets(settings.case_webhook_url)),
        tr("Steps of cases: question, asker, experts and what they wrote, pages"),
        tr("When something happens to a case"),
        tr("Unset CASE_WEBHOOK_URL"),
    )


def _hosts(addresses: Iterable[str]) -> tuple[str, ...]:
    """Return hosts and ports alone: the rest of an address may hold a password."""
    found = (urlsplit(each) for each in addresses)
    hosts = (f"{each.hostname}:{each.port}" if each.port else each.hostname for each in found)
    return tuple(dict.fromkeys(host for host in hosts if host))


def _secrets(*values: SecretStr | None) -> list[str]:
    return [value.get_secret_value() for value in values if value is not None]


def _signs_in_to_azure(settings: Settings) -> bool:
    """Return whether something on Azure is configured without a key."""
    keyless = [each.base_url or "" for each in settings.language_models if each.api_key is None]
    if settings.azure_search_configured and settings.azure_search_key is None:
        return True
    return any(host.partition(":")[0].endswith(_AZURE_HOSTS) for host in _hosts(keyless))


def markdown_table(flows: Sequence[DataFlow]) -> str:
    """Return the flows as a table for the docs, without the hosts of one installation."""
    rows = (f"| {each.name} | {each.what} | {each.when} | {each.off} |" for each in flows)
    return "\n".join(("| to | what | when | off |", "|---|---|---|---|", *rows))
