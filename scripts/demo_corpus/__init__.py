"""The grammar behind the demo's corpus: English and Chinese sentences.

The sentences are made, not collected: people, numbers with measure words,
time, place, negation, questions, comparison, aspect and clauses, from a
lexicon and a grammar written for this project. The package ships what
`python -m scripts.demo_corpus` writes, called in the root of the checkout.
"""
