"""Text in, text out: the graph that `translate` and the export share."""

import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import PAD_ID
from keras_transformer.decoding.hypotheses import output_limits
from keras_transformer.decoding.search import search
from keras_transformer.text.framing import frame


class Translator(tf.Module):
    """Translates a batch of strings in one graph.

    Holds the tokenizers, so that their files are exported with it, and no
    model: `start` and `step` live in a closure. TensorFlow Serving can't load
    a module that has a Keras model as an attribute. Whoever exports the
    module sets `_variables` to those of the traced function.

    Args:
        source_tokenizer: `tokenize(strings (B,)) -> ragged int32 ids`.
        target_tokenizer: `detokenize(ids (B, T)) -> strings (B,)`.
        start: `(source_ids, beam_size, max_steps) -> cache`.
        step: `(ids, cache, index) -> (logits, cache)`.
        config: the search.
        max_length: int, the positions that the model has. A longer source
            is cut to what fits, its start and end tokens included.

    Example:
        >>> model = IncrementalTransformer(run.load_model())
        >>> translator = Translator(
        ...     run.source_tokenizer,
        ...     run.target_tokenizer,
        ...     model.start,
        ...     model.step,
        ...     run.config.decoding,
        ...     run.config.model.max_length,
        ... )
        >>> translator.translate(tf.constant(["Good morning."]))
    """

    def __init__(
        self,
        source_tokenizer,
        target_tokenizer,
        start,
        step,
        config: DecodingConfig,
        max_length: int,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer

        def translate(text):
            ids = source_tokenizer.tokenize(text)
            ids = ids[:, : max_length - 2]
            lengths = tf.cast(ids.row_lengths(), tf.int32)
            result = search(
                start,
                step,
                frame(ids).to_tensor(PAD_ID),
                output_limits(lengths, config, max_length),
                config,
                num_hypotheses=1,
            )
            # A blank line has limit 0: no token, hence "" and score 0.
            return {
                "translation": target_tokenizer.detokenize(result.ids[:, 0]),
                "score": result.scores[:, 0],
            }

        self._translate = tf.function(
            translate,
            input_signature=[tf.TensorSpec([None], tf.string, name="text")],
        )

    @property
    def translate(self):
        """The graph function.

        `text` string `(B,)` -> `{"translation": string (B,), "score":
        float32 (B,)}`: the best translation of each and its log-probability
        divided by the length penalty. A blank text gives "" and 0.
        """
        return self._translate
