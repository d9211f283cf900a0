"""What an export says about itself in `assets.extra/`."""

import datetime

import keras

from keras_transformer.config import Config
from keras_transformer.contract import layout
from keras_transformer.files import read_json
from keras_transformer.version import versions

FORMAT = "keras_transformer.saved_model"
FORMAT_VERSION = 1


def describe(
    run, config: Config, which: str, model: keras.Model, variables: int
) -> dict:
    """The self-description, of values that JSON has.

    Args:
        run: the `Run` that is exported.
        config: its configuration with the decoding that is exported.
        which: the weights, "best", "last" or "average".
        model: the Keras model.
        variables: number of weight tensors in the export.
    """
    tokenizers = {
        side: {
            "kind": tokenizer.kind,
            "vocabulary_size": tokenizer.vocabulary_size,
            "fingerprint": tokenizer.fingerprint(),
        }
        for side, tokenizer in (
            ("source", run.source_tokenizer),
            ("target", run.target_tokenizer),
        )
    }
    now = datetime.datetime.now(datetime.UTC)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "created": now.isoformat(timespec="seconds"),
        "versions": versions(),
        "languages": {
            "source": config.data.source_language,
            "target": config.data.target_language,
        },
        "signatures": {
            layout.BEAM: {"beam_size": config.decoding.beam_size},
            layout.GREEDY: {"beam_size": 1},
            layout.NBEST: {"beam_size": config.decoding.beam_size},
            layout.SCORING: {},
            layout.TOKENIZE: {},
            layout.ALIGN: {"beam_size": config.decoding.beam_size},
        },
        "precision": config.decoding.precision,
        "tokenizers": tokenizers,
        "parameters": model.count_params(),
        "variables": variables,
        "weights": {"which": which, **_weight_notes(run, which)},
        "scores": run.manifest["scores"],
        "data": run.manifest["data"],
        "run_versions": run.manifest["versions"],
        "config": config.to_dict(),
    }


def _weight_notes(run, which):
    """Epoch and scores of the weights, where the run has noted them."""
    path = run.folder / "weights" / f"{which}.json"
    notes = read_json(path) if path.is_file() else {}
    if "sha256" in notes:
        notes["sha256"] = notes["sha256"][-1]
    return notes
