"""SentencePiece tokenizer: subword pieces by a model, run by TF Text."""

import sentencepiece
import tensorflow as tf

from keras_transformer.constants import SPECIAL_TOKENS, UNK_ID
from keras_transformer.errors import InputError
from keras_transformer.text.normalization import squeeze
from keras_transformer.text.subword_sampling import SubwordSampler
from keras_transformer.text.tokenizer import UNKNOWN, Tokenizer

# How a piece writes a space.
_SPACE = "▁"


class SentencePieceTokenizer(Tokenizer):
    """Pieces of words by a unigram or BPE model.

    Args:
        model: the bytes of a SentencePiece model whose ids 0 to 3 are the
            reserved ones; `train_sentencepiece` makes one.
        **normalization: `nfc`, `remove_control`, `simplify`; see
            `Normalizer`.

    Raises:
        InputError: `model` isn't such a model.
    """

    kind = "sentencepiece"
    content_file = "sentencepiece.model"

    def __init__(self, model, **normalization):
        super().__init__(**normalization)
        self._model = model
        self._processor = _processor(model)
        self._made = None

    def with_simplify(self, simplify: bool) -> "SentencePieceTokenizer":
        """The same model, for text of which Chinese is simplified or not."""
        return type(self)(
            self._model, **self.options() | {"simplify": simplify}
        )

    @property
    def vocabulary_size(self):
        return self._processor.get_piece_size()

    def tokens(self):
        return [
            self._processor.id_to_piece(i) for i in range(self.vocabulary_size)
        ]

    def sampler(self, alpha: float) -> SubwordSampler:
        """Draws other ids for the same texts."""
        return SubwordSampler(self._model, alpha)

    @property
    def _pieces(self):
        """The model as TF Text's, once there is text."""
        if self._made is None:
            # Its libraries take 120 MiB, which prepared data don't need.
            import tensorflow_text as tf_text

            with tf.init_scope():  # not in a graph that uses it first
                self._made = tf_text.SentencepieceTokenizer(
                    self._model, out_type=tf.int32
                )
        return self._made

    def _encode(self, strings):
        return self._pieces.tokenize(squeeze(strings))

    def _pieces_of(self, strings):
        strings = squeeze(strings)
        _, starts, ends = self._pieces.tokenize_with_offsets(strings)
        texts = tf.gather(strings, starts.value_rowids())
        begins = starts.flat_values
        return starts.with_flat_values(
            tf.strings.substr(texts, begins, ends.flat_values - begins)
        )

    def _decode(self, ids):
        return self._pieces.detokenize(ids)

    def _strings_of(self, ids):
        pieces = [*self.tokens()]
        pieces[UNK_ID] = UNKNOWN
        return tf.gather(tf.constant(pieces), ids)

    def _join(self, tokens):
        text = tf.strings.reduce_join(tokens, axis=1)
        text = tf.strings.regex_replace(text, _SPACE, " ")
        return tf.strings.regex_replace(text, "^ +", "")

    def _content(self):
        return self._model

    @classmethod
    def _from_content(cls, content, path, options):
        try:
            return cls(content, **options)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None


def _processor(model):
    message = "not a SentencePiece model whose first pieces are " + " ".join(
        SPECIAL_TOKENS
    )
    if not model:
        raise InputError(message)
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError:
        raise InputError(message) from None
    count = min(len(SPECIAL_TOKENS), processor.get_piece_size())
    first = tuple(processor.id_to_piece(i) for i in range(count))
    if first != SPECIAL_TOKENS:
        raise InputError(f"{message}. Received: {' '.join(first)}")
    return processor
