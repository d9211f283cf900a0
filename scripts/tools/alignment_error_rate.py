"""Measures how well a run aligns words, against alignments by hand.

    python -m scripts.tools.alignment_error_rate runs/en-de gold.tsv

Called in the root of the checkout. Each line of the file is a source, its
translation, and links such as `0-0 1-2`, from a word of the source to one of
the translation, both counted from 0: words are runs of letters and digits, each
other character but white space is one, and so is each Chinese one. The run
reads the translation and links each word of it to the word of the source that
its tokens attend to most.
"""

import argparse
import pathlib
import re

from keras_transformer.documents.markup import token_spans
from keras_transformer.text.tokenizer import encoded

_CHINESE = r"\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_CHINESE}]|[^\W{_CHINESE}]+|[^\w\s]")


def main(arguments=None) -> None:
    """Parses the options and prints the rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("gold", metavar="FILE")
    parser.add_argument("--weights", default="best")
    options = parser.parse_args(arguments)
    lines = pathlib.Path(options.gold).read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    gold = [
        {tuple(map(int, link.split("-"))) for link in row[2].split()}
        for row in rows
    ]
    from keras_transformer import load

    run = load(options.run).translating_by(options.weights)
    found = aligned_by(run, [row[:2] for row in rows])
    print(f"{alignment_error_rate(found, gold):.1%} of {len(rows)} pairs")


def alignment_error_rate(found, gold) -> float:
    """1 - 2 |found and gold| / (|found| + |gold|), of sets of links.

    Reference: Och and Ney 2003, "A Systematic Comparison of Various
    Statistical Alignment Models", equation 18; here all links are sure.
    """
    pairs = list(zip(found, gold, strict=True))
    both = sum(len(ours & theirs) for ours, theirs in pairs)
    total = sum(len(ours) + len(theirs) for ours, theirs in pairs)
    return 1 - 2 * both / total


def aligned_by(run, pairs) -> list[set[tuple[int, int]]]:
    """The links of words by which a `TrainedRun` reads translations."""
    translator = run.new_translator(align=True)
    found = []
    for source, target in pairs:
        text = encoded([source])
        ids = translator.target_ids(encoded([target]))
        read = translator.prepare(text).ids
        weights = translator.score_ids(read, ids).attention[0].numpy()
        pieces = [
            [token.decode() for token in tokens]
            for tokens in (
                translator.surface(text)[0].numpy(),
                translator.target_tokenizer.surface([target])[0].numpy(),
            )
        ]
        columns, rows = map(_words_of, (source, target), pieces)
        links = set()
        for word in {*rows} - {None}:
            row = weights[[w == word for w in rows + [None]]].sum(axis=0)
            score = {
                w: row[[other == w for other in columns]].sum()
                for w in {*columns} - {None}
            }
            links.add((max(score, key=score.__getitem__), word))
        found.append(links)
    return found


def _words_of(text, tokens):
    """The index of the word of each token; None: of no word."""
    words = [match.span() for match in _WORD.finditer(text)]
    found = []
    for span in token_spans(text, tokens):
        indices = [
            i
            for i, (start, end) in enumerate(words)
            if start < span.end and span.start < end
        ]
        found.append(indices[0] if indices else None)
    return found


if __name__ == "__main__":
    main()
