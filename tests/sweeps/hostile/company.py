"""A company under attack: one server with web, REST, Slack and Teams over one hostile wiki."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from bot.app.components import open_components
from bot.domain.settings import Settings
from bot.platforms import slack as slack_adapter
from bot.platforms import teams as teams_adapter
from bot.platforms.teams.messages.intake import Files
from ingestion.sync.sync import Folder, sync_folder
from tests.fakes.applications import (
    LocalCloud,
    connect_hurried,
    slack_settings,
    teams_settings,
)
from tests.fakes.hostile_wiki import SECRET_PAGE, WIKI
from tests.fakes.http_server import LOW, TOKEN, Client, serving_application, settings_for
from tests.fakes.model_server import KEY, openai_server
from tests.fakes.obeying_model import ObeyingModel
from tests.fakes.openid_provider import CLIENT_ID, FakeIssuer
from tests.fakes.slack.names import PEOPLE
from tests.fakes.slack.server import FakeSlack
from tests.fakes.teams.file_host import FileHost
from tests.fakes.teams.server import FakeTeams
from tests.sweeps.hostile.combinations import Combination, write_page

ADDRESS = "https://desk.example.com"
"""Where colleagues reach the server, as its settings say; it listens elsewhere."""

CALLBACK = f"{ADDRESS}/session/oidc/callback"


@dataclass(frozen=True, slots=True)
class Company:
    """The server and everything around it; ``model`` obeys what it reads."""

    client: Client
    slack: FakeSlack
    teams: FakeTeams
    files: FileHost
    issuer: FakeIssuer
    model: ObeyingModel


@asynccontextmanager
async def hostile_company(
    combinations: Sequence[Combination], folder: Path
) -> AsyncIterator[Company]:
    """Serve over a wiki that holds a page for every combination, until the block ends."""
    obeying = ObeyingModel([each.says for each in combinations])
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(FakeSlack().serving())
        keys = {"k1": generate_private_key(public_exponent=65537, key_size=2048)}
        teams = await stack.enter_async_context(FakeTeams(keys=keys).serving())
        files = await stack.enter_async_context(FileHost().serving())
        issuer = await stack.enter_async_context(FakeIssuer(redirect_uris={CALLBACK}).serving())
        model = await stack.enter_async_context(openai_server(obeying))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        cloud = LocalCloud(teams.url, hurried=True)
        patch.setattr(slack_adapter, "connect", connect_hurried)
        patch.setattr(
            teams_adapter, "connect", partial(cloud.connect, files=Files(files.connector))
        )
        settings = _settings(folder / "data", slack, teams, issuer, model.url)
        await _index(settings, combinations, folder / "pages")
        client = await stack.enter_async_context(serving_application(settings))
        yield Company(client, slack, teams, files, issuer, obeying)


def _settings(
    data: Path, slack: FakeSlack, teams: FakeTeams, issuer: FakeIssuer, model_url: str
) -> Settings:
    return settings_for(
        data,
        **slack_settings(slack.url),
        **teams_settings(teams.url),
        slack_escalation_channel=PEOPLE,
        host="0.0.0.0",  # noqa: S104 - the case that needs signing in; it listens on loopback
        public_url=ADDRESS,
        admin_token=TOKEN,
        oidc_issuer=issuer.url,
        oidc_client_id=CLIENT_ID,
        oidc_client_secret=issuer.secret,
        confidence_threshold=LOW,
        openai_base_url=model_url,
        openai_api_key=KEY,
        openai_model="obeying",
    )


async def _index(settings: Settings, combinations: Sequence[Combination], folder: Path) -> None:
    _write_pages(combinations, folder)
    async with open_components(settings) as parts:
        await sync_folder(
            Folder(folder, "IT", base_url=WIKI),
            parts.index,
            parts.embedder,
            tenant=settings.tenant,
            data_dir=settings.data_dir,
        )


def _write_pages(combinations: Sequence[Combination], folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "rescue.md").write_text(SECRET_PAGE, encoding="utf-8")
    for each in combinations:
        write_page(each, folder)
