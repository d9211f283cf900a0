"""The corpus that the package carries: English and Chinese from a grammar.

The sentences are made, not collected: people, numbers with measure words,
time, place, negation, questions, comparison, aspect and clauses, from a
lexicon and a grammar written for this package.
"""

from keras_transformer.data.builtin.corpus import (
    DEFAULT_SEED,
    BuiltinCorpus,
    generate_corpus,
)

__all__ = ["DEFAULT_SEED", "BuiltinCorpus", "generate_corpus"]
