"""Vocabulary training: token counts and SentencePiece models, from text.

The same text gives the same vocabulary. Text is streamed; only the counts of
its tokens, or a sample of its sentences for SentencePiece, are held in memory.
"""

import collections
import io
import itertools
import pathlib
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence

import sentencepiece
import tensorflow as tf
from sentencepiece import sentencepiece_model_pb2

from keras_transformer.compat import graph_function
from keras_transformer.constants import (
    END_ID,
    PAD_ID,
    SPECIAL_TOKENS,
    START_ID,
    UNK_ID,
)
from keras_transformer.errors import InputError, shown
from keras_transformer.symbols import SYMBOL
from keras_transformer.text.normalization import (
    MARK,
    UNSPACED,
    Normalizer,
    escape,
    replaced,
    squeeze,
)
from keras_transformer.text.symbol_tokens import spaces_to_words
from keras_transformer.text.tags import split_tags
from keras_transformer.text.tokenizer import UNKNOWN

_BATCH_SIZE = 4096  # lines
# SentencePiece holds its sentences in memory: about a gigabyte at this many.
MAX_SENTENCES = 2_000_000

# Characters of text per piece; the maximum number of pieces, and the number for
# texts of at least `_MUCH` lines.
_CHARACTERS_A_PIECE = 100
_MOST_PIECES, _MOST_OF_MUCH, _MUCH = 8_000, 32_000, 1_000_000

# Bytes of a line, SentencePiece's default: it skips longer lines.
_LONGEST = 4192

# The smallest vocabulary of which 256 pieces are spent on bytes.
_SMALLEST_WITH_BYTES = 2048

# Inserted between characters that become separate pieces; not in any text.
_DELIMITER = "\ufdd3"
_WORD_BOUNDARY = re.compile(f"(?=[ {_DELIMITER}])|(?<={_DELIMITER})")

# Replaces SentencePiece's default, NFKC, which would turn ， into a comma: text
# is already normalised. The single rule never matches, but without any rule
# SentencePiece logs a line whenever the model is loaded.
_RULES = f"{ord(MARK):X}\tFFFD\n"
_FIXED_OPTIONS = {
    "add_dummy_prefix": True,
    "hard_vocab_limit": False,
    "max_sentence_length": _LONGEST,
    "pad_id": PAD_ID,
    "unk_id": UNK_ID,
    "bos_id": START_ID,
    "eos_id": END_ID,
    "pad_piece": SPECIAL_TOKENS[PAD_ID],
    "unk_piece": SPECIAL_TOKENS[UNK_ID],
    "bos_piece": SPECIAL_TOKENS[START_ID],
    "eos_piece": SPECIAL_TOKENS[END_ID],
    "unk_surface": UNKNOWN,
    "num_threads": 4,  # Fixed, because sums depend on the number of threads.
    "minloglevel": 4,
}


def count_tokens(
    lines: Iterable[str], split: Callable[[tf.Tensor], tf.RaggedTensor]
) -> collections.Counter:
    """Counts tokens.

    Args:
        lines: text, streamed.
        split: graph code from strings `(B,)` to ragged tokens `(B, None)`,
            as `LookupTokenizer.split`.

    Returns:
        Counter of tokens as `str`.
    """

    def counted(strings):
        found = tf.unique_with_counts(split(strings).flat_values)
        return found.y, found.count

    counted = graph_function(counted, [tf.TensorSpec([None], tf.string)])
    counts: collections.Counter = collections.Counter()
    for batch in _batches(lines):
        tokens, numbers = (x.numpy().tolist() for x in counted(batch))
        counts.update(dict(zip(tokens, numbers, strict=True)))
    return collections.Counter(
        {token.decode(): count for token, count in counts.items()}
    )


def frequent_tokens(
    counts: collections.Counter,
    size: int,
    kind: str = "word",
    tags: Sequence[str] = (),
) -> list[str]:
    """The reserved tokens, tags, and the most frequent tokens, `size` in all.

    Removes reserved tokens and tags from `counts`. Equally frequent tokens are
    in the order of their code points, so that the same text always gives the
    same ids.

    Raises:
        InputError: there is no token, or `size` leaves no place for any; the
            message names the kind.
    """
    if not counts:
        raise InputError(
            f"there is no text to take a {kind} vocabulary from. "
            "Accepted: at least one line that isn't blank"
        )
    first = [*SPECIAL_TOKENS, *tags]
    if size <= len(first):
        raise InputError(
            f"a vocabulary of {size} has no place for a {kind}. Accepted: more "
            f"than the {len(first)} reserved tokens"
        )
    for token in first:
        counts.pop(token, None)
    ranked = sorted(counts, key=lambda token: (-counts[token], token))
    return [*first, *ranked[: size - len(first)]]


def _batches(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yields lists of up to `_BATCH_SIZE` lines.

    Raises:
        InputError: `lines` is a string, whose letters aren't lines.
    """
    if isinstance(lines, str):
        raise InputError(
            f"training takes lines of text. Received: {shown(lines)}. "
            "Accepted: a list of strings, or an open file"
        )
    iterator = iter(lines)
    while batch := list(itertools.islice(iterator, _BATCH_SIZE)):
        yield batch


def train_sentencepiece(
    lines: Iterable[str],
    vocabulary_size: int | None,
    *,
    model_type: str = "unigram",
    seed: int = 1,
    characters: bool = False,
    normalizer: Normalizer | None = None,
    tags: Sequence[str] = (),
    symbols: Sequence[str] = (),
) -> bytes:
    """Trains a SentencePiece model on lines of text.

    A corpus too small for `vocabulary_size` pieces gives fewer.

    Args:
        lines: text, streamed.
        vocabulary_size: pieces, the four reserved ones included; None: see
            `pieces_of`.
        model_type: "unigram" or "bpe".
        seed: chooses the sentences where there are more than
            `MAX_SENTENCES`.
        characters: True makes each Chinese or Japanese character a separate
            piece, and adds no space before a text.
        normalizer: the normalizer that the tokenizer will apply.
        tags: additional pieces after the reserved ones; not trained on.
        symbols: additional pieces after the tags: `symbols.SYMBOLS` or none.

    Returns:
        The model's bytes, for `SentencePieceTokenizer`.

    Raises:
        InputError: no text, or more characters than `vocabulary_size`.
    """
    lines = _normalised(
        lines, normalizer or Normalizer(), tags, bool(symbols), characters
    )
    lines = _sample((line for line in lines if line), MAX_SENTENCES, seed)
    if not lines:
        raise InputError(
            "there is no text to train a SentencePiece model on. "
            "Accepted: at least one line that isn't blank"
        )
    vocabulary_size = vocabulary_size or pieces_of(lines) + len(symbols)
    # For characters without a piece.
    byte_fallback = vocabulary_size >= _SMALLEST_WITH_BYTES
    options = {
        **_FIXED_OPTIONS,
        "model_type": model_type,
        "vocab_size": vocabulary_size,
        "character_coverage": _character_coverage(
            lines, vocabulary_size, byte_fallback
        ),
        "byte_fallback": byte_fallback,
    }
    if characters:
        options["pretokenization_delimiter"] = _DELIMITER
        # Texts don't begin with a space, but continuations of cut lines may.
        options["add_dummy_prefix"] = False
        options["remove_extra_whitespaces"] = False
    if tags:
        # SentencePiece never produces control symbols from text.
        options["control_symbols"] = [*tags]
    if symbols:
        options["user_defined_symbols"] = [*symbols]
    try:
        return _train(lines, options)
    except RuntimeError as error:
        raise InputError(_reason(error, vocabulary_size)) from None


def pieces_of(lines: Sequence[str]) -> int:
    """The size of a SentencePiece vocabulary that suits a training text.

    One piece per 100 characters, up to 8,000 pieces, as for the 27,000 English
    sentences of `docs/results.md`; 32,000 for a million lines or more. Pieces
    that occur only a few times aren't learnt (Gowda and May 2020, "Finding the
    Optimal Vocabulary Size for Neural Machine Translation"). The minimum is
    twice the number of different characters, so that each can be a piece.
    """
    characters = sum(map(len, lines))
    least = 2 * len(set().union(*lines)) + len(SPECIAL_TOKENS)
    if len(lines) >= _MUCH:
        return max(least, _MOST_OF_MUCH)
    return max(least, min(_MOST_PIECES, characters // _CHARACTERS_A_PIECE))


def _train(lines, options) -> bytes:
    lines = _cut_long(lines)
    if options["model_type"] == "unigram":
        lines = _cut_after_new_words(lines, options["add_dummy_prefix"])
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder, "rules.tsv")
        rules.write_text(_RULES, encoding="utf-8")
        written = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=written,
            normalization_rule_tsv=str(rules),
            **options,
        )
    model = sentencepiece_model_pb2.ModelProto.FromString(written.getvalue())
    # The temporary path would make each model differ.
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    return model.SerializeToString(deterministic=True)


def _cut_long(lines: Iterable[str]) -> Iterator[str]:
    """Cuts lines to at most `_LONGEST` bytes, at spaces if possible."""
    for line in lines:
        rest = line.encode()
        while len(rest) > _LONGEST:
            end = rest.rfind(b" ", 1, _LONGEST + 1)
            if end < 0:
                end = _LONGEST
                while rest[end] & 0xC0 == 0x80:  # within a character
                    end -= 1
            yield rest[:end].decode()
            rest = rest[end:].lstrip(b" ")
        yield rest.decode()


def _cut_after_new_words(lines: Iterable[str], prefixed: bool) -> Iterator[str]:
    """Regroups words to lines that end at the first occurrence of a word.

    The unigram trainer takes a substring as a candidate for a piece if it is
    followed by more than one character, the end of a line being one. It looks
    for candidates before it splits lines at spaces, so a word that is always
    followed by a space isn't one, however frequent: "einem" in tokenized
    German, "and" in English. With these lines, each repeated word ends one line
    and is followed by a space in another. Nothing else depends on the lines.
    """
    seen = set()
    words: list[str] = []
    size = 0
    for line in lines:
        # Without a prefixed space, the line can't continue the one before.
        if not prefixed and words:
            yield "".join(words)
            words, size = [], 0
        for word in _WORD_BOUNDARY.split(f" {line}" if prefixed else line):
            length = len(word.encode())
            if words and size + length > _LONGEST:
                yield "".join(words)
                words, size = [], 0
            words.append(word)
            size += length
            if word not in seen:
                seen.add(word)
                yield "".join(words)
                words, size = [], 0
    if words:
        yield "".join(words)


def _character_coverage(lines, vocabulary_size, byte_fallback) -> float:
    """The fraction of all characters in the text that get a piece.

    All, unless their pieces would take more than half of the vocabulary: then,
    as SentencePiece advises, the rarest 0.05 % of the text become unknown. With
    byte fallback the rarest become bytes, whose pieces no model would learn
    otherwise.
    """
    if byte_fallback:
        return 0.9995
    distinct = len(set().union(*lines))
    return 1.0 if 2 * distinct <= vocabulary_size else 0.9995


def _normalised(
    lines, normalizer, tags, has_symbols, characters
) -> Iterator[str]:
    def normalise(strings):
        strings = normalizer(strings)
        if tags:
            _, strings = split_tags(strings, tags)
        strings = escape(squeeze(strings))
        if has_symbols:  # Words have the same pieces beside symbols.
            strings = spaces_to_words(strings, not characters)
            strings = squeeze(replaced(strings, (SYMBOL, "")))
        if characters:
            strings = replaced(
                strings,
                (f"[{UNSPACED}]", rf"{_DELIMITER}\0{_DELIMITER}"),
                (f"{_DELIMITER}+", _DELIMITER),
                (f"^{_DELIMITER}|{_DELIMITER}$", ""),
            )
        return strings

    normalise = graph_function(normalise, [tf.TensorSpec([None], tf.string)])
    for batch in _batches(lines):
        for line in normalise(tf.constant(batch)).numpy():
            yield line.decode()


def _sample(lines, size, seed) -> list[str]:
    """Up to `size` lines, each with the same chance (reservoir sampling)."""
    generator = random.Random(seed)
    sample = []
    for number, line in enumerate(lines):
        if number < size:
            sample.append(line)
        else:
            index = generator.randrange(number + 1)
            if index < size:
                sample[index] = line
    return sample


def _reason(error, vocabulary_size):
    needed = re.search(
        r"smaller than required_chars\. \d+ vs (\d+)", str(error)
    )
    if needed:
        return (
            f"{vocabulary_size} SentencePiece pieces can't hold every "
            f"character of the text. Accepted: {needed[1]} or more"
        )
    return f"SentencePiece can't be trained on this text ({error})"
