"""The doctor prints what Slack says of all that is configured, and its exit code says if it works.

What each line says is in tests/bot/adapters/slack/test_checking.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.cli.doctor import doctor
from bot.app.cli.questions import ask
from bot.domain.health import NOTHING_INDEXED
from bot.domain.settings import Settings
from rag.factory import open_embedder
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.names import TOKEN
from tests.bot.house import write_index
from tests.bot.server import settings_for
from tests.rag.index.azure.opened import opened
from tests.rag.models.embedding_server import LENGTH, embeds
from tests.rag.models.openai_server import KEY, openai_server
from tests.search_service.service import SearchService

LINES = ("Slack", "Slack events", "Slack people", "Slack admins")


@pytest.fixture
def settings(slack: FakeSlack, tmp_path: Path) -> Settings:
    return settings_for(
        tmp_path,
        slack_bot_token=TOKEN,
        slack_signing_secret="signing-secret",
        slack_api_url=slack.url,
        slack_escalation_channel=names.PEOPLE,
        slack_admins=(names.ALICE,),
    )


async def test_it_ends_well_where_slack_is_all_set_up(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    code = await doctor(settings)

    told = capsys.readouterr().out
    assert code == 0
    assert all(f"  + {name} " in told for name in LINES)
    assert "All that is configured works." in told


@pytest.mark.mended(id="ux-9")
async def test_an_empty_index_is_said_in_whole_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await doctor(settings_for(tmp_path))

    (line,) = (each for each in capsys.readouterr().out.splitlines() if " knowledge " in each)
    assert "nothing is indexed yet. Add pages: " in line
    assert ".;" not in line


@pytest.mark.mended(id="ux-9")
async def test_a_question_to_an_empty_index_is_told_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await ask(settings_for(tmp_path), "vpn error 809?") == 1
    assert capsys.readouterr().out.strip() == NOTHING_INDEXED


async def test_it_names_what_is_broken_on_slack_and_ends_with_one(
    slack: FakeSlack, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    slack.channels.discard(names.PEOPLE)

    code = await doctor(settings)

    told = capsys.readouterr().out
    assert code == 1
    assert "Broken: Slack people." in told
    assert "/invite @Frontdesk" in told
    assert TOKEN not in told


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize(
    ("spaces", "sign", "said"),
    [((), "+", "are refused"), (("NOWHERE",), "~", "nothing is indexed in NOWHERE")],
)
async def test_it_says_what_outsiders_get(
    settings: Settings,
    spaces: tuple[str, ...],
    sign: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = await doctor(settings.model_copy(update={"slack_outsider_spaces": spaces}))

    lines = capsys.readouterr().out.splitlines()
    (told,) = [line for line in lines if "Slack outsiders" in line]
    assert (code, told.strip()[0], said in told) == (0, sign, True)


async def test_it_says_how_teams_is_set_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await doctor(settings_for(tmp_path, TEAMS_DEV_MODE=True))
    assert "  + Teams            development mode" in capsys.readouterr().out

    code = await doctor(settings_for(tmp_path, microsoft_app_id="1"))
    told = capsys.readouterr().out
    assert code == 1
    assert "Broken: Teams." in told
    assert "MICROSOFT_APP_TENANT_ID is not set" in told


async def test_it_asks_an_embedder_for_one_vector(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with openai_server(embeds(LENGTH)) as server:
        settings = settings_for(
            tmp_path,
            embedding_model="small",
            embedding_base_url=server.url,
            embedding_api_key=KEY,
            embedding_dimensions=LENGTH,
        )
        assert await doctor(settings) == 0
        working = capsys.readouterr().out
        server.key = "another"
        assert await doctor(settings) == 1

    told = capsys.readouterr().out
    assert "  + embedder         small@8 at 127.0.0.1; a vector took" in working
    assert "Broken: embedder." in told
    assert "check EMBEDDING_API_KEY" in told
    assert KEY not in told


async def test_it_tries_a_search_in_azure_and_says_which_rights_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with SearchService().serving() as service:
        azure = {
            "azure_search_endpoint": service.url,
            "azure_search_key": service.access.query_key,
        }
        settings = settings_for(tmp_path, **azure)
        assert await doctor(settings) == 1
        absent = capsys.readouterr().out
        async with open_embedder(settings) as (embedder, _), opened(service, embedder):
            pass
        assert await doctor(settings) == 0

    told = capsys.readouterr().out
    assert "run the ingestion" in absent
    assert "  + Azure AI Search: search" in told
    assert "`Search Index Data Contributor`" in told
    assert "`Search Service Contributor`" in told


@pytest.mark.mended(id="slack-4")
@pytest.mark.parametrize("public_url", [None, "https://help.example"])
async def test_it_warns_that_sources_will_not_be_links(
    settings: Settings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    public_url: str | None,
) -> None:
    await write_index(settings, tmp_path / "pages")

    await doctor(settings.model_copy(update={"public_url": public_url}))

    told = capsys.readouterr().out
    assert ("sources in Slack will not be links" in told) == (public_url is None)
