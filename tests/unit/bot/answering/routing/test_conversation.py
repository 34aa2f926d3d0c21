"""Tests of follow-up questions, of what they leave out, and of the text of a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.conversation import (
    dependence,
    with_missing_words,
)
from bot.answering.routing.message_text import (
    LONGEST_LINE,
    MOST_LINES,
    SEARCHABLE_CHARACTERS,
    clauses,
    condense,
    informative_lines,
    is_log,
    normalized,
    search_text,
    without_letter_runs,
    without_mentions,
    without_volatile_parts,
)
from bot.domain.messages import Attached
from rag.text.words import identifiers
from rag.types import Turn

LEAVE = (
    Turn("user", "how much annual leave do I earn in my first year"),
    Turn("assistant", "You earn four hours each pay period, see the Leave Portal."),
)

LEANING = """
and after 15 years?
what about contractors?
how about part timers
does that cap hold for sick days
is it paid out
can they carry them over
who approves it
cost?
the same for interns?
ok and in the second year
where do I see those
why not
""".strip().splitlines()

ALONE = """
how do I connect to the corporate vpn from a hotel
is it possible to work from Spain for two months without approval
which managers who are abroad must approve hiring of freelancers
our printer on floor two jams every morning, how do I get it repaired
which laptop models can new developers choose this year
does IT support Linux laptops for developers
""".strip().splitlines()


@pytest.mark.parametrize("text", LEANING)
def test_a_follow_up_leans_on_the_conversation(text: str) -> None:
    assert dependence(text, LEAVE) == "leaning"


@pytest.mark.parametrize("text", ALONE)
def test_a_new_question_stands_alone(text: str) -> None:
    assert dependence(text, LEAVE) == "alone"


@pytest.mark.parametrize(
    "text", ["do I need a sick note on day one", "is one week of parental leave paid"]
)
def test_a_number_one_points_back_at_nothing(text: str) -> None:
    assert dependence(text, LEAVE) != "leaning"


@pytest.mark.parametrize(
    "text", ["when is payday", "What's VPN?", "where is my payslip", "Who is HR"]
)
def test_a_question_for_a_bare_name_does_not_lean(text: str) -> None:
    assert dependence(text, LEAVE) != "leaning"


@pytest.mark.parametrize(
    "text",
    ["what is the price", "what are the steps?", "price?", "who is eligible", "What's covered?"],
)
def test_a_definite_thing_without_its_owner_leans(text: str) -> None:
    assert dependence(text, LEAVE) == "leaning"


@pytest.mark.parametrize("text", LEANING)
def test_with_no_conversation_there_is_nothing_to_lean_on(text: str) -> None:
    assert dependence(text, ()) == "alone"


def test_a_follow_up_is_given_the_words_it_leaves_out() -> None:
    combined = with_missing_words("and after 15 years?", LEAVE)
    assert combined.startswith("and after 15 years? (")
    assert {"annual", "leave"} <= set(combined.strip(")").split("(")[1].split())


def test_what_the_follow_up_says_itself_is_not_repeated() -> None:
    assert "leave" not in with_missing_words("and sick leave?", LEAVE).partition("(")[2].split()


def test_a_name_in_the_last_answer_is_what_they_may_stand_for() -> None:
    history = (
        Turn("user", "how do I book a train"),
        Turn("assistant", "You can book through AdTrav or by phone."),
    )
    assert "AdTrav" in with_missing_words("what's their number", history)


def test_while_questions_lean_on_each_other_the_first_one_says_what_it_is_about() -> None:
    history = (
        Turn("user", "how do I renew my parking permit"),
        Turn("assistant", "Online."),
        Turn("user", "what does it cost"),
        Turn("assistant", "Nothing."),
    )
    assert {"parking", "permit"} <= set(
        with_missing_words("and for two?", history).strip(")").split("(")[1].split()
    )


def test_an_answer_alone_gives_no_topic() -> None:
    assert with_missing_words("and that?", (Turn("assistant", "Hello."),)) == "and that?"


@given(st.text(), st.lists(st.builds(Turn, st.sampled_from(["user", "assistant"]), st.text())))
def test_any_conversation_gives_a_question_that_begins_so(text: str, turns: list[Turn]) -> None:
    history = tuple(turns)
    assert dependence(text, history) in {"alone", "unsure", "leaning"}
    combined = with_missing_words(text, history)
    assert combined == with_missing_words(text, history)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<@U0BOT> Hello!", "hello"),
        ("<at>Frontdesk</at> hi", "hi"),
        ("@frontdesk hi", "hi"),
        ("I\u2019m   LATE", "im late"),
        ("Ｈｅｌｐ", "help"),
        ("Me\u200bnu", "menu"),
        ("Größe", "große".replace("ß", "ss")),
        ("👍 :+1:", ""),
        ("No. Human, please?", "no . human . please"),
        ("*bold* _words_", "bold words"),
    ],
)
def test_what_looks_alike_becomes_alike(text: str, expected: str) -> None:
    assert normalized(text) == expected


def test_an_address_is_no_mention() -> None:
    assert without_mentions("mail it@example.com") == "mail it@example.com"


def test_clauses_are_parted_at_punctuation() -> None:
    assert clauses(normalized("No, wait. Can I?")) == ["no", "wait", "can i"]


def test_drawn_out_letters_are_said_once() -> None:
    assert without_letter_runs("hiiii byeeee") == "hi bye"


@given(st.text())
def test_plain_text_is_folded_and_has_single_spaces(text: str) -> None:
    said = normalized(text)
    assert said == " ".join(said.split())
    assert said == said.casefold()
    assert "\u200b" not in said


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
