"""What is read of the files of a message, and what its asker is told of the others."""

from __future__ import annotations

from dataclasses import replace

from bot.answering.attachments import MOST_BYTES, MOST_CHARACTERS, AttachmentReader, ReadAttachments
from bot.domain.messages import Attached
from tests.bot.attachments.files import Drive, PdfOfText, with_files


async def read(drive: Drive, *names: str, **kinds: str) -> ReadAttachments:
    files = [drive.add(name, drive.files[name], kinds.get(name, "text/plain")) for name in names]
    return await AttachmentReader({"slack": drive}, PdfOfText()).read(with_files(*files))


async def test_texts_and_pdfs_are_read_in_order() -> None:
    drive = Drive({"a.log": b"Error 809\r\n", "b.pdf": b"%PDF-\nHandbook"})
    files = (
        drive.add("a.log", drive.files["a.log"]),
        drive.add("b.pdf", drive.files["b.pdf"], "application/pdf"),
    )

    got = await AttachmentReader({"slack": drive}, PdfOfText()).read(with_files(*files))

    assert got == ReadAttachments((Attached("a.log", "Error 809\n"), Attached("b.pdf", "Handbook")))


async def test_a_picture_is_not_even_fetched_and_that_is_said() -> None:
    drive = Drive()
    picture = drive.add("screenshot.png", b"\x89PNG", "image/png")

    got = await AttachmentReader({"slack": drive}, PdfOfText()).read(with_files(picture))

    assert got.remarks == ("I did not read screenshot.png: I read text, logs and PDF only.",)
    assert drive.fetched == []


async def test_what_is_too_large_by_what_its_platform_says_is_not_fetched() -> None:
    drive = Drive()
    large = replace(drive.add("big.log", b"x"), size=MOST_BYTES + 1)

    got = await AttachmentReader({"slack": drive}, PdfOfText()).read(with_files(large))

    assert got.remarks == ("I did not read big.log: I read files of up to 2 MB.",)
    assert drive.fetched == []


async def test_what_is_larger_than_its_platform_says_is_not_read_either() -> None:
    drive = Drive()
    lied = replace(drive.add("big.log", b"x" * (MOST_BYTES + 1)), size=10)

    got = await AttachmentReader({"slack": drive}, PdfOfText()).read(with_files(lied))

    assert got == ReadAttachments((), ("I did not read big.log: it was not handed out to me.",))


async def test_a_platform_that_hands_out_nothing_is_no_error() -> None:
    file = Drive().add("a.log", b"Error 809")

    got = await AttachmentReader({}, PdfOfText()).read(with_files(file))

    assert got.remarks == ("I did not read a.log: it was not handed out to me.",)


async def test_what_turns_out_to_be_no_text_is_told_by_what_it_is() -> None:
    drive = Drive({"a.log": b"\x00\x01\x02", "c.txt": b" \n"})
    scanned = drive.add("b.pdf", b"%PDF-", "application/pdf")
    files = (drive.add("a.log", b"\x00\x01\x02"), scanned, drive.add("c.txt", b" \n"))

    got = await AttachmentReader({"slack": drive}, PdfOfText()).read(with_files(*files))

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
        await AttachmentReader({"slack": drive}, PdfOfText()).read(with_files(named))
    ).remarks

    assert "\n" not in remark
    assert len(remark) < 150
