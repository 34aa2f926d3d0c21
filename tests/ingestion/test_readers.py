from __future__ import annotations

import pytest

from ingestion.validation import ReadersMalformed, describe_readers, parse_readers

EVERYONE = frozenset({"everyone"})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("everyone", (EVERYONE,)),
        ("group:hr", (frozenset({"group:hr"}),)),
        ("group:hr, user:ann", (frozenset({"group:hr", "user:ann"}),)),
        (["group:hr", "user:ann"], (frozenset({"group:hr", "user:ann"}),)),
        ([["group:hr"], ["group:leads", "user:ann"]],
         (frozenset({"group:hr"}), frozenset({"group:leads", "user:ann"}))),
        ([], ()),
    ],
)  # fmt: skip
def test_readers_mean_what_is_written(written: object, meant: object) -> None:
    assert parse_readers(written) == meant


@pytest.mark.parametrize(
    "written",
    [
        "",
        "Everyone",
        "hr",
        "group:",
        "group:a b",
        "role:x",
        None,
        3,
        True,
        {"group": "hr"},
        ["hr"],
        [{"group": "hr"}],
        [[]],
        [["group:hr"], "everyone"],
        [["group:hr"], []],
        ["group:hr", None],
        "everyone,",
    ],
)
def test_anything_else_is_malformed(written: object) -> None:
    with pytest.raises(ReadersMalformed):
        parse_readers(written)


def test_a_huge_value_does_not_make_a_huge_message() -> None:
    bomb: list[object] = ["x"]
    for _ in range(40):
        bomb = [bomb, bomb]

    with pytest.raises(ReadersMalformed) as caught:
        parse_readers(bomb)

    assert len(str(caught.value)) < 1000


def test_readers_are_described_as_they_are_written() -> None:
    assert describe_readers(parse_readers([["group:hr", "user:a"], ["group:b"]])) == (
        "group:hr,user:a and group:b"
    )
    assert describe_readers(()) == "nobody"
