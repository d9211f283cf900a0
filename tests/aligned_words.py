"""A language whose translation and word alignment are known by construction.

Words have one translation each. Blocks of two words swap, some words have no
translation, and some translations have a word that nothing is translated to.
"""

import random

FIRST = 4  # after the reserved ids
WORDS = 40
_SILENT, _ADDED = 5, 3  # words without a translation, and without a source


def aligned_pairs(count, seed=1):
    """Yields source ids, target ids, and links `{(source, target)}`."""
    draw = random.Random(seed)
    for _ in range(count):
        length = draw.randint(2, 9)
        source = [FIRST + draw.randrange(WORDS) for _ in range(length)]
        target, links = [], set()
        for start in range(0, length, 2):
            block = [*range(start, min(start + 2, length))]
            if source[start] % 3 == 0:
                block.reverse()
            for place in block:
                word = source[place]
                if word < FIRST + _SILENT:
                    continue
                links.add((place, len(target)))
                target.append(word + WORDS)
            if draw.random() < 0.15:
                target.append(FIRST + 2 * WORDS + draw.randrange(_ADDED))
        if target:
            yield source, target, links


def write_aligned_corpus(folder, train=1500, gold=100):
    """Writes `train.tsv` and `gold.tsv`, whose third column has the links."""
    for name, count, seed in (("train", train, 1), ("gold", gold, 2)):
        lines = [
            "\t".join(
                [
                    " ".join(f"s{i}" for i in source),
                    " ".join(f"t{i}" for i in target),
                    " ".join(f"{s}-{t}" for s, t in sorted(links)),
                ]
            )
            for source, target, links in aligned_pairs(count, seed)
        ]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
