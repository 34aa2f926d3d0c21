"""Bytes as text, and long texts cut."""

from __future__ import annotations

import codecs
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.attachments import NotText, decode_text, shorten_text

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


@pytest.mark.parametrize("content", [b"\x00", b"\x1b[", b"\r"])
def test_two_megabytes_of_noise_hold_up_nobody(content: bytes) -> None:
    noise = content * (2_000_000 // len(content))
    began = time.process_time()
    with suppress(NotText):
        decode_text(noise)
    assert time.process_time() - began < 0.4


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
