"""Models, corpora and sentences that the benchmarks measure."""

import dataclasses
import pathlib

_DATA = pathlib.Path(__file__).resolve().parents[3] / "shared/data/tatoeba"
_LAYERS = "notebook"  # the preset whose shape random weights have


def make_run(scratch: pathlib.Path) -> pathlib.Path:
    """A run of the notebook's shape with random weights.

    Its vocabularies are Tatoeba's where that is at hand, else those of the
    built-in corpus.
    """
    from keras_transformer.presets import preset
    from keras_transformer.training.run import Run

    config = preset(_LAYERS)
    data = make_data(scratch, config.data)
    run = Run.create(scratch / "run", config, data)
    run.save_weights(run.build_model(), "best", 1, {})
    return run.folder


def make_data(scratch: pathlib.Path, config, folder=None):
    """Prepared data of `train.tsv` and `dev.tsv` of a folder.

    Without one it is Tatoeba where that is at hand, else the built-in corpus.
    """
    from keras_transformer.data.corpus import CorpusFile
    from keras_transformer.data.prepare import prepare

    folder = pathlib.Path(folder) if folder else _DATA
    if not folder.is_dir():
        folder = scratch
        _write_demo_corpus(scratch / "train.tsv", scratch / "dev.tsv")
    return prepare(
        [CorpusFile.parse(str(folder / "train.tsv"))],
        scratch / "data",
        config,
        dev=CorpusFile.parse(str(folder / "dev.tsv")),
    )


def _write_demo_corpus(train, dev):
    from keras_transformer.data.demo import load_demo_corpus

    corpus = load_demo_corpus()
    for path, pairs in ((train, corpus.train), (dev, corpus.dev)):
        lines = [f"{source}\t{target}\n" for source, target in pairs]
        path.write_text("".join(lines), encoding="utf-8")


def sentences(path, count: int) -> list[str]:
    """So many source sentences, spread evenly over a file."""
    if path is None and not _DATA.is_dir():
        from keras_transformer.data.demo import load_demo_corpus

        texts = [source for source, _ in load_demo_corpus().dev]
    else:
        with open(path or _DATA / "dev.tsv", encoding="utf-8") as lines:
            texts = [line.rstrip("\n").split("\t")[0] for line in lines]
    texts = sorted((text for text in texts if text.strip()), key=len)
    return texts[:: max(1, len(texts) // count)][:count]


def forced(folder, precision, length, beam):
    """A search that gives every sentence `length` tokens, never END."""
    from keras_transformer.training.run import Run

    return dataclasses.replace(
        Run.load(folder).config.decoding,
        beam_size=beam,
        precision=precision,
        min_length=length,
        max_length=length,
        max_length_offset=length,
    )


def export_forced(scratch, folder, precision, length) -> pathlib.Path:
    """A SavedModel whose searches give `length` tokens, in a process apart.

    Not through `export_run`: its checks want sentences that end.
    """
    import multiprocessing

    goal = pathlib.Path(scratch) / f"{precision}-{length}"
    process = multiprocessing.get_context("spawn").Process(
        target=_export, args=(str(goal), str(folder), precision, length)
    )
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"the export in {precision} failed")
    return goal


def _export(goal, folder, precision, length):
    from keras_transformer.export.writer.signatures import ServedTranslator
    from keras_transformer.training.run import Run

    run = Run.load(folder)
    served = ServedTranslator(
        run.load_model("best"),
        run.source_tokenizer,
        run.target_tokenizer,
        forced(folder, precision, length, beam=4),
    )
    served.save(goal)


def bleu(folder, path, precisions) -> dict:
    """BLEU of the run's own search on pairs, by precision."""
    from keras_transformer.data.corpus import CorpusFile, read_pairs
    from keras_transformer.evaluation.run_evaluation import evaluate_run
    from keras_transformer.training.run import Run

    run = Run.load(folder)
    pairs = list(read_pairs([CorpusFile.parse(str(path))]))
    return {
        precision: evaluate_run(
            run,
            pairs,
            decoding=dataclasses.replace(
                run.config.decoding, precision=precision
            ),
        ).bleu
        for precision in precisions
    }
