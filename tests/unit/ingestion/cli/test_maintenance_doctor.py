"""``python -m ingestion doctor`` prints each check, and its exit code says whether it works."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from ingestion.__main__ import main
from ingestion.cli.maintenance import diagnose
from ingestion.config import Settings
from tests.fakes.confluence.faults import too_many
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CONFLUENCE_URL", "CONFLUENCE_TOKEN", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_confluence_it_says_how_to_set_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "Set CONFLUENCE_URL and CONFLUENCE_TOKEN." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "code", "last"),
    [
        ({}, 0, "Nothing is broken. See: clock, people."),
        ({"confluence_spaces": "IT,GONE"}, 1, "Broken: spaces unseen."),
        ({"confluence_token": "wrong"}, 1, "Broken: Confluence."),
    ],
    ids=["well", "broken", "refused"],
)
async def test_it_ends_with_what_is_broken(
    capsys: pytest.CaptureFixture[str], changes: dict[str, object], code: int, last: str
) -> None:
    site = Site()
    site.add_space("IT", anonymous=True)
    site.create("IT", "VPN")
    async with LocalConfluence(site, "data-center").serving() as server:
        given = {"confluence_url": server.url, "confluence_token": site.people[ADMIN].token}
        settings = Settings(_env_file=None, **{**given, **changes})  # type: ignore[arg-type]

        assert await diagnose(Namespace(), settings) == code

    told = capsys.readouterr().out.rstrip().splitlines()
    assert told[-1] == last
    assert site.people[ADMIN].token not in "".join(told)


@pytest.mark.mended(id="confluence-9")
async def test_a_short_wait_for_confluence_leaves_no_lines_among_what_is_shown() -> None:
    site = Site()
    site.add_space("IT", anonymous=True)
    site.create("IT", "VPN")
    async with LocalConfluence(site, "data-center").serving() as server:
        server.faults.fail("spaces", too_many("0"))
        token = site.people[ADMIN].token
        doctor = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ingestion", "doctor"),
            cwd=Path(__file__).parents[4],
            env={**os.environ, "CONFLUENCE_URL": server.url, "CONFLUENCE_TOKEN": token},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await doctor.communicate()

    assert b"space IT" in out
    assert server.count("spaces") > 1
    assert err == b""
