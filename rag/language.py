"""Is a text in English? Word rules and the installed embedder read hardly anything else."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = frozenset(
    """
    the a an is are was were do does did how what when where which who why can could i my we our
    you your to of in on for with and or not it this that there have has need want get if be at
    from about any by me please no should would will am
    """.split()
)
_OTHERS = frozenset(
    """
    der die das ein eine ich wie wo wann wer warum nicht und oder mit fur für von zu im ist sind
    kann habe mein meine wir man auf bei den dem des es el la los las un una como cómo donde dónde
    que qué cual cuál quien mi mis y o con para por no se es son puedo tengo necesito del le les
    des une je comment ou où quand qui pourquoi et avec pour pas est sont puis mon ma mes du au
    il lo gli uno come dove quando chi perche perché e con per non sono posso mio mia della di
    os as um uma onde quem porque com não é são meu minha da do na em het een ik hoe waar wie
    waarom en met voor niet van mijn kan zijn op jak gdzie kiedy nie jest czy mam moje na hur var
    och med inte jag min kan hvordan hvor jeg ikke og er
    """.split()
) - {"a", "i", "do", "on", "an", "me", "am", "no", "in", "is", "was"}
_LEAST_LATIN = 0.8


def looks_english(text: str) -> bool:
    """Whether it could be English: mostly Latin letters, and no more foreign words than ours."""
    letters = [character for character in text if character.isalpha()]
    latin = sum(character < "\u0250" for character in letters)
    if letters and latin < _LEAST_LATIN * len(letters):
        return False
    found = [word.lower() for word in _WORD.findall(text)]
    foreign = sum(word in _OTHERS for word in found)
    return foreign <= 1 or foreign < sum(word in _ENGLISH for word in found)
