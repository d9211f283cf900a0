"""Text generation: the graph by which a language model continues texts.

Axes: B texts, P tokens of a prompt, T output tokens.
"""

import functools
from collections.abc import Callable, Iterable

import keras
import tensorflow as tf

from keras_transformer.compat import graph_function
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import PAD_ID
from keras_transformer.errors import InputError, shown
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.constraints import (
    SentenceConstraints,
    min_output_lengths,
)
from keras_transformer.search.from_config import banned_ids, sampler, search
from keras_transformer.text.tokenizer import Tokenizer, encoded
from keras_transformer.translation.request import Truncations
from keras_transformer.translation.texts import text_list
from keras_transformer.translation.translator import scores_of

_NAME = "a TextGenerator"


class TextGenerator(tf.Module):
    """Continues texts with a language model, by this package's searches.

    The prompt is the forced prefix of the search, so the prompts of a batch may
    differ in length, and the texts don't depend on each other. With a
    `temperature`, the prompt and `sampling_seed` determine the sample: equal
    prompts have equal continuations, within a batch and between calls. For
    other samples, create a `TextGenerator` with another `sampling_seed`.

    The model's weights are read once: after further training, create another
    `TextGenerator`.

    Args:
        tokenizer: of the texts that the model was trained on.
        model: a model of `build_language_model`.
        config: the search; None: greedy. A text has at most `max_length`
            tokens, the prompt and END included. `batch_size`, `sentences`,
            `source_prefix`, `max_length_ratio` and `max_length_offset`, which
            are for translations, have no effect.

    Raises:
        InputError: Keras is on another backend than TensorFlow, `model` isn't
            a language model, the tokenizer is another model's, the search
            needs a source, or a banned token isn't in the vocabulary.

    Example:
        >>> from keras_transformer import ModelConfig, WordTokenizer
        >>> from keras_transformer import build_language_model
        >>> tokenizer = WordTokenizer.train(["The cat sat.", "The dog ran."])
        >>> shape = ModelConfig(num_decoder_layers=1, d_model=8)
        >>> model = build_language_model(shape, tokenizer.vocabulary_size)
        >>> generator = TextGenerator(tokenizer, model)
        >>> generator("The dog").startswith("the dog")
        True
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        model: keras.Model,
        config: DecodingConfig | None = None,
    ) -> None:
        super().__init__()
        config = config or DecodingConfig(beam_size=1)
        _check(tokenizer, model)
        steps = IncrementalTransformer(
            model, config.precision, align=config.replace_unknown
        )
        self.tokenizer = tokenizer
        self._config = config
        self._longest = min(
            config.max_length or steps.max_length, steps.max_length - 1
        )
        self._search = functools.partial(
            search,
            steps,
            config=config,
            banned=banned_ids(config, tokenizer),
            num_hypotheses=1,
        )

    def __repr__(self) -> str:
        return f"TextGenerator({self.tokenizer})"

    def __call__(self, texts: str | Iterable[str]) -> str | list[str]:
        """Continues a text or several texts.

        Args:
            texts: a string, or an iterable of strings; "" begins a new text.

        Returns:
            a string, or a list of strings for several texts: the text with
            its continuation, detokenized.

        Warns:
            UserWarning: prompts were truncated, as the model takes no more
                tokens.
        """
        lines = [texts] if isinstance(texts, str) else text_list(texts, _NAME)
        outputs = self.generate(encoded(lines))
        Truncations(outputs["truncated"].numpy()).warn()
        written = outputs["text"].numpy()
        results = [text.decode("utf-8", "replace") for text in written]
        return results[0] if isinstance(texts, str) else results

    @functools.cached_property
    def generate(self) -> Callable[[tf.Tensor], dict]:
        """The graph function that continues texts.

        `text` string `(B,)` -> `{"text": string (B,), "score": float32 (B,),
        "truncated": bool (B,)}`: the text with its continuation; its
        log-probability, that of the prompt included, divided by the length
        penalty; and whether the prompt alone was too long and was cut.
        """
        spec = tf.TensorSpec([None], tf.string, name="text")
        return graph_function(self._generate, [spec])

    def _generate(self, text):
        ids = self.tokenizer.tokenize(text)  # (B, ragged)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        prompts = ids[:, : self._longest].to_tensor(PAD_ID)  # (B, P)
        sampling = self._config.temperature
        sentences = SentenceConstraints(
            max_lengths=tf.fill(tf.shape(lengths), self._longest),
            min_lengths=min_output_lengths(lengths, self._config),
            prefixes=prompts,
            sampling_keys=sampler(self._config).keys(prompts)
            if sampling
            else (),
        )
        result = self._search(prompts, sentences)
        written = result.ids[:, 0]  # (B, T)
        words = self._words(text, tf.shape(written)[1])
        return {
            "text": self.tokenizer.detokenize(written, words),
            "score": scores_of(result)[:, 0],
            "truncated": lengths > self._longest,
        }

    def _words(self, text, width):
        """The prompts' words, which replace unknown tokens.

        Returns:
            string `(B, T)`, "" after the prompt.
        """
        words = self.tokenizer.surface(text)[:, : self._longest].to_tensor("")
        shape = tf.shape(words)
        rest = tf.fill([shape[0], width - shape[1]], "")
        return tf.concat([words, rest], axis=1)  # (B, T)


def _check(tokenizer, model):
    """Refuses a model that isn't a language model, or another tokenizer."""
    if keras.config.backend() != "tensorflow":
        raise InputError(
            "TextGenerator needs KERAS_BACKEND=tensorflow. Received: "
            f"{keras.config.backend()}. Accepted: the saved model, in another "
            "process"
        )
    layers = {layer.name: layer for layer in getattr(model, "layers", ())}
    decoder = layers.get("decoder_layer_0")
    if decoder is None or decoder.cross_attention:
        raise InputError(
            f"TextGenerator takes a language model. Received: {shown(model)}. "
            "Accepted: a tokenizer, then a model of build_language_model"
        )
    ours, theirs = tokenizer.vocabulary_size, model.output_shape[-1]
    if ours != theirs:
        raise InputError(
            f"the tokenizer has {ours} tokens, the model {theirs}. Accepted: "
            "the tokenizer that the model was trained with"
        )
