"""What must fit before a run is started, told before anything is written."""

import os

from keras_transformer.config import Config
from keras_transformer.errors import InputError
from keras_transformer.models import build_transformer
from keras_transformer.training.freezing import freeze

# START and END on a source; START on what the decoder reads.
_FRAMES = (2, 1)


def check_fits(config: Config, prepared):
    """Refuses a configuration that this data can't be trained with.

    Args:
        config: model and training.
        prepared: `PreparedData`.

    Raises:
        InputError: names the setting and what would be accepted.
    """
    _check_lengths(config, prepared)
    tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
    sizes = [tokenizer.vocabulary_size for tokenizer in tokenizers]
    # Also of the same size, other tokens can't share a vector.
    if config.model.tied_embeddings == "all" and (
        tokenizers[0].tokens() != tokenizers[1].tokens()
    ):
        raise InputError(
            "model.tied_embeddings 'all' needs data prepared with "
            f"data.shared_vocabulary. Received: {prepared.path} with "
            f"{sizes[0]} source and {sizes[1]} target tokens that differ"
        )
    if config.training.bleu_every and not prepared.counts.get("dev"):
        raise InputError(
            "training.bleu_every needs a dev set. Received: "
            f"{prepared.path}, prepared without --dev"
        )
    kinds = [prepared.source_tokenizer.kind, prepared.target_tokenizer.kind]
    if config.training.subword_sampling and "sentencepiece" not in kinds:
        raise InputError(
            "training.subword_sampling needs a sentencepiece tokenizer on "
            f"either side. Received: {prepared.path} with {kinds[0]} source "
            f"and {kinds[1]} target tokens"
        )
    for side in ("source", "target"):
        path = getattr(config.training, f"{side}_embeddings")
        if path and not os.access(path, os.R_OK):
            raise InputError(
                f"training.{side}_embeddings: {path} can't be read. Accepted: "
                "a file of word vectors"
            )
    if config.training.freeze:
        freeze(build_transformer(config.model, *sizes), config.training.freeze)


def _check_lengths(config, prepared):
    longest = 0
    for split, pairs in prepared.counts.items():
        if pairs:
            lengths = prepared.lengths(split).max(axis=0)
            longest = max(longest, *(int(n) for n in lengths + _FRAMES))
    multiple = config.training.length_multiple
    longest = -(-longest // multiple) * multiple
    if longest > config.model.max_length:
        raise InputError(
            f"{prepared.path}: the longest sentence takes {longest} positions. "
            f"Accepted: model.max_length of {longest} or more (it is "
            f"{config.model.max_length}), or data prepared with a smaller "
            "data.max_length"
        )
