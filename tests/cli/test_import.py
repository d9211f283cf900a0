"""Imported models on the command line, and folders that are refused."""

import json
import os
import pickle
import re
import zipfile

import pytest
import yaml

from keras_transformer.config.presets import PRESETS
from tests.cli.conftest import call
from tests.importing.conftest import copy, folders  # noqa: F401


@pytest.fixture(scope="module")
def imported(folders, tmp_path_factory):  # noqa: F811
    out = tmp_path_factory.mktemp("cli") / "big"
    prefix = "--source-prefix=>>cmn_Hans<<"
    call("import", folders["big"], "--out", out, prefix)
    return out


def test_what_was_imported_is_told(folders, tmp_path, succeed):  # noqa: F811
    out = tmp_path / "run"
    said = succeed("import", folders["big"], "--out", out).out
    assert "apache-2.0" in said
    assert "eng to zho" in said
    assert "2 + 2 layers, width 16, tensor2tensor positions" in said
    assert ">>yue<<; prefix none: each source needs one" in said


def test_a_run_is_written_and_described(imported, succeed):
    said = succeed("info", imported).out
    for part in ("apache-2.0", "model.safetensors", ">>cmn_Hans<<", "sha256"):
        assert part in said
    config = yaml.safe_load((imported / "config.yaml").read_text())
    assert config["model"]["positions"] == "tensor2tensor"
    assert config["data"]["target_language"] == "zho"
    assert config["decoding"]["beam_size"] == 4


def test_translates_evaluates_and_scores(imported, tmp_path, succeed, refuses):
    text, pairs = tmp_path / "text", tmp_path / "pairs.tsv"
    text.write_text("I go.\n\nHe wants to go to Shanghai.\n")
    pairs.write_text("I go.\t我去。\nHe goes.\t他去。\n")
    run = ["--run", imported]
    lines = succeed("translate", *run, "--input", text).out.splitlines()
    assert [bool(line) for line in lines] == [True, False, True]
    wrong = ["--set", "decoding.source_prefix=>>deu<<", "--input", text]
    says = ["Accepted: >>cmn_Hans<< >>cmn_Hant<< >>yue<<"]
    refuses("translate", *run, *wrong, says=says)
    said = succeed("evaluate", *run, "--input", pairs, "--json").out
    assert json.loads(said)["sentences"] == 2
    assert succeed("score", *run, "--input", pairs).out.count("\n") == 2


@pytest.mark.medium
def test_trains_further(imported, tmp_path, succeed):
    train, data, out = (tmp_path / n for n in ("train.tsv", "data", "run"))
    lines = [f"I go {i} times.\t我去{i}次。\n" for i in range(40)]
    train.write_text("".join(lines))
    prepare = ["--train", train, "--dev", "0.1", "--out", data]
    succeed("prepare", *prepare, "--tokenizers", imported)
    options = ["--data", data, "--from", imported, "--preset=finetune"]
    options += ["--epochs=1", "--set=training.threads=1"]
    succeed("train", *options, "--out", out)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["initial"]["imported"]["license"] == "apache-2.0"
    config = yaml.safe_load((out / "config.yaml").read_text())
    assert config["training"]["learning_rate"] < 1e-3
    assert config["model"]["output_bias"]


def test_training_keeps_how_the_model_is_searched(
    folders,  # noqa: F811
    tmp_path,
    monkeypatch,
    untrained,
):
    """Of a new run only the configuration is looked at here."""
    text, data, imported = (tmp_path / n for n in ("t.tsv", "data", "original"))
    text.write_text("".join(f"I go {i}.\t我去{i}次。\n" for i in range(9)))
    languages = ["--source-language=en", "--target-language=zh"]
    call("import", folders["original"], "--out", imported, *languages)
    call("prepare", "--train", text, "--out", data, "--tokenizers", imported)

    def decoding(folder, *options):
        if folder != imported:
            words = ["--data", data, "--out", folder, *options]
            call("train", *words, "--from", imported)
        return yaml.safe_load((folder / "config.yaml").read_text())["decoding"]

    kept = decoding(imported)
    assert kept["banned_tokens"] == ["<unk>"]
    assert kept["length_normalization"] == "average"
    assert decoding(tmp_path / "plain") == kept
    assert decoding(tmp_path / "tuned", "--preset=finetune") == kept
    given = decoding(tmp_path / "set", "--set=decoding.beam_size=2")
    assert given == kept | {"beam_size": 2}
    monkeypatch.setitem(PRESETS, "mine", {"decoding": {"banned_tokens": []}})
    named = decoding(tmp_path / "named", "--preset=mine")
    assert named == kept | {"banned_tokens": []}


def config(name="config.json", **changes):
    """A damage: another configuration."""

    def edit(folder):
        values = json.loads((folder / name).read_text("utf-8")) | changes
        (folder / name).write_text(json.dumps(values))

    return edit


def decoder(**changes):
    def edit(folder):
        path = folder / "decoder.yml"
        values = yaml.safe_load(path.read_text()) | changes
        path.write_text(yaml.safe_dump(values))

    return edit


def file(name, content):
    return lambda folder: (folder / name).write_text(content)


def without(name):
    return lambda folder: (folder / name).unlink()


def truncate(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


class Evil:
    def __reduce__(self):
        return print, ("called",)


def hostile_pickle(folder):
    path = folder / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w") as archive:
        # By the protocol of torch.save.
        content = pickle.dumps({"a": Evil()}, protocol=2)
        archive.writestr("archive/data.pkl", content)
    (folder / "model.safetensors").unlink()


def gap(folder):
    vocabulary = json.loads((folder / "vocab.json").read_text("utf-8"))
    config("vocab.json", **{"<pad>": vocabulary["<pad>"] + 1})(folder)


def without_end(folder):
    (folder / "vocab.json").unlink()
    os.mkfifo(folder / "vocab.json")


def aliases(folder):
    """YAML of a few lines that would be a value of 10 ** 9 items."""
    lines = ["a0: &a0 [x]"]
    for i in range(9):
        lines.append(f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]")
    text = "\n".join([*lines, "models: *a9", "vocabs: *a9"])
    (folder / "decoder.yml").write_text(text)


DAMAGE = {
    "truncated": (truncate, "model.safetensors: damaged"),
    "pickle": (hostile_pickle, "__builtin__.print"),
    "gap": (gap, "whose ids aren't 0 to"),
    "sizes": (config(d_model=32), "say rows of"),
    "layers": (config(encoder_layers=3), "no tensor model.encoder.layers.2"),
    "fewer layers": (
        config(encoder_layers=1),
        "tensors that the model shouldn't have",
    ),
    "type": (config(model_type="bart"), "model_type is 'bart'"),
    "scale": (config(scale_embedding=False), "scale_embedding is False"),
    "widths": (
        config(decoder_ffn_dim=64),
        "decoder_ffn_dim is 64.*Accepted: 32",
    ),
    "quantised": (
        config(quantization_config={"bits": 8}),
        "quantization_config",
    ),
    "heads": (
        config(encoder_attention_heads=3, decoder_attention_heads=3),
        "divisible by model.num_heads",
    ),
    "pieces": (
        file("source.spm", "no model"),
        "source.spm: not a SentencePiece model",
    ),
    "no pieces": (without("target.spm"), "target.spm: No such"),
    "no weights": (without("model.safetensors"), "no weights"),
    "nothing": (without("config.json"), "no decoder.yml"),
    "start": (
        config(decoder_start_token_id=10**6),
        "decoder_start_token_id is 1000000",
    ),
    "much": (config(d_model=1 << 40), "say rows of 1099511627776"),
    "deep": (
        file("config.json", "[" * 200000),
        "config.json: damaged, not JSON",
    ),
    "activation": (
        config(activation_function=["relu"]),
        "activation takes a string",
    ),
    "surrogate": (
        file("vocab.json", '{"\\ud800": 0}'),
        "vocab.json: a token that isn't text",
    ),
    "pipe": (without_end, "vocab.json: neither a file nor a folder"),
    "beams": (
        config("generation_config.json", num_beams="many"),
        "decoding.beam_size takes an integer. Received: 'many'",
    ),
}
DAMAGE_OF_MARIAN = {
    "aliases": (aliases, "decoder.yml: damaged"),
    "normalize": (
        decoder(normalize="x"),
        "decoding.length_penalty takes a number. Received: 'x'",
    ),
    "quantised": (
        decoder(models=["model.intgemm.bin"]),
        "as of quantised models",
    ),
    "factors": (
        decoder(vocabs=["vocab.yml", "vocab.fsv"]),
        "a vocabulary with factors",
    ),
    "ensemble": (
        decoder(models=["a.npz", "b.npz"]),
        "models is .*Accepted: 1 file name",
    ),
    "penalty": (decoder(**{"word-penalty": 1}), "word-penalty"),
    "vocabulary": (file("vocab.yml", "a: 0\nb: x\n"), "vocab.yml, line 2"),
}
CASES = [("base", *case) for case in DAMAGE.values()]
CASES += [("original", *case) for case in DAMAGE_OF_MARIAN.values()]


@pytest.mark.parametrize(
    ("kind", "damage", "says"),
    CASES,
    ids=[*DAMAGE, *(f"marian, {name}" for name in DAMAGE_OF_MARIAN)],
)
def test_damaged_folders_are_refused(
    kind,
    damage,
    says,
    copy,  # noqa: F811
    refuses,
    tmp_path,
):
    folder = copy(kind)
    damage(folder)
    out = tmp_path / "run"
    languages = ["--source-language=en", "--target-language=zh"]
    line = refuses(*("import", folder, "--out", out, *languages), says=[])
    assert re.search(says, line), line
    assert not out.exists()
