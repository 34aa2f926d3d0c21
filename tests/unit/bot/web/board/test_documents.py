"""Tests of the board's documents: who sees what, uploads by form, and runs."""

from __future__ import annotations

import html
import io
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import FormData, web
from aiohttp.test_utils import TestClient, TestServer

from bot.chat.documents import NextRuns, SeenBy
from bot.store.database import Store
from bot.web.auth.identity import VISITOR_COOKIE
from bot.web.auth.security import mount_security
from bot.web.board import labels as tell
from bot.web.board.documents import DocumentPages
from bot.web.board.layout import mount_layout
from bot.web.forms import upload_limits
from ingestion.errors import DocumentInTheWay
from ingestion.library import Space
from ingestion.records.types import Failure, Run
from ingestion.runs.schedule import Next
from tests.fakes.chat_context import RUN, MemoryDocuments, document
from tests.fakes.http_server import BEARER, PAGE_VIEW, TOKEN, Client, settings_for

PATH = "/board/documents"


def shelf(*runs: Run) -> MemoryDocuments:
    kept = MemoryDocuments(*runs)
    kept.kept["HR", "leave.md"] = document("HR", "leave.md")
    kept.kept["HR", "pay.md"] = document("HR", "pay.md", readers="group:hr")
    kept.kept["FOLDER", "a/b c.md"] = document("FOLDER", "a/b c.md")
    return kept


@asynccontextmanager
async def serving(
    store: Store,
    tmp_path: Path,
    kept: MemoryDocuments,
    *,
    files: int = 2,
    guarded: bool = False,
    sample: bool = False,
    next_runs: NextRuns | None = None,
) -> AsyncIterator[Client]:
    settings = settings_for(tmp_path, **({"admin_token": TOKEN} if guarded else {}))
    app = web.Application()
    mount_security(app, settings, sessions=store.sessions, audits=store.audits, sample=sample)
    mount_layout(app)
    DocumentPages(
        tenant="default",
        documents=kept,
        reindexing=kept,
        audits=store.audits,
        data_dir=tmp_path,
        bounds=upload_limits(1, files=files),
        next_runs=next_runs,
    ).mount(app)
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.fixture
def kept() -> MemoryDocuments:
    return shelf()


@pytest.fixture
async def client(store: Store, tmp_path: Path, kept: MemoryDocuments) -> AsyncIterator[Client]:
    async with serving(store, tmp_path, kept) as opened:
        yield opened


async def seen(client: Client, path: str = PATH, **headers: str) -> str:
    response = await client.get(path, headers={**PAGE_VIEW, **headers})
    assert response.status == 200, await response.text()
    return html.unescape(await response.text())


async def send(
    client: Client, *files: tuple[str, bytes], space: str = "HR", last: bool = False
) -> tuple[int, str, str]:
    """Send the form as a browser does; return status, place and text."""
    sent = FormData(quote_fields=False)
    fields = [("space", space), ("readers", "group:hr")]
    for name, value in () if last else fields:
        sent.add_field(name, value)
    for name, content in files:
        sent.add_field("file", io.BytesIO(content), filename=name)
    for name, value in fields if last else ():
        sent.add_field(name, value)
    return await post(client, PATH, sent)


async def post(client: Client, path: str, data: FormData | dict[str, str]) -> tuple[int, str, str]:
    own = {"Origin": f"http://127.0.0.1:{client.port}", "User-Agent": "Mozilla/5.0"}
    response = await client.post(path, data=data, headers=own, allow_redirects=False)
    place = response.headers.get("Location", "")
    return response.status, place, html.unescape(await response.text())


async def acts(store: Store) -> Sequence[tuple[str, str]]:
    return [(one.act, one.subject) for one in await store.audits.newest("default", 10)]


async def test_spaces_and_documents_are_shown_and_linked(store: Store, tmp_path: Path) -> None:
    async with serving(store, tmp_path, shelf(RUN)) as client:
        page = await seen(client)
        for space in re.findall(rf'href="({PATH}/[^"]+)"', page):
            listed = await seen(client, space)
            for place in re.findall(rf'entry-name" href="({PATH}/[^"]+)"', listed):
                one = await client.get(place, headers=PAGE_VIEW)
                assert one.status == 200, place

    assert "1 document" in page
    assert "a/b c.md" in listed or "pay.md" in listed


async def test_only_experts_see_the_section(store: Store, tmp_path: Path) -> None:
    async with serving(store, tmp_path, shelf(), guarded=True) as client:
        for path in (PATH, f"{PATH}/HR", f"{PATH}/HR/leave.md", f"{PATH}/-/runs"):
            assert (await client.get(path)).status == 403
            assert (await client.get(path, headers=BEARER)).status == 200


async def test_only_admins_change_anything(store: Store, tmp_path: Path) -> None:
    kept = shelf(replace(RUN, state="running"))
    async with serving(store, tmp_path, kept, guarded=True) as client:
        upload, _, _ = await send(client, ("a.md", b"Text"))
        others = [
            await post(client, f"{PATH}/-/reindex", {}),
            await post(client, f"{PATH}/-/cancel", {"run": "r1"}),
            await post(client, f"{PATH}/HR/leave.md/delete", {}),
        ]

    assert {upload, *(status for status, _, _ in others)} == {403}
    assert ("HR", "leave.md") in kept.kept
    assert kept.runs[0].active


@pytest.mark.parametrize("last", [False, True], ids=["fields first", "fields last"])
async def test_files_are_kept_by_a_plain_form_and_the_page_says_so(
    kept: MemoryDocuments, store: Store, client: Client, *, last: bool
) -> None:
    status, place, _ = await send(client, ("ü #.md", b"A"), ("b.md", b"B"), last=last)
    page = await seen(client, place)

    assert status == 303
    assert place.startswith(f"{PATH}/HR?")
    assert "“ü #.md”, “b.md” saved" in page
    assert kept.kept["HR", "ü #.md"].readers == "group:hr"
    assert await acts(store) == [("upload", "HR/b.md"), ("upload", "HR/ü #.md")]


@pytest.mark.mended(id="ux-9")
async def test_that_it_waits_is_said_until_indexed(kept: MemoryDocuments, client: Client) -> None:
    key = "HR", "leave.md"
    kept.kept[key] = replace(kept.kept[key], state="waiting")
    waiting = await seen(client, f"{PATH}/HR?kept=leave.md")
    kept.kept[key] = replace(kept.kept[key], state="indexed")
    done = await seen(client, f"{PATH}/HR?kept=leave.md")

    assert "once it has been indexed" in waiting
    assert "once it has been indexed" not in done
    assert 'hx-trigger="runs-ended from:body"' in waiting.partition('id="kept"')[2][:200]


async def test_what_can_not_be_taken_is_told_on_the_page_and_the_others_are_kept(
    kept: MemoryDocuments, client: Client
) -> None:
    status, _, page = await send(client, ("a/b.md", b"A"), ("b.md", b"B"), space="NEW")

    assert status == 422
    assert "'a/b.md' is no name." in page
    assert "“b.md” saved" in page
    assert 'value="NEW"' in page
    assert 'value="group:hr"' in page
    assert ("NEW", "b.md") in kept.kept


async def test_a_form_without_a_file_says_what_to_do(client: Client) -> None:
    status, _, page = await send(client, ("", b""))

    assert status == 422
    assert "Choose a file first." in page


async def test_too_large_and_too_many_are_refused(client: Client) -> None:
    large, _, _ = await send(client, ("a.md", b"x" * 1_200_000))
    huge, _, _ = await send(client, ("a.md", b"x" * 4_000_000))
    many, _, _ = await send(client, *[(f"{n}.md", b"x") for n in range(3)])

    assert (large, huge, many) == (413, 413, 422)


async def test_a_document_is_deleted_and_it_is_written_down(
    kept: MemoryDocuments, store: Store, client: Client
) -> None:
    status, place, _ = await post(client, f"{PATH}/HR/leave.md/delete", {})
    again, _, _ = await post(client, f"{PATH}/HR/leave.md/delete", {})
    folder, _, _ = await post(client, f"{PATH}/FOLDER/a%2Fb%20c.md/delete", {})

    assert (status, place) == (303, f"{PATH}/HR")
    assert (again, folder) == (404, 409)
    assert await acts(store) == [("delete document", "HR/leave.md")]


async def test_runs_are_begun_watched_and_cancelled(
    kept: MemoryDocuments, store: Store, client: Client
) -> None:
    running = replace(
        RUN, state="running", pages=3, total=40, chunks=30, working_seconds=6.0, ended_at=None
    )
    kept.runs = [running]
    page = await seen(client)
    watched = await client.get(f"{PATH}/-/runs")
    busy, _, _ = await post(client, f"{PATH}/-/reindex", {"space": "HR"})
    status, _, _ = await post(client, f"{PATH}/-/cancel", {"run": "r1"})
    ended = await client.get(f"{PATH}/-/runs")
    pages = await watched.text(), await ended.text()
    started, place, _ = await post(client, f"{PATH}/-/reindex", {"space": "HR", "dry_run": "1"})

    assert "3 of 40 pages, 30 passages, 5 per second, about 1 min left" in page
    assert 'value="3" max="40"' in page
    assert 'hx-trigger="every 1s"' in pages[0]
    assert "HX-Trigger" not in watched.headers
    assert ended.headers["HX-Trigger"] == "runs-ended"
    assert "every 1s" not in pages[1]
    assert (busy, status, started, place) == (409, 303, 303, f"{PATH}/HR")
    assert kept.runs[0].dry_run
    assert await acts(store) == [("reindex", "HR"), ("cancel reindex", "r1")]


class EndingRun(MemoryDocuments):
    """Its run ends while the documents are read, so they are read without those of the run."""

    async def spaces(self, seen_by: SeenBy) -> Sequence[Space]:
        found = await super().spaces(seen_by)
        self.runs = [RUN]
        return found


@pytest.mark.parametrize("path", [PATH, f"{PATH}/HR"])
async def test_a_page_read_while_a_run_ends_is_loaded_again(
    path: str, store: Store, tmp_path: Path
) -> None:
    kept = EndingRun(replace(RUN, state="running", ended_at=None))
    kept.kept["HR", "leave.md"] = document("HR", "leave.md")
    async with serving(store, tmp_path, kept) as client:
        page = await seen(client, path)

    assert 'hx-trigger="every 1s"' in page
    assert '<noscript><meta http-equiv="refresh"' in page


async def test_failures_are_shown_with_their_cure(kept: MemoryDocuments, client: Client) -> None:
    failure = Failure("HR", "<b>pay</b>.pdf", "is encrypted", "Save it without a password.")
    kept.runs = [replace(RUN, failed=1, failures=(failure,))]
    response = await client.get(f"{PATH}/-/runs")
    page = await response.text()

    assert "&lt;b&gt;pay&lt;/b&gt;.pdf" in page
    assert "is encrypted." in page
    assert "Save it without a password." in page


async def test_a_failed_upload_leads_to_its_deletion(kept: MemoryDocuments, client: Client) -> None:
    kept.failures = (Failure("HR", "pay.md", "is broken", "Mend it."),)
    page = await seen(client, f"{PATH}/HR")
    one = await seen(client, f"{PATH}/HR/pay.md")

    assert f'<a href="{PATH}/HR/pay.md">pay.md</a>' in page
    assert f'action="{PATH}/HR/pay.md/delete"' in one


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (replace(RUN, state="waiting"), "Queued"),
        (replace(RUN, state="running"), "Looking for changes \u2026"),
        (
            replace(RUN, state="running", space=None, at_space="HR", pages=1, total=1, chunks=1),
            "HR: 1 of 1 page, 1 passage, less than a minute left",
        ),
        (replace(RUN, unchanged=1), "Nothing to do: 1 page up to date"),
        (replace(RUN, added=2, failed=1), "Done: 2 added, 1 could not be read"),
        (replace(RUN, dry_run=True, removed=1), "A real run would find: 1 removed"),
        (replace(RUN, state="interrupted"), "Interrupted; continues at the next start"),
        (replace(RUN, state="cancelled"), "Cancelled; pages already indexed are kept"),
        (replace(RUN, state="failed"), "Stopped by a problem"),
    ],
)
def test_a_run_is_told_in_words(run: Run, told: str) -> None:
    assert tell.standing(run) == told


class FixedSchedule:
    """Implements NextRuns; may be away."""

    def __init__(self, *, away: bool = False) -> None:
        self._away = away

    async def __call__(self) -> dict[str, Next]:
        if self._away:
            raise DocumentInTheWay("Confluence does not answer.")
        return {"HR": Next("changes", datetime.now(UTC) + timedelta(minutes=3, seconds=5))}


async def test_one_page_is_read_or_what_changed_of_a_space(
    kept: MemoryDocuments, store: Store, client: Client
) -> None:
    url = "https://wiki.example/pages/7"
    one = await post(client, f"{PATH}/-/reindex", {"page": f" {url} ", "one_page": "1"})
    some = await post(client, f"{PATH}/-/reindex", {"space": "HR", "changes": "1"})
    none = await post(client, f"{PATH}/-/reindex", {"page": " ", "one_page": "1"})

    assert (one[0], some[0], none[0]) == (303, 303, 422)
    assert [(run.space, run.extent, run.page) for run in reversed(kept.runs)] == [
        (None, "page", url),
        ("HR", "changes", ""),
    ]
    acts = await store.audits.newest("default", 2)
    assert [each.detail for each in acts] == ["", f"page {url}"]


async def test_a_run_tells_what_it_is_over_and_who_began_it(store: Store, tmp_path: Path) -> None:
    scheduled = replace(RUN, by="schedule", extent="changes", changed=1)
    page = replace(RUN, id="r2", by="anna", extent="page", page="https://wiki.example/Pay")
    async with serving(store, tmp_path, shelf(scheduled, page)) as client:
        text = await seen(client)

    assert "Changes in HR" in text
    assert "scheduled" in text
    assert "One page of HR" in text
    assert "by anna" in text
    assert "https://wiki.example/Pay" in text


@pytest.mark.mended(id="ux-5")
async def test_who_began_a_run_is_called_as_in_the_header(
    kept: MemoryDocuments, store: Store, tmp_path: Path
) -> None:
    async with serving(store, tmp_path, kept, sample=True) as client:
        await seen(client)
        me, other = visitor_of(client), f"visitor-{'0' * 24}"
        runs = (replace(RUN, by=me), replace(RUN, id="r2", by="demo-tomas", state="running"))
        kept.runs = [*runs, replace(RUN, id="r3", by=other)]
        text = await seen(client)

    for called in ("by You", "by Tomas", "by Visitor 000000"):
        assert called in text


def visitor_of(client: Client) -> str:
    """Return the id of the browser that a client is."""
    (person,) = {
        cookie.value.split(".")[0]
        for cookie in client.session.cookie_jar
        if cookie.key == VISITOR_COOKIE
    }
    return person


@pytest.mark.parametrize(("away", "told"), [(False, True), (True, False)])
async def test_the_next_pass_is_told_while_it_can_be(
    store: Store, tmp_path: Path, *, away: bool, told: bool
) -> None:
    async with serving(store, tmp_path, shelf(), next_runs=FixedSchedule(away=away)) as client:
        pages = [await seen(client), await seen(client, f"{PATH}/HR")]

    assert ["next check for changes in about 3 min" in text for text in pages] == [told] * 2
    assert ("Index only this page" in pages[0]) is told
