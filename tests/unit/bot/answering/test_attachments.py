"""Tests of how attached files are told apart, downloaded, decoded and shortened."""

from __future__ import annotations

import codecs
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.attachments import (
    MOST_BYTES,
    MOST_CHARACTERS,
    AttachmentReader,
    NotText,
    ReadAttachments,
    attachment_kind,
    decode_text,
    shorten_text,
)
from bot.domain.messages import Attached, Attachment
from tests.fakes.bot_ports import Drive, PdfOfText, with_files
from tests.fakes.costs import costs_in_proportion


@pytest.mark.parametrize(
    ("name", "media_type", "kind"),
    [
        ("notes.txt", "text/plain", "text"),
        ("page.md", "text/markdown; charset=utf-8", "text"),
        ("rows.csv", "text/csv", "text"),
        ("config.yaml", "application/x-yaml", "text"),
        ("answer.json", "application/json", "text"),
        ("answer", "application/problem+json", "text"),
        ("vpn.log", "application/octet-stream", "text"),
        ("main.rs", "", "text"),
        ("Main.JAVA", "application/binary", "text"),
        ("syslog", "application/octet-stream", "text"),
        ("Handbook.PDF", "application/octet-stream", "pdf"),
        ("handbook", "application/pdf", "pdf"),
        ("screenshot.png", "image/png", "other"),
        ("drawing.svg", "image/svg+xml", "other"),
        ("letter.docx", "application/vnd.openxmlformats", "other"),
        ("setup.exe", "application/octet-stream", "other"),
        ("clip.mp4", "video/mp4", "other"),
        ("logs.zip", "application/zip", "other"),
    ],
)
def test_a_file_is_read_as_platform_or_name_says(name: str, media_type: str, kind: str) -> None:
    assert attachment_kind(Attachment(name, media_type, 1, "")) == kind


async def read(drive: Drive, *names: str, **kinds: str) -> ReadAttachments:
    files = [drive.add(name, drive.files[name], kinds.get(name, "text/plain")) for name in names]
    return await AttachmentReader({"slack": drive}, PdfOfText().text).read(with_files(*files))


async def test_texts_and_pdfs_are_read_in_order() -> None:
    drive = Drive({"a.log": b"Error 809\r\n", "b.pdf": b"%PDF-\nHandbook"})
    files = (
        drive.add("a.log", drive.files["a.log"]),
        drive.add("b.pdf", drive.files["b.pdf"], "application/pdf"),
    )

    got = await AttachmentReader({"slack": drive}, PdfOfText().text).read(with_files(*files))

    assert got == ReadAttachments((Attached("a.log", "Error 809\n"), Attached("b.pdf", "Handbook")))


async def test_a_picture_is_not_even_fetched_and_that_is_said() -> None:
    drive = Drive()
    picture = drive.add("screenshot.png", b"\x89PNG", "image/png")

    got = await AttachmentReader({"slack": drive}, PdfOfText().text).read(with_files(picture))

    assert got.remarks == ("I did not read screenshot.png: I read text, logs and PDF only.",)
    assert drive.fetched == []


async def test_what_is_too_large_by_what_its_platform_says_is_not_fetched() -> None:
    drive = Drive()
    large = replace(drive.add("big.log", b"x"), size=MOST_BYTES + 1)

    got = await AttachmentReader({"slack": drive}, PdfOfText().text).read(with_files(large))

    assert got.remarks == ("I did not read big.log: I read files of up to 2 MB.",)
    assert drive.fetched == []


async def test_what_is_larger_than_its_platform_says_is_not_read_either() -> None:
    drive = Drive()
    lied = replace(drive.add("big.log", b"x" * (MOST_BYTES + 1)), size=10)

    got = await AttachmentReader({"slack": drive}, PdfOfText().text).read(with_files(lied))

    assert got == ReadAttachments((), ("I did not read big.log: it was not handed out to me.",))


async def test_a_platform_that_hands_out_nothing_is_no_error() -> None:
    file = Drive().add("a.log", b"Error 809")

    got = await AttachmentReader({}, PdfOfText().text).read(with_files(file))

    assert got.remarks == ("I did not read a.log: it was not handed out to me.",)


async def test_what_turns_out_to_be_no_text_is_told_by_what_it_is() -> None:
    drive = Drive({"a.log": b"\x00\x01\x02", "c.txt": b" \n"})
    scanned = drive.add("b.pdf", b"%PDF-", "application/pdf")
    files = (drive.add("a.log", b"\x00\x01\x02"), scanned, drive.add("c.txt", b" \n"))

    got = await AttachmentReader({"slack": drive}, PdfOfText().text).read(with_files(*files))

    assert got.remarks == (
        "I did not read a.log: there is no text in it that I can read.",
        "I did not read b.pdf: I could not get text out of that PDF.",
        "I did not read c.txt: there is nothing in it.",
    )


async def test_three_files_are_read_and_the_others_named_together() -> None:
    drive = Drive({f"{number}.txt": b"text" for number in range(5)})

    got = await read(drive, *drive.files)

    assert [each.name for each in got.attached] == ["0.txt", "1.txt", "2.txt"]
    (remark,) = got.remarks
    assert remark.startswith("I did not read 3.txt and 4.txt: I read three files of a message")
    assert drive.fetched == ["0.txt", "1.txt", "2.txt"]


async def test_a_file_that_can_not_be_read_takes_no_others_place() -> None:
    drive = Drive({"a.txt": b"\x00\x00", "b.txt": b"1", "c.txt": b"2", "d.txt": b"3"})

    got = await read(drive, *drive.files)

    assert [each.name for each in got.attached] == ["b.txt", "c.txt", "d.txt"]


async def test_no_more_is_kept_than_twenty_thousand_characters_in_all() -> None:
    drive = Drive({"a.txt": b"a" * 15_000, "b.txt": b"b" * 15_000, "c.txt": b"c" * 500})

    got = await read(drive, *drive.files)

    assert sum(len(each.text) for each in got.attached) <= MOST_CHARACTERS
    assert got.remarks[0] == "I read only parts of b.txt: it is long."


async def test_a_name_is_told_on_one_short_line() -> None:
    drive = Drive()
    named = drive.add("a\nb " + "x" * 300 + ".png", b"", "image/png")

    (remark,) = (
        await AttachmentReader({"slack": drive}, PdfOfText().text).read(with_files(named))
    ).remarks

    assert "\n" not in remark
    assert len(remark) < 150


WORDS = "Überall: Zugriff verweigert.\nZeile 2"


@pytest.mark.parametrize(
    "content",
    [
        WORDS.encode(),
        codecs.BOM_UTF8 + WORDS.encode(),
        WORDS.encode("utf-16"),
        codecs.BOM_UTF16_BE + WORDS.encode("utf-16-be"),
        WORDS.replace("\n", "\r\n").encode(),
        f"\x1b[31m{WORDS}\x1b[0m".encode(),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16", "utf-16 big", "windows line ends", "colours"],
)
def test_a_text_is_read_with_plain_line_ends(content: bytes) -> None:
    assert decode_text(content) == WORDS


@pytest.mark.parametrize(
    "content",
    [b"\x89PNG\r\n\x1a\n\x00\x00", b"\x00" * 50, b"caf\xe9", codecs.BOM_UTF16_LE + b"\x00"],
    ids=["picture", "zeros", "latin", "half a character"],
)
def test_what_is_no_text_is_told(content: bytes) -> None:
    with pytest.raises(NotText):
        decode_text(content)


@given(st.binary(max_size=300))
def test_any_bytes_are_text_without_controls_or_none(content: bytes) -> None:
    try:
        text = decode_text(content)
    except NotText:
        return
    assert not set(text) & {"\x00", "\x1b", "\r"}


@pytest.mark.parametrize("content", ["\x00", "\x1b[", "\r"])
def test_two_megabytes_of_noise_hold_up_nobody(content: str) -> None:
    def decode(noise: str) -> None:
        with suppress(NotText):
            decode_text(noise.encode())

    assert costs_in_proportion(decode, content, 2_000_000)


@given(st.text(max_size=3000), st.integers(0, 1500))
def test_a_text_is_never_longer_than_there_is_room(text: str, room: int) -> None:
    short = shorten_text(text, room)

    assert len(short) <= room
    assert short == text or len(text) > room


def test_a_long_log_keeps_beginning_end_and_the_errors_between() -> None:
    quiet = "2026-11-22 12:00:00 INFO all is well with everything\n" * 400
    log = f"Build 17\n{quiet}ORA-12154: could not resolve\n{quiet}Stopped."

    short = shorten_text(log, 2000)

    assert short.startswith("Build 17\n")
    assert "\nORA-12154: could not resolve\n[…]\n" in short
    assert short.endswith("Stopped.")
