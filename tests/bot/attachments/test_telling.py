"""What is searched for when a question comes with files."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.message_text import (
    LONGEST_LINE,
    MOST_LINES,
    informative_lines,
    search_text,
    without_volatile_parts,
)
from bot.domain.messages import Attached
from rag.text.words import identifiers

LOG = Attached(
    "vpn.log",
    """
2026-11-22 09:00:01,123 INFO  starting session 6f1c2a1e-98aa-4bd1-9a51-0242ac130003
2026-11-22 09:00:02,001 WARN  connection to 10.1.2.3:443 failed after 3000 ms, pid 48213
Traceback (most recent call last):
  File "vpn.py", line 12, in connect
TunnelError: VPN-809: the port is blocked
2026-11-22 09:00:03,000 INFO  bye
""",
)


def test_the_question_is_searched_for_with_the_lines_that_tell_most() -> None:
    asked = search_text("What does this mean?", [LOG])

    assert asked.startswith("What does this mean? ")
    assert "TunnelError: VPN-809: the port is blocked" in asked
    assert "starting session" not in asked


def test_what_differs_at_each_run_is_not_asked_for() -> None:
    assert identifiers(search_text("What does this mean?", [LOG])) <= {"vpn-809", "3000"}


def test_a_file_without_a_question_is_asked_about_by_its_errors() -> None:
    assert search_text("", [LOG]).endswith("TunnelError: VPN-809: the port is blocked")


def test_a_file_without_question_or_error_is_asked_about_by_its_beginning() -> None:
    policy = Attached("travel.md", "# Travel\nMay I fly business class to Lisbon?")

    assert "business class" in search_text("", [policy])


def test_a_question_stands_alone_where_no_file_tells_of_an_error() -> None:
    assert search_text("How do I connect?", [Attached("vpn.conf", "remote vpn.acme\n")]) == (
        "How do I connect?"
    )


def test_codes_and_exceptions_come_before_other_complaints() -> None:
    complaints = "\n".join(f"cannot open file number {word}" for word in ("a", "b", "c", "d"))

    told = informative_lines([Attached("x.log", f"{complaints}\nerror code 809 in ORA-12154")])

    assert len(told) == MOST_LINES
    assert told[-1].endswith("code 809 in ORA-12154")


def test_a_code_that_windows_writes_in_hexadecimal_is_kept_and_an_address_is_not() -> None:
    assert without_volatile_parts("error 0x80070005 at 0x00007ffb12345678") == "error 0x80070005 at"


@given(st.text(max_size=900), st.lists(st.text(max_size=4000), max_size=3))
def test_never_a_whole_file_is_searched_for(question: str, texts: list[str]) -> None:
    attached = [Attached(f"{number}.txt", text) for number, text in enumerate(texts)]

    asked = search_text(question, attached)

    assert asked.startswith(question) or not question.strip()
    assert len(asked) <= max(len(question) + 301, 801)
    assert all(len(line) <= LONGEST_LINE for line in informative_lines(attached))
