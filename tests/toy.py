"""A corpus and a model small enough for tests."""

import pathlib

DIGITS = ("zero", "one", "two", "three", "four", "five")
MODEL = {
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
    "d_model": 16,
    "num_heads": 2,
    "d_ff": 32,
    "max_length": 24,
}


def pairs(count):
    """Sentences of digits, and the same digits reversed."""
    for number in range(count):
        digits = [DIGITS[(number // 6**i) % 6] for i in range(2 + number % 3)]
        yield " ".join(digits), " ".join(reversed(digits))


def write_corpus(folder: pathlib.Path, train=200, dev=20):
    """Writes `train.tsv` and `dev.tsv`, the latter a part of the former."""
    lines = [f"{source}\t{target}\n" for source, target in pairs(train)]
    (folder / "train.tsv").write_text("".join(lines))
    (folder / "dev.tsv").write_text("".join(lines[:dev]))
