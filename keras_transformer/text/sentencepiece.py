"""SentencePiece tokenizer: subword pieces by a model, run by TF Text.

Also subword sampling: other segmentations of the same text, drawn at random. A
model that reads a sentence in other pieces each time learns what the pieces
are made of: a regularisation, of most use to small corpora. SentencePiece
(0.2.3) can draw too, but not the same in another process, and TF Text takes no
seed; a run that goes on where it stopped needs both, so it is done here.

References: Kudo 2018, Subword Regularization (unigram models); Provilkov,
Emelianenko and Voita 2020, BPE-Dropout.
"""

import bisect
import functools
import heapq
import itertools
import math
import random
import re

import sentencepiece
import tensorflow as tf
from sentencepiece import sentencepiece_model_pb2

from keras_transformer.constants import SPECIAL_TOKENS, UNK_ID
from keras_transformer.errors import InputError
from keras_transformer.text.normalization import squeeze
from keras_transformer.text.tags import check_tags
from keras_transformer.text.tokenizer import UNKNOWN, Tokenizer

# How a piece writes a space; within a model's pieces, only at their beginning.
_SPACE = "▁"
# A language code, as text and as a piece.
_CODE_TEXT = r">>[^<>\s]+<<"
_CODE = re.compile(_SPACE + _CODE_TEXT)
_CACHED_WORDS = 1 << 14
# Characters. What is longer, as a sentence without spaces, hardly comes again.
_LONGEST_CACHED = 30

_Piece = sentencepiece_model_pb2.ModelProto.SentencePiece
_Trainer = sentencepiece_model_pb2.TrainerSpec


class SentencePieceTokenizer(Tokenizer):
    """Pieces of words by a unigram or BPE model.

    Args:
        model: the bytes of a SentencePiece model whose ids 0 to 3 are the
            reserved ones; `train_sentencepiece` makes one.
        known: int, how many of the pieces are tokens; those after them
            make the unknown one. None: all of them.
        prefix: string, such as the language code `>>cmn_Hans<<`, that goes
            before each text that has no language code of its own.
        **normalization: `nfc`, `remove_control`, `simplify`; see
            `Normalizer`.

    Raises:
        InputError: `model` isn't such a model.
    """

    kind = "sentencepiece"
    content_file = "sentencepiece.model"

    def __init__(self, model, known=None, prefix="", **normalization):
        super().__init__(**normalization)
        self._model = model
        self._processor = _processor(model)
        self._known = known
        self._prefix = prefix
        self._has_codes = known is not None and any(
            _CODE.fullmatch(token) for token in self.tokens()
        )
        if prefix and self.tokens().count(_SPACE + prefix) != 1:
            raise InputError(
                f"{prefix} is no language code of the tokenizer. Accepted: "
                f"{' '.join(self.language_codes()) or 'none'}"
            )
        if self.tags:
            check_tags(self.tokens(), self.tags)
        self._made = None

    def with_simplify(self, simplify: bool) -> "SentencePieceTokenizer":
        """The same model, for text of which Chinese is simplified or not."""
        return type(self)(
            self._model, **self.options() | {"simplify": simplify}
        )

    def with_prefix(self, prefix: str) -> "SentencePieceTokenizer":
        if prefix == self._prefix:
            return self
        return type(self)(self._model, **self.options() | {"prefix": prefix})

    @property
    def vocabulary_size(self):
        size = self._processor.get_piece_size()
        return size if self._known is None else min(self._known, size)

    def language_codes(self) -> list[str]:
        """Tokens such as `>>cmn_Hans<<`, which name the target's language."""
        tokens = self.tokens() if self._has_codes else []
        return sorted(token[1:] for token in tokens if _CODE.fullmatch(token))

    def first_id(self) -> int | None:
        """The id of the language code that each text begins with, if any."""
        if not self._prefix:
            return None
        return self.tokens().index(_SPACE + self._prefix)

    def options(self):
        given = {"known": self._known, "prefix": self._prefix or None}
        return super().options() | {
            name: value for name, value in given.items() if value is not None
        }

    def tokens(self):
        return [
            self._processor.id_to_piece(i) for i in range(self.vocabulary_size)
        ]

    def sampler(self, alpha: float) -> "SubwordSampler":
        """Draws other ids for the same texts."""
        return SubwordSampler(self._model, alpha, self.vocabulary_size)

    @functools.cached_property
    def _skips_pieces(self):
        """Whether pieces of text are marked as no text, see `importing`."""
        return self._known is not None and any(
            self._processor.is_control(i)
            for i in range(len(SPECIAL_TOKENS), self.vocabulary_size)
        )

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
        ids = self._pieces.tokenize(self._prepared(strings))
        if self._known is None:
            return ids
        return tf.ragged.map_flat_values(
            lambda flat: tf.where(flat < self._known, flat, UNK_ID), ids
        )

    def _prepared(self, strings):
        """Normalised strings as the model takes them."""
        strings = squeeze(strings)
        if not self._has_codes:
            return strings
        own = f"^({_CODE_TEXT}) ?"
        spaced = tf.strings.regex_replace(strings, own, r"\1 ")
        if not self._prefix:
            return tf.strings.strip(spaced)
        bare = ~tf.strings.regex_full_match(strings, f"{own}.*")
        prefixed = tf.strings.join([f"{self._prefix} ", strings])
        prefixed = tf.where(bare & (strings != ""), prefixed, spaced)
        return tf.strings.strip(prefixed)

    def _pieces_of(self, strings):
        strings = self._prepared(strings)
        _, starts, ends = self._pieces.tokenize_with_offsets(strings)
        texts = tf.gather(strings, starts.value_rowids())
        begins = starts.flat_values
        return starts.with_flat_values(
            tf.strings.substr(texts, begins, ends.flat_values - begins)
        )

    def _decode(self, ids):
        if self._has_codes:  # They are no text.
            code = tf.constant(
                [bool(_CODE.fullmatch(t)) for t in self.tokens()]
            )
            is_text = ids.with_flat_values(~tf.gather(code, ids.flat_values))
            ids = tf.ragged.boolean_mask(ids, is_text)
        if self.tags or self._skips_pieces:
            return super()._decode(ids)  # TF Text would leave tags out.
        return self._pieces.detokenize(ids)

    def _strings_of(self, ids):
        pieces = [*self.tokens()]
        pieces[UNK_ID] = UNKNOWN
        if self._has_codes:
            pieces = ["" if _CODE.fullmatch(p) else p for p in pieces]
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


class SubwordSampler:
    """Replaces ids of a SentencePiece model by others of the same text.

    Words are drawn independently of each other; so they are in the model,
    whose pieces don't go beyond a word. Ids that are no pieces of text, such
    as the unknown one, stay as they are.

    Args:
        model: the bytes of a unigram or BPE model; one of another type gives
            back what it gets.
        alpha: of a unigram model, the exponent on the probabilities of all
            segmentations of a word (small: all are nearly as likely; 1: as
            the model has it); of a BPE model, the probability that a merge
            is left out.
        known: the ids to draw from are below it; None: all.
    """

    def __init__(self, model: bytes, alpha: float, known: int | None = None):
        proto = sentencepiece_model_pb2.ModelProto.FromString(model)
        pieces = {
            piece.piece: (number, piece.score)
            for number, piece in enumerate(proto.pieces)
            if piece.type == _Piece.NORMAL and (known is None or number < known)
        }
        self._texts = {number: text for text, (number, _) in pieces.items()}
        kind = proto.trainer_spec.model_type
        self._draw = None
        if kind == _Trainer.UNIGRAM:
            self._draw = _Unigram(pieces, alpha)
        elif kind == _Trainer.BPE:
            self._draw = _Bpe(pieces, alpha)

    def __call__(
        self, ids: list[list[int]], seed: int, max_length: int
    ) -> list[list[int]]:
        """Draws other ids.

        Args:
            ids: plain ids of each text, without start and end.
            seed: the same gives the same ids, in any process.
            max_length: ids of a text; where more are drawn, it keeps its own.

        Returns:
            As `ids`.
        """
        if self._draw is None:
            return ids
        generator = random.Random(seed)
        drawn = []
        for own in ids:
            new = []
            for text, numbers in self._words(own):
                new += (text and self._draw(text, generator)) or numbers
            drawn.append(new if len(new) <= max_length else own)
        return drawn

    def _words(self, ids):
        """The text and the ids of each word; ids without text by themselves."""
        word, numbers = "", []
        for number in ids:
            text = self._texts.get(number)
            if numbers and (text is None or text.startswith(_SPACE)):
                yield word, numbers
                word, numbers = "", []
            if text is None:
                yield "", [number]
            else:
                word += text
                numbers.append(number)
        if numbers:
            yield word, numbers


class _Unigram:
    """Draws from all segmentations of a word, as likely as their pieces.

    Forward filtering, the same for a word each time, and backward sampling
    (Kudo 2018, section 3.1).
    """

    def __init__(self, pieces, alpha):
        self._pieces = pieces
        self._alpha = alpha
        self._longest = max(map(len, pieces), default=0)
        self._lattice = functools.lru_cache(_CACHED_WORDS)(self._filter)

    def __call__(self, word, generator):
        cached = len(word) <= _LONGEST_CACHED
        lattice = self._lattice(word) if cached else self._filter(word)
        drawn = []
        end = len(word)
        while end:
            starts, numbers, cumulated = lattice[end]
            last = len(starts) - 1
            # Probabilities may sum to a little less than 1.
            i = bisect.bisect(cumulated, generator.random()) if last else 0
            i = min(last, i)
            drawn.append(numbers[i])
            end = starts[i]
        return drawn[::-1]

    def _filter(self, word):
        """For each end in the word: the pieces that may stand before it.

        Returns:
            A list of (starts, ids, cumulated probabilities).
        """
        totals = [0.0]  # log of the sum over all segmentations up to here
        lattice = [((), (), ())]
        for end in range(1, len(word) + 1):
            arcs = []
            for start in range(max(0, end - self._longest), end):
                piece = self._pieces.get(word[start:end])
                if piece is not None and totals[start] > -math.inf:
                    score = totals[start] + self._alpha * piece[1]
                    arcs.append((start, piece[0], score))
            if not arcs:
                totals.append(-math.inf)
                lattice.append(((), (), ()))
                continue
            best = max(score for _, _, score in arcs)
            weights = [math.exp(score - best) for _, _, score in arcs]
            total = sum(weights)
            totals.append(best + math.log(total))
            starts, numbers, _ = zip(*arcs, strict=True)
            cumulated = itertools.accumulate(w / total for w in weights)
            lattice.append((starts, numbers, tuple(cumulated)))
        return lattice


class _Bpe:
    """Merges characters as the model does, but leaves merges out at random.

    As in SentencePiece, each merge is drawn for once, when its turn comes.
    """

    def __init__(self, pieces, dropout):
        self._pieces = pieces
        self._dropout = dropout

    def __call__(self, word, generator):
        symbols = [*word]
        before = [*range(-1, len(word) - 1)]
        after = [*range(1, len(word) + 1)]
        heap = []

        def offer(left, right):
            """Enters the merge of two neighbours, if there is one."""
            if left < 0 or right >= len(symbols):
                return
            merged = symbols[left] + symbols[right]
            piece = self._pieces.get(merged)
            if piece is not None:
                heapq.heappush(heap, (-piece[1], left, right, merged))

        for left in range(len(word) - 1):
            offer(left, left + 1)
        while heap:
            _, left, right, merged = heapq.heappop(heap)
            # One of the two may have grown or gone meanwhile.
            current = symbols[left] and symbols[right]
            if not current or symbols[left] + symbols[right] != merged:
                continue
            if generator.random() < self._dropout:
                continue
            symbols[left], symbols[right] = merged, ""
            after[left] = after[right]
            if after[left] < len(symbols):
                before[after[left]] = left
            offer(before[left], left)
            offer(left, after[left])
        pieces = [self._pieces.get(symbol) for symbol in symbols if symbol]
        # A vocabulary may lack a character by itself.
        return [] if None in pieces else [number for number, _ in pieces]
