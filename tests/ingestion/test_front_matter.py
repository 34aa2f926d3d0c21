from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ingestion.documents.front_matter import split_front_matter

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


def test_several_sets_of_readers_must_all_be_met() -> None:
    head = split_front_matter("---\nreaders:\n- [group:hr]\n- [group:leads, user:ann]\n---\n")

    assert head.readers == (*HR, frozenset({"group:leads", "user:ann"}))


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
    ],
)
def test_readers_that_cannot_be_understood_mean_nobody_and_are_noted(top: str) -> None:
    head = split_front_matter(top + "Secret\n")

    assert head.readers == ()
    assert any("nobody may read" in note for note in head.notes)


def test_empty_readers_mean_nobody_and_are_noted() -> None:
    head = split_front_matter("---\nreaders: []\n---\n")

    assert head.readers == ()
    assert head.notes == ("readers are empty: nobody may read the page",)


def test_broken_front_matter_is_a_note_and_the_page_goes_on() -> None:
    head = split_front_matter("---\ntitle: [unclosed\n---\nBody\n")

    assert head.body == "Body\n"
    assert head.readers is None
    assert "front matter was ignored" in head.notes[0]


def test_deeply_nested_front_matter_is_a_note() -> None:
    head = split_front_matter("---\nx: " + "[" * 1000 + "\n---\nBody\n")

    assert head.body == "Body\n"
    assert head.notes


def test_front_matter_of_absurd_size_is_not_parsed() -> None:
    head = split_front_matter("---\ntitle: " + "x" * 70_000 + "\n---\nBody\n")

    assert head.title is None
    assert "longer than" in head.notes[0]


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "//evil.example.com", "notes.md", "https://a b", "5", "[]", "http://["],
)
def test_an_address_that_is_no_address_is_noted(url: str) -> None:
    head = split_front_matter(f"---\nurl: '{url}'\n---\n")

    assert head.url is None
    assert head.notes


@pytest.mark.parametrize("updated", ["soon", "[2024]", "2024-13-01"])
def test_a_date_that_is_no_date_is_noted(updated: str) -> None:
    head = split_front_matter(f"---\nupdated: {updated}\n---\n")

    assert head.updated_at is None
    assert head.notes


def test_labels_may_be_words_between_commas() -> None:
    assert split_front_matter("---\nlabels: pay, money ,pay\n---\n").labels == ("pay", "money")


def test_labels_that_are_no_words_are_noted() -> None:
    head = split_front_matter("---\ntags: {a: b}\n---\n")

    assert head.labels == ()
    assert head.notes == ("labels were ignored: write a list of words",)


def test_readers_do_not_shape_the_page_but_its_title_does() -> None:
    first = split_front_matter("---\ntitle: A\nreaders: everyone\n---\n").digest_text
    second = split_front_matter("---\ntitle: A\nreaders: group:hr\n---\n").digest_text
    third = split_front_matter("---\ntitle: B\nreaders: everyone\n---\n").digest_text

    assert first == second
    assert first != third
