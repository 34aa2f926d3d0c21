from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.web.auth.id_tokens import SignInFailed
from bot.web.auth.issuer import new_attempt
from bot.web.auth.sign_in import CodeFlow, code_flow
from tests.bot.doors.signin.desk import settings_with
from tests.bot.server import settings_for
from tests.oidc import FakeIssuer


async def signed_in(flow: CodeFlow, issuer: FakeIssuer) -> str:
    """Return the role of who comes back."""
    attempt = new_attempt("/")
    back = await issuer.approve(await flow.address(attempt))
    query = dict(part.split("=") for part in back.partition("?")[2].split("&"))
    query["iss"] = issuer.url
    return (await flow.finish(attempt, query)).role


def flow_with(directory: Path, issuer: FakeIssuer, **changes: object) -> CodeFlow:
    flow = code_flow(settings_with(directory, issuer, **changes))
    assert flow is not None
    return flow


def test_without_an_issuer_there_is_no_flow(tmp_path: Path) -> None:
    assert code_flow(settings_for(tmp_path)) is None


async def test_too_many_groups_are_told_once(tmp_path: Path, issuer: FakeIssuer) -> None:
    issuer.claims = {"_claim_names": {"groups": "src1"}, "roles": ["Desk.Expert"]}
    flow = flow_with(tmp_path, issuer, oidc_expert_groups="Desk.Expert")
    with capture_logs() as lines:
        roles = [await signed_in(flow, issuer) for _ in range(3)]

    assert roles == ["expert"] * 3
    assert [line["event"] for line in lines] == ["signin.groups_left_out"]


async def test_a_rotated_key_signs_people_in_at_once(tmp_path: Path, issuer: FakeIssuer) -> None:
    flow = flow_with(tmp_path, issuer)
    await signed_in(flow, issuer)
    issuer.rotate("second")

    assert await signed_in(flow, issuer) == "asker"


async def test_a_key_that_is_not_published_signs_nobody_in(
    tmp_path: Path, issuer: FakeIssuer
) -> None:
    flow = flow_with(tmp_path, issuer)
    await signed_in(flow, issuer)
    issuer.sign_unpublished("second")

    with pytest.raises(SignInFailed, match="a key that the issuer has not"):
        await signed_in(flow, issuer)


async def test_nothing_secret_is_in_an_error(tmp_path: Path, issuer: FakeIssuer) -> None:
    flow = flow_with(tmp_path, issuer)
    attempt = new_attempt("/")
    back = await issuer.approve(await flow.address(attempt))
    code = back.partition("code=")[2].partition("&")[0]
    issuer.claims = {"aud": "another"}
    with pytest.raises(SignInFailed) as failed:
        await flow.finish(attempt, {"code": code, "state": attempt.state})

    said = f"{failed.value} {failed.value.told}"
    for secret in (code, attempt.secret, attempt.verifier, attempt.nonce, issuer.secret or ""):
        assert secret not in said
