"""The promise on Teams: whatever fails and whoever dies, the answer is seen once."""

from __future__ import annotations

import asyncio

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import PostedRef
from bot.domain.messages import Activity, Message, Stage
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from tests.bot.adapters.outcomes import delivery
from tests.bot.adapters.teams.activities import into, question
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.faults import Fault
from tests.bot.adapters.teams.tenant.names import APP_ID, ENTRA, ISSUER
from tests.bot.adapters.teams.test_placeholder import placed

LOST = Fault(status=0, after=True)
FAULTS = st.sampled_from(
    [None, LOST, Fault(status=0), Fault(status=500), Fault(status=504, after=True), Fault(429)]
)


@settings(max_examples=25, deadline=None)
@given(
    faults=st.lists(FAULTS, max_size=6),
    restarts=st.lists(st.booleans(), min_size=12, max_size=12),
    stages=st.lists(st.sampled_from(list(Stage)), max_size=3),
)
def test_whatever_fails_and_whoever_dies_the_answer_is_seen_once(
    signing_key: RSAPrivateKey,
    faults: list[Fault | None],
    restarts: list[bool],
    stages: list[Stage],
) -> None:
    async def run() -> None:
        async with FakeTeams(keys={"k1": signing_key}).serving() as teams:
            message = question(teams)
            opened = await placed(_channel(teams), message)
            teams.fail(*faults, call="update")
            for stage in stages:
                await _channel(teams).progress(message, Activity(stage), opened)
            ref = await _until_posted(teams, message, opened, restarts)
            (sent,) = teams.messages
            assert ref == opened
            assert sent.id == opened.id
            assert "Restart the client [1]." in sent.shown

    asyncio.run(run())


async def _until_posted(
    teams: FakeTeams, message: Message, opened: PostedRef, restarts: list[bool]
) -> PostedRef:
    """Deliver as the inbox does: looked up before every repetition, by whichever process."""
    channel = _channel(teams)
    sent = into(opened, delivery(message))
    for restart in restarts:
        channel = _channel(teams) if restart else channel
        try:
            return await channel.find(sent) or await channel.deliver(sent)
        except DeliveryFailed:
            continue
    raise AssertionError("It was never posted.")


def _channel(teams: FakeTeams) -> TeamsChannel:
    async def pause(_: float) -> None:
        return

    given_settings = load_settings(
        _env_file=None,
        microsoft_app_id=APP_ID,
        microsoft_app_password="secret",
        microsoft_app_tenant_id=ENTRA,
    )
    cloud = Cloud(issuer=ISSUER, metadata_url=f"{teams.url}/meta", login_url=f"{teams.url}/login")
    return connect(given_settings, cloud=cloud, credentials=CountingCredentials(), pause=pause)
