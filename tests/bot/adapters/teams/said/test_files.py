"""Files are fetched from Microsoft's hosts alone, without a token, whole, and up to a size."""

from __future__ import annotations

import gzip

import aiohttp
import pytest

from bot.answering.attachments import AttachmentReader
from bot.domain.capabilities import Fetches
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Attachment
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.messages.files import Files
from bot.platforms.teams.payloads.messages import INLINE_PREFIX
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.teams.tenant.file_host import ELSEWHERE, HOST, FileFault, FileHost
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.attachments.files import PdfOfText

CONTENT = b"error 809\n" * 20_000


@pytest.fixture
def files(file_host: FileHost) -> Files:
    return Files(file_host.connector)


def shared(file_host: FileHost, content: bytes = CONTENT, *, host: str = HOST) -> Attachment:
    told = file_host.share("vpn.log", content, host=host)
    return Attachment("vpn.log", "", 0, told["content"]["downloadUrl"])


async def test_a_file_is_fetched_by_its_address_alone(files: Files, file_host: FileHost) -> None:
    assert await files.fetch(shared(file_host), most=len(CONTENT)) == CONTENT

    (request,) = file_host.requests
    assert request.host == HOST
    assert not {"Authorization", "Cookie"} & set(request.headers)


def test_the_channel_hands_files_out(channel: TeamsChannel) -> None:
    assert isinstance(channel, Fetches)


@pytest.mark.parametrize("fault", [None, FileFault(unannounced=True)])
async def test_a_file_above_the_cap_is_not_taken(
    files: Files, file_host: FileHost, fault: FileFault | None
) -> None:
    file_host.fail(fault)
    with pytest.raises(DeliveryFailed, match="larger than 100 bytes"):
        await files.fetch(shared(file_host), most=100)


@pytest.mark.parametrize(
    "fault", [FileFault(kept=10), FileFault(status=500), FileFault(status=403)]
)
async def test_half_a_file_is_none(files: Files, file_host: FileHost, fault: FileFault) -> None:
    file_host.fail(fault, fault)
    with pytest.raises(DeliveryFailed):
        await files.fetch(shared(file_host), most=10_000_000)


async def test_a_file_that_does_not_come_is_given_up(
    file_host: FileHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = aiohttp.ClientTimeout(total=0.2)
    monkeypatch.setattr("bot.platforms.teams.messages.files._TIMEOUT", soon)
    file_host.fail(FileFault(seconds=30.0))
    with pytest.raises(DeliveryFailed, match="TimeoutError"):
        await Files(file_host.connector).fetch(shared(file_host), most=10_000_000)


async def test_what_was_packed_is_kept_as_it_is(files: Files, file_host: FileHost) -> None:
    packed = gzip.compress(CONTENT)
    assert await files.fetch(shared(file_host, packed), most=len(packed)) == packed
    assert file_host.requests[0].headers["Accept-Encoding"] == "identity"


async def test_a_redirect_is_followed_among_hosts_of_files_only(
    files: Files, file_host: FileHost
) -> None:
    asked, other = shared(file_host), shared(file_host, b"moved")
    file_host.fail(FileFault(moved_to=other.place.replace(f"https://{HOST}", "")))
    assert await files.fetch(asked, most=100) == b"moved"

    for place in (asked.place.replace(HOST, ELSEWHERE), f"http://{HOST}/x", "https://[", ""):
        file_host.requests.clear()
        file_host.fail(*[FileFault(moved_to=place or asked.place)] * 9)
        with pytest.raises(DeliveryFailed):
            await files.fetch(asked, most=100)
        file_host.faults.clear()
        assert {request.host for request in file_host.requests} == {HOST}
        assert len(file_host.requests) <= 4


@pytest.mark.parametrize(
    "place",
    [
        f"https://{ELSEWHERE}/x",
        f"https://{HOST}.evil.example/x",
        "https://evilsharepoint.com/x",
        "https://sharepoint.com/x",
        f"https://{HOST}:8443/x",
        f"https://a@{HOST}/x",
        f"https://:p@{HOST}/x",
        f"http://{HOST}/x",
        f"ftp://{HOST}/x",
        f"https://{ELSEWHERE}#.sharepoint.com",
        f"https://{ELSEWHERE}\\.sharepoint.com/x",
        "https://[acme.sharepoint.com/x",
        "https://127.0.0.1/x",
        "file:///etc/passwd",
        "data:text/html,x",
        "",
    ],
)
async def test_nothing_is_asked_of_any_other_place(
    files: Files, file_host: FileHost, place: str
) -> None:
    with pytest.raises(DeliveryFailed) as refused:
        await files.fetch(Attachment("x", "", 0, place), most=10)

    assert file_host.requests == []
    assert not place or place not in str(refused.value)


@pytest.mark.parametrize("host", ["x.sharepoint.us", "x.sharepoint-mil.us", "x.sharepoint.cn"])
async def test_every_cloud_has_its_host(file_host: FileHost, host: str) -> None:
    """The host here has no certificate for these: they get as far as that."""
    file = Attachment("x", "", 0, f"https://{host}/x")
    with pytest.raises(DeliveryFailed, match="Certificate"):
        await Files(file_host.connector).fetch(file, most=10)


async def test_what_is_quoted_is_read_without_asking_anybody(
    files: Files, file_host: FileHost
) -> None:
    quote = Attachment("a message by Bob", "text/plain", 12, f"{INLINE_PREFIX}Error%20809%21")

    assert await files.fetch(quote, most=10) == b"Error 809!"
    assert file_host.requests == []
    with pytest.raises(DeliveryFailed, match="larger"):
        await files.fetch(quote, most=9)


async def test_what_comes_with_a_question_is_read_and_the_rest_is_said(
    alice: Visitor, inbox: KeepingInbox, files: Files, file_host: FileHost
) -> None:
    elsewhere = {"contentType": "reference", "id": "r1", "name": "plan.txt"}
    picture = {"contentType": "image/png", "contentUrl": "https://smba.example/1"}
    log = file_host.share("vpn.log", b"Error 809")
    await alice.say(alice.chat, "what is this?", files=[log, elsewhere, picture])

    read = await AttachmentReader({"teams": files}, PdfOfText()).read(inbox.only)

    assert [(each.name, each.text) for each in read.attached] == [("vpn.log", "Error 809")]
    assert read.remarks == (
        "I did not read plan.txt: it was not handed out to me.",
        "I did not read a picture: I read text, logs and PDF only.",
    )
