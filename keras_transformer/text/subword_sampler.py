"""Subword sampling: other segmentations of the same text, drawn at random.

A model that reads a sentence in other pieces each time learns what the pieces
are made of: a regularisation that helps small corpora most. SentencePiece
(0.2.3) can sample, too, but not reproducibly across processes, and TF Text
takes no seed. Resuming a run needs both, hence this implementation.

References: Kudo 2018, Subword Regularization (unigram models); Provilkov,
Emelianenko and Voita 2020, BPE-Dropout.
"""

import bisect
import functools
import heapq
import itertools
import math
import random

from sentencepiece import sentencepiece_model_pb2

from keras_transformer.constants import SPACE

_CACHED_WORDS = 1 << 14
# Characters. Longer words, such as sentences without spaces, rarely repeat.
_LONGEST_CACHED = 30

_Piece = sentencepiece_model_pb2.ModelProto.SentencePiece
_Trainer = sentencepiece_model_pb2.TrainerSpec


class SubwordSampler:
    """Replaces ids of a SentencePiece model by others of the same text.

    Words are sampled independently, as pieces don't cross word boundaries. Ids
    that aren't pieces of text, such as the unknown one, are kept.

    Args:
        model: the bytes of a unigram or BPE model; for other types, ids are
            returned unchanged.
        alpha: for a unigram model, the exponent on the probabilities of all
            segmentations of a word (small: all are nearly equally likely; 1:
            the model's probabilities); for a BPE model, the probability that a
            merge is left out.
        known: only ids below it are drawn; None: all.
    """

    def __init__(
        self, model: bytes, alpha: float, known: int | None = None
    ) -> None:
        proto = sentencepiece_model_pb2.ModelProto.FromString(model)
        pieces = {
            piece.piece: (number, piece.score)
            for number, piece in enumerate(proto.pieces)
            if piece.type == _Piece.NORMAL and (known is None or number < known)
        }
        self._texts = {number: text for text, (number, _) in pieces.items()}
        kind = proto.trainer_spec.model_type
        self._draw: _Unigram | _Bpe | None = None
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
            seed: the same seed gives the same ids, in any process.
            max_length: ids of a text; if more are drawn, it keeps its own.

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
        """Yields the text and ids of each word; ids without text one by one."""
        word = ""
        numbers: list[int] = []
        for number in ids:
            text = self._texts.get(number)
            if numbers and (text is None or text.startswith(SPACE)):
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
    """Draws from all segmentations of a word by their pieces' probabilities.

    By forward filtering, whose result is cached for each word, and backward
    sampling (Kudo 2018, section 3.1).
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
        """Finds the pieces that may end at each position of the word.

        Returns:
            A list of (starts, ids, cumulated probabilities).
        """
        totals = [0.0]  # log of the sum over all segmentations up to each end
        lattice: list[tuple[tuple, tuple, tuple]] = [((), (), ())]
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
    """Merges characters as the model does, but skips merges at random.

    As in SentencePiece, each merge is drawn once, when its turn comes.
    """

    def __init__(self, pieces, dropout):
        self._pieces = pieces
        self._dropout = dropout

    def __call__(self, word, generator):
        symbols = [*word]
        before = [*range(-1, len(word) - 1)]
        after = [*range(1, len(word) + 1)]
        heap: list = []

        def offer(left, right):
            """Queues the merge of two neighbours, if the model has it."""
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
            # Either of the two may have been merged in the meantime.
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
        # A vocabulary may lack a single character.
        return [] if None in pieces else [number for number, _ in pieces]
