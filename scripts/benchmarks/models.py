"""Models that the benchmarks measure: random weights, searches of a length."""

import dataclasses
import pathlib

from scripts.benchmarks.corpus import dev_pairs, prepare_data

_LAYERS = "notebook"  # the preset whose shape random weights have


def make_run(scratch: pathlib.Path, folder=None) -> pathlib.Path:
    """A run of the notebook's shape with random weights.

    Args:
        scratch: where it is put.
        folder: of the corpus whose vocabularies it has; see `prepare_data`.
    """
    from keras_transformer.config.presets import preset
    from keras_transformer.training.run import Run

    config = preset(_LAYERS)
    data = prepare_data(scratch, config.data, folder)
    run = Run.create(scratch / "run", config, data)
    run.save_weights(run.build_model(), "best", 1, {})
    return run.folder


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


def export_beam(beam, beams):
    """The beam of the export that is measured: each has greedy search, too.

    Args:
        beam: of the search, 1 for greedy.
        beams: of all searches of the benchmark.
    """
    return beam if beam > 1 else max(2, *beams)


def export_forced(
    scratch, folder, precision, length, data=None, shortlist=None, beam=4
) -> pathlib.Path:
    """A SavedModel whose searches give `length` tokens, in a process apart.

    Not through `export_run`: its checks want sentences that end. In int8 it is
    calibrated on the pairs of `dev_pairs(data)`. `shortlist` is a TSV or None.
    Its searches are greedy and with the beam.
    """
    import multiprocessing

    export = pathlib.Path(scratch) / f"{precision}-{length}-{beam}"
    decoding = forced(folder, precision, length, beam)
    arguments = str(export), str(folder), decoding, data, shortlist
    process = multiprocessing.get_context("spawn").Process(
        target=_export, args=arguments
    )
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"the export in {precision} failed")
    return export


def _export(export, folder, decoding, data, shortlist):
    from keras_transformer.exporting.writer.precision import activation_limits
    from keras_transformer.exporting.writer.signatures import TracedSignatures
    from keras_transformer.training.run import Run
    from keras_transformer.translation.lexicon import lexicon_of

    run = Run.load(folder)
    model, limits = run.load_model("best"), None
    if decoding.precision == "int8":
        limits = activation_limits(run, model, dev_pairs(data), decoding)
    traced = TracedSignatures(
        model,
        run.source_tokenizer,
        run.target_tokenizer,
        decoding,
        limits,
        lexicon=lexicon_of(run, shortlist),
    )
    traced.save(export)
