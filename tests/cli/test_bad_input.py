"""Bad input gets one line that names it, exit 2, and harms nothing."""

import bz2
import contextlib
import errno
import json
import lzma
import os
import resource
import shutil
import sys

import pytest

from keras_transformer.cli.main import main
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.data.prepared import sealed
from keras_transformer.text.word import WordTokenizer
from tests.cli.conftest import DATA_OPTIONS, TRAIN_OPTIONS, start


@pytest.fixture
def prepare(refuses, tmp_path):
    """Prepares a TSV of the given bytes, and expects a refusal."""

    def check(content, *options, says):
        path = tmp_path / "corpus.tsv"
        path.write_bytes(content)
        out = tmp_path / "data"
        command = ["prepare", "--train", path, "--out", out]
        refuses(*command, *DATA_OPTIONS, *options, says=says)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["corpus.tsv"]

    return check


@contextlib.contextmanager
def files_of_at_most(size):
    """No file of this process grows any larger: a full disk, as it were."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        # What is imported now would stay behind, cut off.
        patch.setattr(sys, "dont_write_bytecode", True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture
def copy(run, tmp_path):
    """The trained run's copy, to be damaged."""
    return shutil.copytree(run, tmp_path / "run")


def test_missing_corpus(refuses, tmp_path):
    path = tmp_path / "no.tsv"
    command = ["prepare", "--train", path, "--out", tmp_path / "data"]
    refuses(*command, says=[path, "No such file"])


def test_a_folder_as_corpus(refuses, tmp_path):
    command = ["prepare", "--train", tmp_path, "--out", tmp_path / "data"]
    refuses(*command, says=[tmp_path])


def test_a_line_with_one_column(prepare):
    prepare(b"a\tb\nalone\n", says=["corpus.tsv", "line 2"])


def test_invalid_utf8(prepare):
    prepare(b"a\tb\nc\t\xff\xfe\n", says=["corpus.tsv", "line 2", "UTF-8"])


@pytest.mark.parametrize(
    ("compress", "kind"), [(lzma.compress, "xz"), (bz2.compress, "bzip2")]
)
def test_another_compression(refuses, tmp_path, compress, kind):
    path = tmp_path / "train.tsv"
    path.write_bytes(compress(b"one\ttwo\n" * 99))
    words = ["prepare", "--train", path, "--out", tmp_path / "data"]
    says = [path, f"compressed as {kind}. Accepted: text in UTF-8, plain or"]
    refuses(*words, says=says)


def test_two_dev_sets(refuses, tmp_path, corpus):
    words = ["prepare", "--train", corpus / "train.tsv", "--out", tmp_path]
    dev = ["--dev", corpus / "dev.tsv", "--dev", "0.1"]
    refuses(*words, *dev, says=["--dev is given 2 times. Accepted: one file"])


def test_empty_corpus(prepare):
    prepare(b"", says=["corpus.tsv"])


def test_corpus_all_filtered_out(prepare):
    prepare(b"a\t\n\tb\n", says=["empty", "2"])


def test_width_not_divisible_by_heads(data, refuses, tmp_path):
    out = tmp_path / "run"
    command = ["train", "--data", data, "--out", out]
    refuses(
        *command,
        "--set=model.d_model=30",
        says=["model.d_model", "model.num_heads (4)", "30"],
    )
    assert not out.exists()


def test_unknown_key_in_a_file(data, refuses, tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("model:\n  d_modle: 32\n")
    command = ["train", "--data", data, "--out", tmp_path / "run"]
    refuses(
        *command,
        *("--config", path),
        says=[path, "model.d_modle", "did you mean model.d_model?"],
    )


def test_a_file_that_is_no_yaml(data, refuses, tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("model:\n  d_model: [1\n")
    command = ["train", "--data", data, "--out", tmp_path / "run"]
    refuses(*command, "--config", path, says=[path, "line"])


def test_a_value_of_the_wrong_type(data, refuses, tmp_path):
    command = ["train", "--data", data, "--out", tmp_path / "run"]
    refuses(
        *command,
        "--set=model.d_model=wide",
        says=["model.d_model takes an integer", "'wide'"],
    )
    says = ["--epochs: training.epochs takes an integer", "'many'"]
    refuses(*command, "--epochs=many", says=says)


def test_unknown_preset(data, refuses, tmp_path):
    command = ["train", "--data", data, "--out", tmp_path / "run"]
    refuses(
        *command, "--preset=huge", says=["'huge'", "notebook", "base", "small"]
    )


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "--input", "dev.tsv", "--run"],
        ["export", "--out", "models", "--run"],
        ["translate", "--input", os.devnull, "--run"],
        ["info"],
    ],
    ids=lambda command: command[0],
)
def test_a_folder_that_is_no_run(refuses, tmp_path, command):
    refuses(*command, tmp_path, says=[tmp_path])


def test_a_folder_that_is_no_data(refuses, tmp_path):
    command = ["train", "--out", tmp_path / "run", "--data", tmp_path]
    refuses(*command, says=[tmp_path, "prepare"])


def test_a_folder_that_is_no_export(refuses, tmp_path):
    command = ["translate", "--input", os.devnull, "--saved-model", tmp_path]
    refuses(*command, says=[tmp_path, "saved_model.pb"])


def test_a_run_is_never_overwritten(data, run, refuses):
    before = (run / "manifest.json").read_bytes()
    command = ["train", "--data", data, "--out", run]
    refuses(*command, *TRAIN_OPTIONS, says=[run])
    assert (run / "manifest.json").read_bytes() == before


def test_damaged_shard(data, refuses, tmp_path):
    broken = shutil.copytree(data, tmp_path / "data")
    shard = next(broken.glob("train-*.tfrecord"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 0xFF
    shard.write_bytes(content)
    command = ["train", "--data", broken, "--out", tmp_path / "run"]
    refuses(*command, *TRAIN_OPTIONS, says=[shard.name, "damaged"])


def test_truncated_shard(data, refuses, tmp_path):
    broken = shutil.copytree(data, tmp_path / "data")
    shard = next(broken.glob("train-*.tfrecord"))
    shard.write_bytes(shard.read_bytes()[:-10])
    command = ["train", "--data", broken, "--out", tmp_path / "run"]
    refuses(*command, *TRAIN_OPTIONS, says=[shard.name, "damaged"])


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty"])
def test_damaged_weights(copy, corpus, refuses, damage):
    path = copy / "weights" / "best.weights.h5"
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[-100] ^= 0xFF
    path.write_bytes(
        {"flip": content, "truncate": content[:-50]}.get(damage, b"")
    )
    command = ["evaluate", "--run", copy, "--input", corpus / "dev.tsv"]
    refuses(*command, says=[path, "damaged"])


def test_weights_that_are_no_weights_and_have_no_notes(copy, corpus, refuses):
    path = copy / "weights" / "best.weights.h5"
    path.write_bytes(b"not an HDF5 file")
    (copy / "weights" / "best.json").unlink()
    command = ["evaluate", "--run", copy, "--input", corpus / "dev.tsv"]
    refuses(*command, says=[path, "damaged"])


def test_damaged_checkpoint(copy, data, refuses):
    path = copy / "checkpoint.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    command = ["train", "--data", data, "--out", copy, "--resume"]
    refuses(*command, "--epochs=2", says=[path, "damaged"])


def test_a_tokenizer_that_does_not_fit_the_weights(copy, corpus, refuses):
    folder = copy / "target_tokenizer"
    shutil.rmtree(folder)
    WordTokenizer([*SPECIAL_TOKENS, "other"]).save(folder)
    command = ["evaluate", "--run", copy, "--input", corpus / "dev.tsv"]
    refuses(*command, says=[folder, "doesn't fit the run's weights"])


def test_missing_test_set(run, refuses, tmp_path):
    path = tmp_path / "no.tsv"
    refuses("evaluate", "--run", run, "--input", path, says=[path])


def test_empty_test_set(run, refuses, tmp_path):
    path = tmp_path / "empty.tsv"
    path.touch()
    refuses("evaluate", "--run", run, "--input", path, says=[path])


def test_translate_names_the_line_that_is_no_utf8(run, refuses, tmp_path):
    path = tmp_path / "in.txt"
    path.write_bytes(b"one\ntwo\n\xff\n")
    out = tmp_path / "out.txt"
    options = ["--input", path, "--output", out]
    refuses("translate", "--run", run, *options, says=[path, "line 3"])
    assert not out.exists()


def test_translate_of_an_argument_that_is_no_utf8(run, refuses):
    text = os.fsdecode(b"caf\xe9")
    says = ["TEXT: not UTF-8", r"caf\udce9"]
    for options in ([], ["--json"]):
        refuses("translate", "--run", run, *options, text, says=says)


def test_translate_of_a_missing_file(run, refuses, tmp_path):
    path = tmp_path / "no.txt"
    refuses("translate", "--run", run, "--input", path, says=[path])


def test_translate_where_nothing_can_be_written(run, refuses, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("one two\n")
    words = ["translate", "--run", run, "--input", source, "--output"]
    refuses(*words, source, says=[source, "is read, too"])
    assert source.read_text() == "one two\n"
    missing = tmp_path / "no folder" / "out.txt"
    refuses(*words, missing, says=[missing, "no such folder"])
    refuses(*words, tmp_path, says=[tmp_path, "is a folder. Accepted: a file"])


@pytest.mark.parametrize("shards", [[], ["--shards=2"]])
def test_translate_spares_all_that_it_reads(run, refuses, tmp_path, shards):
    words = ["translate", "--run", run, *shards]
    for option in ("--input", "--prefix", "--shortlist"):
        read = tmp_path / f"{option}.txt"
        read.write_text("one two\tthree\n")
        other = tmp_path / "in.txt"
        other.write_text("one two\n")
        given = [] if option == "--input" else ["--input", other]
        output = ["--output", tmp_path / "." / read.name]
        says = [read.name, "is read, too"]
        refuses(*words, *given, option, read, *output, says=says)
        assert read.read_text() == "one two\tthree\n"


def test_an_export_never_overwrites_a_version(run, refuses, tmp_path):
    (tmp_path / "1").mkdir()
    options = ["--out", tmp_path, "--model-version", "1"]
    refuses("export", "--run", run, *options, says=["1"])
    assert list((tmp_path / "1").iterdir()) == []


def test_translate_to_a_full_disk_leaves_no_output(run, refuses, tmp_path):
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("one two three four\n" * 300)
    command = ["translate", "--run", run, "--input", source, "--output", out]
    options = ["--beam-size=1", "--workers=1"]
    with files_of_at_most(1000):
        refuses(*command, *options, says=["out.txt", os.strerror(errno.EFBIG)])
    assert list(tmp_path.iterdir()) == [source]


def test_a_run_that_has_begun(data, run, refuses):
    refuses("train", "--data", data, "--out", run, says=[str(run), "--resume"])


def test_a_refused_resume_changes_nothing(data, run, refuses, tmp_path):
    before = (run / "config.yaml").read_bytes()
    words = ["train", "--resume", "--epochs=77", "--out", run, "--data"]
    refuses(*words, tmp_path / "none", says=["none"])
    other = tmp_path / "data"
    shutil.copytree(data, other)
    manifest = json.loads((other / "manifest.json").read_text())
    manifest["fingerprint"] = "0" * 64
    (other / "manifest.json").write_text(json.dumps(sealed(manifest)))
    refuses(*words, other, says=["not the data that", str(run)])
    assert (run / "config.yaml").read_bytes() == before


def test_a_run_killed_before_its_first_checkpoint(data, run, refuses, tmp_path):
    folder = tmp_path / "run"
    names = shutil.ignore_patterns("checkpoint.npz", "weights", "history*")
    shutil.copytree(run, folder, ignore=names)
    words = ["train", "--data", data, "--out", folder]
    refuses(*words, says=[folder, "a run that has begun", "--resume"])


def test_data_where_a_run_is_wanted(data, refuses, tmp_path):
    command = ["export", "--run", data, "--out", tmp_path / "out"]
    refuses(*command, says=[f"{data}: prepared data, not a run"])


def test_the_name_of_a_language_for_its_tag(corpus, refuses, tmp_path):
    command = ["prepare", "--train", corpus / "train.tsv", "--out"]
    command += [tmp_path / "out", "--source-language=english"]
    refuses(*command, says=["source_language", "'english'", "english is en"])


def test_a_beam_of_zero(run, corpus, refuses):
    command = ["evaluate", "--run", run, "--input", corpus / "dev.tsv"]
    refuses(*command, "--beam-size=0", says=["decoding.beam_size", "0"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["train"], "--data"),
        (["trian"], "unknown command trian (did you mean train?)"),
        (["xyz"], "unknown command xyz."),
        (["train", "--lr=1"], "mean --set training.learning_rate=...?"),
        (["train", "--warmup-steps", "9"], "--set training.warmup_steps=..."),
        (["evaluate", "--lr=1"], "unknown option --lr."),
        (["train", "--dta", "d", "--out=r"], "--dta (did you mean --data?)"),
        (["versions", "m", "prune", "--kep=1"], "--kep (did you mean --keep?)"),
        (["serve", "--zzz"], "unknown option --zzz."),
    ],
)
def test_bad_usage_is_one_line_and_exits_with_2(capsys, words, says):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert "--help" in line


@pytest.mark.parametrize(
    "step",
    [
        "prepare",
        "train",
        pytest.param("checkpoint", marks=pytest.mark.slow),
        pytest.param("export", marks=pytest.mark.slow),
    ],
)
def test_disk_full_leaves_nothing_half_written(
    step, corpus, data, run, refuses, tmp_path
):
    out = tmp_path / "out"
    train = ["train", "--data", data, *TRAIN_OPTIONS]
    command, limit = {
        "prepare": (
            ["prepare", "--train", corpus / "train.tsv", *DATA_OPTIONS],
            2_000,
        ),
        # Weights are written before the first checkpoint, as mostly.
        "train": ([*train, "--set=training.checkpoint_every=500"], 20_000),
        "checkpoint": (train, 20_000),
        "export": (["export", "--run", run], 20_000),
    }[step]
    if step in ("checkpoint", "export"):
        process = start(*command, "--out", out, limit_file_size=limit)
        _, err = process.communicate()
        assert process.returncode == 2, err
        last = err.splitlines()[-1]
        assert last.startswith("keras-transformer: error: ")
        assert "Traceback" not in err
    else:
        with files_of_at_most(limit):
            last = refuses(*command, "--out", out, says=[])
    assert any(
        reason in last
        for reason in ("disk", os.strerror(errno.EFBIG), str(out))
    )
    left = [p for p in tmp_path.rglob("*") if "tmp" in p.name]
    assert left == []
    if step in ("train", "checkpoint"):
        # What had been finished before stands and is sound.
        json.loads((out / "manifest.json").read_text())
        assert not (out / "checkpoint.npz").exists()
    else:
        assert not out.exists() or list(out.iterdir()) == []


@pytest.mark.parametrize("ending", ["bz2", "xz", "zst", "lzma", "zip", "Z"])
@pytest.mark.parametrize("command", ["translate --output", "evaluate --report"])
def test_an_output_of_a_compression_that_is_not_written(
    refuses, corpus, tmp_path, command, ending
):
    name, option = command.split()
    path = tmp_path / f"out.{ending}"
    words = [name, "--run", "no-run", "--input", corpus / "dev.tsv"]
    refuses(*words, option, path, says=[path, "Accepted: ", ".gz"])


def test_shards_are_joined_to_plain_text(refuses, corpus, tmp_path):
    words = ["translate", "--run=no-run", "--input", corpus / "dev.tsv"]
    out = tmp_path / "out.gz"
    refuses(*words, "--shards=2", "--output", out, says=["--shards", out])
