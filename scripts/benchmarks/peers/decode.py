"""Decoding speed of CTranslate2 by batch, beam and arithmetic.

Runs in CTranslate2's environment, in the folder of the converted model and of
`dev.en`: decode.py SENTENCES REPEATS. Prints one JSON object: output tokens a
second by cell, each at CTranslate2's best setting of workers and threads.
"""

import json
import pathlib
import statistics
import sys
import time

import ctranslate2

LENGTH = 20  # output tokens, forced
COMPUTE_TYPES = ("float32", "int8_float32")
# Latency: one sentence at a time. Throughput: all at once, shared out among
# workers with so many threads each.
SETTINGS = ((1, 1), (1, 2), (2, 1))  # workers, threads


def main(sentences, repeats):
    """Measures every cell with every setting that can be its best."""
    with pathlib.Path("dev.en").open(encoding="utf-8") as lines:
        texts = sorted((line.split() for line in lines), key=len)
    best, settings = {}, {}
    for compute_type in COMPUTE_TYPES:
        for workers, threads in SETTINGS:
            translator = ctranslate2.Translator(
                "ctranslate2_model",
                device="cpu",
                compute_type=compute_type,
                inter_threads=workers,
                intra_threads=threads,
            )
            for batch, beam, count in cells(sentences, workers):
                chosen = texts[:: max(1, len(texts) // count)][:count]
                rate = measure(translator, chosen, batch, beam, repeats)
                cell = f"{compute_type} batch {batch} beam {beam}"
                if rate > best.get(cell, 0):
                    best[cell] = rate
                    settings[cell] = f"{workers} workers x {threads} threads"
    result = {"output_tokens_per_s": best, "best_setting": settings}
    print(json.dumps({"peer": "CTranslate2 4.8.5", **result}))


def cells(sentences, workers):
    """Batch, beam and number of sentences, fewer where they come alone."""
    if workers == 1:
        yield 1, 1, max(4, sentences * 60 // 640)
        yield 1, 4, max(4, sentences * 40 // 640)
    yield 64, 1, sentences
    yield 64, 4, sentences


def measure(translator, texts, batch, beam, repeats):
    """Output tokens a second, the median of repeats after a first pass."""
    options = {
        "beam_size": beam,
        "min_decoding_length": LENGTH,
        "max_decoding_length": LENGTH,
        "max_batch_size": batch,
    }

    def translate():
        if batch > 1:
            translator.translate_batch(texts, **options)
            return
        for text in texts:
            translator.translate_batch([text], **options)

    translate()
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        translate()
        seconds.append(time.perf_counter() - started)
    return round(len(texts) * LENGTH / statistics.median(seconds))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
