"""Runs that nobody trained: random weights, and all else of a run; corpora."""

import uuid

from keras_transformer.config import Config
from keras_transformer.constants import SIDES, SPECIAL_TOKENS
from keras_transformer.system.files import write_json, write_text
from tests.toy_models import MODEL, VARIANTS, VOCABULARY_SIZE, randomise

LETTERS = "abcdefghijklmnopqrstuvwxyz"[: VOCABULARY_SIZE - 4]
# Those that a configuration can describe.
CONFIGURABLE = [n for n, v in VARIANTS.items() if "final_norm" not in v]
SHAPE = {
    "num_encoder_layers": 2,
    "num_decoder_layers": 3,
    "d_model": 16,
    "num_heads": 2,
    "d_ff": 32,
    "max_length": 40,
}
# For what doesn't depend on how many layers there are.
ONE_LAYER = {**SHAPE, "num_encoder_layers": 1, "num_decoder_layers": 1}


def write_run(folder, variant, shape=SHAPE, **training):
    """A run with random weights, from words or letters to letters.

    Args:
        folder: of the run, new.
        variant: one of `CONFIGURABLE`.
        shape: of its model.
        training: of its configuration.
    """
    from keras_transformer.text import CharacterTokenizer, WordTokenizer
    from keras_transformer.training.run import FORMAT, Run
    from keras_transformer.training.weights import save_weights, weights_path
    from keras_transformer.version import versions

    languages = {"source_language": "en", "target_language": "zh"}
    config = Config().updated(
        {
            "model": {**shape, **VARIANTS[variant]},
            "data": languages,
            "training": training,
        }
    )
    target = CharacterTokenizer([*SPECIAL_TOKENS, *LETTERS])
    source = target
    if config.model.tied_embeddings != "all":
        words = [3 * letter for letter in LETTERS]
        source = WordTokenizer([*SPECIAL_TOKENS, *words])
    tokenizers = source, target
    manifest = {
        "format": FORMAT,
        "id": uuid.uuid4().hex,
        "versions": versions(),
        "data": {"fingerprint": "none", "counts": {}},
        "tokenizers": {},
        "scores": {},
        "imported": {"from": "opus-mt-en-zh", "license": "apache-2.0"},
    }
    (folder / "weights").mkdir(parents=True)
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        tokenizer.save(folder / f"{side}_tokenizer")
        manifest["tokenizers"][side] = {
            "vocabulary_size": tokenizer.vocabulary_size,
            "fingerprint": tokenizer.fingerprint(),
        }
    model = Run(folder, config, manifest, tokenizers).build_model()
    randomise(model, seed=1)
    path = weights_path(folder / "weights", "best")
    notes = {"run": manifest["id"], "epoch": 1, "scores": {}}
    save_weights(path, model, notes)
    (folder / "imported").mkdir()
    write_text(folder / "imported" / "README.md", "A model card.\n")
    write_text(folder / "config.yaml", config.to_yaml())
    write_json(folder / "manifest.json", manifest)


def write_versions(base, *versions):
    """Versions of a model that hold nothing real, in their folder `base`."""
    for version in versions:
        folder = base / str(version)
        folder.mkdir(parents=True)
        (folder / "saved_model.pb").write_text("x" * int(version))
    return base


# Of `kt.prepare`: words of both languages.
WORD_DATA = {
    **{"source_language": "en", "target_language": "fr"},
    **{"source_tokenizer": "word", "target_tokenizer": "word"},
}


def prepare_words(folder, lines, dev):
    """Prepares a corpus of words, in `folder/data`, by the command line.

    Args:
        folder: gets `train.tsv`, too.
        lines: of it.
        dev: the share of the pairs that are held out.
    """
    from keras_transformer.cli.main import main

    (folder / "train.tsv").write_text("".join(lines))
    words = ["prepare", "--train", folder / "train.tsv", "--dev", dev]
    words += ["--source-language=en", "--target-language=fr"]
    words += [f"--set=data.{side}_tokenizer=word" for side in SIDES]
    words += ["--out", folder / "data"]
    assert main([str(word) for word in words]) == 0


def untrained_run(folder, data, seed=1, **model):
    """A run of prepared data as a training leaves it, with random weights.

    Args:
        folder: of the run, new.
        data: the folder of the data.
        seed: of the weights.
        model: of its configuration, where it isn't `MODEL`.

    Returns:
        the `Run`, which has no history and no checkpoint.
    """
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.training.run import Run

    config = Config().updated(
        {"model": {**MODEL, **model}, "training": {"seed": seed}}
    )
    run = Run.create(folder, config, PreparedData.load(data))
    built = run.build_model()
    randomise(built, seed)
    scores = {"val_cross_entropy": 2.0}
    for which in ("best", "last"):
        run.save_weights(built, which, 1, scores)
    run.record_scores("best", {**scores, "epoch": 1})
    return run
