from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.message_text import SEARCHABLE_CHARACTERS, condense, is_log

JAVA = """hey my build is dead, what do i do?
2024-05-01 10:00:01,123 INFO [main] Starting
2024-05-01 10:00:02,123 INFO [main] connecting db.example.com:1521
2024-05-01 10:00:03,001 ERROR [main] Connection failed: ORA-12541: TNS:no listener
java.sql.SQLException: Listener refused the connection
\tat oracle.jdbc.driver.T4CConnection.logon(T4CConnection.java:280)
\tat oracle.jdbc.driver.PhysicalConnection.connect(PhysicalConnection.java:688)
Caused by: oracle.net.ns.NetException: Listener refused the connection with error 12541
\t... 12 more"""

PYTHON = """```
Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    import foo
  File "/app/foo.py", line 9, in bar
    raise KeyError("TOKEN_REFRESH")
KeyError: 'TOKEN_REFRESH'
```"""

SYSLOG = """Jan 12 10:00:01 host01 sshd[123]: Connection from 192.0.2.7
Jan 12 10:00:02 host01 sshd[123]: Failed publickey for deploy from 192.0.2.7
Jan 12 10:00:03 host01 sshd[123]: Connection closed"""


@pytest.mark.parametrize("text", [JAVA, PYTHON, SYSLOG])
def test_machine_output_is_a_log(text: str) -> None:
    assert is_log(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "how do i reset my password",
        "I get this error:\nORA-12541: no listener\nwhat now?",
        "Dear team,\nI started on Monday.\nMy badge fails.\nWho can mend it?",
        "1. open the app\n2. log in\n3. it fails",
    ],
)
def test_words_of_a_person_are_no_log(text: str) -> None:
    assert not is_log(text)


def test_the_question_and_the_first_error_and_the_last_cause_are_searched_for() -> None:
    searched = condense(JAVA)
    assert searched.startswith("hey my build is dead, what do i do?")
    assert "ORA-12541: TNS:no listener" in searched
    assert "oracle.net.ns.NetException: Listener refused the connection" in searched
    assert "T4CConnection" not in searched
    assert "2024-05-01" not in searched


def test_of_a_traceback_its_last_line_is_searched_for() -> None:
    assert condense(PYTHON) == "KeyError: 'TOKEN_REFRESH'"


def test_a_short_message_comes_back_without_mentions() -> None:
    assert condense("<@U0BOT>  my badge\nfails ") == "my badge fails"


def test_identifiers_of_a_short_message_are_kept() -> None:
    text = "0x80070005 when opening INC0012345 on host-7.example.com"
    assert condense(text) == text


def test_of_a_long_letter_the_question_is_kept() -> None:
    letter = "It was a long day. " * 300 + "How do I get a new badge? " + "Thanks a lot. " * 100
    assert condense(letter).startswith("How do I get a new badge?")


@given(st.text(max_size=3000))
def test_what_is_searched_for_is_always_short(text: str) -> None:
    assert len(condense(text)) <= SEARCHABLE_CHARACTERS


@given(
    st.integers(1000, 60000), st.sampled_from(["a", "a=a ", "10:00:00 ", "<at ", "at a.b(", "?\n"])
)
def test_a_message_of_any_length_is_read(times: int, part: str) -> None:
    assert len(condense(part * times)) <= SEARCHABLE_CHARACTERS
