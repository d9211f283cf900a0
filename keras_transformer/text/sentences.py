"""Sentence splitting in graph code, by rules for the text's language.

The rules are RE2 regular expressions, built for a language when a splitter is
created: they insert one mark where a sentence ends, and another after a stop
that doesn't end one. No model is needed, and any TensorFlow server runs them.

Axes: B texts, N sentences of all texts, K translations of each.
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
from keras_transformer.punctuation import (
    CLOSERS,
    CLOSING,
    FULL_STOPS,
    OPENING,
    STOPS,
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

# Noncharacters, which Unicode reserves for internal use; those in a text become
# U+FFFD, as in the tokenizers' normalization.
_END, _NO_END = "\ufdd0", "\ufdd1"
_OTHER = "\ufffd"

_LINE_END = "\\n\\x0b-\\r\\x1c-\\x1e\x85\u2028\u2029"
_SPACE = "\\t\\x1f \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
# Commas and the like that no space need follow.
_FULL_COMMAS = "，、；：،؛၊"
# Directions of text, and spaces without a width.
_INVISIBLE = "\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
_NARROW = " \xa0\u202f"  # before a closing quote in French
# What may follow a stop in its sentence.
_BEHIND = (
    rf"(?:[{CLOSERS}{_INVISIBLE}]|[{_NARROW}]»|\[\p{{N}}[\p{{N}}, –-]*\]"
    rf"|</[A-Za-z][^<>]*>|{BEHIND_STOPS})*"
)
_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}"
_WORD = r"\p{L}\p{M}\p{N}"
_WORD_START = f"(^|[^{_WORD}°])"
# Also a Roman number, unless it may be a word or an initial: "No. I am."
_NUMBER = r"(?:\p{N}|(?:[VX]|[IVXLC]{2,})\b)"
_LETTER = r"\p{L}\p{M}*"
_DANDA = {"DEVANAGARI", "BENGALI", "ORIYA", "GURMUKHI"}
# Scripts without spaces between words.
_UNSPACED = {"HAN", "KANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
_BULLETS = "-–—*•‣⁃◦·○●◆◇■□▪▫▸►▶➤➢✓✔※"

# Sentences kept together in one pair of quotes or brackets, at most.
_NESTED_ENDS = 3
_WORDS_OF_A_TERM = 8
# Number of characters after which a word may be cut for lack of other places.
_LONGEST_WORD = 16

# Languages that quote „like this“, and in which either of «» may open.
_LOW_QUOTES = set("de cs sk sl hr bs sr bg mk lt lv et is hu pl ro da".split())
_NO_HIGH = str.maketrans("", "", "“«»‹›")
_NO_LOW = str.maketrans("", "", "«»‹›")

_TEXT = tf.TensorSpec([None], tf.string, name="text")

_Rules = list[tuple[str, str]]


class Sentences(NamedTuple):
    """Sentences of a batch of texts, and the characters before each.

    Attributes:
        heads: string `(B,)`, tags that apply to a whole text, often "".
        gaps: string `(N,)`, white space and bullets before each sentence.
        texts: string `(N,)`; "" where nothing follows the gap.
        rows: int64 `(N,)`, the index of each sentence's text, ascending.
    """

    heads: tf.Tensor
    gaps: tf.Tensor
    texts: tf.Tensor
    rows: tf.Tensor


class SentenceSplitter:
    """Splits texts into sentences, and joins their translations.

    Gaps and sentences in turn make up a text after its tags, byte by byte,
    except that U+FDD0 and U+FDD1, which no text should have, become U+FFFD.

    Args:
        source_language: tag of the texts' language; an unknown one has only
            the rules that all languages share.
        target_language: tag of the translations' language.
        count_tokens: maps string `(N,)` to int `(N,)`, the number of tokens of
            each; None: no sentence is too long.
        max_tokens: longer sentences are split into pieces of at most this size.
        tags: regular expression of a tag that may precede a text; "" for none.

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
        self._before_gap = _before_gap(source_language)
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
        # A graph of its own, which all callers share: inlined in each, it would
        # be optimized each time.
        return graph_function(self._find, [_TEXT], inline=False)

    def _find(self, text):
        heads, text = self._without_tags(text)
        pieces, rows = self._shortened(*_cut(text, self._rules))
        gaps, texts = head_and_rest(pieces, self._gap)
        return Sentences(heads, gaps, texts, rows)

    def are_sentences(self, text: tf.Tensor) -> tf.Tensor:
        """True if each text is certainly one sentence, without gaps.

        A cheap test that most requests pass. False may be wrong.

        Args:
            text: string `(B,)`.

        Returns:
            bool scalar.
        """
        _, text = self._without_tags(text)
        simple = tf.strings.regex_full_match(text, self._simple)
        only_marks = is_wordless(text) & ~is_blank(text)
        others = ~simple | self._are_long(text) | only_marks
        return ~tf.reduce_any(others)

    def join(self, sentences: Sentences, translations: tf.Tensor) -> tf.Tensor:
        """Joins translated sentences to texts, with gaps between them.

        Args:
            sentences: the result of `split`.
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
        """The text before each sentence's translation, string `(N,)`.

        A sentence without words isn't translated, and is part of this text.
        """
        rows, wordless = sentences.rows, is_wordless(sentences.texts)
        is_first = tf.concat([[-1], rows], axis=0)[:-1] != rows
        before = tf.concat([[""], sentences.texts], axis=0)[:-1]
        is_gap = tf.strings.regex_full_match(before, self._before_gap)
        in_word = (sentences.gaps == "") & ~is_gap
        # The rules are for gaps between two sentences of a text.
        gaps = tf.where(
            is_first | wordless | in_word,
            sentences.gaps,
            replaced(sentences.gaps, *self._gap_rules),
        )
        return tf.strings.join([gaps, tf.where(wordless, sentences.texts, "")])

    def counts(self, sentences: Sentences) -> tf.Tensor:
        """The number of sentences with words in each text, int32 `(B,)`."""
        return count_chosen(sentences, ~is_wordless(sentences.texts))

    def _without_tags(self, text):
        """Splits tags off the beginning of texts."""
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
        # Split without counting: SentencePiece takes quadratic time for a run
        # of unknown characters.
        are_huge = lengths > _HUGE * self._max_tokens

        def counted():
            counts = count_tokens(tf.where(are_huge, "", texts))
            return are_huge | (counts > self._max_tokens)

        # A token has a byte at least, so short ones needn't be counted.
        may_be_long = tf.reduce_any(lengths > self._max_tokens)
        return tf.cond(may_be_long, counted, lambda: nowhere)

    def _shortened(self, pieces, rows):
        """Splits pieces of texts again if they have too many tokens.

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
            """The places where segments that are still too long get split."""
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
            # The first of several equally good places.
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
        """The cost of a split after each atom, float32 `(A,)`: 0 is best."""
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
            pattern = f"(?s).*[{characters}][{CLOSERS}]*"
            matches = tf.strings.regex_full_match(atoms, pattern)
            ranks = tf.where(matches, float(rank), ranks)
        return ranks


def count_chosen(sentences: Sentences, chosen: tf.Tensor) -> tf.Tensor:
    """Counts the chosen sentences of each text, int32 `(B,)`.

    Args:
        sentences: the result of `SentenceSplitter.split`.
        chosen: bool `(N,)`.
    """
    size = tf.shape(sentences.heads)[0]
    chosen = tf.cast(chosen, tf.int32)
    return tf.math.unsorted_segment_sum(chosen, sentences.rows, size)


def is_blank(texts: tf.Tensor) -> tf.Tensor:
    """True where a text has no visible character, bool of the same shape."""
    return tf.strings.regex_full_match(texts, f"[{BLANK}]*")


def is_wordless(texts: tf.Tensor) -> tf.Tensor:
    """True where a text is blank apart from symbols, bool of the same shape."""
    return tf.strings.regex_full_match(texts, f"(?:[{BLANK}]|{SYMBOL})*")


# A term and its translation stay together.
_RULES_OF_TERMS: _Rules = [
    (f"({TERM_START}[^⟨⟩{_END}]*){_END}([^⟨⟩]*{TERM_TARGET})", r"\1\2"),
    (f"({TERM_TARGET}[^⟨⟩{_END}]*){_END}([^⟨⟩]*{TERM_END})", r"\1\2"),
]

# Rules for places where a sentence that is too long may be split.
_PLACES = [
    (f"[{_END}]", _OTHER),
    (f"([^{WHITE_SPACE}])([{WHITE_SPACE}])", rf"\1{_END}\2"),
    (f"([{FULL_STOPS}{_FULL_COMMAS}][{CLOSERS}]*)", rf"\1{_END}"),
    (
        # Combining marks stay with their letter.
        rf"([^{WHITE_SPACE}{_END}]{{{_LONGEST_WORD}}}[\p{{M}}\x{{200d}}]*)",
        rf"\1{_END}",
    ),
    # Symbols, and terms of up to `_WORDS_OF_A_TERM` words, stay whole.
    (f"(⟨[^⟨⟩{_END}]*){_END}([^⟨⟩]*⟩)", r"\1\2"),
    *_RULES_OF_TERMS * _WORDS_OF_A_TERM,
]
# Characters after which a long sentence is split, the best first; next come
# places before conjunctions, at white space, and anywhere.
_RANKS = (STOPS + FULL_STOPS, ";；؛", ":：", ",，、،၊")
_HUGE = 64  # bytes per allowed token, above which tokens aren't counted
# Distance from the middle above which a split is a bad one; 1: the ends.
_UNBALANCED = 0.7


def _apart(chosen, places, starts):
    """Splits after the chosen places, and chooses the next ones."""
    after = tf.concat([[False], places[:-1]], axis=0)
    starts |= after
    return chosen(starts), starts


def _cut(strings, rules):
    """Cuts strings where rules insert `_END`.

    Args:
        strings: string `(B,)`, of any bytes.
        rules: replacement rules that change only marks.

    Returns:
        the pieces, string `(N,)`, and the index of the string of each, int64
        `(N,)`.
    """
    parts = tf.strings.split(replaced(strings, *rules), _END)
    return parts.flat_values, parts.value_rowids()


def _rules(language: str, facts: dict) -> _Rules:
    """The rules, in order, that insert `_END` where a sentence ends."""
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
    """Rules that mark the stops of abbreviations, initials and numbers."""
    initial = "[A-HJ-Z]" if is_english(language) else r"\p{Lu}"
    if "DEVANAGARI" in scripts_of_language(language):
        # Names of Latin letters (के for K). Not any letter with a vowel sign:
        # है ends sentences in text without dandas.
        initial = r"(?:\p{L}|[बसडजपटव]ी|[जक]े)"
    elif scripts_of_language(language) & _DANDA:
        initial = _LETTER  # Sentences end with a danda instead.
    elif _is_cyrillic(language):
        initial = "[А-ЯЁЂ-Џ]"
    words, numbers, starters = (
        _any_of(facts[name]) for name in ("words", "numbers", "starters")
    )
    abbreviation = (rf"{_WORD_START}((?i:{words})\.)", rf"\1\2{_NO_END}")
    rules = [
        # Twice, as the first match consumes the stop before "Dr" in "Prof.Dr.".
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
        # The label of a list item.
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
        return "!?"  # Other stops are for abbreviations.
    more = {"GREEK": ";\u037e", "ARMENIAN": ":", "ETHIOPIC": "፡"}
    scripts = scripts_of_language(language)
    return STOPS + "".join(more[script] for script in more.keys() & scripts)


def _simple(language):
    """The pattern of texts that are certainly one sentence, without gaps."""
    ends = f"{_stops(language)}{FULL_STOPS}"
    inside = f"{ends}{_LINE_END}{_END}{_NO_END}"
    return (
        rf"[^{_BULLETS}{WHITE_SPACE}(\p{{N}}{inside}][^{inside}]*"
        f"(?:[^{WHITE_SPACE}{inside}]|[{ends}]+[{CLOSERS}]*)"
    )


def _rules_of_ends(language, facts) -> _Rules:
    """Rules for stops that end a sentence, and for exceptions to these."""
    base, stops = base_language(language), _stops(language)
    # Without a space after it, an ambiguous quote opens the next sentence.
    closing = CLOSING.translate(_NO_HIGH) + "’"
    own = _BEHIND.replace(CLOSERS, closing)
    space = f"[{WHITE_SPACE}]"
    rules = [
        (rf"([{stops}{FULL_STOPS}]+{_BEHIND})({space}+)", rf"\1{_END}\2"),
        (rf"{_END}({space}*[,;:])", r"\1"),
        # Of Ethiopic colons, which separate words, only two are a full stop.
        (rf"([^፡]፡){_END}", r"\1"),
        (rf"((?:…|\.\.)[{CLOSERS}]*){_END}({space}*[-–—])", r"\1\2"),
        (rf"((?:…|\.\.\.)[)\]）]){_END}", r"\1"),
        (
            rf"([{FULL_STOPS}][{FULL_STOPS}{stops}]*{own}){_END}?",
            rf"\1{_END}",
        ),
        (rf"{_END}([、，,；;：:～~—–…{FULL_STOPS}{closing}])", r"\1"),
        (rf"{_END}( ?ល ?។)", r"\1"),  # "etc." in Khmer: ។ល។
        # 「行こう。」と言った, “走吧。”他说
        (
            rf"([」』”’]){_END}(と|って|[他她它我你您]们?[说說道问問喊叫])",
            r"\1\2",
        ),
    ]
    # Georgian sentences begin with letters that Unicode classes as lower-case.
    if base not in ("ka", "kat", "geo"):
        # Latin names like iPhone begin with a small letter.
        small = "[а-яёђ-џ]" if _is_cyrillic(language) else r"\p{Ll}"
        goes_on = rf"{_END}({space}+[{OPENING}{CLOSERS}]*{small})"
        rules.insert(1, (goes_on, r"\1"))
    if scripts_of_language(language) & {*_DANDA, "ARABIC"}:
        # No small letter shows that a sentence continues after a quote.
        words = _any_of(facts["conjunctions"])
        goes_on = rf"([{CLOSERS}]){_END}({space}+(?:{words})[^{_WORD}])"
        rules.insert(1, (goes_on, r"\1\2"))
    if _is_unspaced(language):
        rules.append(
            (rf"([{_CJK})）][.!?]+[{CLOSERS}]*)([{_CJK}])", rf"\1{_END}\2")
        )
    return rules


def _rules_of_pairs(language) -> _Rules:
    """Rules that keep the content of quotes and brackets together."""
    opening, closing = OPENING, CLOSING
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
    if not _is_unspaced(target_language):
        return [("^\u3000*$", " ")]
    if not _is_unspaced(source_language):
        return [(f"^[{_SPACE}]+$", "")]
    return []


def _before_gap(language):
    """The pattern of a text whose end is no place within a word."""
    if scripts_of_language(language) & _UNSPACED:
        return "(?s).*"
    # Where there is no space or stop, a long word has been split.
    return f"(?s).*[{FULL_STOPS}{_FULL_COMMAS}]{_BEHIND}"


def _gap(ordinals: bool) -> str:
    """The pattern of untranslated text before a sentence: space and bullets."""
    mark = r"\)" if ordinals else "[.)]"
    bullet = rf"(?:[{_BULLETS}]+|\(?\p{{N}}{{1,3}}{mark})"
    return rf"^[{WHITE_SPACE}]*(?:{bullet}[{WHITE_SPACE}]+)*"


def _is_cyrillic(language):
    return scripts_of_language(language) == {"CYRILLIC"}


def _is_unspaced(language):
    """True if sentences of the language aren't separated by spaces."""
    return is_chinese(language) or is_japanese(language)


@functools.cache
def _facts(language: str) -> dict:
    """The language's abbreviations, starters etc. from sentences.yaml."""
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
    """A pattern of any of these words; a space may follow a stop within."""
    if not words:
        return _END  # Matches no text.
    return "|".join(re.escape(word).replace(r"\.", r"\. ?") for word in words)
