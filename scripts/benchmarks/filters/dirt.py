"""Dirt of crawled corpora, made of the pairs of a cleaner one."""

import random
import re

_NUMBER = re.compile(r"\d+")
KINDS = ("shifted", "copied", "other language", "mixed", "numbers")


def make_dirt(pairs, others: dict, share: float, seed: int) -> list[tuple]:
    """Bad pairs.

    Args:
        pairs: of a corpus.
        others: for some of its sources, a translation to a third language;
            none: that kind is left out.
        share: how many to make, of the corpus' pairs; as many of each kind,
            or what there is.
        seed: chooses the pairs.

    Returns:
        (kind, source, target) each.
    """
    generator = random.Random(seed)
    makers = {
        "shifted": lambda i, _, __: pairs[(i + 1) % len(pairs)][1],
        "copied": lambda _, source, __: source,
        "other language": lambda _, source, target: others.get(source, target),
        "mixed": lambda _, source, target: _mixed(source, target, generator),
        "numbers": lambda _, source, target: _other_number(
            source, target, generator
        ),
    }
    kinds = [kind for kind in KINDS if others or kind != "other language"]
    wanted = round(len(pairs) * share / len(kinds))
    made = []
    for kind in kinds:
        count = 0
        for i in generator.sample(range(len(pairs)), len(pairs)):
            source, target = pairs[i]
            bad = makers[kind](i, source, target)
            if bad.casefold() != target.casefold():
                made.append((kind, source, bad))
                count += 1
            if count == wanted:
                break
    return made


def _mixed(source, target, generator):
    """The target, about half of its words replaced by the source's.

    Each by the one at the same place, as a word-by-word machine leaves those
    that it lacks.
    """
    words, others = target.split(" "), source.split(" ")
    for i in range(len(words)):
        if generator.random() < 0.5:
            words[i] = others[i * len(others) // len(words)]
    return " ".join(words)


def _other_number(source, target, generator):
    """The target with one of the numbers of both sides changed."""
    shared = set(_NUMBER.findall(source)) & set(_NUMBER.findall(target))
    if not shared:
        return target
    number = generator.choice(sorted(shared))
    new = number
    while int(new) == int(number):
        new = str(generator.randrange(10 ** len(number)))
    return re.sub(rf"(?<!\d){number}(?!\d)", new, target, count=1)
