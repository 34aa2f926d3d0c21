import pytest

from rag.index.hybrid_search import shared_word_pairs


def held(question: str, text: str) -> float:
    return shared_word_pairs(question, {7: text})[7]


def test_words_that_follow_each_other_in_both_are_a_shared_pair() -> None:
    assert held("parental leave policy", "The parental leave is 16 weeks.") == 0.5
    assert held("parental leave policy", "The leave of parental guardians: no policy.") == 0.0


def test_stop_words_and_endings_do_not_part_a_pair() -> None:
    assert held("how do I reset my passwords?", "Resetting a password takes a minute.") == 1.0


@pytest.mark.parametrize("question", ["", "vpn", "how do I use the vpn?"])
def test_a_question_of_one_word_has_no_pairs(question: str) -> None:
    assert shared_word_pairs(question, {7: "Use the VPN."}) == {}
