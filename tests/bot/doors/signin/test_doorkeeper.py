from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from aiohttp.test_utils import make_mocked_request

from bot.domain.messages import Person
from bot.domain.users import SignedIn
from bot.web.auth.credentials import AdminTokenCheck, WrongTokenLimit
from bot.web.auth.identity import Identities
from tests.bot.server import BEARER, TOKEN, settings_for


@dataclass
class Acts:
    """Keeps what was written down."""

    kept: list[tuple[str, str, str, str]] = field(default_factory=list)

    async def append(
        self, tenant: str, actor: str, act: str, subject: str, *, detail: str = ""
    ) -> None:
        self.kept.append((actor, act, subject, detail))


def doorkeeper(tmp_path: Path, acts: Acts, token: str | None = TOKEN) -> AdminTokenCheck:
    identities = Identities(settings_for(tmp_path, admin_token=token))
    return AdminTokenCheck(identities, acts, "default", WrongTokenLimit())


async def test_experts_and_admins_are_written_down_and_askers_are_not(tmp_path: Path) -> None:
    acts = Acts()
    keeper = doorkeeper(tmp_path, acts)

    await keeper.came_in(SignedIn("oidc", "asker", Person("oidc-1", "Anna")))
    await keeper.came_in(SignedIn("oidc", "expert", Person("oidc-2", "Ben")))
    await keeper.came_in(SignedIn("oidc", "admin", Person("oidc-3", "Cleo", "c@acme.example")))
    await keeper.came_in(SignedIn("token", "admin"))

    assert acts.kept == [
        ("web:Ben", "sign_in", "oidc-2", "expert"),
        ("web:c@acme.example", "sign_in", "oidc-3", "admin"),
        ("web:admin token", "sign_in", "", "admin"),
    ]


async def test_a_wrong_token_is_written_down_without_it(tmp_path: Path) -> None:
    acts = Acts()
    headers = {"Authorization": "Bearer almost-the-token"}

    assert not await doorkeeper(tmp_path, acts).check_bearer(
        make_mocked_request("GET", "/x", headers=headers)
    )
    assert [kept[:3] for kept in acts.kept] == [("web:unknown", "wrong_token", "/x")]
    assert "almost-the-token" not in str(acts.kept)


async def test_without_an_admin_token_none_is_wrong(tmp_path: Path) -> None:
    acts = Acts()
    keeper = doorkeeper(tmp_path, acts, token=None)

    assert not await keeper.check_bearer(make_mocked_request("GET", "/x", headers=BEARER))
    assert acts.kept == []
