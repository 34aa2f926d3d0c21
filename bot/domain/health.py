"""Status of each component at startup and run time, as lines with the cure for what is missing.

Pure: findings are passed in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from urllib.parse import urlsplit

from bot.domain.model_settings import LanguageModel
from bot.domain.settings import Settings

AZURE_SEARCH = "Azure AI Search"
_NOBODY_ASKED = "nobody is asked there"
_NOBODY_ORDERS = "nobody may reindex or change settings there"
_TROUBLES = 2
_SPACES = 5
_SOON = timedelta(minutes=1)
_SIGNS = {"ready": "+", "absent": "-", "limited": "~", "paused": "=", "failed": "!"}


_ADD_PAGES = "python -m ingestion folder PATH --space KEY"
NOTHING_INDEXED = (
    "Nothing is indexed yet: whoever runs me adds pages on the board under Documents, or on the "
    f"command line ({_ADD_PAGES})."
)


@dataclass(frozen=True, slots=True)
class ComponentStatus:
    """Status of one component, with the one line that adds or repairs it.

    "absent": not configured, which breaks no promise. "limited" and "paused": working as
    instructed, but fewer questions are answered, none, or some from outdated pages. If a ``vital``
    component fails nobody is answered; if another does, such as one of several platforms, some
    still are.
    """

    name: str
    state: Literal["ready", "absent", "limited", "paused", "failed"]
    detail: str
    cure: str = ""
    vital: bool = True

    def line(self) -> str:
        """Return the status as a line of the startup report."""
        sign = _SIGNS[self.state]
        return f"  {sign} {self.name:<16} {self.detail}" + (f" {self.cure}" if self.cure else "")


CheckComponents = Callable[[], Awaitable[Sequence[ComponentStatus]]]
"""Returns the status of every component; fast, because probes call it every few seconds."""


def merge_statuses(parts: Sequence[ComponentStatus]) -> ComponentStatus:
    """Merge the statuses of one platform into one: the worst state, and the first one's name."""
    broken = [part for part in parts if part.state == "failed"]
    shown = broken or parts
    detail = " ".join(part.detail.rstrip(".") + "." for part in shown)
    cure = " ".join(part.cure for part in shown if part.cure)
    return ComponentStatus(parts[0].name, "failed" if broken else "ready", detail, cure)


def knowledge(spaces: Mapping[str, int]) -> ComponentStatus:
    """Return the index's status. ``spaces`` maps each space to its number of chunks."""
    if not spaces:
        return ComponentStatus(
            "knowledge",
            "absent",
            "nothing is indexed yet.",
            f"Add pages: {_ADD_PAGES}",
        )
    listed = ", ".join(f"{space} {count}" for space, count in sorted(spaces.items()))
    return ComponentStatus("knowledge", "ready", f"{sum(spaces.values())} chunks ({listed})")


def embedder(settings: Settings, name: str | None, trouble: str = "") -> ComponentStatus:
    """Return the embedder's status: model and host; without one, search is by keyword alone."""
    if settings.embedding_model is None:
        if name is None:
            return ComponentStatus("embedder", "absent", f"search is by keyword alone: {trouble}")
        return ComponentStatus("embedder", "ready", name)
    if name is None:
        cure = "Mend it, and start again."
        detail = f"search is by keyword alone: {trouble}"
        return ComponentStatus("embedder", "failed", detail, cure, vital=False)
    address = settings.embedding_base_url or settings.openai_base_url
    return ComponentStatus("embedder", "ready", f"{name} at {_host(address)}")


def models(settings: Settings) -> Sequence[ComponentStatus]:
    """Return the language models' statuses: the default one's, then of each that can be named."""
    default = settings.default_model
    usual = ComponentStatus(
        "model",
        "absent",
        "answers are verbatim quotes.",
        "Add OPENAI_MODEL and OPENAI_API_KEY (or OPENAI_BASE_URL) to .env: docs/models.md",
    )
    if default is not None:
        usual = ComponentStatus("model", "ready", _model_detail(default))
    named = (
        ComponentStatus(model_part(each), "ready", _model_detail(each), vital=False)
        for each in settings.further_models
    )
    return (usual, *named)


def model_part(model: LanguageModel) -> str:
    """Return the name of the component that a model beside the default one is."""
    return f"model {model.name}"


def _model_detail(model: LanguageModel) -> str:
    return f"{model.model} at {_host(model.base_url)}"


def calibration(settings: Settings, uncalibrated: Sequence[str]) -> ComponentStatus:
    """Return the calibration's status; ``uncalibrated`` names models, each with its prompt."""
    if not settings.model_configured:
        return ComponentStatus("calibration", "ready", "learned from answers without a model")
    if not uncalibrated:
        return ComponentStatus("calibration", "ready", "learned from this model's answers")
    detail = f"no calibration for {', '.join(uncalibrated)}: the careful default holds."
    return ComponentStatus("calibration", "absent", detail, "What that means: docs/confidence.md")


def _host(address: str | None) -> str | None:
    return urlsplit(address or "https://api.openai.com").hostname


def slack(settings: Settings) -> ComponentStatus:
    """Return Slack's status, with the optional settings that are missing."""
    if not settings.slack_configured:
        cure = (
            "Add SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (or SLACK_APP_TOKEN) to .env: "
            "docs/slack.md"
        )
        return ComponentStatus("Slack", "absent", "not configured.", cure)
    optional = (
        ("SLACK_ESCALATION_CHANNEL", settings.slack_escalation_channel, _NOBODY_ASKED),
        ("SLACK_ADMINS", settings.slack_admins, _NOBODY_ORDERS),
    )
    how = f"{slack_transport(settings)}; {slack_outsiders(settings)}"
    return _ready("Slack", how, optional)


def _ready(name: str, how: str, optional: Sequence[tuple[str, object, str]]) -> ComponentStatus:
    """Return a connected platform's status; ``optional`` has settings and the cost of each."""
    missing = [(setting, costs) for setting, given, costs in optional if not given]
    if not missing:
        return ComponentStatus(name, "ready", how)
    detail = "; ".join([how, *(costs for _, costs in missing)])
    settings = " and ".join(setting for setting, _ in missing)
    return ComponentStatus(
        name, "ready", f"{detail}.", f"Add {settings} to .env: docs/{name.lower()}.md"
    )


def slack_transport(settings: Settings) -> str:
    """Return how Slack's events are received."""
    if settings.slack_transport == "socket":
        return "events over Socket Mode"
    return "events over HTTP at /slack/events"


def teams(settings: Settings) -> ComponentStatus:
    """Return Teams' status, with the optional settings that are missing."""
    if settings.microsoft_app_id is None:
        if settings.teams_dev_mode:
            detail = "development mode: unsigned messages from this machine"
            return ComponentStatus("Teams", "ready", detail)
        cure = (
            "Add MICROSOFT_APP_ID, MICROSOFT_APP_PASSWORD and MICROSOFT_APP_TENANT_ID to .env: "
            "docs/teams.md"
        )
        return ComponentStatus("Teams", "absent", "not configured.", cure)
    how = f"{settings.microsoft_app_type}, messages at /api/messages"
    optional = (
        ("TEAMS_ESCALATION_CHANNEL", settings.teams_escalation_channel, _NOBODY_ASKED),
        ("TEAMS_ADMINS", settings.teams_admins, _NOBODY_ORDERS),
    )
    return _ready("Teams", f"{how}; {teams_outsiders(settings)}", optional)


def slack_outsiders(settings: Settings) -> str:
    """Return how outsiders are answered in Slack."""
    old = f"SLACK_OUTSIDERS={settings.slack_outsiders}" if settings.slack_outsiders else ""
    return _outsiders(settings.slack_outsider_spaces, old)


def teams_outsiders(settings: Settings) -> str:
    """Return how outsiders are answered in Teams."""
    old = f"TEAMS_OUTSIDERS={settings.teams_outsiders}" if settings.teams_outsiders else ""
    return _outsiders(settings.teams_outsider_spaces, old)


def _outsiders(spaces: Sequence[str], old: str) -> str:
    get = f"are answered from {', '.join(spaces)} alone" if spaces else "are refused"
    needless = f"; {old} is no longer needed, remove it" if old else ""
    return f"guests and people of other companies {get}{needless}"


@dataclass(frozen=True, slots=True)
class ConfluenceState:
    """Sync state of a Confluence site.

    ``looked_at`` is None before every space was read; ``next_at`` is None without a schedule.
    ``troubles`` are the current problems, each with its cure.
    """

    address: str
    spaces: Sequence[str] = ()
    looked_at: datetime | None = None
    next_at: datetime | None = None
    scheduled: bool = True
    troubles: Sequence[str] = ()


def confluence(wiki: ConfluenceState | None, now: datetime) -> ComponentStatus:
    """Return Confluence's status; while it is unreachable, answers come from the index as it is."""
    if wiki is None:
        cure = "Add CONFLUENCE_URL and CONFLUENCE_TOKEN to .env: docs/confluence.md"
        return ComponentStatus("Confluence", "absent", "not configured.", cure, vital=False)
    where = urlsplit(wiki.address).hostname
    if wiki.troubles:
        listed = " ".join(wiki.troubles[:_TROUBLES])
        more = len(wiki.troubles) - _TROUBLES
        listed += f" And {more} more: see the board." if more > 0 else ""
        return ComponentStatus("Confluence", "limited", f"{where}: {listed}", vital=False)
    detail = "; ".join((_spaces_of(wiki, where), *_passes_of(wiki, now)))
    return ComponentStatus("Confluence", "ready", detail, vital=False)


def _spaces_of(wiki: ConfluenceState, where: str | None) -> str:
    if not wiki.spaces:
        return f"{where}: no space was read yet"
    shown = ", ".join(wiki.spaces[:_SPACES])
    more = f" and {len(wiki.spaces) - _SPACES} more" if len(wiki.spaces) > _SPACES else ""
    return f"{where}: {shown}{more}"


def _passes_of(wiki: ConfluenceState, now: datetime) -> Sequence[str]:
    """Return the times of the last and next full pass; a slightly late one is still "soon"."""
    last = [f"looked at {_minutes(now - wiki.looked_at)} ago"] if wiki.looked_at else []
    if not wiki.scheduled:
        return [*last, "this server reads nothing by schedule"]
    if wiki.next_at is None:
        return [*last, "the first pass begins soon"]
    ahead = wiki.next_at - now
    return [*last, f"again in {_minutes(ahead)}" if ahead > _SOON else "again soon"]


def _minutes(span: timedelta) -> str:
    """Return "under a minute", "5 minutes", "3 hours" or "2 days", rounded down."""
    minutes = int(span.total_seconds()) // 60
    for length, name in ((24 * 60, "day"), (60, "hour"), (1, "minute")):
        if minutes >= length:
            count = minutes // length
            return f"{count} {name}{'s' if count > 1 else ''}"
    return "under a minute"


def sources_linked(settings: Settings, own: Sequence[str]) -> Sequence[ComponentStatus]:
    """Return a warning for each chat platform whose sources can't be opened.

    ``own`` are the spaces with pages that only this server shows.
    """
    platforms = (("Slack", settings.slack_configured), ("Teams", settings.teams_configured))
    if settings.public_url is not None or not own:
        return []
    listed = ", ".join(own[:_SPACES]) + ("\u2026" if len(own) > _SPACES else "")
    cure = "Set PUBLIC_URL to the address at which colleagues reach this server."
    return [
        ComponentStatus(
            f"{name} sources",
            "limited",
            f"sources in {name} will not be links: pages of {listed} open on this server alone.",
            cure,
            vital=False,
        )
        for name, configured in platforms
        if configured
    ]


def azure_search(settings: Settings, trouble: str = "") -> ComponentStatus:
    """Return Azure AI Search's status: index and credential; ``trouble`` is why it fails."""
    if settings.azure_search_endpoint is None:
        cure = "Add AZURE_SEARCH_ENDPOINT to .env: docs/azure.md"
        detail = "not configured: the index is one SQLite file."
        return ComponentStatus(AZURE_SEARCH, "absent", detail, cure)
    if trouble:
        return ComponentStatus(AZURE_SEARCH, "failed", trouble)
    where = urlsplit(settings.azure_search_endpoint).hostname
    who = "identity" if settings.azure_search_key is None else "key"
    semantic = "on" if settings.azure_search_semantic else "off"
    detail = f"{settings.azure_search_index} at {where}, by {who}, semantic ranker {semantic}"
    return ComponentStatus(AZURE_SEARCH, "ready", detail)


def web_access(settings: Settings) -> ComponentStatus:
    """Return the status of access to web page and API."""
    if not settings.exposed:
        return ComponentStatus("doors", "ready", "open on this machine only")
    if settings.oidc_issuer is not None:
        issuer = urlsplit(settings.oidc_issuer).hostname
        token = ", or the admin token" if settings.admin_token is not None else ""
        return ComponentStatus(
            "doors", "ready", f"web page and API need a sign-in at {issuer}{token}"
        )
    if settings.admin_token is None:
        cure = (
            "Add FRONTDESK_ADMIN_TOKEN (32 random characters) to .env, or let colleagues sign in: "
            "docs/signing-in.md"
        )
        return ComponentStatus("doors", "absent", "web page and API are closed.", cure)
    return ComponentStatus("doors", "ready", "web page and API need the admin token")
