"""What folders of transformers may say otherwise, and mean the same."""

import json
import shutil
import time
import warnings

import numpy as np
import pytest

from keras_transformer.cli.main import main
from keras_transformer.errors import InputError
from keras_transformer.importing.generation import search_settings
from keras_transformer.importing.hugging_face import read_hugging_face
from keras_transformer.importing.run import import_run
from keras_transformer.training.run import Run
from tests.importing import safetensors
from tests.importing.conftest import FIXTURES, LANGUAGES, change, retensor

M2M100 = {"source_language": "en", "target_language": "zh"}
TABLE = "model.shared.weight"


@pytest.fixture
def base(copy):
    return copy("base")


@pytest.fixture
def m2m100(copy):
    return copy("m2m100")


def weights(run):
    return {w.path: w.numpy() for w in run.load_model().weights}


def assert_same_weights(run, other):
    ours, theirs = weights(run), weights(other)
    assert ours.keys() == theirs.keys()
    for path in ours:
        np.testing.assert_array_equal(ours[path], theirs[path], path)


UNREAD = {
    "extra_pos_embeddings": 772,
    "add_bias_logits": True,
    "classif_dropout": 0.3,
    "a_key_of_tomorrow": {"x": [1]},
}


@pytest.mark.parametrize("kind", ["base", "m2m100"])
def test_keys_that_transformers_never_reads_are_listed(
    kind, copy, tmp_path, capsys
):
    folder = copy(kind)
    change(folder, **UNREAD)
    out = tmp_path / "run"
    words = ["import", str(folder), "--out", str(out)]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    (said,) = [line for line in lines if "extra_pos_embeddings" in line]
    assert all(key in said for key in UNREAD)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["imported"]["unread"] == sorted(UNREAD)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("normalize_before", True),
        ("static_position_embeddings", False),
        ("tie_encoder_decoder", True),
    ],
)
def test_keys_that_change_the_model_are_refused(key, value, base):
    change(base, **{key: value})
    with pytest.raises(InputError, match=f"{key} is .*Accepted"):
        read_hugging_face(base)


def add_rows(folder, count):
    """Gives a shared table rows of one half."""

    def pad(tensors):
        extra = np.full((count, 16), 0.5)
        tensors[TABLE] = np.concatenate([tensors[TABLE], extra])
        if "final_logits_bias" in tensors:
            bias = tensors["final_logits_bias"]
            tensors["final_logits_bias"] = np.pad(bias, ((0, 0), (0, count)))
        return tensors

    retensor(folder, pad)


@pytest.mark.parametrize("rows", [776, 832])
def test_tables_may_have_more_rows_than_there_are_tokens(
    rows, base, import_of, tmp_path
):
    more = rows - 772
    add_rows(base, more)
    change(base, vocab_size=rows, decoder_vocab_size=rows)
    run = import_run(base, tmp_path / "run", **LANGUAGES)
    before = import_of("base")
    size = before.target_tokenizer.vocabulary_size
    assert run.target_tokenizer.vocabulary_size == size + more
    name = "shared_embedding/tokens/embeddings"
    table = weights(run)[name]
    np.testing.assert_array_equal(table[:size], weights(before)[name])
    assert (table[size:] == 0.5).all()
    text = ["I go to Shanghai."]
    ids = [r.source_tokenizer.tokenize(text).to_list() for r in (run, before)]
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    "where", ["added_tokens.json", "tokenizer_config.json"]
)
def test_added_tokens_stand_for_themselves(where, base, tmp_path):
    add_rows(base, 1)
    change(base, vocab_size=773, decoder_vocab_size=773)
    if where == "added_tokens.json":
        change(base, where, **{"<brand>": 772})
    else:
        added = {"772": {"content": "<brand>", "special": False}}
        change(base, where, added_tokens_decoder=added)
    run = import_run(base, tmp_path / "run", **LANGUAGES)
    tokenizer = run.source_tokenizer
    new = tokenizer.vocabulary_size - 1
    with_it, without = tokenizer.tokenize(["I <brand> go.", "I go."]).to_list()
    assert [i for i in with_it if i != new] == without
    assert with_it.count(new) == 1


def test_added_tokens_of_m2m100(m2m100, tmp_path):
    add_rows(m2m100, 1)
    change(m2m100, vocab_size=618)
    change(m2m100, "added_tokens.json", **{"<brand>": 617})
    run = import_run(m2m100, tmp_path / "run", **M2M100)
    ids = run.source_tokenizer.tokenize(["I <brand> go."]).to_list()[0]
    assert run.source_tokenizer.tokens()[ids[2]] == "▁<brand>"


@pytest.mark.parametrize("added", [{"<a>": "x"}, {"<a>": -1}, {"\ud800": 772}])
def test_added_tokens_without_an_id_are_refused(added, base):
    change(base, "added_tokens.json", **added)
    with pytest.raises(InputError, match="added tokens aren't text"):
        read_hugging_face(base)


TABLES = (
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)


@pytest.mark.parametrize("name", TABLES)
def test_a_shared_table_may_have_any_of_its_names(
    name, base, import_of, tmp_path
):
    retensor(base, lambda t: t | {name: t.pop(TABLE)})
    run = import_run(base, tmp_path / "run", **LANGUAGES)
    assert_same_weights(run, import_of("base"))


def test_a_tied_output_may_have_its_own_name(copy, import_of, tmp_path):
    folder = copy("separate")
    retensor(folder, lambda t: t | {TABLES[2]: t.pop(TABLES[1])})
    run = import_run(folder, tmp_path / "run", **LANGUAGES)
    assert_same_weights(run, import_of("separate"))


def test_a_table_of_another_value_is_refused(base):
    retensor(base, lambda t: t | {TABLES[2]: t[TABLE] + 1})
    with pytest.raises(InputError, match="lm_head.weight isn't the target's"):
        import_run(base, base.parent / "run", **LANGUAGES)


def shard(folder, count=3, suffix="safetensors", stem="model"):
    """Parts the weights, as `save_pretrained(max_shard_size=...)` does."""
    path = folder / "model.safetensors"
    tensors = safetensors.read(path)
    path.unlink()
    places = {}
    for i in range(count):
        name = f"{stem}-{i + 1:05}-of-{count:05}.{suffix}"
        part = dict([*tensors.items()][i::count])
        safetensors.write(folder / name, part)
        places |= dict.fromkeys(part, name)
    index = folder / f"{stem}.{suffix}.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return index, places


def test_weights_may_lie_in_several_files(base, import_of, tmp_path):
    shard(base)
    run = import_run(base, tmp_path / "run", **LANGUAGES)
    assert_same_weights(run, import_of("base"))
    names = {file["name"] for file in run.manifest["imported"]["files"]}
    assert "model.safetensors.index.json" in names
    assert "model-00003-of-00003.safetensors" in names


def test_pickled_weights_may_lie_in_several_files(base, monkeypatch):
    from keras_transformer.importing import hugging_face

    index, _ = shard(base, suffix="bin", stem="pytorch_model")
    assert index.name == "pytorch_model.bin.index.json"
    monkeypatch.setattr(hugging_face, "read_state_dict", safetensors.read)
    whole = safetensors.read(FIXTURES / "base" / "model.safetensors")
    assert read_hugging_face(base).tensors.keys() >= whole.keys()


@pytest.mark.parametrize(
    ("places", "reason"),
    [
        (None, "no weight_map"),
        ({}, "no weight_map"),
        ({"a": "../model-00001-of-00003.safetensors"}, "names of files beside"),
        ({"a": 3}, "names of files beside"),
        ({"a": ["x"]}, "names of files beside"),
        ({"a": "nothing.safetensors"}, "nothing.safetensors: No such file"),
    ],
)
def test_an_index_that_names_no_files_is_refused(places, reason, base):
    index, _ = shard(base)
    index.write_text(json.dumps({"weight_map": places}))
    with pytest.raises(InputError, match=reason):
        read_hugging_face(base)


def test_a_tensor_in_two_files_is_refused(base):
    _, places = shard(base)
    first, second = sorted({*places.values()})[:2]
    shutil.copyfile(base / first, base / second)
    with pytest.raises(InputError, match="is in another file, too"):
        read_hugging_face(base)


def decoding(**given):
    vocabulary = {"</s>": 0, "<unk>": 1, "▁a": 2, ">>fr<<": 3, "<pad>": 4}
    return search_settings(given, vocabulary)


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
    ],
)
def test_search_settings_without_a_counterpart_are_named(key, value):
    _, left = decoding(**{key: value})
    assert [entry.partition("=")[0] for entry in left] == [key]


def test_a_run_searches_as_its_folder_says(base, tmp_path, capsys):
    change(
        base,
        "generation_config.json",
        no_repeat_ngram_size=2,
        repetition_penalty=1.5,
        min_length=3,
        encoder_repetition_penalty=1.5,
    )
    words = ["import", str(base), "--out", str(tmp_path / "run")]
    assert main(words) == 0
    config = Run.load(tmp_path / "run").config.decoding
    assert config.no_repeat_ngram_size == 2
    assert config.repetition_penalty == 1.5
    assert config.min_length == 2
    said, prefix = capsys.readouterr().err.splitlines()
    assert "Try --source-prefix '>>" in prefix
    assert "warning: " in said
    assert "encoder_repetition_penalty=1.5" in said


@pytest.mark.parametrize("by", ["tokenizer_class", "file"])
def test_small_100_has_the_targets_language_before_the_source(
    by, m2m100, tmp_path
):
    if by == "file":
        (m2m100 / "tokenization_small100.py").write_text("")
    else:
        change(
            m2m100,
            "tokenizer_config.json",
            tokenizer_class="SMALL100Tokenizer",
        )
    run = import_run(m2m100, tmp_path / "run", **M2M100)
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
        change(folder, **{key: size, "decoder_ffn_dim": 32})
        with pytest.raises(
            InputError, match=r"config|model\.|embedding|tensor|no |rows"
        ):
            import_run(folder, tmp_path / "run", **LANGUAGES)
    assert time.process_time() - began < 20


def test_a_table_of_many_rows_and_no_columns_is_refused(m2m100):
    # Such a tensor takes no bytes, whatever its rows.
    retensor(m2m100, lambda t: t | {TABLE: np.zeros((0, 16))})
    path = m2m100 / "model.safetensors"
    content = path.read_bytes().replace(b"[0, 16]", b"[999999999, 0]", 1)
    length = int.from_bytes(content[:8], "little") + 7
    path.write_bytes(length.to_bytes(8, "little") + content[8:])
    with pytest.raises(InputError, match="weight is 999999999 x 0, where"):
        read_hugging_face(m2m100)


def linked(folder, name, outside):
    """Moves a file out of a folder, and leaves a link."""
    (folder / name).rename(outside / "private")
    (folder / name).symlink_to(outside / "private")


@pytest.mark.parametrize(
    "name", ["vocab.json", "source.spm", "model.safetensors", "config.json"]
)
def test_files_of_the_model_that_lie_elsewhere_are_refused(
    name, base, tmp_path
):
    linked(base, name, tmp_path)
    with pytest.raises(InputError, match=f"{name}: a link .*outside"):
        import_run(base, tmp_path / "run", **LANGUAGES)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("secret", [".ssh/id_rsa", "blobs/id_rsa"])
@pytest.mark.parametrize("name", ["README.md", "LICENSE"])
def test_a_notice_of_a_cache_that_lies_elsewhere_is_passed_over(
    secret, name, base, tmp_path
):
    snapshots = tmp_path / "archive" / "snapshots"
    snapshots.mkdir(parents=True)
    folder = base.rename(snapshots / "model")
    private = tmp_path / "archive" / secret
    private.parent.mkdir(exist_ok=True)
    private.write_text("key")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(f"../../{secret}")
    with pytest.warns(UserWarning, match=f"{name}: a link"):
        run = import_run(folder, tmp_path / "run", **LANGUAGES)
    assert not (run.folder / "imported" / name).exists()


def test_the_cache_of_the_hub_is_imported(base, tmp_path):
    """Its files are links to blobs, called by their hashes."""
    repository = tmp_path / "models--x--y"
    snapshot, blobs = repository / "snapshots" / "main", repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, path in enumerate(sorted(base.iterdir())):
        name = f"{number:040x}" if number % 2 else f"{number:064x}"
        path.rename(blobs / name)
        (snapshot / path.name).symlink_to(f"../../blobs/{name}")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        run = import_run(snapshot, tmp_path / "run", **LANGUAGES)
    assert (run.folder / "imported" / "README.md").is_file()
