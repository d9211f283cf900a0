import pytest

from scripts.morphology_corpus.__main__ import pairs
from scripts.morphology_corpus.suffixes import inflect


# The rules are those of Turkish, which has words to try them with.
@pytest.mark.parametrize(
    ("stem", "suffixes", "word"),
    [
        ("ev", ["lAr", "(I)mIz", "DA"], "evlerimizde"),
        ("okul", ["(I)m", "DAn"], "okulumdan"),
        ("kitap", ["(y)I"], "kitabı"),
        ("kitap", ["lAr"], "kitaplar"),
        ("kitap", ["DA"], "kitapta"),
        ("araba", ["(y)A"], "arabaya"),
        ("göz", ["(I)n"], "gözün"),
        ("gel", ["mA", "DI", "(I)m"], "gelmedim"),
        ("oku", ["(y)AcAk", "(I)z"], "okuyacagız"),
        ("el", ["", "lAr"], "eller"),
    ],
)
def test_suffixes_follow_the_vowels_and_sounds_of_the_stem(
    stem, suffixes, word
):
    assert inflect(stem, *suffixes) == word


def test_parts_share_no_sentence():
    train, dev = pairs(3000), pairs(300, part=1)
    assert len(set(train)) == 3000
    assert not {other for _, other in train} & {other for _, other in dev}
