"""A generated pair of languages, English and one of rich morphology.

The other language has invented stems and the grammar of an agglutinative one:
the verb last, five cases, possessive endings, and suffixes whose vowels follow
the stem's. A recipe that was chosen on one corpus can be tried on it.
"""
