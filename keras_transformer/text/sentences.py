"""Sentences of a text, found in the graph by rules of its language.

The rules are regular expressions of RE2, made for a language when a splitter
is made: a mark goes where a sentence ends, others go where a stop ends none.
No model is needed, and any server of TensorFlow's runs them.

Axes: B texts, N sentences of all of them, K translations of each.
"""

import functools
import importlib.resources
import re
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.blank import BLANK, WHITE_SPACE
from keras_transformer.compat import graph_function
from keras_transformer.languages import (
    base_language,
    is_chinese,
    is_english,
    is_japanese,
    scripts_of_language,
)
from keras_transformer.symbols import (
    BEHIND_STOPS,
    SYMBOL,
    TERM_END,
    TERM_START,
    TERM_TARGET,
)
from keras_transformer.system.yaml_text import load_yaml
from keras_transformer.text.normalization import head_and_rest, replaced

# Of code points that Unicode keeps for the inside of programs; those of a text
# become another one, as in every tokenizer's text.
_END, _NO_END = "\ufdd0", "\ufdd1"
_OTHER = "\ufffd"

_LINE_END = "\\n\\x0b-\\r\\x1c-\\x1e\x85\u2028\u2029"
_SPACE = "\\t\\x1f \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
# Stops that end a sentence before white space.
_STOPS = ".!?…‼⁇⁈⁉‽"
# Stops that end one whatever follows: of Chinese and Japanese, Indian scripts,
# Arabic and Urdu, Armenian, Ethiopic, Burmese, Khmer, Tibetan.
_FULL_STOPS = "。！？｡।॥؟۔։።፧፨၊။។៕༎"
_OPENING, _CLOSING = "([{（［｛「『《〈【“«„‹", ")\\]}）］｝」』》〉】”»“›"
_CLOSERS = f"{_CLOSING}\"'’«‘"
_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}"
_WORD = r"\p{L}\p{M}\p{N}"
_WORD_START = f"(^|[^{_WORD}°])"
# Also a Roman one, but for what may be a word or an initial: "No. I am."
_NUMBER = r"(?:\p{N}|(?:[VX]|[IVXLC]{2,})\b)"
_LETTER = r"\p{L}\p{M}*"
_DANDA = {"DEVANAGARI", "BENGALI", "ORIYA", "GURMUKHI"}
_NARROW = " \xa0\u202f"  # before a closing quote in French
_BULLETS = "-–—*•‣⁃◦·○●◆◇■□▪▫▸►▶➤➢✓✔※"

# Sentences of one pair of quotes or brackets that are kept together.
_NESTED_ENDS = 3
_WORDS_OF_A_TERM = 8
# Characters after which a word may be cut if there is no other place.
_LONGEST_WORD = 16

# Languages that quote „so“, and of whose «marks» either may open.
_LOW_QUOTES = set("de cs sk sl hr bs sr bg mk lt lv et is hu pl ro da".split())
_NO_HIGH = str.maketrans("", "", "“«»‹›")
_NO_LOW = str.maketrans("", "", "«»‹›")

_TEXT = tf.TensorSpec([None], tf.string, name="text")

_Rules = list[tuple[str, str]]


class Sentences(NamedTuple):
    """Sentences of a batch of texts, and what stands before each.

    Attributes:
        heads: string `(B,)`, tags that speak of a whole text, often "".
        gaps: string `(N,)`, white space and bullets before each sentence.
        texts: string `(N,)`; "" where nothing follows the gap.
        rows: int64 `(N,)`, the text of each, ascending.
    """

    heads: tf.Tensor
    gaps: tf.Tensor
    texts: tf.Tensor
    rows: tf.Tensor


class SentenceSplitter:
    """Splits texts into sentences, and joins what they are translated to.

    A gap and a sentence in turn are the text, byte by byte, after its tags; but
    U+FDD0 and U+FDD1, which no text should have, become U+FFFD.

    Args:
        source_language: tag of the texts' language; an unknown one has only
            the rules that all languages share.
        target_language: tag of the translations' language.
        count_tokens: from string `(N,)` to int `(N,)`, the tokens of each;
            None: no sentence is too long.
        max_tokens: what a longer sentence is split to.
        tags: regular expression of a tag that may stand before a text; ""
            for none.

    Example:
        >>> splitter = SentenceSplitter("en", "zh")
        >>> splitter.split(tf.constant(["I see Dr. Li. He waves!"])).texts
        <tf.Tensor: ... [b'I see Dr. Li.', b'He waves!'] ...>
    """

    def __init__(
        self,
        source_language: str,
        target_language: str = "",
        count_tokens: Callable[[tf.Tensor], tf.Tensor] | None = None,
        max_tokens: int = 0,
        tags: str = "",
    ) -> None:
        self._facts = _facts(base_language(source_language))
        self._rules = _rules(source_language, self._facts)
        self._gap_rules = _gap_rules(source_language, target_language)
        self._gap = _gap(self._facts["ordinals"])
        self._simple = _simple(source_language)
        self._count_tokens = count_tokens
        self._max_tokens = max_tokens
        self._tags = tags

    def split(self, text: tf.Tensor) -> Sentences:
        """The sentences of texts, string `(B,)` of any bytes."""
        return self._split(text)

    @functools.cached_property
    def _split(self):
        # One graph for all that split: each would be optimized by itself.
        return graph_function(self._find, [_TEXT], inline=False)

    def _find(self, text):
        heads, text = self._without_tags(text)
        pieces, rows = self._shortened(*_cut(text, self._rules))
        gaps, texts = head_and_rest(pieces, self._gap)
        return Sentences(heads, gaps, texts, rows)

    def are_sentences(self, text: tf.Tensor) -> tf.Tensor:
        """True if each text is one sentence for sure, with no gap: bool scalar.

        A look that costs next to nothing, for what most requests have; False
        may be wrong.

        Args:
            text: string `(B,)`.
        """
        _, text = self._without_tags(text)
        simple = tf.strings.regex_full_match(text, self._simple)
        only_marks = is_wordless(text) & ~is_blank(text)
        others = ~simple | self._are_long(text) | only_marks
        return ~tf.reduce_any(others)

    def join(self, sentences: Sentences, translations: tf.Tensor) -> tf.Tensor:
        """Texts of translated sentences, with what stands between them.

        Args:
            sentences: what `split` made.
            translations: string `(N, K)`.

        Returns:
            string `(B, K)`; "" for a blank text.
        """
        batch_size, size = tf.shape(sentences.heads)[0], tf.shape(translations)
        wordless = is_wordless(sentences.texts)[:, tf.newaxis]
        joints = tf.broadcast_to(self.joints(sentences)[:, tf.newaxis], size)
        parts = tf.strings.join([joints, tf.where(wordless, "", translations)])
        count = tf.cast(size[1], tf.int64)
        places = sentences.rows[:, tf.newaxis] * count + tf.range(count)
        joined = tf.strings.unsorted_segment_join(
            tf.reshape(parts, [-1]),  # (N * K,)
            tf.reshape(places, [-1]),
            batch_size * size[1],
        )
        joined = tf.reshape(joined, [batch_size, size[1]])
        shown = count_chosen(sentences, ~is_blank(sentences.texts))[
            :, tf.newaxis
        ]
        return tf.where(shown > 0, joined, "")

    def joints(self, sentences: Sentences) -> tf.Tensor:
        """What stands before each sentence's translation, string `(N,)`.

        A piece without words, which has none, is itself part of it.
        """
        rows, wordless = sentences.rows, is_wordless(sentences.texts)
        is_first = tf.concat([[-1], rows], axis=0)[:-1] != rows
        # What stands at the ends of a text is between no sentences.
        gaps = tf.where(
            is_first | wordless,
            sentences.gaps,
            replaced(sentences.gaps, *self._gap_rules),
        )
        return tf.strings.join([gaps, tf.where(wordless, sentences.texts, "")])

    def counts(self, sentences: Sentences) -> tf.Tensor:
        """How many sentences with words each text has, int32 `(B,)`."""
        return count_chosen(sentences, ~is_wordless(sentences.texts))

    def _without_tags(self, text):
        """Tags at the beginning of texts, and the rest."""
        if not self._tags:
            return tf.fill(tf.shape(text), ""), text
        head = f"^[{WHITE_SPACE}]*(?:(?:{self._tags})[{WHITE_SPACE}]*)+"
        return head_and_rest(text, head)

    def _are_long(self, texts):
        """True where a text has too many tokens, bool `(N,)`."""
        nowhere = tf.zeros(tf.shape(texts), tf.bool)
        if (count_tokens := self._count_tokens) is None:
            return nowhere
        lengths = tf.strings.length(texts)
        # Split without being counted: SentencePiece takes quadratic time for
        # characters that it doesn't know, one after the other.
        are_huge = lengths > _HUGE * self._max_tokens

        def counted():
            counts = count_tokens(tf.where(are_huge, "", texts))
            return are_huge | (counts > self._max_tokens)

        # A token has a byte at least, so short ones needn't be counted.
        may_be_long = tf.reduce_any(lengths > self._max_tokens)
        return tf.cond(may_be_long, counted, lambda: nowhere)

    def _shortened(self, pieces, rows):
        """Pieces of texts, those split again that have too many tokens.

        Args:
            pieces: string `(N,)`.
            rows: int64 `(N,)`, the text of each.
        """
        if (count_tokens := self._count_tokens) is None:
            return pieces, rows
        are_long = self._are_long(pieces)
        return tf.cond(
            tf.reduce_any(are_long),
            lambda: self._split_long(pieces, rows, are_long, count_tokens),
            lambda: (pieces, rows),
        )

    def _split_long(self, pieces, rows, are_long, count_tokens):
        atoms, owners = _cut(pieces, _PLACES)  # (A,)
        number = tf.shape(atoms)[0]
        sizes = tf.cast(count_tokens(atoms), tf.int32)
        is_long = tf.gather(are_long, owners)  # (A,)
        ranks = self._ranks(atoms)

        def chosen(starts):
            """The places where segments that are still too long are split."""
            segments = tf.cumsum(tf.cast(starts, tf.int32)) - 1

            def of_segment(values, reduce=tf.math.unsorted_segment_sum):
                return tf.gather(reduce(values, segments, number), segments)

            totals = of_segment(sizes)
            ends = tf.concat([starts[1:], [True]], axis=0)
            until = tf.cumsum(sizes)  # tokens, this atom's included
            before = of_segment(until - sizes, tf.math.unsorted_segment_min)
            # 0 in the middle of a segment, 1 at its ends.
            balance = tf.abs(2 * (until - before) / tf.maximum(totals, 1) - 1)
            balance = tf.cast(balance, tf.float32)
            costs = ranks + balance
            costs += tf.where(balance > _UNBALANCED, len(_RANKS) + 2.0, 0.0)
            costs = tf.where(ends, costs.dtype.max, costs)
            least = of_segment(costs, tf.math.unsorted_segment_min)
            best = (costs == least) & ~ends
            # One of several that are equally good.
            order = tf.where(best, tf.range(number), number)
            first = of_segment(order, tf.math.unsorted_segment_min)
            best &= tf.range(number) == first
            return best & is_long & (totals > self._max_tokens)

        starts = tf.concat([[True], owners[1:] != owners[:-1]], axis=0)
        _, starts = tf.while_loop(
            lambda places, _: tf.reduce_any(places),
            lambda places, starts: _apart(chosen, places, starts),
            (chosen(starts), starts),
        )
        segments = tf.cumsum(tf.cast(starts, tf.int32)) - 1
        pieces = tf.strings.unsorted_segment_join(
            atoms, segments, segments[-1] + 1
        )
        return pieces, tf.gather(rows, tf.boolean_mask(owners, starts))

    def _ranks(self, atoms):
        """How bad a split after each atom is, float32 `(A,)`: 0 is best."""
        words = _any_of(self._facts["conjunctions"])

        def begins(pattern):
            pattern = f"(?s)[{WHITE_SPACE}]{pattern}"
            following = tf.strings.regex_full_match(atoms[1:], pattern)
            return tf.concat([following, [False]], axis=0)

        ranks = tf.fill(tf.shape(atoms), float(len(_RANKS) + 1))
        ranks = tf.where(begins(".*"), float(len(_RANKS)), ranks)
        ranks = tf.where(
            begins(f"+(?i:{words})"), float(len(_RANKS)) - 0.5, ranks
        )
        for rank, characters in reversed([*enumerate(_RANKS)]):
            pattern = f"(?s).*[{characters}][{_CLOSERS}]*"
            matches = tf.strings.regex_full_match(atoms, pattern)
            ranks = tf.where(matches, float(rank), ranks)
        return ranks


def count_chosen(sentences: Sentences, chosen: tf.Tensor) -> tf.Tensor:
    """How many of each text's sentences are chosen, int32 `(B,)`.

    Args:
        sentences: what `SentenceSplitter.split` made.
        chosen: bool `(N,)`.
    """
    size = tf.shape(sentences.heads)[0]
    chosen = tf.cast(chosen, tf.int32)
    return tf.math.unsorted_segment_sum(chosen, sentences.rows, size)


def is_blank(texts: tf.Tensor) -> tf.Tensor:
    """True where a text has nothing to see, bool of the same shape."""
    return tf.strings.regex_full_match(texts, f"[{BLANK}]*")


def is_wordless(texts: tf.Tensor) -> tf.Tensor:
    """True where a text is blank but for symbols of markup, as `is_blank`."""
    return tf.strings.regex_full_match(texts, f"(?:[{BLANK}]|{SYMBOL})*")


# A term and its translation stay together.
_RULES_OF_TERMS: _Rules = [
    (f"({TERM_START}[^⟨⟩{_END}]*){_END}([^⟨⟩]*{TERM_TARGET})", r"\1\2"),
    (f"({TERM_TARGET}[^⟨⟩{_END}]*){_END}([^⟨⟩]*{TERM_END})", r"\1\2"),
]

# Where a sentence that is too long may be split.
_PLACES = [
    (f"[{_END}]", _OTHER),
    (f"([^{WHITE_SPACE}])([{WHITE_SPACE}])", rf"\1{_END}\2"),
    (f"([。！？｡；：，、।؟؛،][{_CLOSERS}]*)", rf"\1{_END}"),
    (
        # No mark is cut from its letter.
        rf"([^{WHITE_SPACE}{_END}]{{{_LONGEST_WORD}}}[\p{{M}}\x{{200d}}]*)",
        rf"\1{_END}",
    ),
    # A symbol stays whole, and a term of up to so many words.
    (f"(⟨[^⟨⟩{_END}]*){_END}([^⟨⟩]*⟩)", r"\1\2"),
    *_RULES_OF_TERMS * _WORDS_OF_A_TERM,
]
# Characters after which it is split, the best first; then before conjunctions,
# at white space, and anywhere.
_RANKS = (_STOPS + _FULL_STOPS, ";；؛", ":：", ",，、،")
_HUGE = 64  # bytes for each token that is allowed
# How far from the middle a split is a bad one, 1 being the ends.
_UNBALANCED = 0.7


def _apart(chosen, places, starts):
    """Splits after the chosen places, and chooses the next."""
    after = tf.concat([[False], places[:-1]], axis=0)
    starts |= after
    return chosen(starts), starts


def _cut(strings, rules):
    """Strings cut where rules put `_END`.

    Args:
        strings: string `(B,)`, of any bytes.
        rules: that add marks, and change no other character but these.

    Returns:
        string `(N,)`, and int64 `(N,)`, the string of each.
    """
    parts = tf.strings.split(replaced(strings, *rules), _END)
    return parts.flat_values, parts.value_rowids()


def _rules(language: str, facts: dict) -> _Rules:
    """Patterns and rewrites, in turn, that put `_END` where a sentence ends."""
    return [
        (f"[{_END}{_NO_END}]", _OTHER),
        *_rules_without_end(language, facts),
        *_rules_of_ends(language, facts),
        *_rules_of_pairs(language),
        *_RULES_OF_TERMS * 2,
        # Line ends, and white space at the end of the text.
        (
            f"{_END}?([{_SPACE}]*[{_LINE_END}][{WHITE_SPACE}]*|[{_SPACE}]+$)",
            rf"{_END}\1",
        ),
        (_NO_END, ""),
    ]


def _rules_without_end(language, facts) -> _Rules:
    """Rules for stops of abbreviations, initials and numbers."""
    initial = "[A-HJ-Z]" if is_english(language) else r"\p{Lu}"
    if "DEVANAGARI" in scripts_of_language(language):
        # As Latin letters are spoken (के for K): है, a letter and a sign
        # as well, ends sentences of those who write no danda.
        initial = r"(?:\p{L}|[बसडजपटव]ी|[जक]े)"
    elif scripts_of_language(language) & _DANDA:
        initial = _LETTER  # Their sentences end with another stop.
    elif _is_cyrillic(language):
        initial = "[А-ЯЁЂ-Џ]"
    words, numbers, starters = (
        _any_of(facts[name]) for name in ("words", "numbers", "starters")
    )
    abbreviation = (rf"{_WORD_START}((?i:{words})\.)", rf"\1\2{_NO_END}")
    rules = [
        # Twice, as the first takes the stop before the second of "Prof.Dr.".
        *(abbreviation, abbreviation),
        (
            rf"{_WORD_START}((?i:{numbers})\.)"
            rf"([{WHITE_SPACE}]*[(\[\p{{Sc}}]?{_NUMBER})",
            rf"\1\2{_NO_END}\3",
        ),
        # "z. B.", "s. r. o."
        (
            rf"{_WORD_START}({_LETTER}\.)( ?(?:{_LETTER}){{1,2}}\.)",
            rf"\1\2{_NO_END}\3{_NO_END}",
        ),
        (rf"({_NO_END} ?{_LETTER}\.)", rf"\1{_NO_END}"),
        (rf"{_WORD_START}({initial}\.)", rf"\1\2{_NO_END}"),
        # The mark of a list's item.
        (
            rf"((?:^|[{_LINE_END}])[{_SPACE}]*"
            r"\(?(?:\p{N}{1,3}|\p{L}|[ivxIVX]{1,4})[.)])",
            rf"\1{_NO_END}",
        ),
    ]
    if facts["ordinals"]:
        number = r"(?:\p{N}{1,2}|[IVX]+)\."
        rules += [
            (
                rf"({number})([{WHITE_SPACE}]+(?:{starters})[^{_WORD}])",
                rf"\1{_END}\2",
            ),
            (
                rf"((?:^|[^{_WORD}.,:]){number})([{WHITE_SPACE}])",
                rf"\1{_NO_END}\2",
            ),
        ]
    return rules


def _stops(language):
    """Stops that end a sentence before white space."""
    if scripts_of_language(language) & {"THAI", "LAO"}:
        return "!?"  # Others are of abbreviations.
    more = {"GREEK": ";\u037e", "ARMENIAN": ":"}
    scripts = scripts_of_language(language)
    return _STOPS + "".join(more[script] for script in more.keys() & scripts)


def _simple(language):
    """The pattern of texts that are a sentence for sure, with no gap."""
    ends = f"{_stops(language)}{_FULL_STOPS}"
    inside = f"{ends}{_LINE_END}{_END}{_NO_END}"
    return (
        rf"[^{_BULLETS}{WHITE_SPACE}(\p{{N}}{inside}][^{inside}]*"
        f"(?:[^{WHITE_SPACE}{inside}]|[{ends}]+[{_CLOSERS}]*)"
    )


def _rules_of_ends(language, facts) -> _Rules:
    """Rules for stops that end a sentence, and for how it goes on if not."""
    base, stops = base_language(language), _stops(language)
    tag = rf"</[A-Za-z][^<>]*>|{BEHIND_STOPS}"
    closers = rf"(?:[{_CLOSERS}]|[{_NARROW}]»|\[\p{{N}}[\p{{N}}, –-]*\]|{tag})*"
    # Where no space follows, what looks alike on both sides opens the next.
    closing = _CLOSING.translate(_NO_HIGH) + "’"
    own = closers.replace(_CLOSERS, closing)
    space = f"[{WHITE_SPACE}]"
    rules = [
        (rf"([{stops}{_FULL_STOPS}]+{closers})({space}+)", rf"\1{_END}\2"),
        (rf"{_END}({space}*[,;:])", r"\1"),
        (rf"((?:…|\.\.)[{_CLOSERS}]*){_END}({space}*[-–—])", r"\1\2"),
        (rf"((?:…|\.\.\.)[)\]）]){_END}", r"\1"),
        (
            rf"([{_FULL_STOPS}][{_FULL_STOPS}{stops}]*{own}){_END}?",
            rf"\1{_END}",
        ),
        (rf"{_END}([、，,；;：:～~—–…{_FULL_STOPS}{closing}])", r"\1"),
        # 「行こう。」と言った, “走吧。”他说
        (
            rf"([」』”’]){_END}(と|って|[他她它我你您]们?[说說道问問喊叫])",
            r"\1\2",
        ),
    ]
    # What Unicode calls a lower-case letter of Georgian begins sentences.
    if base not in ("ka", "kat", "geo"):
        # Many a Latin name begins with a small letter.
        small = "[а-яёђ-џ]" if _is_cyrillic(language) else r"\p{Ll}"
        goes_on = rf"{_END}({space}+[{_OPENING}{_CLOSERS}]*{small})"
        rules.insert(1, (goes_on, r"\1"))
    if scripts_of_language(language) & {*_DANDA, "ARABIC"}:
        # Where no small letter shows that a sentence goes on after a quote.
        words = _any_of(facts["conjunctions"])
        goes_on = rf"([{_CLOSERS}]){_END}({space}+(?:{words})[^{_WORD}])"
        rules.insert(1, (goes_on, r"\1\2"))
    if _is_unspaced(language):
        rules.append(
            (rf"([{_CJK})）][.!?]+[{_CLOSERS}]*)([{_CJK}])", rf"\1{_END}\2")
        )
    return rules


def _rules_of_pairs(language) -> _Rules:
    """Rules by which quotes and brackets, opened and closed, stay together."""
    opening, closing = _OPENING, _CLOSING
    if base_language(language) in _LOW_QUOTES:
        opening, closing = (
            opening.translate(_NO_HIGH),
            closing.translate(_NO_LOW),
        )
    inside = f"[^{opening}{closing}{_LINE_END}]*"
    before = f"[^{opening}{closing}{_LINE_END}{_END}]*"
    rules = [
        (f"([{opening}]{before}){_END}({inside}[{closing}])", r"\1\2"),
        (f'"([^"{_LINE_END}{_END}]*){_END}?([^"{_LINE_END}]*)"', r'"\1\2"'),
    ]
    return rules * _NESTED_ENDS


def _gap_rules(source_language: str, target_language: str) -> _Rules:
    """Rules for white space between two sentences of a line."""
    from_unspaced = _is_unspaced(source_language)
    to_unspaced = _is_unspaced(target_language)
    if from_unspaced and not to_unspaced:
        return [("^\u3000*$", " ")]
    if to_unspaced and not from_unspaced:
        return [(f"^[{_SPACE}]+$", "")]
    return []


def _gap(ordinals: bool) -> str:
    """The pattern of what stands before a sentence and isn't translated."""
    mark = r"\)" if ordinals else "[.)]"
    bullet = rf"(?:[{_BULLETS}]+|\(?\p{{N}}{{1,3}}{mark})"
    return rf"^[{WHITE_SPACE}]*(?:{bullet}[{WHITE_SPACE}]+)*"


def _is_cyrillic(language):
    return scripts_of_language(language) == {"CYRILLIC"}


def _is_unspaced(language):
    """Whether no space is put between sentences."""
    return is_chinese(language) or is_japanese(language)


@functools.cache
def _facts(language: str) -> dict:
    """Abbreviations, starters, conjunctions, ordinals, from sentences.yaml."""
    path = importlib.resources.files(__package__) / "sentences.yaml"
    facts: dict = {"ordinals": False}
    for entry in load_yaml(path.read_text(encoding="utf-8")):
        known = entry["codes"].split()
        if "general" in known or language in known:
            facts["ordinals"] |= entry.get("ordinals", False)
            for name in ("words", "numbers", "starters", "conjunctions"):
                own = entry.get(name, "").split()
                facts[name] = [*facts.get(name, ()), *own]
    return facts


def _any_of(words):
    """A pattern of any of these words, whose stops a space may follow."""
    if not words:
        return _END  # Which no text has.
    return "|".join(re.escape(word).replace(r"\.", r"\. ?") for word in words)
