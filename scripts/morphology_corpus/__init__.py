"""A generated pair of languages, English and one of rich morphology.

The other language has invented stems and the grammar of an agglutinative one:
the verb last, six cases, possessive endings, and suffixes whose vowels follow
the stem's. A recipe that was chosen on one corpus is tried on it, see
`docs/recipes.md`.
"""
