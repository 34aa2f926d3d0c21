"""Admins and colleagues at the keyboard, and runs that are played."""

from __future__ import annotations

import pytest

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.store.database import Store
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.teams.activities import Client
from tests.bot.adapters.teams.commands.stage import clock, hurried
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.names import ALICE, BOB
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.offices import office_over
from tests.bot.shelves import Shelf, document

SALARIES = document("HR", "Salaries.md", readers="group:board")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"teams_admins": (ALICE, "anna@acme.example")})


@pytest.fixture
def channel(
    settings: Settings, cloud: Cloud, credentials: CountingCredentials, store: Store
) -> TeamsChannel:
    return connect(
        settings,
        store.notes,
        cloud=cloud,
        credentials=credentials,
        pause=hurried,
        clock=clock,
    )


@pytest.fixture
def shelf() -> Shelf:
    """Two spaces; a page of HR is for the board alone."""
    shelf = Shelf()
    for each in (SALARIES, document("HR", "Leave.md"), document("IT", "VPN.md")):
        shelf.kept[each.space, each.id] = each
    return shelf


@pytest.fixture
def office(store: Store, inbox: KeepingInbox, shelf: Shelf) -> ChatContext:
    return office_over(store, inbox, tenant="acme", shelf=shelf)


@pytest.fixture
def alice(teams: FakeTeams, client: Client) -> Visitor:
    return Visitor(teams, client, ALICE)


@pytest.fixture
def bob(teams: FakeTeams, client: Client) -> Visitor:
    return Visitor(teams, client, BOB)
