"""Markdown and its front matter become blocks and fields."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ingestion.documents.convert_markdown import markdown_blocks
from ingestion.documents.front_matter import split_front_matter
from ingestion.text import markdown
from ingestion.types import Code, Heading, ItemList, Paragraph, Quote, Table


def read(source: str, *, mdx: bool = False) -> str:
    return "\n\n".join(markdown(block) for block in markdown_blocks(source, mdx=mdx))


def test_each_kind_of_block_is_known() -> None:
    blocks = markdown_blocks(
        "# Title\n\nText.\n\n- a\n- b\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n```sh\nls -la\n```\n\n"
        "> said\n"
    )

    assert blocks == (
        Heading(1, "Title"),
        Paragraph("Text."),
        ItemList(("- a", "- b")),
        Table(("A", "B"), (("1", "2"),)),
        Code("ls -la", "sh"),
        Quote("said"),
    )


def test_soft_line_breaks_are_spaces_and_hard_ones_are_kept() -> None:
    assert read("one\ntwo  \nthree\\\nfour") == "one two\nthree\nfour"


def test_emphasis_goes_and_code_keeps_its_backticks() -> None:
    assert read("**bold** _em_ ***both*** `code` ``a`b``") == "bold em both `code` ``a`b``"
    assert read("**Note: **text. Go on.**") == "Note: text. Go on."


@pytest.mark.parametrize("name", ["iframe", "script", "textarea", "svg", "nav"])
def test_a_tag_that_is_never_closed_hides_nothing(name: str) -> None:
    assert read(f"## Price <{name} src=x>\n\nIt costs 7 euro.") == (
        f"Price <{name} src=x>\n\nIt costs 7 euro."
    )
    assert read(f"<{name} src=x>\n\nIt costs 7 euro.").endswith("It costs 7 euro.")
    assert read(f"a <{name}>secret</{name}> b <{name}>\n\nIt costs 7 euro.") == (
        f"a b <{name}>\n\nIt costs 7 euro."
    )


def test_stars_that_are_no_emphasis_stay() -> None:
    assert read("2 ** 3 and 2**3") == "2 ** 3 and 2**3"
    assert read("any src/**/*.py file") == "any src/**/*.py file"


def test_struck_text_stays_marked_because_it_no_longer_holds() -> None:
    assert read("~~10 days~~ 12 days") == "~~10 days~~ 12 days"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("[Portal](https://it.example.com/x)", "Portal (https://it.example.com/x)"),
        ("[https://it.example.com](https://it.example.com)", "https://it.example.com"),
        ("[it.example.com](https://it.example.com/)", "https://it.example.com/"),
        ("<https://it.example.com>", "https://it.example.com"),
        ("[VPN page](../vpn.md#setup)", "VPN page"),
        ("[desk](mailto:it@example.com?subject=hi)", "desk (it@example.com)"),
        ("[it@example.com](mailto:it@example.com)", "it@example.com"),
        ("<it@example.com>", "it@example.com"),
        ("[x](javascript:alert(1))", "x"),
        ("![x](data:image/svg+xml;base64,AAAA) text", "text"),
        ("![x][logo] text\n\n[logo]: data:image/svg+xml;base64,AAAA", "text"),
        ("[call](tel:+123)", "call"),
        ("see [the\nportal][1].\n\n[1]: https://p.example.com", "see the portal (https://p.example.com)."),
        ("[Praise](#Thanks and praise)", "Praise"),
        ("<li>[Travel]({{ site }}/travel)</li>", "Travel"),
        ("![a screenshot](shot.png) text", "text"),
        ("[![Portal logo](x.png)](https://p.example.com)", "Portal logo (https://p.example.com)"),
    ],
)  # fmt: skip
def test_links_keep_where_they_lead_when_that_says_something(source: str, shown: str) -> None:
    assert read(source) == shown


def test_raised_digits_do_not_change_a_number() -> None:
    assert read("10<sup>6</sup> rows, 5<sup>th</sup>, m<sup>2</sup>") == "10⁶ rows, 5th, m²"


def test_nested_lists_keep_markers_and_nesting() -> None:
    source = (
        "3. Open it\n   - fast\n   - slow\n\n   More.\n\n   ```sh\n   run\n   ```\n4. Close it\n"
    )

    assert read(source) == (
        "3. Open it\n   - fast\n   - slow\n   More.\n   ```sh\n   run\n   ```\n4. Close it"
    )


def test_lists_nested_deeply_keep_their_text() -> None:
    source = "\n".join("  " * depth + f"- level{depth}" for depth in range(25))

    assert all(f"level{depth}" in read(source) for depth in range(25))


def test_html_inside_is_read_as_a_browser_shows_it() -> None:
    source = (
        "<details><summary>More</summary>\n\ninner *text*\n\n</details>\n\n"
        '<p style="display: none">secret</p>\n\nA<br>B &amp; C\n'
    )

    assert read(source) == "More\n\ninner text\n\nA\nB & C"


def test_an_html_table_with_blank_lines_is_one_table() -> None:
    source = (
        "<table><tr><th>Who</th><th>What</th></tr>\n\n<tr><td>HR</td><td>\n\n**Pay**\n\n</td></tr>"
        "\n</table>\n"
    )

    assert read(source) == "| Who | What |\n| --- | --- |\n| HR | Pay |"


def test_placeholders_in_angle_brackets_are_text() -> None:
    assert read("Ask <your manager> or mail <name>@example.com") == (
        "Ask <your manager> or mail <name>@example.com"
    )


LEAKS = {
    "comment": ("a <!-- secret\n\nmore --> b", "a b"),
    "comment to the end": ("a\n\n<!-- secret\n\nmore", "a"),
    "code with a comment": ("`<!-- kept -->`", "`<!-- kept -->`"),
    "alert": ("> [!NOTE]\n> Mind\n> this.", "Note: Mind this."),
    "alert on one line": ("> [!WARNING] Mind this.", "Warning: Mind this."),
    "directive": (":::note\nMind this.\n:::", "Note: Mind this."),
    "directive with a title": (":::tip Watch out\nMind this.\n:::", "Watch out\n\nMind this."),
    "directive with a label": (":::tip[Watch out]\nMind this.\n:::", "Watch out\n\nMind this."),
    "admonition": ("!!! note\n    Mind this.\n\nAfter.", "Note: Mind this.\n\nAfter."),
    "admonition with a title": ('??? tip "Watch out"\n    Mind this.', "Watch out\n\nMind this."),
    "admonition with code": (
        "!!! note\n    Run\n\n    ```sh\n    a {{ b }}\n\n    c\n    ```",
        "Note: Run\n\n```sh\na {{ b }}\n\nc\n```",
    ),
    "tabs": ('=== "Linux"\n\n    Run it.\n', "Linux\n\nRun it."),
    "kramdown": ("Text.{: .lead}\n{: .note #id}\n", "Text."),
    "heading attributes": ("## Setup {#setup .big}\n", "Setup"),
    "contents": ("[TOC]\n\n[[_TOC_]]\n\nText", "Text"),
    "liquid include": ('{% include "x.html" steps: a.b\n  current: c %}\nText', "Text"),
    "liquid channel": ('Ask {% slack_channel "admins-docker" %}.', "Ask #admins-docker."),
    "liquid over lines": ('Ask {% slack_channel\n "it" "The IT" %}.', "Ask #it."),
    "liquid argument": ('Our {% term "SLA" %} is short.', "Our SLA is short."),
    "liquid image": ('Text {% image "_img/x.png" "a popup" %}', "Text"),
    "liquid link": ('[Travel]({% page "/travel/" %}) now', "Travel now"),
    "liquid link over lines": ('[Travel\nguide]({% page\n"/travel/" %}) now', "Travel guide now"),
    "liquid comment": ("a {% comment %}TODO secret{% endcomment %} b", "a b"),
    "liquid alert": ('{% alert "Hey!" %}\n  Mind it.\n{% endalert %}', "Hey!\n\nMind it."),
    "liquid in an attribute": ('<a href="{% page "/x" %}">here</a>', "here"),
    "liquid flow": ("{% if a %}yes{% endif %}", "yes"),
    "raw": ("{% raw %}{{ shown }}{% endraw %}", "{{ shown }}"),
    "raw in code": ("```\n{% raw %}{% page %}{% endraw %}\n```", "```\n{% page %}\n```"),
    "highlight": ("{% highlight sh %}\nls\n{% endhighlight %}", "```sh\nls\n```"),
    "mustache": ("Go to {{ site.name }}home", "Go to home"),
    "mustache literal": ('Say {{ "hello" | up }}', "Say hello"),
    "mustache link": ("[Design]({{ site.url }}/design/) page", "Design page"),
    "hugo": ('{{< figure src="x.png" >}}\n{{% notice %}}\nText\n{{% /notice %}}', "Text"),
    "jinja comment": ("a {# secret #} b", "a b"),
    "erb": ("a <%= secret %> b", "a b"),
    "include": ('!include secret.md\nText\n\n--8<-- "x.md"\n\n{!x.md!}', "Text"),
    "docs include": ("[!INCLUDE [x](../x.md)]\n\nText", "Text"),
    "footnote": ("Ten days.[^1]\n\n[^1]: Per year.", "Ten days.\n\nNote 1: Per year."),
    "wiki link": ("See [[VPN]] and [[vpn|the VPN page]].", "See VPN and the VPN page."),
    "front matter of kramdown lists": ("- a\n{: .x}\n- b", "- a\n- b"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "shown"), LEAKS.values(), ids=LEAKS)
def test_syntax_of_templates_and_dialects_does_not_leak(source: str, shown: str) -> None:
    assert read(source) == shown


def test_code_is_verbatim_whatever_it_looks_like() -> None:
    code = "{{ .Values.x }} {% if %}\n<!-- c -->\n!!! note\n    [[ -f x ]] <your name>\n> [!NOTE]"

    assert read(f"```\n{code}\n```\n\n~~~yaml\n{code}\n~~~\n\n`{{{{ x }}}}`") == (
        f"```\n{code}\n```\n\n```yaml\n{code}\n```\n\n`{{{{ x }}}}`"
    )


def test_code_that_holds_a_fence_gets_a_longer_one() -> None:
    assert read("````\n```\nx\n```\n````") == "````\n```\nx\n```\n````"


MDX = """import Tabs from '@theme/Tabs'
export const limits = {
  days: 10,
}

# Leave {props.year}

<Tabs groupId="os">
  <TabItem value="mac" label="macOS">

    Run `brew {x}`.

  </TabItem>
</Tabs>

{/* secret */}
A <Tooltip text="hidden">word</Tooltip> and {"a string"} <Button onClick={() => { go({a: 1}) }} />.

<div className={styles.x} style={{color: 'red'}}>inside</div>
"""


def test_mdx_shows_what_its_components_show() -> None:
    assert read(MDX, mdx=True) == (
        "Leave\n\nmacOS\n\nRun `brew {x}`.\n\nA word and a string .\n\ninside"
    )


def test_components_in_plain_markdown_go_only_when_they_are_closed() -> None:
    assert read("<Card>Text</Card> <Icon /> <GROUP NAME>") == "Text <GROUP NAME>"


def test_quotes_keep_their_lists_and_code() -> None:
    assert (
        read("> said\n>\n> - a\n> - b\n>\n> ```\n> x\n> ```") == "said\n\n- a\n- b\n\n```\nx\n```"
    )


def test_a_long_run_of_openers_is_read_in_reasonable_time() -> None:
    openers = ("{% ", "{{ ", "{% raw %}", "{% highlight x %}", "{% comment %}", "<!-- ")

    for opener in openers:
        assert "first" in read("first\n\n" + f"{opener}x" * 5_000)


HR = (frozenset({"group:hr"}),)


def test_yaml_front_matter_is_understood() -> None:
    head = split_front_matter(
        "---\ntitle: Pay day\nreaders: [group:hr]\ntags: [pay, money]\n"
        "url: https://wiki.example.com/pay\nupdated: 2024-05-31\n---\nBody\n"
    )

    assert head.title == "Pay day"
    assert head.readers == HR
    assert head.labels == ("pay", "money")
    assert head.url == "https://wiki.example.com/pay"
    assert head.updated_at == datetime(2024, 5, 31, tzinfo=UTC)
    assert head.body == "Body\n"
    assert head.notes == ()


def test_toml_front_matter_is_understood() -> None:
    head = split_front_matter(
        '+++\ntitle = "Pay day"\nreaders = ["group:hr"]\nlabels = ["pay"]\n'
        "updated = 2024-05-31T10:00:00Z\n+++\nBody\n"
    )

    assert (head.title, head.readers, head.labels) == ("Pay day", HR, ("pay",))
    assert head.updated_at == datetime(2024, 5, 31, 10, tzinfo=UTC)


def test_a_page_without_front_matter_says_nothing_of_its_readers() -> None:
    head = split_front_matter("# Title\n\n---\n\nText\n")

    assert head.readers is None
    assert head.body == "# Title\n\n---\n\nText\n"


def test_prose_between_two_rules_is_no_front_matter() -> None:
    text = "---\nOnce upon a time\n---\nThe end\n"

    assert split_front_matter(text).body == text


@pytest.mark.parametrize(
    "top",
    [
        "---\nreaders: group: hr\n---\n",
        "---\nreaders:\n---\n",
        "---\nreaders: [hr]\n---\n",
        "---\nreaders: [group: hr]\n---\n",
        "---\nreader: group:hr\n---\n",
        "---\nReaders: Group HR\n---\n",
        "---\nreaders: [group:hr\ntitle: x\n---\n",
        "---\nreaders: group:hr\nreaders: everyone\n---\n",
        "---\naccess:\n  readers: group:hr\n---\n",
        "---\nreaders: [group:hr]\n\nNo closing rule.\n",
        "+++\nreaders = [group:hr]\n+++\n",
        "+++\n[access]\nreaders = ['everyone']\n+++\n",
        "\n\n---\nreaders: hr\n---\n",
        "---\nreaders: group:hr\n!\treaders: everyone\n---\n",
        "---\n{title: x, readers: ['group:hr'\n---\n",
        "---\n{readers: ['group:hr'], x: " + "[" * 60 + "]" * 60 + "}\n---\n",
    ],
    ids=lambda top: top[:30],
)
def test_readers_that_cannot_be_understood_mean_nobody_and_are_noted(top: str) -> None:
    head = split_front_matter(top + "Secret\n")

    assert head.readers == ()
    assert any("nobody may read" in note for note in head.notes)


def test_empty_readers_mean_nobody_and_are_noted() -> None:
    head = split_front_matter("---\nreaders: []\n---\n")

    assert head.readers == ()
    assert head.notes == ("readers are empty: nobody may read the page",)


EXPANDING = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 50))
"""Some lines of YAML that stand for 2⁴⁹ values."""


@pytest.mark.parametrize(
    ("top", "note"),
    [
        ("title: [unclosed", "front matter was ignored"),
        ("x: " + "[" * 60_000, "nested deeper"),
        (EXPANDING, "aliases"),
        ('x: "\\ud800"\n' + EXPANDING, "aliases"),
        ("x: !!bool maybe", "does not fit"),
        ("title: 0x" + "f" * 20_000, "too long"),
        ("updated: 0001-01-01T00:00:00+05:00", "updated"),
        ("title: " + "x" * 70_000, "longer than"),
        ("url: 'javascript:alert(1)'", "was ignored"),
        ("url: '//evil.example.com'", "was ignored"),
        ("url: 'notes.md'", "was ignored"),
        ("url: 'https://a b'", "was ignored"),
        ("url: '5'", "was ignored"),
        ("url: '[]'", "was ignored"),
        ("url: 'http://['", "was ignored"),
        ("updated: soon", "was ignored"),
        ("updated: [2024]", "was ignored"),
        ("updated: 2024-13-01", "ignored"),
        ("tags: {a: b}", "labels were ignored"),
    ],
    ids=lambda value: value[:30],
)
def test_what_is_not_understood_is_noted_and_the_page_goes_on(top: str, note: str) -> None:
    head = split_front_matter(f"---\n{top}\n---\nBody\n")

    assert (head.body, head.readers) == ("Body\n", None)
    assert (head.title, head.url, head.updated_at, head.labels) == (None, None, None, ())
    assert note in head.notes[0]


def test_labels_may_be_words_between_commas() -> None:
    assert split_front_matter("---\nlabels: pay, money ,pay\n---\n").labels == ("pay", "money")
