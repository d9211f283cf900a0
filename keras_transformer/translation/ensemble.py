"""Ensembles: models of the same tokens that translate as one.

Models that were trained with different seeds make different mistakes; the mean
of their probabilities makes fewer. An ensemble takes the time and the memory of
all its models; a student of it (see `distill`) takes those of one.

Axes: B sentences, K beams, S source tokens, T target tokens, V vocabulary.
"""

import math
import os
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer, Step
from keras_transformer.languages import same_language
from keras_transformer.training.run import Run


class Ensemble:
    """Several models as one `StepModel`, which a search calls.

    Its attention is the mean of its members'. Each member encodes the source
    and has its own cache.

    Args:
        members: one or more, with the same source and target tokens. Their
            shapes may differ.

    Attributes:
        max_length: target positions that all members have.
        vocabulary_size: V.

    Reference: Sutskever et al. 2014, "Sequence to Sequence Learning with
    Neural Networks", section 3.6.
    """

    def __init__(self, members: Sequence[IncrementalTransformer]) -> None:
        self._members = list(members)
        self.max_length = min(member.max_length for member in members)
        self.vocabulary_size = members[0].vocabulary_size

    def __repr__(self) -> str:
        return f"Ensemble({self._members})"

    def start(
        self, source_ids: tf.Tensor, beam_size: int, max_steps: int | tf.Tensor
    ) -> tuple:
        """The members' caches; see `StepModel.start`."""
        return tuple(
            member.start(source_ids, beam_size, max_steps)
            for member in self._members
        )

    def step(self, ids: tf.Tensor, cache: tuple, position: tf.Tensor) -> Step:
        """Scores every continuation by one token; see `StepModel.step`."""
        steps = [
            member.step(ids, own, position)
            for member, own in zip(self._members, cache, strict=True)
        ]
        return Step(
            mean_log_probabilities([step.logits for step in steps]),
            tuple(step.cache for step in steps),
        )

    def predict(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """See `IncrementalTransformer.predict`."""
        results = [m.predict(source_ids, target_ids) for m in self._members]
        logits, attention = map(list, zip(*results, strict=True))
        return mean_log_probabilities(logits), _mean(attention)  # (B, T, S)

    def reorder(self, cache: tuple, parents: tf.Tensor) -> tuple:
        """See `StepModel.reorder`."""
        return self._each("reorder", cache, parents)

    def take(self, cache: tuple, indices: tf.Tensor) -> tuple:
        """See `StepModel.take`."""
        return self._each("take", cache, indices)

    def grow(self, cache: tuple, steps: int | tf.Tensor) -> tuple:
        """See `StepModel.grow`."""
        return self._each("grow", cache, steps)

    def _each(self, name, cache, argument):
        return tuple(
            getattr(member, name)(own, argument)
            for member, own in zip(self._members, cache, strict=True)
        )


def mean_log_probabilities(logits: Sequence[tf.Tensor]) -> tf.Tensor:
    """The logarithm of the mean of the probabilities.

    Args:
        logits: of each model, `(..., V)`.

    Returns:
        float32 `(..., V)`.
    """
    each = [tf.nn.log_softmax(tf.cast(own, tf.float32)) for own in logits]
    together = tf.reduce_logsumexp(tf.stack(each), axis=0)  # (..., V)
    return together - math.log(len(each))


def _mean(attention):
    """The mean of the models' attention; None unless all return it."""
    if any(weights is None for weights in attention):
        return None
    return tf.reduce_mean(tf.stack(attention), axis=0)


def load_members(
    run: Run, folders: Sequence[str | os.PathLike], weights: str
) -> list[keras.Model]:
    """Loads the models of other runs, to translate together with a run's.

    Args:
        run: the first run.
        folders: of the other runs.
        weights: of all runs, "best", "last" or "average".

    Raises:
        InputError: one isn't a run, is damaged, or has other tokens.
    """
    others = [Run.load(folder) for folder in folders]
    check_same_tokens(run, others)
    return [other.load_model(weights) for other in others]


def check_same_tokens(run: Run, others: Sequence[Run]) -> None:
    """Refuses an ensemble of other languages, or of other tokens.

    Raises:
        InputError: names the run that differs.
    """
    ours, *rest = [one.config.data for one in (run, *others)]
    for other, theirs in zip(others, rest, strict=True):
        # Opposite directions with a shared vocabulary have the same tokens.
        if not (
            same_language(ours.source_language, theirs.source_language)
            and same_language(ours.target_language, theirs.target_language)
        ):
            raise InputError(
                f"{other.folder}: translates {theirs.source_language} to "
                f"{theirs.target_language}, {run.folder} "
                f"{ours.source_language} to {ours.target_language}. Accepted "
                "in an ensemble: runs of the same languages"
            )
    for other in others:
        for side, tokens in run.manifest["tokenizers"].items():
            fingerprint = other.manifest["tokenizers"][side]["fingerprint"]
            if fingerprint != tokens["fingerprint"]:
                raise InputError(
                    f"{other.folder}: its {side} tokens are not those of "
                    f"{run.folder}. Accepted in an ensemble: runs that were "
                    "trained on the same prepared data"
                )
