"""Documents through the whole application: uploaded, found by questions, repaired when killed."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from aiohttp import FormData

from bot.answering.attachments import AttachmentReader, NotText
from bot.app.documents import SubprocessPdfReader
from bot.domain.settings import Settings
from ingestion.uploads import ReceivedFile, Uploads
from ingestion.validation import parse_readers
from tests.fakes.bot_ports import Drive, with_files
from tests.fakes.http_server import LOW, Client, serving_application, settings_for, write_index
from tests.fakes.ingestion import pdf

SPACES = "/api/v1/documents"
GYM = "# Gym\n\nThe gym on floor three opens at half past six. Bring the zebra card.\n"
QUESTION = "When does the gym on floor three open?"


def form(content: bytes, name: str, readers: str = "everyone") -> FormData:
    sent = FormData(quote_fields=False)
    sent.add_field("file", io.BytesIO(content), filename=name)
    sent.add_field("readers", readers)
    return sent


async def upload(client: Client, text: str, readers: str = "everyone") -> dict[str, Any]:
    sent = form(text.encode(), "gym.md", readers)
    async with client.post(f"{SPACES}/HOUSE", data=sent) as response:
        assert response.status == 202, await response.text()
        return dict(await response.json())


async def indexed(client: Client, name: str = "gym.md") -> dict[str, Any]:
    """Wait until a document is found, and return it."""
    async with asyncio.timeout(60):
        while True:
            async with client.get(f"{SPACES}/HOUSE/{name}") as response:
                body = dict(await response.json())
            if body.get("state") == "indexed":
                return body
            await asyncio.sleep(0.1)


async def sources(client: Client, *groups: str) -> str:
    """Ask, and return all that is said of pages: cited, offered or quoted."""
    asked = {"question": QUESTION, "user": {"id": "anna", "groups": list(groups)}}
    async with client.post("/api/v1/ask", json=asked | {"show_pipeline": True}) as response:
        return await response.text()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(tmp_path, dev_identities=True, confidence_threshold=LOW)


async def test_an_uploaded_document_is_found_by_those_it_is_for_and_by_nobody_once_deleted(
    settings: Settings,
) -> None:
    async with serving_application(settings) as client:
        await upload(client, GYM, "group:hr")
        assert (await indexed(client))["readers"] == "group:hr"
        assert "gym.md" not in await sources(client)
        assert "zebra" not in await sources(client, "it")
        assert "gym.md" in await sources(client, "hr")
        assert (await client.get("/pages/HOUSE/gym.md")).status == 404

        assert (await upload(client, GYM))["replaced"]
        assert (await indexed(client))["readers"] == "everyone"
        assert "gym.md" in await sources(client)

        own = {"Content-Type": "application/json"}
        gone = await client.delete(f"{SPACES}/HOUSE/gym.md", headers=own)
        assert gone.status == 204
        assert "gym.md" not in await sources(client, "hr")
        assert (await client.get(f"{SPACES}/HOUSE/gym.md")).status == 404
        assert not (settings.data_dir / "documents" / "HOUSE" / "gym.md").exists()


async def test_what_was_kept_before_a_kill_is_indexed_by_the_next_start(
    settings: Settings,
) -> None:
    path = settings.data_dir / "incoming"
    path.write_text(GYM)
    arrived = ReceivedFile(path, "gym.md", ".md", parse_readers("group:hr"), "anna")
    await Uploads(settings.data_dir, "default").keep("HOUSE", arrived)

    async with serving_application(settings) as client:
        assert (await indexed(client))["readers"] == "group:hr"
        assert "gym.md" not in await sources(client)
    async with serving_application(settings) as client:
        runs = (await (await client.get("/api/v1/reindex")).json())["runs"]
        assert len(runs) == 1


async def test_what_was_removed_before_a_kill_is_forgotten_by_the_next(
    settings: Settings,
) -> None:
    async with serving_application(settings) as client:
        await upload(client, GYM)
        await indexed(client)
    await Uploads(settings.data_dir, "default").remove("HOUSE", "gym.md")

    async with serving_application(settings) as client:
        async with asyncio.timeout(60):
            while (await client.get("/pages/HOUSE/gym.md")).status != 404:  # noqa: ASYNC110 - HTTP
                await asyncio.sleep(0.1)
        assert "gym.md" not in await sources(client)


async def test_of_uploads_of_the_same_name_at_once_one_is_whole(
    settings: Settings,
) -> None:
    async with serving_application(settings) as client:
        texts = [f"# Gym {number}\n\nThe gym has number {number}.\n" for number in range(6)]
        await asyncio.gather(*(upload(client, text) for text in texts))
        await indexed(client)
        kept = (settings.data_dir / "documents" / "HOUSE" / "gym.md").read_text()
        page = await (await client.get("/pages/HOUSE/gym.md")).text()
        listed = await (await client.get(f"{SPACES}/HOUSE")).json()

    assert kept in texts
    assert kept.splitlines()[-1] in page
    assert len(listed["documents"]) == 1


async def test_a_space_of_a_folder_takes_no_uploads_and_can_be_read_again(
    settings: Settings,
    tmp_path: Path,
) -> None:
    await write_index(settings, tmp_path / "wiki")
    async with serving_application(settings) as client:
        refused = await client.post(f"{SPACES}/IT", data=form(b"Text", "a.md"))
        near = await client.post(f"{SPACES}/it", data=form(b"Text", "a.md"))
        unknown = await client.post("/api/v1/reindex", json={"space": "IT"})
        told = await refused.json()
        own = {"Content-Type": "application/json"}
        kept = await client.delete(f"{SPACES}/IT/vpn.md", headers=own)

    assert (refused.status, near.status, unknown.status, kept.status) == (409, 409, 404, 409)
    assert "Choose another one" in told["detail"]


@pytest.mark.parametrize(
    ("content", "name", "why"),
    [
        (b"%PDF-1.4 garbage", "a.pdf", "broken PDF"),
        (pdf(["Text"])[:-200], "a.pdf", ""),
        (b"PK\x03\x04garbage", "a.docx", "broken Word document"),
        (bytes(range(256)) * 10, "a.txt", "no format that can be read"),
        (b"Text", "../../etc/passwd", "has a path in it"),
        (b"Text", ".htaccess", "begins with a dot"),
        (b"Text", "x" * 201, "too long"),
        (b"", "a.md", "is empty"),
    ],
)
async def test_what_can_not_be_taken_is_told_with_the_reason_and_leaves_nothing(
    settings: Settings,
    content: bytes,
    name: str,
    why: str,
) -> None:
    async with serving_application(settings) as client:
        async with client.post(f"{SPACES}/HOUSE", data=form(content, name)) as response:
            told = await response.json()
        if not why and response.status == 202:
            return

    assert response.status == 422
    assert why in told["detail"]
    assert not (settings.data_dir / "documents" / "HOUSE").exists()


async def test_uploaded_html_is_text_and_never_a_page_of_its_own(
    settings: Settings,
) -> None:
    evil = b"<!doctype html><h1>Gym</h1><p>Opens early.<script>alert(1)</script>"
    async with serving_application(settings) as client:
        await client.post(f"{SPACES}/HOUSE", data=form(evil, "gym.html"))
        await indexed(client, "gym.html")
        page = await (await client.get("/pages/HOUSE/gym.html")).text()

    assert "Opens early." in page
    assert "alert(1)" not in page


async def test_a_pdf_that_comes_with_a_question_is_read() -> None:
    drive = Drive()
    file = drive.add("handbook.pdf", pdf(("Error 809", "The port is blocked.")), "application/pdf")

    got = await AttachmentReader({"slack": drive}, SubprocessPdfReader().text).read(
        with_files(file)
    )

    assert "The port is blocked." in got.attached[0].text
    assert got.remarks == ()


async def test_one_without_text_is_told_as_such() -> None:
    with pytest.raises(NotText):
        await SubprocessPdfReader().text(b"no pdf")
