"""Write letters of other scripts that look like Latin ones as those; no I/O.

The pairs are the single letters of Unicode's confusables (UTS #39, version 15.1) that look like a
letter of ASCII and are not made one by NFKC: of the scripts that fonts of desktops have, and some
Cyrillic and Greek letters that readers take for Latin ones in a word.
"""

from __future__ import annotations

import unicodedata

from rag.text.plain_text import visible

_PAIRS = (
    # Cyrillic
    "аaАAЬbВBвbсcСCԁdеeҽeЕEԌGһhНHнhіiꙇiӏlјjЈJКKкkІIӀIМMмmоoОOрpРPԛqгrѕsЅSТTтtѵvѴVѡwԝwԜWхxХXуyүyУYҮY"
    # Greek
    "αaΑAΒBΕEϜFηnΗHιiϳjͿJκkΚKΙIΜMϺMΝNοoσoΟOρpΡPᴦrτtΤTυuνvωwΧXγyΥYΖZ"
    # Latin of phonetics and old spellings
    "ɑaƄbꞴBᴄcꬲeꬵfꞙfẝfꞘFɡgᶃgƍgıiɪiɩiꞲJƖlǀlᴏoᴑoꬽoꭇrꭈrƦRꜱsƽsꞟuᴜuꭎuꭒuʋuᴠvɯwᴡwꞳXɣyᶌyʏyỿyꭚyᴢz"
    # Cherokee
    "ᎪAᏏbᏴBꮯcᏟCᏧdᎠDᎬEᏀGᏳGᏂhᎻHꭵiᎥiᎫJᏦKᏞLᎷMᏢPꮁrᎡRᏒRꮪsᏕSᏚSᎢTꮩvᏙVꮃwᎳWᏔWᎩYᎽYꮓzᏃZ"
    # Lisu
    "ꓮAꓐBꓚCꓒdꓓDꓰEꓝFꓖGꓧHꓙJꓗKꓲIꓡLꓟMꓠNꓳOꓑPꓣRꓢSꓔTꓴUꓦVꓪWꓫXꓬYꓜZ"
    # Coptic and Armenian
    "ⲥcⲤCⲎHⲔKⲒIⳐLⲘMⲚNⲟoⲞOⲣpⲢPⲅrⲦTⲬXⲨYքfցgհhոnռnօoՕOգqզqՏSսuՍUաw"
)
_LATIN = str.maketrans(_PAIRS[::2], _PAIRS[1::2])


def latin_letters(text: str) -> str:
    """Return a text as a reader of Latin script sees it, for comparison with patterns only.

    Invisible characters and free-standing accents are removed, look-alikes become Latin letters.
    Text that is really Greek or Cyrillic becomes senseless.
    """
    if text.isascii():
        return text
    seen = visible(text).translate(_LATIN)
    return "".join(each for each in seen if unicodedata.category(each) != "Mn")
