"""How many tokens a text has at most, without the tokenizer of the model that is asked.

The tokenizers of hosted models are fetched from the network when they are first used; an estimate
is not. It errs upwards: whole pages of English and code are counted 15 to 55 % higher than
WordPiece does, single lines of odd words now and then a little lower (tests/rag/models). Where a
text turns out to be too long all the same, the server says so, and it is cut then.
"""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"(?P<word>[A-Z]?[a-z]{1,24})|(?P<capitals>[A-Z]{1,24})|(?P<digits>[0-9]{1,24})"
    r"|(?P<space>[ \t]{1,24})|(?P<mark>[\x00-\x7f])|(?P<other>[^\x00-\x7f])"
)
_LETTERS_OF_A_WORD = 4
_LETTERS_OF_A_LONG_WORD = 3
_LONG_WORD = 12
_CAPITALS = 2
_DIGITS = 2
_THREE_BYTES = 0x800
_FOUR_BYTES = 0x10000


def most_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few.

    Counts simply add up: that of a text is the sum of those of its lines.
    """
    return sum(_tokens(piece) for piece in _PIECE.finditer(text))


def cut(text: str, tokens: int) -> str:
    """Return the longest beginning of a text, in whole pieces, that has at most so many tokens."""
    total = 0
    for piece in _PIECE.finditer(text):
        total += _tokens(piece)
        if total > tokens:
            return text[: piece.start()]
    return text


def _tokens(piece: re.Match[str]) -> int:
    length = piece.end() - piece.start()
    match piece.lastgroup:
        case "word":
            # Compounds fall into more pieces than words do.
            letters = _LETTERS_OF_A_WORD if length <= _LONG_WORD else _LETTERS_OF_A_LONG_WORD
            return -(-length // letters)
        case "capitals":
            return -(-length // _CAPITALS)
        case "digits":
            return -(-length // _DIGITS)
        case "space":
            # One space is part of the next word's token; an indent is a token of its own.
            return 0 if length == 1 else 1
        case "other":
            return _of_letter(piece.group())
        case _:
            return 1


def _of_letter(letter: str) -> int:
    """Return the tokens of a letter beyond ASCII: bytes, where no vocabulary has it whole."""
    if ord(letter) < _THREE_BYTES:
        return 1
    return 2 if ord(letter) < _FOUR_BYTES else 4
