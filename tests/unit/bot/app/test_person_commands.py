"""Tests of `python -m bot person` and `outbound`, over a whole data directory."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.__main__ import build_parser
from bot.app.cli import person
from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings
from bot.learning.label_review import QUESTIONS_FILE
from bot.store.database import Store
from bot.store.personal_data import KEPT_ANSWERS
from ingestion.records.ledger import records_at
from ingestion.uploads import Uploads
from tests.fakes.personal_data import (
    CANARY,
    TWIN,
    files_with,
    leave_files,
    leave_traces,
    personal_data,
    rows_with,
)

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def configured(tmp_path: Path, store: Store) -> Settings:
    return Settings(data_dir=tmp_path)


def parsed(*arguments: str) -> Namespace:
    return build_parser("python -m bot").parse_args(arguments)


async def leave_everything(store: Store, data_dir: Path) -> None:
    for who in (CANARY, TWIN):
        await leave_traces(store, who)
        await leave_files(store, data_dir, who)


async def forget(configured: Settings, store: Store) -> int:
    """Forget the canary by command; a server removes the replies in between."""
    code = await person.run(configured, parsed("person", "forget", CANARY.email, "--yes"))
    for each in await store.work.unfinished():
        interaction = await store.work.get(each.id)
        if interaction is not None and interaction.status == "cancelling":
            await store.work.cancelled(each.id)
    return code


async def test_no_byte_of_a_forgotten_person_is_left_in_the_data_directory(
    configured: Settings, store: Store, tmp_path: Path, capsys: Printed
) -> None:
    await leave_everything(store, tmp_path)
    begun = files_with(tmp_path, CANARY)
    assert {each.partition("/")[0].partition("-")[0] for each in begun} == {
        "documents",
        "evaluation",
        "frontdesk.sqlite",
        "ingestion.sqlite",
        QUESTIONS_FILE,
    }

    assert await forget(configured, store) == 0
    assert "replies may stand on a platform yet" in capsys.readouterr().out
    assert await forget(configured, store) == 0

    assert "Forgotten." in capsys.readouterr().out
    await store.close()
    assert files_with(tmp_path, CANARY) == []
    twins = files_with(tmp_path, TWIN)
    assert {QUESTIONS_FILE, f"{KEPT_ANSWERS}/large-1.jsonl", "ingestion.sqlite"} <= set(twins)


async def test_uploads_and_runs_stay_without_a_name(
    configured: Settings, store: Store, tmp_path: Path
) -> None:
    await leave_everything(store, tmp_path)
    await forget(configured, store)

    uploads, ledger = Uploads(tmp_path, "default"), records_at(tmp_path, "default").ledger
    names, _ = uploads.inventory("HANDBOOK")
    assert names == {f"{CANARY.tag}.md", f"{TWIN.tag}.md"}
    about = uploads.about("HANDBOOK", f"{CANARY.tag}.md")
    run = await ledger.get(f"run-{CANARY.tag}")
    assert about is not None
    assert run is not None
    assert about.by == run.by
    assert about.by.startswith("forgotten-")


async def test_what_no_platform_showed_is_forgotten_without_a_server(
    configured: Settings, store: Store, tmp_path: Path, capsys: Printed
) -> None:
    asked = await leave_traces(store, CANARY)
    for name in ("case", "gap", "shadow", "working"):
        await store.work.cancel(asked[name])
        await store.work.cancelled(asked[name])

    await person.run(configured, parsed("person", "forget", CANARY.web, "--yes"))

    assert "Forgotten." in capsys.readouterr().out
    assert not await store.forgetting.open_requests("default")


async def test_a_dry_run_counts_and_changes_nothing(
    configured: Settings, store: Store, tmp_path: Path, capsys: Printed
) -> None:
    await leave_everything(store, tmp_path)
    url = str(store.transactions._engine.url)  # noqa: SLF001 - the only way to it
    before = rows_with(url, CANARY)

    await person.run(configured, parsed("person", "forget", CANARY.slack, "--dry-run"))

    out = capsys.readouterr().out
    assert "5  interactions" in out
    assert "1  documents" in out
    assert rows_with(url, CANARY) == before


async def test_nobody_is_forgotten_unasked(
    configured: Settings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await leave_traces(store, CANARY)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)

    with pytest.raises(SettingInvalid, match="--yes"):
        await person.run(configured, parsed("person", "forget", CANARY.slack))

    assert not await store.forgetting.open_requests("default")


async def test_an_id_that_several_use_is_refused(configured: Settings) -> None:
    with pytest.raises(SettingInvalid, match="nobody's own id"):
        await person.run(configured, parsed("person", "forget", "admin", "--yes"))


async def test_an_export_is_one_file_with_records_and_documents(
    configured: Settings, store: Store, tmp_path: Path
) -> None:
    await leave_everything(store, tmp_path)
    out = tmp_path / "export.json"

    await person.run(configured, parsed("person", "export", CANARY.teams, "--out", str(out)))

    exported = json.loads(out.read_text("utf-8"))
    assert exported["format"] == 1
    assert [each["name"] for each in exported["documents"]] == [f"{CANARY.tag}.md"]
    assert [each["id"] for each in exported["index_runs"]] == [f"run-{CANARY.tag}"]
    assert len(exported["records"]["interactions"]) == 5
    acts = await store.audits.newest("default", 1)
    assert [(each.act, each.subject) for each in acts] == [("export person", CANARY.teams)]


async def test_what_leaves_the_machine_is_printed(tmp_path: Path, capsys: Printed) -> None:
    configured = Settings(data_dir=tmp_path, openai_model="large", smtp_from="a@b.example")

    assert await person.run(configured, parsed("outbound")) == 0

    out = capsys.readouterr().out
    assert "Language models: api.openai.com" in out
    assert "Mail server" in out.partition("Nothing is sent to: ")[2]


def clock_at(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


async def test_replaced_pages_are_erased_once_they_are_indexed_again(
    store: Store, tmp_path: Path
) -> None:
    await leave_traces(store, CANARY)
    now, indexed, erased = datetime.now(UTC), False, 0

    async def erase_pages() -> bool:
        nonlocal erased
        erased += indexed
        return indexed

    personal = personal_data(store, tmp_path)
    for later, is_indexed, times in ((0, True, 0), (5, False, 0), (5, True, 1), (9, True, 1)):
        at, indexed = now + timedelta(minutes=later), is_indexed
        looking = replace(personal, erase_pages=erase_pages, now=clock_at(at))
        if later == 0:
            await looking.request([CANARY.web], "board:Ada")
        await looking.run()
        assert erased == times
