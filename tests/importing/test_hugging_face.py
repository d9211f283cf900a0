"""What folders of transformers may say otherwise, and mean the same."""

import json
import shutil
import time
import warnings

import numpy as np
import pytest

from keras_transformer.cli.main import main
from keras_transformer.constants import PAD_ID
from keras_transformer.errors import InputError
from keras_transformer.importing.generation import search_settings
from keras_transformer.importing.hugging_face import read_hugging_face
from keras_transformer.importing.run import import_run
from keras_transformer.training.run import Run
from tests.importing import safetensors
from tests.importing.conftest import (
    FIXTURES,
    given,
    languages,
    retensored,
)

SHARED, SOURCE, TARGET, OUTPUT = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
UNREAD = {
    "extra_pos_embeddings": 772,
    "add_bias_logits": True,
    "classif_dropout": 0.3,
    "a_key_of_tomorrow": {"x": [1]},
}


def weights(run):
    return {w.path: w.numpy() for w in run.load_model().weights}


@pytest.mark.parametrize("kind", ["base", "m2m100"])
def test_keys_that_transformers_never_reads_are_listed(
    kind, copy, tmp_path, capsys
):
    folder = copy(kind)
    given(**UNREAD)(folder)
    out = tmp_path / "run"
    assert main(["import", str(folder), "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (said,) = [line for line in lines if "extra_pos_embeddings" in line]
    assert all(key in said for key in UNREAD)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["imported"]["unread"] == sorted(UNREAD)


def more_rows(count, **added):
    """A change: a shared table gets rows of one half, and tokens for them."""

    def change(folder):
        def pad(tensors):
            extra = np.full((count, 16), 0.5)
            tensors[SHARED] = np.concatenate([tensors[SHARED], extra])
            if "final_logits_bias" in tensors:
                bias = tensors["final_logits_bias"]
                padded = np.pad(bias, ((0, 0), (0, count)))
                tensors["final_logits_bias"] = padded
            return tensors

        retensored(pad)(folder)
        config = json.loads((folder / "config.json").read_text())
        rows = config["vocab_size"] + count
        given(vocab_size=rows, decoder_vocab_size=rows)(folder)
        for name, values in added.items():
            given(f"{name}.json", **values)(folder)

    return change


def test_tables_may_have_more_rows_than_there_are_tokens(
    import_changed, import_of
):
    run, before = import_changed("base", more_rows(60)), import_of("base")
    size = before.target_tokenizer.vocabulary_size
    assert run.target_tokenizer.vocabulary_size == size + 60
    name = "shared_embedding/tokens/embeddings"
    table = weights(run)[name]
    np.testing.assert_array_equal(table[:size], weights(before)[name])
    assert (table[size:] == 0.5).all()
    text = ["I go to Shanghai."]
    ids = [r.source_tokenizer.tokenize(text).to_list() for r in (run, before)]
    assert ids[0] == ids[1]


BRAND = {"content": "<brand>", "special": False}


@pytest.mark.parametrize(
    ("kind", "added"),
    [
        ("base", {"added_tokens": {"<brand>": 772}}),
        (
            "base",
            {"tokenizer_config": {"added_tokens_decoder": {"772": BRAND}}},
        ),
        ("m2m100", {"added_tokens": {"<brand>": 617}}),
    ],
)
def test_added_tokens_stand_for_themselves(kind, added, import_changed):
    tokenizer = import_changed(kind, more_rows(1, **added)).source_tokenizer
    new = tokenizer.tokens().index("▁<brand>")
    with_it, without = tokenizer.tokenize(["I <brand> go.", "I go."]).to_list()
    assert [i for i in with_it if i != new] == without
    assert with_it.count(new) == 1


def shard(folder, suffix="safetensors", stem="model"):
    """Parts the weights, as `save_pretrained(max_shard_size=...)` does."""
    path = folder / "model.safetensors"
    tensors = safetensors.read(path)
    path.unlink()
    places = {}
    for i in range(3):
        name = f"{stem}-{i + 1:05}-of-00003.{suffix}"
        part = dict([*tensors.items()][i::3])
        safetensors.write(folder / name, part)
        places |= dict.fromkeys(part, name)
    index = folder / f"{stem}.{suffix}.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return index, places


def renamed(old, new):
    """A change: a table is saved under another of its names."""
    return retensored(lambda tensors: tensors | {new: tensors.pop(old)})


@pytest.mark.medium
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("base", renamed(SHARED, SOURCE)),
        ("base", renamed(SHARED, TARGET)),
        ("base", renamed(SHARED, OUTPUT)),
        ("separate", renamed(TARGET, OUTPUT)),
        ("base", shard),
    ],
    ids=["source", "target", "output", "tied output", "several files"],
)
def test_the_same_weights_may_be_saved_otherwise(
    kind, change, import_changed, import_of
):
    run = import_changed(kind, change)
    ours, theirs = weights(run), weights(import_of(kind))
    assert ours.keys() == theirs.keys()
    for path in ours:
        np.testing.assert_array_equal(ours[path], theirs[path], path)
    if change is shard:
        names = {file["name"] for file in run.manifest["imported"]["files"]}
        assert "model.safetensors.index.json" in names
        assert "model-00003-of-00003.safetensors" in names


def test_pickled_weights_may_lie_in_several_files(copy, monkeypatch):
    from keras_transformer.importing import hugging_face

    folder = copy()
    index, _ = shard(folder, suffix="bin", stem="pytorch_model")
    assert index.name == "pytorch_model.bin.index.json"
    monkeypatch.setattr(hugging_face, "read_state_dict", safetensors.read)
    whole = safetensors.read(FIXTURES / "base" / "model.safetensors")
    assert read_hugging_face(folder).tensors.keys() >= whole.keys()


def decoding(**settings):
    vocabulary = {"</s>": 0, "<unk>": 1, "▁a": 2, ">>fr<<": 3, "<pad>": 4}
    return search_settings(settings, vocabulary)[:2]


def test_search_settings_are_taken_over():
    section, left = decoding(
        num_beams=6,
        length_penalty=0.6,
        no_repeat_ngram_size=3,
        repetition_penalty=1.2,
        early_stopping=True,
        min_length=5,
        max_length=200,
        bad_words_ids=[[4], [2]],
        suppress_tokens=[1],
        do_sample=False,
        eos_token_id=0,
        top_k=50,
        forced_eos_token_id=0,
        encoder_no_repeat_ngram_size=0,
    )
    assert section == {
        "beam_size": 6,
        "length_penalty": 0.6,
        "length_normalization": "average",
        "no_repeat_ngram_size": 3,
        "repetition_penalty": 1.2,
        "early_stopping": True,
        # transformers counts the decoder's first input.
        "min_length": 4,
        "max_length": 199,
        "banned_tokens": ["▁a", "<unk>"],
    }
    assert left == ()
    new, _ = decoding(max_length=20, max_new_tokens=30, min_new_tokens=2)
    assert (new["max_length"], new["min_length"]) == (30, 2)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("encoder_no_repeat_ngram_size", 3),
        ("do_sample", True),
        ("num_beam_groups", 2),
        ("diversity_penalty", 0.5),
        ("sequence_bias", {"2": 1.0}),
        ("forced_bos_token_id", 2),
        ("bad_words_ids", [[2, 2]]),
        ("suppress_tokens", [99]),
        ("eos_token_id", [0, 2]),
        ("renormalize_logits", True),
    ],
)
def test_search_settings_without_a_counterpart_are_named(key, value):
    _, left = decoding(**{key: value})
    assert [entry.partition("=")[0] for entry in left] == [key]


@pytest.mark.parametrize(
    "others",
    [{"bad_words_ids": [[4], [2]]}, {"suppress_tokens": [2]}, {"min_length": 5}]
    + [{"no_repeat_ngram_size": 3}, {"repetition_penalty": 1.2}],
    ids=str,
)
def test_what_is_shared_out_by_each_step_is_named(others):
    settings = {"bad_words_ids": [[4]], "renormalize_logits": True, **others}
    assert decoding(**settings)[1] == ("renormalize_logits=True",)


@pytest.mark.parametrize("positions", ["tensor2tensor", "sinusoidal"])
def test_padding_has_no_probability_where_others_share_it(
    positions, import_changed
):
    def change(folder):
        pad = json.loads((folder / "vocab.json").read_text())["<pad>"]
        settings = {"bad_words_ids": [[pad]], "renormalize_logits": True}
        given("generation_config.json", **settings)(folder)

    run = import_changed("base", change, positions=positions)
    assert run.manifest["imported"]["left_out"] == []
    bias = weights(run)["shared_embedding/output_bias"]
    assert bias[PAD_ID] == bias.min() < -90


def test_a_run_searches_as_its_folder_says(copy, tmp_path, capsys):
    folder = copy()
    given(
        "generation_config.json",
        no_repeat_ngram_size=2,
        repetition_penalty=1.5,
        min_length=3,
        encoder_repetition_penalty=1.5,
    )(folder)
    words = ["import", str(folder), "--out", str(tmp_path / "run")]
    assert main(words) == 0
    config = Run.load(tmp_path / "run").config.decoding
    assert config.no_repeat_ngram_size == 2
    assert config.repetition_penalty == 1.5
    assert config.min_length == 2
    said, prefix = capsys.readouterr().err.splitlines()
    assert "Try --source-prefix '>>" in prefix
    assert "warning: " in said
    assert "encoder_repetition_penalty=1.5" in said


@pytest.mark.parametrize(
    "change",
    [
        given("tokenizer_config.json", tokenizer_class="SMALL100Tokenizer"),
        lambda folder: (folder / "tokenization_small100.py").touch(),
    ],
    ids=["tokenizer_class", "file"],
)
def test_small_100_has_the_targets_language_before_the_source(
    change, import_changed
):
    run = import_changed("m2m100", change)
    assert run.manifest["imported"]["kind"] == "Hugging Face SMaLL-100"
    source = run.source_tokenizer
    ids = source.tokenize(["I go.", ">>de<< I go."]).to_list()
    assert [source.tokens()[row[0]] for row in ids] == ["▁>>zh<<", "▁>>de<<"]
    assert run.target_tokenizer.first_id() is None


SIZES = (4194304, 0, -1, 1e9, "772", None, True, 2**70)
CLAIMS = ("vocab_size", "d_model", "encoder_layers", "encoder_ffn_dim")


@pytest.mark.parametrize("kind", ["base", "m2m100", "nllb"])
@pytest.mark.parametrize("key", [*CLAIMS, "max_position_embeddings"])
def test_claimed_sizes_are_held_against_the_weights(kind, key, tmp_path, copy):
    folder = copy(kind)
    began = time.process_time()
    for size in SIZES:
        if key in ("vocab_size", "encoder_layers") and size is None:
            continue  # The same as no claim.
        given(**{key: size, "decoder_ffn_dim": 32})(folder)
        with pytest.raises(
            InputError, match=r"config|model\.|embedding|tensor|no |rows"
        ):
            import_run(folder, tmp_path / "run", **languages("base"))
    assert time.process_time() - began < 20


def indexed(places):
    """A change: another index of weights in several files."""

    def change(folder):
        index, _ = shard(folder)
        index.write_text(json.dumps({"weight_map": places}))

    return change


def twice(folder):
    _, places = shard(folder)
    first, second = sorted({*places.values()})[:2]
    shutil.copyfile(folder / first, folder / second)


def without_columns(folder):
    """Such a tensor takes no bytes, whatever its rows."""
    retensored(lambda t: t | {SHARED: np.zeros((0, 16))})(folder)
    path = folder / "model.safetensors"
    content = path.read_bytes().replace(b"[0, 16]", b"[999999999, 0]", 1)
    length = int.from_bytes(content[:8], "little") + 7
    path.write_bytes(length.to_bytes(8, "little") + content[8:])


def linked(name):
    """A change: a file is a link out of the folder."""

    def change(folder):
        (folder / name).rename(folder.parent / "private")
        (folder / name).symlink_to(folder.parent / "private")

    return change


def spoilt(number):
    """A change: a weight that is no number."""

    def spoil(tensors):
        tensors["model.decoder.layers.0.fc1.bias"][0] = number
        return tensors

    return retensored(spoil)


def without_vocabulary(folder):
    (folder / "vocab.json").unlink()
    (folder / "tokenizer.json").write_text("{}")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (given(normalize_before=True), "normalize_before is .*Accepted"),
        (
            given(static_position_embeddings=False),
            "static_position_embeddings is .*Accepted",
        ),
        (given(tie_encoder_decoder=True), "tie_encoder_decoder is .*Accepted"),
        *(
            (given("added_tokens.json", **added), "added tokens aren't text")
            for added in ({"<a>": "x"}, {"<a>": -1}, {"\ud800": 772})
        ),
        (
            retensored(lambda t: t | {OUTPUT: t[SHARED] + 1}),
            "lm_head.weight isn't the target's",
        ),
        (indexed(None), "no weight_map"),
        (indexed({}), "no weight_map"),
        (indexed({"a": "../model-00001-of-00003.safetensors"}), "files beside"),
        (indexed({"a": 3}), "names of files beside"),
        (indexed({"a": ["x"]}), "names of files beside"),
        (indexed({"a": "no.safetensors"}), "no.safetensors: No such file"),
        (twice, "is in another file, too"),
        *(
            (linked(name), f"{name}: a link .*outside")
            for name in (
                *("vocab.json", "source.spm"),
                *("model.safetensors", "config.json"),
            )
        ),
        *(
            (given(attention_dropout=rate), "attention_dropout (must|takes)")
            for rate in (1, -0.1, "x", None, True)
        ),
        *(
            (spoilt(number), "fc1.bias has numbers that")
            for number in (np.nan, np.inf, -np.inf)
        ),
    ],
)
def test_what_is_damaged_or_unknown_is_refused(change, reason, refuses):
    refuses("base", change, reason)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (given(scale_embedding=False), "scale_embedding"),
        (given(tie_word_embeddings=False), "tie_word"),
        (given(vocab_size=10), "vocab_size is 10"),
        (given(decoder_start_token_id=0), "decoder_start"),
        (given("vocab.json", extra=[1]), "vocab.json: .* ids"),
        (
            lambda folder: (folder / "sentencepiece.bpe.model").unlink(),
            "sentencepiece.bpe.model",
        ),
        (lambda folder: (folder / "vocab.json").unlink(), "tokenizer.json"),
        (without_vocabulary, "no vocabulary"),
        (without_columns, "weight is 999999999 x 0, where"),
    ],
)
def test_what_is_no_m2m100_is_refused(change, reason, refuses):
    refuses("m2m100", change, reason)


def test_the_cache_of_the_hub_is_imported(copy, tmp_path):
    """Its files are links to blobs, called by their hashes."""
    repository = tmp_path / "models--x--y"
    snapshot, blobs = repository / "snapshots" / "main", repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, path in enumerate(sorted(copy().iterdir())):
        name = f"{number:040x}" if number % 2 else f"{number:064x}"
        path.rename(blobs / name)
        (snapshot / path.name).symlink_to(f"../../blobs/{name}")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        run = import_run(snapshot, tmp_path / "run", **languages("base"))
    assert (run.folder / "imported" / "README.md").is_file()
