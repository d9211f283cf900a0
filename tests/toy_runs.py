"""Runs that nobody trained: random weights, and all else of a run; corpora."""

from keras_transformer.config import Config
from keras_transformer.constants import SIDES, SPECIAL_TOKENS
from keras_transformer.files import write_json, write_text
from tests.toy_models import VARIANTS, VOCABULARY_SIZE, randomise

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


def write_run(folder, variant, **training):
    """A run with random weights, from words or letters to letters.

    Args:
        folder: of the run, new.
        variant: one of `CONFIGURABLE`.
        training: of its configuration.
    """
    from keras_transformer.text import CharacterTokenizer, WordTokenizer
    from keras_transformer.training.run import FORMAT, Run
    from keras_transformer.training.weights import save_weights, weights_path
    from keras_transformer.version import versions

    config = Config().updated(
        {"model": {**SHAPE, **VARIANTS[variant]}, "training": training}
    )
    target = CharacterTokenizer([*SPECIAL_TOKENS, *LETTERS])
    source = target
    if config.model.tied_embeddings != "all":
        words = [3 * letter for letter in LETTERS]
        source = WordTokenizer([*SPECIAL_TOKENS, *words])
    tokenizers = source, target
    manifest = {
        "format": FORMAT,
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
    save_weights(path, model, {"epoch": 1, "scores": {}})
    (folder / "imported").mkdir()
    write_text(folder / "imported" / "README.md", "A model card.\n")
    write_text(folder / "config.yaml", config.to_yaml())
    write_json(folder / "manifest.json", manifest)


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
