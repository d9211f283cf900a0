"""Preflight of a run: the machine's defaults, and checks that all parts fit.

A run is refused here, before anything is written.
"""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING

from keras_transformer.config import Config
from keras_transformer.constants import SIDES
from keras_transformer.errors import InputError
from keras_transformer.models import build_transformer
from keras_transformer.system import machine
from keras_transformer.text.vectors import require_width
from keras_transformer.training import hosts, jax_runtime
from keras_transformer.training.freezing import freeze

if TYPE_CHECKING:
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.training.run import Run


# Values in a configuration that leave the choice to `for_this_machine`.
_OPEN = {"threads": None, "precision": "auto", "length_buckets": None}
# START and END on a source; START on what the decoder reads.
_FRAMES = (2, 1)
# Settings that may differ from those of initial weights: they affect no weight,
# or are depths, to which weights are adapted.
_FREE = (
    "num_encoder_layers",
    "num_decoder_layers",
    "dropout",
    "attention_dropout",
    "feedforward_dropout",
)


# A copy of the model is traced for each, which takes 7 seconds and 96 MiB.
_MOST_THREADS = 8


def for_this_machine(config: Config) -> Config:
    """Chooses the values that a configuration leaves open, see `left_open`.

    A run keeps them on any machine that it continues on: its weights depend on
    its batches and their precision, and dropout is drawn for each micro-batch.
    """
    chosen: dict[str, int | str] = {}
    opened, on_jax = left_open(config), hosts.on_jax()
    if "threads" in opened:
        # XLA itself splits an operation over the cores.
        one = on_jax or machine.has_gpu()
        cores = machine.usable_cores()
        chosen["threads"] = 1 if one else min(cores, _MOST_THREADS)
    if "precision" in opened:
        device = jax_runtime if on_jax else machine
        fast = device.multiplies_bfloat16()
        chosen["precision"] = "mixed_bfloat16" if fast else "float32"
    if "length_buckets" in opened:
        chosen["length_buckets"] = "few" if on_jax else "exact"
    return config.updated({"training": chosen})


def left_open(config: Config) -> tuple[str, ...]:
    """The names of the training values that `for_this_machine` chooses."""
    values = vars(config.training)
    return tuple(name for name in _OPEN if values[name] == _OPEN[name])


def check_fits(config: Config, prepared: PreparedData) -> None:
    """Refuses a configuration that can't be trained on this data.

    Args:
        config: model and training.
        prepared: `PreparedData`.

    Raises:
        InputError: names the setting and what would be accepted.
    """
    _check_lengths(config, prepared)
    tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
    sizes = [tokenizer.vocabulary_size for tokenizer in tokenizers]
    # Other tokens can't share vectors, even if there are equally many.
    if config.model.tied_embeddings == "all" and (
        tokenizers[0].tokens() != tokenizers[1].tokens()
    ):
        raise InputError(
            "model.tied_embeddings 'all' needs data prepared with "
            f"data.shared_vocabulary. Received: {prepared.path} with "
            f"{sizes[0]} source and {sizes[1]} target tokens that differ"
        )
    if not prepared.counts.get("dev"):
        if config.training.bleu_every:
            raise InputError(
                "training.bleu_every needs a dev set. Received: "
                f"{prepared.path}, prepared without --dev"
            )
        # Presets have it, too.
        if config.training.early_stopping:
            warnings.warn(
                "training.early_stopping has no effect without a dev set: "
                f"{prepared.path} was prepared without --dev",
                stacklevel=2,
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
        if path:
            require_width(path, config.model.d_model)
    if config.training.freeze:
        model = build_transformer(config.model, sizes[0], sizes[1])
        freeze(model, config.training.freeze)


def require_same_data(run: Run, prepared: PreparedData) -> None:
    """Refuses data that a run didn't begin with.

    Raises:
        InputError: the text or the tokenizers differ.
    """
    same = prepared.fingerprint == run.manifest["data"]["fingerprint"]
    for side in ("source", "target"):
        # The same text may have been prepared by other code.
        theirs = getattr(prepared, f"{side}_tokenizer").fingerprint()
        ours = run.manifest["tokenizers"][side]["fingerprint"]
        same = same and theirs == ours
    if not same:
        raise InputError(
            f"{prepared.path}: not the data that {run.folder} was started "
            "with (the fingerprints differ)"
        )


def check_continues(
    config: Config, prepared: PreparedData, initial: Run | None
) -> None:
    """Refuses a run that the initial weights don't fit.

    Args:
        config: `Config` of the new run.
        prepared: `PreparedData` of the new run.
        initial: `Run` to start from, or None.

    Raises:
        InputError: the tokenizers or the models differ; or `initial` is None,
            but an option refers to its weights.
    """
    if initial is None:
        if config.training.initial_fraction:
            raise InputError(
                "training.initial_fraction (preset finetune has it) requires "
                "weights to begin with: --from, in Python initial. Received: "
                f"{config.training.initial_fraction} without them. Accepted: 0"
            )
        return
    for side in SIDES:
        ours, theirs = (
            getattr(each, f"{side}_tokenizer") for each in (prepared, initial)
        )
        if ours.tokens_added_to(theirs) is None:
            raise InputError(
                f"{prepared.path}: its {side} tokenizer isn't the one of "
                f"{initial.folder}, nor that with more tokens. Accepted: data "
                f"prepared with --tokenizers {initial.folder}"
            )
    ours, theirs = map(dataclasses.asdict, (config.model, initial.config.model))
    free = list(_FREE)
    if ours["positions"] == theirs["positions"] != "learned":
        free.append("max_length")
    differing = [
        f"model.{key} is {theirs[key]} there, {value} here"
        for key, value in ours.items()
        if value != theirs[key] and key not in free
    ]
    if differing:
        raise InputError(
            f"{initial.folder}: weights of another model "
            f"({'; '.join(differing)}). Accepted: the same model section, but "
            f"for {', '.join(free)}"
        )


def _check_lengths(config, prepared):
    longest = 0
    for split, pairs in prepared.counts.items():
        if pairs:
            lengths = prepared.lengths(split).max(axis=0)
            longest = max(longest, *(int(n) for n in lengths + _FRAMES))
    if longest > config.model.max_length:
        raise InputError(
            f"{prepared.path}: the longest sentence takes {longest} positions. "
            f"Accepted: model.max_length of {longest} or more (it is "
            f"{config.model.max_length}), or data prepared with a smaller "
            "data.max_length"
        )
