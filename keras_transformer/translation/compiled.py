"""Searches compiled by XLA, for a bounded number of shapes.

XLA makes one program of a search and so removes what TensorFlow spends on
each operation of each step. It needs constant shapes, and each costs seconds
to compile; so sources are padded to a few lengths, batches to a few sizes.
"""

from __future__ import annotations

import collections
import functools
import os
import pathlib
import time
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import PAD_ID
from keras_transformer.disk_caches import private_cache_folder
from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.constraints import max_output_lengths
from keras_transformer.search.from_config import needs_alignment
from keras_transformer.search.loop import SearchResult
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.translator import (
    Source,
    Translator,
    scores_of,
)

if TYPE_CHECKING:
    import keras


# Up to here source lengths are padded to multiples of 8, then to powers of 2.
_LONGEST_IN_STEPS_OF_8 = 64
# Source tokens a sentence, padding included, that a batch may hold on
# average; longer sentences share smaller batches.
_TOKENS_A_SENTENCE = 64
# Single sentences of one shape after which compiling it is worth its time:
# it takes seconds and saves milliseconds a sentence.
USES_WORTH_COMPILING = 1000

_CACHE_VARIABLE = "TF_XLA_FLAGS"
_CACHE_OPTION = "--tf_xla_persistent_cache_directory="

_TEXT = tf.TensorSpec([None], tf.string, name="text")


def when_to_compile(jit: str, config: DecodingConfig) -> int | None:
    """After how many uses of a shape XLA is to compile it; None: never.

    Args:
        jit: "on": at once; "off": never; "auto": at once on a GPU. On a
            processor the graph is faster in batches, which finished
            sentences leave, so there only single sentences in float32 are
            compiled, and only shapes that have been used often.
        config: the search.

    Raises:
        InputError: "on" for what XLA can't do.
    """
    if jit == "on" and config.sampling:
        raise InputError(
            "sampling can't be compiled by XLA. Accepted: jit off, or "
            "decoding.sampling=false"
        )
    if jit == "on" and config.precision == "int8":
        raise InputError(
            "precision int8 can't be compiled by XLA. Accepted: jit off, or "
            "decoding.precision float32 or bfloat16"
        )
    if jit == "off" or config.sampling or config.precision == "int8":
        return None
    if jit == "on" or tf.config.list_physical_devices("GPU"):
        return 0
    single = config.batch_size == 1 and config.precision == "float32"
    return USES_WORTH_COMPILING if single else None


class CompiledTranslator:
    """A translator whose searches are compiled by XLA.

    Gives the same token ids as `Translator`. Its functions are no graphs, for
    XLA knows no strings: to tokenize and to detokenize are graphs of their
    own.

    Args:
        source_tokenizer, target_tokenizer: see `Translator`.
        model: `keras.Model` that `build_transformer` made.
        config: the search. Its `batch_size` is what batches are padded to.
        after: uses of a shape that are left to the uncompiled graph before
            the shape is compiled.

    Attributes:
        compile_seconds: what compiling has taken so far.
        shapes: `(batch size, source length)` that were compiled.

    Example:
        >>> translator = CompiledTranslator(
        ...     run.source_tokenizer,
        ...     run.target_tokenizer,
        ...     run.load_model(),
        ...     run.config.decoding,
        ... )
        >>> translator.translate(["Good morning."])["translation"]
    """

    def __init__(
        self,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        model: keras.Model,
        config: DecodingConfig,
        after: int = 0,
    ) -> None:
        def steps(compiled):
            return IncrementalTransformer(
                model, config.precision, compiled, needs_alignment(config)
            )

        tokenizers = source_tokenizer, target_tokenizer
        model_steps = steps(compiled=True)
        self._config = config
        self._after = after
        self._max_length = model_steps.max_length
        self._translator = Translator(*tokenizers, model_steps, config)
        self._prepare = tf.function(
            self._translator.prepare,
            input_signature=[_TEXT],
            autograph=False,
        )
        self._outputs = tf.function(
            self._outputs_of, reduce_retracing=True, autograph=False
        )
        if after:
            graph = Translator(*tokenizers, steps(compiled=False), config)
            self._uncompiled = functools.cache(
                functools.partial(_graph_search, graph)
            )
        self._compiled = self._new_function()
        self._known: set = set()
        self._uses: collections.Counter = collections.Counter()
        self.shapes: list = []
        self.compile_seconds = 0.0

    def translate(self, text: tf.Tensor) -> dict:
        """The best translations; see `Translator.translate`.

        Args:
            text: string `(B,)`.

        Returns:
            `translation` string `(B,)`, `score` float32 `(B,)` and
            `truncated` bool `(B,)`, whether the text was too long for the
            model and lost its end.
        """
        text = tf.convert_to_tensor(text, tf.string)
        source = self.prepare(text)
        result = self.search(source, num_hypotheses=1)
        return self._outputs(text, source, result)

    def prepare(self, text: tf.Tensor) -> Source:
        """Tokenizes; see `Translator.prepare`."""
        return self._prepare(tf.convert_to_tensor(text, tf.string))

    def search(
        self, source: Source, num_hypotheses: int | None = None
    ) -> SearchResult:
        """Searches from ids to ids; see `Translator.search`.

        Args:
            source: what `prepare` made.
            num_hypotheses: rows to return; None: all.
        """
        count, longest = source.ids.shape
        length = padded_length(longest, self._max_length)
        rows = 1 if count == 1 else self._padded_batch_size(length)
        self._uses[rows, length] += 1
        if self._uses[rows, length] <= self._after:
            return self._uncompiled(num_hypotheses)(source.ids, source.lengths)
        padded = -(-max(count, 1) // rows) * rows  # a multiple of rows
        ids = np.full([padded, length], PAD_ID)  # (padded, S)
        ids[:count, :longest] = source.ids
        # A row that holds no sentence has length 0, hence generates nothing.
        lengths = np.zeros(padded)
        lengths[:count] = source.lengths
        results = [
            self._search_batch(
                tf.constant(ids[begin : begin + rows], tf.int32),
                tf.constant(lengths[begin : begin + rows], tf.int32),
                num_hypotheses,
            )
            for begin in range(0, padded, rows)
        ]
        return SearchResult(
            *(tf.concat(f, axis=0)[:count] for f in zip(*results, strict=True))
        )

    def _outputs_of(self, text, source, result):
        return {
            "translation": self._translator.texts(text, source, result.ids)[
                :, 0
            ],
            "score": scores_of(result)[:, 0],
            "truncated": source.truncated,
        }

    def _padded_batch_size(self, length):
        """Sentences that a batch of this source length is padded to."""
        budget = self._config.batch_size * _TOKENS_A_SENTENCE
        return max(1, min(self._config.batch_size, budget // length))

    def _search_batch(self, ids, lengths, num_hypotheses):
        source = Source(ids, lengths, truncated=())
        steps = self._steps(ids.shape[1])
        key = (*ids.shape, num_hypotheses)
        if key in self._known:
            return self._compiled(source, num_hypotheses, steps=steps)
        began = time.perf_counter()
        try:
            result = self._compiled(source, num_hypotheses, steps=steps)
        except tf.errors.OpError:
            # Programs that an earlier process kept may be damaged.
            if not clear_disk_cache():
                raise
            self._known.clear()
            self._compiled = self._new_function()
            result = self._compiled(source, num_hypotheses, steps=steps)
        self._known.add(key)
        self.shapes.append(key[:2])
        self.compile_seconds += time.perf_counter() - began
        return result

    def _steps(self, length):
        """The output positions that any source of a padded length needs."""
        limits = max_output_lengths(
            tf.constant([length - 2]), self._config, self._max_length
        )
        return max(int(limits[0]), 1)

    def _new_function(self):
        # A new one has a new name, and what failed isn't remembered for it.
        return tf.function(
            lambda source, num_hypotheses, steps: self._translator.search(
                source, num_hypotheses, steps=steps
            ),
            jit_compile=True,
            autograph=False,
        )


def padded_length(length: int, longest: int) -> int:
    """The source length that one is padded to, so that few are compiled.

    Args:
        length: source tokens, START and END included.
        longest: the positions that the model has.
    """
    if length <= _LONGEST_IN_STEPS_OF_8:
        padded = -(-max(length, 1) // 8) * 8
    else:
        padded = 1 << (length - 1).bit_length()
    return min(padded, longest)


def _graph_search(translator, num_hypotheses):
    """`Translator.search` as a graph that knows no sizes."""
    return tf.function(
        lambda ids, lengths: translator.search(
            Source(ids, lengths, truncated=()), num_hypotheses
        ),
        input_signature=[
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None], tf.int32),
        ],
        autograph=False,
    )


def enable_disk_cache() -> pathlib.Path | None:
    """Keeps what XLA compiles on disk, for later processes to use again.

    TensorFlow 2.21 does this for processors and GPUs if an environment
    variable names a folder before its first operation: see
    `disk_caches.private_cache_folder`. A damaged file fails the function that
    needs it: see `clear_disk_cache`. A folder that the variable already names
    is left.

    Returns:
        the folder; None if there can be none.
    """
    if disk_cache_folder() is None:
        path = private_cache_folder("xla", "tensorflow")
        if path is None:
            return None
        flags = [os.environ.get(_CACHE_VARIABLE, ""), f"{_CACHE_OPTION}{path}"]
        os.environ[_CACHE_VARIABLE] = " ".join(filter(None, flags))
    return disk_cache_folder()


def disk_cache_folder() -> pathlib.Path | None:
    """Where compiled programs are kept; None: nowhere."""
    for flag in os.environ.get(_CACHE_VARIABLE, "").split():
        if flag.startswith(_CACHE_OPTION):
            return pathlib.Path(flag.removeprefix(_CACHE_OPTION))
    return None


def clear_disk_cache() -> bool:
    """Removes the compiled programs kept; returns whether there were any."""
    path = disk_cache_folder()
    files = list(path.glob("xla_compile_cache_*")) if path else []
    for file in files:
        file.unlink(missing_ok=True)
    return bool(files)
