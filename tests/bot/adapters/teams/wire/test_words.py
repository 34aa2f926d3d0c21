"""What people say in Teams is told apart from what they quote."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.teams.payloads.markup import Quote, read_html
from bot.platforms.teams.payloads.messages import MessageText, message_text_of
from tests.bot.adapters.teams.wire.written import BOT, activity, mention

OURS = mention("Help")
REPLY = (
    '<blockquote itemscope="" itemtype="http://schema.skype.com/Reply" itemid="1783419459151">\n'
    '<strong itemprop="mri" itemid="{who}">Max Muster</strong>'
    '<span itemprop="time" itemid="1783419459151"></span>\n'
    '<p itemprop="preview">The printer &amp; the scanner are dead</p>\n</blockquote>\n'
    '<p><span itemtype="http://schema.skype.com/Mention" itemscope="" itemid="0">Help</span>'
    "&nbsp;what now?</p>"
)
FORWARD = (
    "<p>see this&nbsp;</p>\n"
    '<blockquote itemtype="http://schema.skype.com/Forward">\n'
    "<p>VPN fails with error 809.</p>\n<p>Who knows?</p>\n</blockquote>"
)
MAX = Quote("The printer & the scanner are dead", "Max Muster", "8:orgid:max")


def quoted_reply(sender: str) -> dict[str, Any]:
    told = {"messageId": "1783419459151", "senderId": sender, "senderName": "Max Muster"}
    return {"type": "quotedReply", "quotedReply": {**told, "preview": "The printer is dead"}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<at>Help</at>&nbsp;vpn?\n", "vpn?"),
        ("vpn&nbsp;&nbsp;or\u00a0wifi?", "vpn  or wifi?"),
        ("&lt;server&gt; &amp;&amp; &quot;x&quot; &#39;y&#39; &#xe9;", "<server> && \"x\" 'y' é"),
        ("&amp;lt;", "&lt;"),
        ("https://x.example/?a=1&copy=2&lt=3", "https://x.example/?a=1&copy=2&lt=3"),
        ("List<String> <b>", "List<String> <b>"),
        ("**bold** and _more_", "**bold** and _more_"),
        ("&nosuchthing; & ;", "&nosuchthing; & ;"),
    ],
)
@pytest.mark.parametrize("form", ["plain", "markdown", None])
def test_entities_become_what_was_typed(text: str, said: str, form: str | None) -> None:
    assert message_text_of(activity(text, OURS, textFormat=form)).text == said


def test_xml_is_read_as_it_is_shown() -> None:
    text = (
        "<div><p><at>Help</at>&nbsp;<b>vpn</b> for <at>Bob &lt;x&gt;</at></p>"
        "<p>on a&nbsp;Mac?<br/>&lt;ok&gt;</p><script>no()</script></div>"
    )
    bob = mention("Bob", "29:bob", text="<at>Bob &lt;x&gt;</at>")
    said = message_text_of(activity(text, OURS, bob, textFormat="xml"))

    assert said == MessageText("vpn for Bob <x>\non a Mac?\n<ok>")


def test_what_is_quoted_is_no_part_of_the_question() -> None:
    """The marker is taken from the text; its HTML copy says who is quoted."""
    text = '<quoted messageId="1783419459151"/><at>Help</at> what now?'
    body = activity(text, OURS, quoted_reply("29:max"), html=REPLY.format(who="8:orgid:max"))

    assert message_text_of(body) == MessageText("what now?", (MAX,))


def test_an_older_client_writes_the_quote_into_the_text() -> None:
    text = "Max Muster\r\nThe printer &amp; the scanner are dead\r\n\r\n<at>Help</at> what now?"
    body = activity(text, OURS, html=REPLY.format(who="8:orgid:max"))

    assert message_text_of(body) == MessageText("what now?", (MAX,))


def test_a_quote_is_known_by_its_entity_alone() -> None:
    body = activity('<quoted messageId="1"/> what now?', quoted_reply("29:max"))
    said = message_text_of(body)

    assert said.text == "what now?"
    assert [quote.text for quote in said.quotes] == ["The printer is dead"]


def test_what_the_bot_said_itself_is_not_quoted_to_it() -> None:
    body = activity("thanks", quoted_reply(BOT), html=REPLY.format(who=BOT))

    assert message_text_of(body) == MessageText("thanks")


def test_a_forwarded_message_is_told_apart_from_the_words_beside_it() -> None:
    text = "see this\r\n\r\nVPN fails with error 809.\r\nWho knows?"
    said = message_text_of(activity(text, html=FORWARD))

    assert said.text == "see this"
    assert said.quotes == (Quote("VPN fails with error 809.\nWho knows?", forwarded=True),)


def test_words_that_are_repeated_in_what_is_forwarded_stay() -> None:
    html = '<p>ok</p><blockquote itemtype="http://schema.skype.com/Forward"><p>ok</p></blockquote>'
    assert message_text_of(activity("ok\r\n\r\nok", html=html)).text == "ok"
    assert message_text_of(activity("look\r\n\r\nok", html=html)).text == "look"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<at>Help</at>", REPLY.format(who="8:orgid:max").replace("what now?", "")),
        ("", REPLY.format(who="8:orgid:max")),
    ],
)
def test_who_adds_nothing_to_a_quote_asks_what_is_quoted(text: str, html: str) -> None:
    assert message_text_of(activity(text, OURS, html=html)) == MessageText(MAX.text)


def test_a_marker_that_nobody_quotes_with_is_text() -> None:
    text = 'what is <quoted messageId="1"/>?'
    assert message_text_of(activity(text)).text == text


def test_nested_quotes_belong_to_the_outer_one() -> None:
    html = "<blockquote>a<blockquote>b</blockquote>c</blockquote>d"
    assert read_html(html).quotes == (Quote("a\nb\nc"),)
    assert read_html(html).text == "d"


def test_emoji_are_their_characters() -> None:
    assert read_html('<p>up <img alt="🙂"> <emoji alt="👍">x</emoji></p>').text == "up 🙂 👍"


@given(st.text("<>/bqalockuote =\"'&;!-?x\ud800\x00 ", max_size=120))
def test_any_html_is_read_without_an_error(html: str) -> None:
    read_html(html)
    message_text_of(activity(html, html=html, textFormat="xml"))


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_own_word_is_lost_beside_a_copy_that_quotes_nothing(said: str, copied: str) -> None:
    body = activity(said, html=f"<p>{copied.replace('<', '&lt;')}</p>")
    assert message_text_of(body).text == message_text_of(activity(said)).text


def test_no_html_holds_everybody_up() -> None:
    """The standard library's reader took two minutes for some of these."""
    started = time.perf_counter()
    for piece in ("<", "<!--", "<a ", "<blockquote>", "<b itemprop=mri>", "&#1", "<![", "<p>x"):
        read_html(piece * (100_000 // len(piece)))

    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("kind", ["Reply", "Forward"])
def test_many_quotes_of_a_long_message_are_taken_out_in_a_moment(kind: str) -> None:
    """What may be pasted into one message took 7 s, in which nobody was answered."""
    quotes = "".join(
        f'<blockquote itemtype="http://schema.skype.com/{kind}">a{n}</blockquote>'
        for n in range(1_000)
    )
    started = time.process_time()
    message_text_of(activity("a " * 50_000, html=quotes))
    assert time.process_time() - started < 1
