"""Tokenizers of a corpus: trained on its text, or taken from earlier data."""

import collections
import dataclasses
import functools
import itertools
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from keras_transformer.config import Config
from keras_transformer.config.data import SUBWORD_KINDS, DataConfig
from keras_transformer.constants import SIDES, SPECIAL_TOKENS
from keras_transformer.data.prepared import TOKENIZERS, PreparedData
from keras_transformer.errors import InputError
from keras_transformer.languages import (
    is_chinese,
    is_japanese,
    is_korean,
    is_simplified_chinese,
)
from keras_transformer.text.lookup import DEFAULT_SIZE, LookupTokenizer
from keras_transformer.text.tokenizer import Tokenizer, load_tokenizer
from keras_transformer.text.tokenizer_training import (
    build_tokenizer,
    lookup_class,
)
from keras_transformer.text.vocabulary_training import (
    MAX_SENTENCES,
    count_tokens,
    frequent_tokens,
)

# Keys of the data configuration that existing tokenizers determine.
_FIXED = (
    "source_language",
    "target_language",
    "source_tokenizer",
    "target_tokenizer",
    "source_vocabulary_size",
    "target_vocabulary_size",
    "sentencepiece_model",
    "shared_vocabulary",
    "source_tags",
    "markup",
    "lowercase",
    "simplify_chinese",
)


def tokenizer_settings(folder: str | os.PathLike) -> dict:
    """The data settings that the tokenizers in a folder determine.

    Args:
        folder: a run, or prepared data.

    Raises:
        InputError: the folder is neither.
    """
    folder = pathlib.Path(folder)
    if (folder / "config.yaml").is_file():
        config = Config.read(folder).data
    else:
        config = PreparedData.load(folder).config
    values = dataclasses.asdict(config)
    return {key: values[key] for key in _FIXED}


def existing_tokenizers(
    folder: str | os.PathLike, config: DataConfig, add: Sequence[str] = ()
) -> tuple[Tokenizer, Tokenizer]:
    """Loads the tokenizers of the source and of the target from a folder.

    With `markup="symbols"`, missing symbols are added to them.

    Args:
        folder: a run, or prepared data.
        config: of the data that they will be used for.
        add: tokens that are added to both if missing.

    Raises:
        InputError: the folder has no tokenizers, the configuration has other
            settings, or a token is invalid.
    """
    ours = dataclasses.asdict(config)
    differing = [
        f"data.{key} is {value!r}, not {ours[key]!r}"
        for key, value in tokenizer_settings(folder).items()
        if ours[key] != value and not (key == "markup" and config.symbols)
    ]
    if differing:
        raise InputError(
            f"{folder}: its tokenizers have other settings: "
            f"{'; '.join(differing)}"
        )
    folder = pathlib.Path(folder)
    for token in add:
        if not token or any(map(str.isspace, token)):
            raise InputError(
                "a token to add has no white space; ▁ is a space. Received: "
                f"{token!r}"
            )
    new = (*config.symbols, *add)
    source, target = (
        _with_tokens(load_tokenizer(folder / name), new) for name in TOKENIZERS
    )
    return source, target


def _with_tokens(tokenizer, tokens):
    known = set(tokenizer.tokens())
    new = [token for token in dict.fromkeys(tokens) if token not in known]
    return tokenizer.with_tokens(new) if new else tokenizer


def save_tokenizers(
    tokenizers: tuple[Tokenizer, Tokenizer], folder: pathlib.Path
) -> None:
    """Saves both tokenizers in the folder of prepared data."""
    for name, tokenizer in zip(TOKENIZERS, tokenizers, strict=True):
        tokenizer.save(folder / name)


def build_tokenizers(
    config: DataConfig,
    sentences: Callable[[int], Iterator[str]],
    counts: Mapping[str, collections.Counter],
) -> tuple[Tokenizer, Tokenizer]:
    """Builds the tokenizers of the source and of the target.

    With a shared vocabulary both may be the same object.

    Args:
        config: of the data.
        sentences: maps the index of a side to its training text, line by line,
            in the order of shuffle keys. SentencePiece takes the first
            `MAX_SENTENCES`.
        counts: for each side with a vocabulary of words or characters, the
            counts of its tokens, or at least of the most frequent ones.

    Raises:
        InputError: there is no text for a side.
    """
    if config.shared_vocabulary:
        return _shared_tokenizers(config, sentences)
    tokenizers = []
    for index, side in enumerate(SIDES):
        kind = getattr(config, f"{side}_kind")
        tags = side_tags(config, side)
        if kind in SUBWORD_KINDS:
            first = functools.partial(
                itertools.islice, sentences(index), MAX_SENTENCES
            )
            language = getattr(config, f"{side}_language")
            size = getattr(config, f"{side}_vocabulary_size")
            tokenizer = build_tokenizer(
                kind, first, config, language, size, tags=tags
            )
        else:
            size = vocabulary_size(config, side)
            reserved = (*tags, *config.symbols)
            tokens = frequent_tokens(counts[side], size, kind, reserved)
            tokenizer = side_tokenizer(config, side, tokens)
        tokenizers.append(tokenizer)
    source, target = tokenizers
    return source, target


def vocabulary_size(config: DataConfig, side: str) -> int:
    """The maximum size of a side's vocabulary of words or characters."""
    return getattr(config, f"{side}_vocabulary_size") or DEFAULT_SIZE


def side_tokenizer(
    config: DataConfig, side: str, tokens: Sequence[str]
) -> LookupTokenizer:
    """The word or character tokenizer of a side with these tokens."""
    language = getattr(config, f"{side}_language")
    tokenizer, options = lookup_class(
        getattr(config, f"{side}_kind"),
        config,
        config.simplify_chinese and is_simplified_chinese(language),
        side_tags(config, side),
    )
    return tokenizer(tokens, **options)


def token_counts(
    lines: Iterable[str], config: DataConfig, side: str
) -> collections.Counter:
    """Counts the tokens of a side for its lookup tokenizer."""
    # Splitting needs no vocabulary.
    tokens = [*SPECIAL_TOKENS, *side_tags(config, side), *config.symbols]
    return count_tokens(lines, side_tokenizer(config, side, tokens).split)


def side_tags(config: DataConfig, side: str) -> tuple[str, ...]:
    """The tags that are tokens of a side; only the source has any."""
    return config.source_tags if side == "source" else ()


def _shared_tokenizers(config, sentences):
    """Trains one SentencePiece model for both sides."""
    languages = config.source_language, config.target_language
    # Simplifying both sides is harmless unless one has other Chinese
    # characters: traditional Chinese, Japanese, and sometimes Korean.
    apart = any(map(_has_own_characters, languages))
    tokenizer = build_tokenizer(
        "sentencepiece",
        lambda: itertools.chain.from_iterable(
            itertools.islice(sentences(index), MAX_SENTENCES // 2)
            for index in range(len(SIDES))
        ),
        config,
        # Simplified Chinese if either side is.
        max(*languages, key=is_simplified_chinese),
        config.source_vocabulary_size or config.target_vocabulary_size,
        simplify=False if apart else None,
        tags=config.source_tags,
    )
    if not apart:
        return tokenizer, tokenizer
    return tuple(
        tokenizer.with_simplify(
            config.simplify_chinese and is_simplified_chinese(language)
        )
        for language in languages
    )


def _has_own_characters(language):
    traditional = is_chinese(language) and not is_simplified_chinese(language)
    return traditional or is_japanese(language) or is_korean(language)
