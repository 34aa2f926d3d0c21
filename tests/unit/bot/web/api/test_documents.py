"""Tests of documents over the API: every documented response, permissions, odd input."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, FormData

from bot.domain.errors import StoreUnavailable
from bot.store.database import Store
from bot.web.api import openapi_document, uploads
from bot.web.api.documents import DOCUMENT_OPERATIONS, DocumentsApi
from bot.web.api.operations import Operation
from bot.web.api.requests import parse_json
from bot.web.forms import upload_limits
from bot.web.problems import ProblemDetails
from ingestion.documents.convert import convert
from ingestion.documents.front_matter import join_front_matter
from tests.fakes.chat_context import RUN, MemoryDocuments, document, documents_api
from tests.fakes.http_server import BEARER, TOKEN, Client, serving, settings_for

pytestmark = pytest.mark.attack

JSON = {"Content-Type": "application/json"}
EVIL = {"Origin": "https://evil.example"}
SPACES = "/api/v1/documents"
PAGE = {"title": 'Leave: "28" days', "content": "# Leave\n\n---\nAsk HR.", "labels": ["hr", "- x"]}
documented_api = cache(openapi_document)


def form(
    content: bytes = b"# Leave", name: str = "leave.md", readers: str | None = None
) -> FormData:
    sent = FormData(quote_fields=False)
    if readers is not None:
        sent.add_field("readers", readers)
    sent.add_field("file", io.BytesIO(content), filename=name)
    return sent


def shelf() -> MemoryDocuments:
    filled = MemoryDocuments(RUN)
    for space, name in (("HR", "leave.md"), ("HR", "pay.md"), ("FOLDER", "a/b.md")):
        filled.kept[space, name] = document(space, name)
    return filled


class Broken:
    """Documents of which every method raises the same error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method
        async def method(*_: object, **__: object) -> object:
            raise self._error

        return method


def broken(store: Store, tmp_path: Path, error: Exception) -> DocumentsApi:
    parts: Any = Broken(error)
    return DocumentsApi(
        tenant="default",
        documents=parts,
        reindexing=parts,
        audits=store.audits,
        data_dir=tmp_path,
        bounds=upload_limits(1),
    )


async def send(
    client: Client,
    operation: Operation,
    places: Mapping[str, str] | None = None,
    **options: Any,  # noqa: ANN401 - those of aiohttp
) -> ClientResponse:
    """Send a right request of an operation, but for what is changed."""
    path = operation.path
    for name, value in {"space": "HR", "id": "leave.md", "run": "r1", **(places or {})}.items():
        path = path.replace(f"{{{name}}}", value)
    given: dict[str, Any] = {}
    if "data" not in options and operation.handler == "upload":
        given = {"data": form()}
    if "data" not in options and operation.handler in {"reindex", "put_document"}:
        given = {"json": {} if operation.handler == "reindex" else PAGE}
    return await client.request(operation.method, path, **(given | options))


async def brought_about(
    store: Store, tmp_path: Path, operation: Operation, status: int
) -> tuple[ClientResponse, str]:
    settings = settings_for(tmp_path)
    documents = documents_api(store.audits, tmp_path, shelf())
    places: dict[str, str] = {}
    options: dict[str, Any] = {}
    if status == 401:
        settings = settings_for(tmp_path, admin_token=TOKEN, host="10.1.1.1")
    if status in {500, 503}:
        error = RuntimeError("hunter2") if status == 500 else StoreUnavailable("away")
        documents = broken(store, tmp_path, error)
    if status == 404:
        places = {"space": "GONE", "id": "gone.md", "run": "gone"}
        if operation.handler == "reindex":
            options = {"json": {"space": "NONE"}}
    if status == 409:
        own_id = "leave.md" if operation.handler == "put_document" else "a%2Fb.md"
        places = {"space": "FOLDER", "id": own_id}
        if operation.handler == "reindex":
            busy = shelf()
            busy.runs = [replace(RUN, state="running")]
            documents = documents_api(store.audits, tmp_path, busy)
    if status == 422:
        wrong: dict[str, dict[str, Any]] = {
            "upload": {"data": form(name="a/b.md")},
            "put_document": {"json": {**PAGE, "format": "pdf"}},
            "reindex": {"json": {"space": "a b"}},
        }
        options = wrong.get(operation.handler, {"params": {"limit": "x"}})
    async with serving(store, settings, documents=documents) as client:
        own = {"Origin": f"http://127.0.0.1:{client.port}"}
        refused: dict[int, dict[str, Any]] = {
            400: {"data": b"{", "headers": _BAD if operation.handler == "upload" else JSON},
            403: {"headers": EVIL},
            413: {"data": io.BytesIO(b"x" * 2_200_000), "headers": JSON},
            415: {"data": b"x", "headers": own | (_BAD if operation.method == "PUT" else {})},
        }
        response = await send(client, operation, places, **refused.get(status, options))
        return response, await response.text()


_BAD = {"Content-Type": "multipart/form-data; boundary=x"}

PROMISED = [
    (operation, status)
    for operation in DOCUMENT_OPERATIONS
    for status in sorted({*operation.replies, *operation.problems})
]


@pytest.mark.parametrize(
    ("operation", "status"), PROMISED, ids=[f"{item.handler}-{code}" for item, code in PROMISED]
)
async def test_every_documented_response_is_given_as_documented(
    store: Store, tmp_path: Path, operation: Operation, status: int
) -> None:
    response, text = await brought_about(store, tmp_path, operation, status)

    assert response.status == status, text
    assert "hunter2" not in text
    model = operation.replies.get(status, ProblemDetails)
    if model is None:
        assert text == ""
        return
    model.model_validate_json(text)
    promised = documented_api()["paths"][operation.path][operation.method.lower()]["responses"]
    assert response.content_type in promised[str(status)]["content"]


def test_the_body_of_an_upload_is_documented_as_a_form_with_a_file() -> None:
    whole = documented_api()
    body = whole["paths"]["/api/v1/documents/{space}"]["post"]["requestBody"]["content"]

    assert list(body) == ["multipart/form-data", "application/json"]
    schema = whole["components"]["schemas"]["UploadForm"]
    assert schema["properties"]["file"]["format"] == "binary"
    assert schema["required"] == ["file"]


@pytest.mark.parametrize(
    "operation", DOCUMENT_OPERATIONS, ids=[item.handler for item in DOCUMENT_OPERATIONS]
)
async def test_only_admins_look_after_documents(
    store: Store, tmp_path: Path, operation: Operation
) -> None:
    """Where there is a token, nobody else is an admin, though they be on this machine."""
    settings = settings_for(tmp_path, admin_token=TOKEN)
    kept = shelf()
    documents = documents_api(store.audits, tmp_path, kept)
    async with serving(store, settings, documents=documents) as client:
        refused = await send(client, operation)
        taken = await send(client, operation, headers=BEARER)

    assert refused.status == 403
    assert taken.status < 300


async def test_an_upload_is_kept_as_it_came_and_written_down(store: Store, tmp_path: Path) -> None:
    kept, content = MemoryDocuments(), bytes(range(256)) * 4000
    api = documents_api(store.audits, tmp_path, kept)
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        first = await client.post(f"{SPACES}/HR", data=form(content, "ü #1?.bin", "group:hr"))
        body = await first.json()
        again = await (await client.post(f"{SPACES}/HR", data=form(content, "ü #1?.bin"))).json()

    assert first.status == 202
    assert body == {"space": "HR", "id": "ü #1?.bin", "replaced": False, "run_id": "r1"}
    assert again["replaced"]
    assert kept.contents["HR", "ü #1?.bin"] == content
    acts = await store.audits.newest("default", 10)
    assert [(act.act, act.subject) for act in acts] == [("upload", "HR/ü #1?.bin")] * 2
    assert list((tmp_path / "documents" / ".incoming").iterdir()) == []


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_file_is_put_under_its_id_and_replaced(
    store: Store, tmp_path: Path, version: str
) -> None:
    kept, place = MemoryDocuments(), f"/api/{version}/documents/HR/a%20b.md"
    api = documents_api(store.audits, tmp_path, kept)
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        first = await client.put(f"{place}?readers=group:hr", data=b"# One")
        told = await first.json()
        shown = await (await client.get(place)).json()
        again = await (await client.put(place, json=PAGE)).json()

    assert first.status == 202
    assert told == {"space": "HR", "id": "a b.md", "replaced": False, "run_id": "r1"}
    assert shown["readers"] == "group:hr"
    assert again["replaced"]
    assert kept.kept["HR", "a b.md"].readers == "everyone"
    acts = await store.audits.newest("default", 10)
    assert [(act.act, act.subject) for act in acts] == [("upload", "HR/a b.md")] * 2
    assert list((tmp_path / "documents" / ".incoming").iterdir()) == []


@pytest.mark.parametrize("written", ["markdown", "text", "html"])
async def test_a_document_sent_as_json_reads_as_it_was_sent(
    store: Store, tmp_path: Path, written: str
) -> None:
    kept = MemoryDocuments()
    api = documents_api(store.audits, tmp_path, kept)
    sent = {**PAGE, "name": "leave", "format": written, "readers": ["group:hr", "user:anna"]}
    if written == "html":
        sent["content"] = "<h1>Leave</h1><p>Ask HR.</p>"
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        told = await (await client.post(f"{SPACES}/HR", json=sent)).json()

    document_id = told["id"]
    document = convert(document_id, kept.contents["HR", document_id])
    assert (document.title, document.labels) == (PAGE["title"], ("hr", "- x"))
    assert "Ask HR." in repr(document.blocks)
    assert kept.kept["HR", document_id].readers == "group:hr,user:anna"


PUT_WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("leave.md", {"json": PAGE, "params": {"readers": "group:hr"}}, "Send it in the JSON"),
    ("leave.md", {"json": {**PAGE, "readers": ["group:hr,everyone"]}}, "everyone, group:NAME"),
    ("leave.md", {"json": {**PAGE, "readers": []}}, "1 to 1000"),
    ("leave.md", {"json": {**PAGE, "title": "a\nreaders: everyone"}}, "one line"),
    ("leave.md", {"json": {**PAGE, "format": "html"}}, "leave.md.html"),
    ("leave.md", {"json": {**PAGE, "content": "---\nreaders: [user:x]\n---\n"}}, "front matter"),
    ("leave.md", {"json": {**PAGE, "content": "---\nreaders: user:x\n"}}, "front matter"),
    ("leave.md", {"json": {**PAGE, "name": "x.md"}}, "Leave it out"),
    ("leave.md", {"data": b"%PDF-1.7"}, "named like another kind"),
    ("leave.md", {"data": b"x", "params": {"reader": "group:hr"}}, "Leave it out"),
]


@pytest.mark.parametrize(("name", "sent", "told"), PUT_WRONG)
async def test_what_can_not_be_put_is_told_and_leaves_nothing(
    store: Store, tmp_path: Path, name: str, sent: dict[str, Any], told: str
) -> None:
    kept = MemoryDocuments()
    api = documents_api(store.audits, tmp_path, kept)
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        response = await client.put(f"{SPACES}/HR/{name}", **sent)
        body = await response.json()

    assert response.status == 422
    assert told in f"{body['detail']} {body.get('cure')}"
    assert kept.kept == {}
    assert list((tmp_path / "documents").glob(".incoming/*")) == []


@pytest.mark.parametrize(
    "declared",
    ["application/x-www-form-urlencoded", "text/json", "application/ld+json; charset=utf-8"],
)
async def test_json_without_its_header_is_not_put_as_a_file(
    store: Store, tmp_path: Path, declared: str
) -> None:
    kept = MemoryDocuments()
    api = documents_api(store.audits, tmp_path, kept)
    sent = json.dumps({**PAGE, "readers": ["group:hr"]}).encode()
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        headers = {"Content-Type": declared}
        response = await client.put(f"{SPACES}/HR/leave.md", data=sent, headers=headers)
        told = await response.json()

    assert response.status == 415
    assert "application/json" in told["cure"]
    assert kept.kept == {}


async def test_readers_in_the_address_of_a_form_are_refused(store: Store, tmp_path: Path) -> None:
    kept = MemoryDocuments()
    api = documents_api(store.audits, tmp_path, kept)
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        asked = {"readers": "group:hr"}
        response = await client.post(f"{SPACES}/HR", data=form(), params=asked)
        told = await response.json()

    assert response.status == 422
    assert told["errors"][0]["field"] == "readers"
    assert kept.kept == {}


@pytest.mark.parametrize(
    ("written", "content"),
    [("html", "Ask HR."), ("text", "%PDF-1.7 is a version."), ("text", "<html> is a tag.")],
)
async def test_text_is_kept_in_the_format_that_its_json_declares(
    store: Store, tmp_path: Path, written: str, content: str
) -> None:
    kept = MemoryDocuments()
    api = documents_api(store.audits, tmp_path, kept)
    sent = {"name": "note", "title": "Note", "format": written, "content": content}
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        response = await client.post(f"{SPACES}/HR", json=sent)
        told = await response.json()

    assert response.status == 202, told
    document = convert(told["id"], kept.contents["HR", told["id"]])
    assert told["id"] == {"html": "note.html", "text": "note.txt"}[written]
    assert content in repr(document.blocks)


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_long_json_is_read_and_written_beside_the_event_loop(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    threads: list[threading.Thread] = []

    def noted(work: Callable[..., object]) -> Callable[..., object]:
        def run(*given: object, **named: object) -> object:
            threads.append(threading.current_thread())
            return work(*given, **named)

        return run

    for step in (parse_json, join_front_matter):
        monkeypatch.setattr(uploads, step.__name__, noted(step))
    place, sent = ("HR", {**PAGE, "name": "a"}) if method == "POST" else ("HR/a.md", PAGE)
    api = documents_api(store.audits, tmp_path, MemoryDocuments())
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        response = await client.request(method, f"{SPACES}/{place}", json=sent)

    assert response.status == 202
    assert len(threads) == 2
    assert threading.current_thread() not in threads


async def test_json_may_not_be_larger_than_a_file_either(store: Store, tmp_path: Path) -> None:
    api = documents_api(store.audits, tmp_path, MemoryDocuments())
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        long = io.BytesIO(json.dumps({**PAGE, "content": "x" * 1024**2}).encode())
        response = await client.put(f"{SPACES}/HR/leave.md", data=long, headers=JSON)

    assert response.status == 413


async def _in_pieces(whole: Any) -> AsyncIterator[bytes]:  # noqa: ANN401 - of aiohttp
    """Yield a body whose length is not told before."""
    yield await whole.as_bytes()


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "not declared"])
async def test_more_than_is_allowed_is_refused_and_leaves_nothing(
    store: Store, tmp_path: Path, *, declared: bool
) -> None:
    kept = MemoryDocuments()
    api = documents_api(store.audits, tmp_path, kept)
    whole = form(b"x" * 1_500_000)()
    sent = _in_pieces(whole) if not declared else whole
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        headers = {"Content-Type": whole.content_type}
        response = await client.post(f"{SPACES}/HR", data=sent, headers=headers)
        told = await response.json()

    assert response.status == 413
    assert "larger than 1 MB" in told["detail"]
    assert "MAX_UPLOAD_MB" in told["cure"]
    assert kept.kept == {}
    assert list((tmp_path / "documents" / ".incoming").iterdir()) == []


async def test_a_disk_that_takes_no_file_is_no_defect(store: Store, tmp_path: Path) -> None:
    (tmp_path / "documents").write_text("in the way")
    api = documents_api(store.audits, tmp_path)
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        response = await client.post(f"{SPACES}/HR", data=form())
        told = await response.json()

    assert response.status == 503
    assert "Try again" in told["detail"]


FORM = "multipart/form-data; boundary=b"
PART = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"--b", 400),
        (b"--b--\r\n", 422),
        (b"no parts at all", 400),
        (PART % (b"readers", b"") + b"everyone\r\n--b--\r\n", 422),
        (PART % (b"readers", b"") + b"\xff\xfe\r\n--b--\r\n", 422),
        (PART % (b"readers", b"") + b"x" * 70_000 + b"\r\n--b--\r\n", 422),
        (PART % (b"file", b'; filename=""') + b"x\r\n--b--\r\n", 422),
        (PART % (b"file", b"") + b"x\r\n--b--\r\n", 422),
        ((PART % (b"file", b'; filename="a"') + b"x\r\n") * 2 + b"--b--\r\n", 422),
        ((PART % (b"n", b"") + b"x\r\n") * 60 + b"--b--\r\n", 400),
        (b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--b--\r\n", 400),
    ],
)
async def test_a_form_that_is_none_is_told_so(client: Client, body: bytes, status: int) -> None:
    response = await client.post(f"{SPACES}/HR", data=body, headers={"Content-Type": FORM})

    assert response.status == status, await response.text()
    assert (await response.json())["detail"]


async def test_a_form_of_a_page_elsewhere_is_not_taken(client: Client) -> None:
    """A browser tells what it is and where a form comes from; a program need not."""
    for headers in (EVIL, {"User-Agent": "Mozilla/5.0"}, {"Sec-Fetch-Site": "cross-site"}):
        response = await client.post(f"{SPACES}/HR", data=form(), headers=headers)
        assert response.status in {403, 415}
    own = {"Origin": f"http://127.0.0.1:{client.port}", "User-Agent": "Mozilla/5.0"}
    assert (await client.post(f"{SPACES}/HR", data=form(), headers=own)).status == 202


async def test_documents_are_paged_to_the_end(store: Store, tmp_path: Path) -> None:
    kept = MemoryDocuments()
    for number in range(5):
        kept.kept["HR", f"{number} ü&.md"] = document("HR", f"{number} ü&.md")
    seen, after = [], ""
    api = documents_api(store.audits, tmp_path, kept)
    async with serving(store, settings_for(tmp_path), documents=api) as client:
        while after is not None:
            asked = {"limit": "2", "after": after}
            page = await (await client.get(f"{SPACES}/HR", params=asked)).json()
            seen += [one["id"] for one in page["documents"]]
            after = page["next"]

    assert seen == [name for _, name in sorted(kept.kept)]
