"""Documents on the board in a real Chromium: upload, watch, find, delete; also without scripts."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import pytest_asyncio
from playwright.async_api import Browser, FilePayload, Page, expect

from tests.e2e.chromium import DESKTOP, NEEDS_AXE, NEEDS_CHROMIUM, Look, Visit, in_looks, visiting
from tests.e2e.conftest import ALMOST_ANYTHING, Served, serving
from tests.fakes.ingestion import pdf

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    pytest.mark.xdist_group("board-documents"),
    NEEDS_CHROMIUM,
]
GYM = FilePayload(
    name="gym ü.md",
    mimeType="text/markdown",
    buffer=b"# Gym\n\nThe gym on floor three opens at half past six. Bring the zebra card.\n",
)
POLICY = FilePayload(
    name="policy", mimeType="", buffer=pdf(["Parking", "Visitors park in the yard."])
)
BROKEN = FilePayload(name="broken.pdf", mimeType="application/pdf", buffer=b"%PDF-1.4 no")
PLACE = "/board/documents"


@pytest.fixture(scope="module")
def own(indexed_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of these tests' own: a start with what they upload leaves the sample out."""
    data_dir = shutil.copytree(indexed_sample, tmp_path_factory.mktemp("documents") / "data")
    yield from serving(data_dir, CONFIDENCE_THRESHOLD=ALMOST_ANYTHING)


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, own: Served) -> AsyncIterator[Visit]:
    async with visiting(chromium, own.url, DESKTOP) as opened:
        await opened.page.goto(own.url + PLACE)
        yield opened


async def upload(page: Page, space: str, *files: FilePayload, readers: str = "everyone") -> None:
    if await page.get_by_label("Space").count():
        await page.get_by_label("Space").fill(space)
    await page.get_by_label("Who can read them").fill(readers)
    await page.get_by_label("Files").set_input_files(list(files))
    await page.get_by_role("button", name="Upload").click()


async def test_an_upload_is_kept_indexed_before_ones_eyes_and_answers_questions(
    visit: Visit, own: Served
) -> None:
    page = visit.page
    await upload(page, "HOUSE", GYM, POLICY)

    await expect(page.get_by_text("“gym ü.md”, “policy.pdf” saved")).to_be_visible()
    await expect(page.locator("#documents .entry")).to_have_count(2)
    await expect(page.locator("#runs")).to_contain_text("Done: ")
    await visit.picture("documents-space")
    kept = own.data_dir / "documents" / "HOUSE" / "gym ü.md"
    assert kept.read_bytes() == GYM["buffer"]
    await page.goto(own.url)
    await visit.ask("When does the gym on floor three open?")
    await expect(page.locator(".answer").last).to_contain_text("half past six")


async def test_what_can_not_be_read_is_told_in_place(visit: Visit) -> None:
    page = visit.page
    await upload(page, "ODD", BROKEN)

    await expect(page.get_by_role("alert").filter(has_text="broken PDF")).to_be_visible()
    await expect(page.get_by_label("Space")).to_have_value("ODD")
    visit.troubles.clear()  # the browser notes the status 422


async def test_a_file_can_be_dropped(visit: Visit) -> None:
    page = visit.page
    await page.get_by_label("Space").fill("DROPPED")
    drop = await page.evaluate_handle(
        "() => { const d = new DataTransfer();"
        " d.items.add(new File(['Dropped text'], 'dropped.txt')); return d; }"
    )
    # A browser gives a drop to its file field by itself; here the files are put in.
    await page.evaluate(
        "([field, drop]) => { field.files = drop.files; }",
        [await page.get_by_label("Files").element_handle(), drop],
    )
    await page.get_by_role("button", name="Upload").click()

    await expect(page.get_by_text("“dropped.txt” saved")).to_be_visible()
    await expect(page.locator("#documents .entry")).to_have_count(1)


async def test_a_document_is_deleted_only_after_a_second_word(visit: Visit, own: Served) -> None:
    page = visit.page
    await upload(page, "GONE", GYM)
    await expect(page.locator("#documents .entry")).to_have_count(1)
    await page.goto(f"{own.url}{PLACE}/GONE/{quote('gym ü.md')}")

    delete = page.get_by_role("button", name="Delete", exact=True)
    await expect(delete).to_be_hidden()
    await page.get_by_text("Delete …").click()
    await delete.click()

    await expect(page).to_have_url(f"{own.url}{PLACE}/GONE")
    await expect(page.locator("#documents")).to_contain_text("Nothing in this space")


async def test_it_works_without_javascript(chromium: Browser, own: Served) -> None:
    context = await chromium.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(own.url + PLACE)
    await upload(page, "PLAIN", GYM)

    await expect(page.get_by_text("“gym ü.md” saved")).to_be_visible()
    await expect(page.locator("#documents .entry")).to_have_count(1)
    await context.close()


@NEEDS_AXE
@in_looks()
async def test_nothing_keeps_people_out(chromium: Browser, own: Served, look: Look) -> None:
    async with visiting(chromium, own.url, look.size) as visit:
        await visit.look(look)
        await visit.page.goto(own.url + PLACE)
        await upload(visit.page, "SEEN", GYM)
        await expect(visit.page.locator("#documents .entry")).to_have_count(1)
        places = {"all": "", "space": "/SEEN", "document": f"/SEEN/{quote('gym ü.md')}"}
        for name, place in places.items():
            await visit.page.goto(own.url + PLACE + place)
            await visit.shuts_nobody_out(f"documents-{name}-{look.name}")
