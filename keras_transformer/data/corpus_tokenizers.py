"""Tokenizers of a corpus: trained on its text, or taken from earlier data."""

import dataclasses
import itertools
import os
import pathlib

from keras_transformer.config import Config
from keras_transformer.config.data import DataConfig
from keras_transformer.data.cleaned_text import CHUNK
from keras_transformer.data.prepared import (
    SOURCE_TOKENIZER,
    TARGET_TOKENIZER,
    PreparedData,
)
from keras_transformer.errors import InputError
from keras_transformer.files import read_yaml
from keras_transformer.languages import is_chinese, is_japanese
from keras_transformer.text.tokenizer import Tokenizer, load_tokenizer
from keras_transformer.text.tokenizer_training import build_tokenizer

# What a tokenizer fixes of the data's configuration.
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
    "lowercase",
    "keep_latin_runs",
    "nfc",
    "remove_control",
    "simplify_chinese",
)


def tokenizer_settings(folder: str | os.PathLike) -> dict:
    """The data settings that come with the tokenizers of a folder.

    Args:
        folder: a run, or prepared data.

    Raises:
        InputError: it is neither.
    """
    folder = pathlib.Path(folder)
    if (folder / "config.yaml").is_file():
        where = folder / "config.yaml"
        config = Config().updated(read_yaml(where), str(where)).data
    else:
        config = PreparedData.load(folder).config
    values = dataclasses.asdict(config)
    return {key: values[key] for key in _FIXED}


def existing_tokenizers(
    folder: str | os.PathLike, config: DataConfig
) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of the source and of the target in a folder.

    Args:
        folder: a run, or prepared data.
        config: of the data that they are for.

    Raises:
        InputError: the folder has none, or the configuration asks for
            others.
    """
    ours = dataclasses.asdict(config)
    differing = [
        f"data.{key} is {value!r} there, {ours[key]!r} here"
        for key, value in tokenizer_settings(folder).items()
        if ours[key] != value
    ]
    if differing:
        raise InputError(
            f"{folder}: tokenizers of other settings ({'; '.join(differing)})"
        )
    folder = pathlib.Path(folder)
    return (
        load_tokenizer(folder / SOURCE_TOKENIZER),
        load_tokenizer(folder / TARGET_TOKENIZER),
    )


def build_tokenizers(text, config, progress):
    """The tokenizers of the source and of the target, which may be one.

    Args:
        text: `CleanText` of the training pairs.
        config: `DataConfig`.
        progress: called with (stage, done, total), in lines.
    """
    if config.shared_vocabulary:
        return _shared_tokenizers(text, config, progress)
    tokenizers = []
    for side in ("source", "target"):
        stage = stage_of(progress, f"{side} vocabulary", text.pairs)
        tokenizer = build_tokenizer(
            getattr(config, f"{side}_kind"),
            lambda side=side, stage=stage: _counted(
                getattr(text, f"{side}s")(), stage
            ),
            config,
            getattr(config, f"{side}_language"),
            getattr(config, f"{side}_vocabulary_size"),
            tags=config.source_tags if side == "source" else (),
        )
        tokenizers.append(tokenizer)
    return tuple(tokenizers)


def _shared_tokenizers(text, config, progress):
    """One SentencePiece model for both sides."""
    languages = config.source_language, config.target_language
    stage = stage_of(progress, "vocabulary", 2 * text.pairs)
    # Simplifying harms neither side, unless one is Japanese.
    apart = any(is_japanese(language) for language in languages)
    tokenizer = build_tokenizer(
        "sentencepiece",
        lambda: _counted(
            itertools.chain(text.sources(), text.targets()), stage
        ),
        config,
        # Chinese on either side asks for its treatment.
        max(*languages, key=is_chinese),
        config.source_vocabulary_size or config.target_vocabulary_size,
        simplify=False if apart else None,
        tags=config.source_tags,
    )
    if not apart:
        return tokenizer, tokenizer
    return tuple(
        tokenizer.with_simplify(
            config.simplify_chinese and is_chinese(language)
        )
        for language in languages
    )


def stage_of(progress, name, total):
    """A `stage(done)` of a `Progress`."""
    return lambda done: progress(name, done, total)


def _counted(lines, stage):
    """The lines, reported to `stage` as they pass."""
    count = 0
    for count, line in enumerate(lines, start=1):
        if count % CHUNK == 0:
            stage(count)
        yield line
    stage(count)
