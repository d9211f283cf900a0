"""Analysis of translations: lengths, repetition, hard sentences.

Sentences are grouped by the length of their source, as compare-mt does (Neubig
et al. 2019).
"""

import collections
import dataclasses
import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from keras_transformer.blank import is_blank
from keras_transformer.data.selection import nfkc, sentence_keys
from keras_transformer.evaluation.bleu_chrf import metrics
from keras_transformer.languages import scripts_of_language

# Written without spaces: each character counts as a word.
_SPACELESS = {"HAN", "KANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
_LENGTH_GROUPS = 5
# Combining marks are searched below this code point; joiners occur in words.
_MARKS_END = 0x1F000
_JOINERS = "\u200c\u200d"


@dataclasses.dataclass(frozen=True)
class OutputStatistics:
    """Statistics that reveal bad translations.

    Tokens are those of BLEU.

    Attributes:
        length_ratio: tokens of the translations, divided by those of the
            references.
        repeated_2grams: the fraction of all 2-grams that occurred earlier in
            the same translation (Welleck et al. 2020).
        repeated_4grams: the same of 4-grams.
        empty: number of translations without text.
        copied: number of translations that equal their source, but for case
            and punctuation, although the reference doesn't.
    """

    length_ratio: float
    repeated_2grams: float
    repeated_4grams: float
    empty: int
    copied: int


def output_statistics(
    sources: Sequence[str],
    references: Sequence[str],
    translations: Sequence[str],
    language: str,
    tokenize: str | None = None,
) -> OutputStatistics:
    """Statistics of one system's translations.

    Args:
        sources: the translated texts.
        references: one for each source.
        translations: one for each source.
        language: of the translations.
        tokenize: name of BLEU's tokenizer; None: the language's.
    """
    bleu: Any = metrics(language, tokenize)["bleu"]
    tokenizer = bleu.tokenizer
    tokens = [tokenizer(text).split() for text in translations]
    expected = sum(len(tokenizer(text).split()) for text in references)
    columns = (sources, references, translations)
    keys = zip(*map(sentence_keys, columns), strict=True)
    return OutputStatistics(
        length_ratio=sum(map(len, tokens)) / max(1, expected),
        repeated_2grams=_repeated(tokens, 2),
        repeated_4grams=_repeated(tokens, 4),
        empty=sum(is_blank(text) for text in translations),
        copied=sum(
            bool(source) and source == translation != reference
            for source, reference, translation in keys
        ),
    )


def _repeated(sentences, order):
    """The fraction of the n-grams that occurred earlier in their sentence."""
    count = different = 0
    for tokens in sentences:
        ngrams = list(zip(*(tokens[n:] for n in range(order)), strict=False))
        count += len(ngrams)
        different += len(set(ngrams))
    return 1 - different / count if count else 0.0


@dataclasses.dataclass(frozen=True)
class Group:
    """Sentences of a test set whose sources are of similar length.

    Attributes:
        lowest: words of the shortest source.
        highest: words of the longest.
        indices: of the sentences.
    """

    lowest: int
    highest: int
    indices: list[int]


def groups_by_length(sources: Sequence[str], language: str) -> list[Group]:
    """Up to five groups of about equal size, by words of the source."""
    lengths = [len(words(source, language)) for source in sources]
    counts = sorted(collections.Counter(lengths).items())
    groups: list = []
    lowest, held, left = None, 0, len(lengths)
    for value, count in counts:
        lowest = value if lowest is None else lowest
        held += count
        # True if the group has an equal share of the remaining sentences.
        full = held * (_LENGTH_GROUPS - len(groups)) >= left
        if full or value == counts[-1][0]:
            groups.append((lowest, value))
            lowest, held, left = None, 0, left - held
    return [
        Group(low, high, [i for i, n in enumerate(lengths) if low <= n <= high])
        for low, high in groups
    ]


def words(text: str, language: str) -> list[str]:
    """The words of a text, in lower case, without punctuation and symbols.

    Args:
        text: any.
        language: of the text. In those written without spaces, such as
            Chinese, each character is a word.
    """
    text = nfkc(text).lower()
    if is_spaceless(language):
        return [character for character in text if character.isalnum()]
    return _word_pattern().findall(text)


@functools.cache
def _word_pattern():
    """Letters and digits with their marks, which `\\w` doesn't match."""
    marks = "".join(
        character
        for character in map(chr, range(_MARKS_END))
        if unicodedata.category(character)[0] == "M"
    )
    letter = rf"[^\W_][{marks}{_JOINERS}]*"
    return re.compile(rf"(?:{letter})+(?:['’](?:{letter})+)*")


def is_spaceless(language: str) -> bool:
    """True if a language is written without spaces between words."""
    return bool(scripts_of_language(language) & _SPACELESS)
