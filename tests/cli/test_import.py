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


@pytest.fixture(scope="module")
def imported(folders, tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "big"
    prefix = "--source-prefix=>>cmn_Hans<<"
    call("import", folders["big"], "--out", out, prefix)
    return out


def test_what_was_imported_is_told(folders, tmp_path, succeed):
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


def test_translates_evaluates_and_scores(imported, write, succeed, refuses):
    text = write("text", ["I go.", "", "He wants to go to Shanghai."])
    pairs = write("pairs.tsv", ["I go.\t我去。", "He goes.\t他去。"])
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
def test_trains_further(imported, write, tmp_path, succeed):
    lines = [f"I go {i} times.\t我去{i}次。" for i in range(40)]
    train, data, out = write("t.tsv", lines), tmp_path / "d", tmp_path / "run"
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
    folders, tmp_path, monkeypatch, untrained
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


DAMAGE = {
    "pickle": (hostile_pickle, "__builtin__.print"),
    "gap": (gap, "whose ids aren't 0 to"),
    "sizes": (config(d_model=32), "say rows of"),
    "fewer layers": (config(encoder_layers=1), "tensors that the model sh"),
    "type": (config(model_type="bart"), "model_type is 'bart'"),
    "widths": (config(decoder_ffn_dim=64), "decoder_ffn_dim is 64.*: 32"),
    "quantised": (config(quantization_config={"bits": 8}), "quantization"),
    "heads": (
        config(encoder_attention_heads=3, decoder_attention_heads=3),
        "divisible by model.num_heads",
    ),
    "pieces": (file("source.spm", "no model"), "not a SentencePiece model"),
    "no pieces": (without("target.spm"), "target.spm: No such"),
    "no weights": (without("model.safetensors"), "no weights"),
    "nothing": (without("config.json"), "no decoder.yml"),
    "start": (config(decoder_start_token_id=10**6), "_id is 1000000"),
    "deep": (file("config.json", "[" * 200000), "config.json: damaged"),
    "activation": (config(activation_function=["relu"]), "takes a string"),
    "surrogate": (file("vocab.json", '{"\\ud800": 0}'), "that isn't text"),
    "pipe": (without_end, "vocab.json: neither a file nor a folder"),
    "beams": (
        config("generation_config.json", num_beams="many"),
        "decoding.beam_size takes an integer. Received: 'many'",
    ),
}
DAMAGE_OF_MARIAN = {
    "normalize": (decoder(normalize="x"), "length_penalty takes a number"),
    "quantised": (decoder(models=["model.intgemm.bin"]), "of quantised mod"),
    "factors": (decoder(vocabs=["vocab.yml", "vocab.fsv"]), "with factors"),
    "penalty": (decoder(**{"word-penalty": 1}), "word-penalty"),
}
CASES = [("base", *case) for case in DAMAGE.values()]
CASES += [("original", *case) for case in DAMAGE_OF_MARIAN.values()]


@pytest.mark.parametrize(
    ("kind", "damage", "says"),
    CASES,
    ids=[*DAMAGE, *(f"marian, {name}" for name in DAMAGE_OF_MARIAN)],
)
def test_damaged_folders_are_refused(
    kind, damage, says, copy, refuses, tmp_path
):
    folder = copy(kind)
    damage(folder)
    out = tmp_path / "run"
    languages = ["--source-language=en", "--target-language=zh"]
    line = refuses(*("import", folder, "--out", out, *languages), says=[])
    assert re.search(says, line), line
    assert not out.exists()
