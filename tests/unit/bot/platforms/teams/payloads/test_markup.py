"""Test that mentions, quotes and HTML of a message are told apart from what somebody asks."""

from __future__ import annotations

from typing import Any

import pytest
from botbuilder.core import TurnContext
from botbuilder.schema import Activity
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.teams.payloads.markup import Quote, mentions_bot, read_html, without_mentions
from bot.platforms.teams.payloads.messages import MessageText, message_text_of
from tests.fakes.costs import costs_in_proportion
from tests.fakes.teams.activities import PLAIN_BOT, mention_entity, message_activity

OURS = mention_entity("Help")
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"], exclude_characters="<>&:,"),
    min_size=1,
    max_size=12,
)


def read(text: str, *entities: dict[str, Any]) -> str:
    return without_mentions(message_activity(text, *entities), text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<at>Help</at> vpn?", "vpn?"),
        ("<at>Help</at>: vpn?", "vpn?"),
        ("<at>Help</at>, vpn?", "vpn?"),
        ("hey <at>Help</at>, vpn?", "hey, vpn?"),
        ("hey <at>Help</at> vpn?", "hey vpn?"),
        ("vpn? <at>Help</at>", "vpn?"),
        ("<at>Help</at>", ""),
        ("a  b\n\n c <at>Help</at>", "a  b\n\n c"),
        ('<at id="0">Help</at> vpn?', "vpn?"),
    ],
)
def test_what_is_left_is_what_was_said(text: str, said: str) -> None:
    assert read(text, OURS) == said


def test_botbuilders_remove_recipient_mention_deletes_the_name_everywhere() -> None:
    """The defect that our own stripping is there for: should this fail, it is mended."""
    said = message_activity("<at>Help</at> Help me with the Help desk", OURS)
    theirs = TurnContext.remove_recipient_mention(Activity().deserialize({**said}))

    assert theirs.split() == ["me", "with", "the", "desk"]
    assert read(str(said["text"]), OURS) == "Help me with the Help desk"


def test_botbuilders_remove_recipient_mention_fails_on_a_malformed_entity() -> None:
    """As above."""
    broken = {"type": "mention"}
    said = message_activity("<at>Help</at> vpn?", broken, OURS)
    with pytest.raises(KeyError):
        TurnContext.remove_recipient_mention(Activity().deserialize({**said}))

    assert read("<at>Help</at> vpn?", broken, OURS) == "vpn?"


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "mention"},
        {"type": "mention", "mentioned": None, "text": "<at>Help</at>"},
        {"type": "mention", "mentioned": "28:bot", "text": 5},
        {"type": "mention", "mentioned": {"id": ""}, "text": "<at>Help</at>"},
        {"type": "mention", "mentioned": {"id": "29:bob"}, "text": None},
        {"type": "mention", "mentioned": {"id": "29:bob"}, "text": "  "},
        {"text": "<at>Help</at>"},
        {},
    ],
    ids=str,
)
def test_an_entity_that_says_nothing_changes_nothing(broken: dict[str, Any]) -> None:
    assert not mentions_bot(message_activity("vpn?", broken))
    assert read("<at>Help</at> the <at>Help</at> desk", broken, OURS) == "the <at>Help</at> desk"


def test_other_people_become_their_names_also_one_who_is_called_like_the_bot() -> None:
    bob, other = mention_entity("Bob & Co", "29:bob"), mention_entity("Help", "29:helga")
    said = read("<at>Help</at> ask <at>Bob &amp; Co</at> or <at>Help</at>", OURS, bob, other)

    assert said == "ask Bob & Co or Help"


def test_entities_may_come_in_another_order_than_their_mentions() -> None:
    bob = mention_entity("Bob", "29:bob")
    assert read("<at>Help</at> is <at>Bob</at> in?", bob, OURS) == "is Bob in?"


def test_a_name_of_several_words_may_have_hard_spaces_in_one_of_the_two() -> None:
    desk = mention_entity("Help Desk", text="<at>Help&nbsp;Desk</at>")
    assert read("<at>Help Desk</at> vpn?", desk) == "vpn?"


def test_each_entity_stands_for_one_place() -> None:
    assert read("<at>Help</at> <at>Help</at> x", OURS) == "<at>Help</at> x"
    assert read("<at>Help</at> <at>Help</at> x", OURS, OURS) == "x"


def test_a_name_that_was_put_in_is_not_read_again() -> None:
    sly = mention_entity("x", "29:eve", text="<at>&lt;at&gt;Help&lt;/at&gt;</at>")
    said = read("<at>&lt;at&gt;Help&lt;/at&gt;</at> vpn? <at>Help</at>", sly, OURS)

    assert said == "<at>Help</at> vpn?"


@given(st.lists(st.tuples(st.booleans(), WORDS), max_size=8), st.sampled_from(["Help", "a.b", "*"]))
def test_no_text_but_the_mention_is_lost(parts: list[tuple[bool, str]], name: str) -> None:
    """Whatever else is said, the bot's own name among it: words stay, in their order."""
    ours = mention_entity(name)
    text = " ".join(
        f"<at>{name}</at>" if named else word for named, word in [*parts, (False, name)]
    )
    entities = [ours for named, _ in parts if named]

    said = read(text, *entities)

    assert said.split() == [*(word for named, word in parts if not named), name]


@given(st.text(max_size=80))
def test_what_mentions_nobody_is_left_as_it_is(text: str) -> None:
    assert read(text) == text.strip()


@given(st.text("<at>/ Helpx", max_size=60), st.text("<at>/ Helpx&;", max_size=12))
def test_whatever_is_sent_is_read(text: str, written: str) -> None:
    assert (
        len(read(text, mention_entity("Help", text=written), mention_entity("Help", "29:b")))
        <= len(text) + 8
    )


@pytest.mark.parametrize("piece", ["<at>", "<at ", "<at>a", " <at>Help</at>"])
def test_a_megabyte_of_open_tags_takes_no_time(piece: str) -> None:
    assert costs_in_proportion(lambda text: read(text, OURS), piece, 900_000)


def test_a_mention_without_a_text_is_one() -> None:
    assert mentions_bot(message_activity("", mention_entity("", PLAIN_BOT)))


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
    assert message_text_of(message_activity(text, OURS, textFormat=form)).text == said


def test_xml_is_read_as_it_is_shown() -> None:
    text = (
        "<div><p><at>Help</at>&nbsp;<b>vpn</b> for <at>Bob &lt;x&gt;</at></p>"
        "<p>on a&nbsp;Mac?<br/>&lt;ok&gt;</p><script>no()</script></div>"
    )
    bob = mention_entity("Bob", "29:bob", text="<at>Bob &lt;x&gt;</at>")
    said = message_text_of(message_activity(text, OURS, bob, textFormat="xml"))

    assert said == MessageText("vpn for Bob <x>\non a Mac?\n<ok>")


def test_what_is_quoted_is_no_part_of_the_question() -> None:
    """The marker is taken from the text; its HTML copy says who is quoted."""
    text = '<quoted messageId="1783419459151"/><at>Help</at> what now?'
    body = message_activity(
        text, OURS, quoted_reply("29:max"), html=REPLY.format(who="8:orgid:max")
    )

    assert message_text_of(body) == MessageText("what now?", (MAX,))


def test_an_older_client_writes_the_quote_into_the_text() -> None:
    text = "Max Muster\r\nThe printer &amp; the scanner are dead\r\n\r\n<at>Help</at> what now?"
    body = message_activity(text, OURS, html=REPLY.format(who="8:orgid:max"))

    assert message_text_of(body) == MessageText("what now?", (MAX,))


def test_a_quote_is_known_by_its_entity_alone() -> None:
    body = message_activity('<quoted messageId="1"/> what now?', quoted_reply("29:max"))
    said = message_text_of(body)

    assert said.text == "what now?"
    assert [quote.text for quote in said.quotes] == ["The printer is dead"]


def test_what_the_bot_said_itself_is_not_quoted_to_it() -> None:
    body = message_activity("thanks", quoted_reply(PLAIN_BOT), html=REPLY.format(who=PLAIN_BOT))

    assert message_text_of(body) == MessageText("thanks")


def test_a_forwarded_message_is_told_apart_from_the_words_beside_it() -> None:
    text = "see this\r\n\r\nVPN fails with error 809.\r\nWho knows?"
    said = message_text_of(message_activity(text, html=FORWARD))

    assert said.text == "see this"
    assert said.quotes == (Quote("VPN fails with error 809.\nWho knows?", forwarded=True),)


def test_words_that_are_repeated_in_what_is_forwarded_stay() -> None:
    html = '<p>ok</p><blockquote itemtype="http://schema.skype.com/Forward"><p>ok</p></blockquote>'
    assert message_text_of(message_activity("ok\r\n\r\nok", html=html)).text == "ok"
    assert message_text_of(message_activity("look\r\n\r\nok", html=html)).text == "look"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<at>Help</at>", REPLY.format(who="8:orgid:max").replace("what now?", "")),
        ("", REPLY.format(who="8:orgid:max")),
    ],
)
def test_who_adds_nothing_to_a_quote_asks_what_is_quoted(text: str, html: str) -> None:
    assert message_text_of(message_activity(text, OURS, html=html)) == MessageText(MAX.text)


def test_a_marker_that_nobody_quotes_with_is_text() -> None:
    text = 'what is <quoted messageId="1"/>?'
    assert message_text_of(message_activity(text)).text == text


def test_nested_quotes_belong_to_the_outer_one() -> None:
    html = "<blockquote>a<blockquote>b</blockquote>c</blockquote>d"
    assert read_html(html).quotes == (Quote("a\nb\nc"),)
    assert read_html(html).text == "d"


def test_emoji_are_their_characters() -> None:
    assert read_html('<p>up <img alt="🙂"> <emoji alt="👍">x</emoji></p>').text == "up 🙂 👍"


@given(st.text("<>/bqalockuote =\"'&;!-?x\ud800\x00 ", max_size=120))
def test_any_html_is_read_without_an_error(html: str) -> None:
    read_html(html)
    message_text_of(message_activity(html, html=html, textFormat="xml"))


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_own_word_is_lost_beside_a_copy_that_quotes_nothing(said: str, copied: str) -> None:
    body = message_activity(said, html=f"<p>{copied.replace('<', '&lt;')}</p>")
    assert message_text_of(body).text == message_text_of(message_activity(said)).text


@pytest.mark.parametrize(
    "piece", ["<", "<!--", "<a ", "<blockquote>", "<b itemprop=mri>", "&#1", "<![", "<p>x"]
)
def test_no_html_holds_everybody_up(piece: str) -> None:
    """The standard library's reader took two minutes for some of these."""
    assert costs_in_proportion(read_html, piece, 100_000)


@pytest.mark.parametrize("kind", ["Reply", "Forward"])
def test_many_quotes_of_a_long_message_are_taken_out_in_a_moment(kind: str) -> None:
    """What may be pasted into one message took 7 s, in which nobody was answered."""

    def take_out(text: str) -> None:
        quotes = "".join(
            f'<blockquote itemtype="http://schema.skype.com/{kind}">a{n}</blockquote>'
            for n in range(len(text) // 100)
        )
        message_text_of(message_activity(text, html=quotes))

    assert costs_in_proportion(take_out, "a ", 100_000)
