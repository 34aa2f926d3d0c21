"""A third-party platform is one folder and one line of settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.chat.adapters import NullNotes, is_platform_endpoint, load_adapters
from bot.domain.errors import SettingInvalid
from tests.contract.platforms.example_platform.adapter import PATH
from tests.contract.platforms.example_platform.double import SECRET, FakePigeon
from tests.fakes.http_server import (
    LIKELY,
    LOW,
    TOKEN,
    serving_application,
    settings_for,
    wait_until,
    write_index,
)

PIGEON = "tests.contract.platforms.example_platform"
ASKED = {
    "kind": "asked",
    "id": "message-1",
    "room": "help",
    "thread": "thread-1",
    "person": "alice",
    "text": LIKELY,
    "private": False,
}


async def test_a_platform_named_in_the_settings_is_served_by_the_whole_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(
        tmp_path, adapters=(PIGEON,), confidence_threshold=LOW, admin_token=TOKEN
    )
    await write_index(settings, tmp_path / "pages")
    async with FakePigeon().serving() as pigeon:
        for name, value in {"URL": pigeon.url, "SECRET": SECRET, "PEOPLE": "people"}.items():
            monkeypatch.setenv(f"PIGEON_{name}", value)
        async with serving_application(settings) as client:
            signed = {"X-Pigeon-Secret": SECRET}
            assert (await client.post(PATH, json=ASKED, headers=signed)).status == 200
            await wait_until(lambda: pigeon.notes)
            assert (await client.post("/api/v1/ask", json={"question": "hi"})).status == 401

    assert "UDP port" in pigeon.notes[0].text


async def test_its_missing_settings_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIGEON_URL", raising=False)
    (pigeon,) = load_adapters(settings_for(tmp_path, adapters=(PIGEON,)))

    with pytest.raises(SettingInvalid, match="PIGEON_URL"):
        pigeon.connect(settings_for(tmp_path), NullNotes())


@pytest.mark.parametrize(
    ("name", "cure"), [("no_such_package", "Install the package"), ("json", "no connect and no")]
)
def test_what_is_no_adapter_is_named_with_the_cure(tmp_path: Path, name: str, cure: str) -> None:
    with pytest.raises(SettingInvalid, match=cure) as refused:
        list(load_adapters(settings_for(tmp_path, adapters=(name,))))

    assert repr(name) in str(refused.value)


def test_adapters_are_named_by_comma(tmp_path: Path) -> None:
    assert settings_for(tmp_path, adapters="one, two,").adapters == ("one", "two")


@pytest.mark.parametrize(
    ("path", "passes"),
    [
        ("/slack/events", True),
        ("/api/messages", True),
        ("/platforms/pigeon/events", True),
        ("/api/v1/ask", False),
        ("/platforms", False),
        ("/", False),
    ],
)
def test_only_the_platforms_own_paths_pass_the_doors(path: str, *, passes: bool) -> None:
    assert is_platform_endpoint(path) is passes
