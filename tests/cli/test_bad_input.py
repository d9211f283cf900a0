"""Bad input gets one line that names it, exit 2, and harms nothing."""

import bz2
import json
import os
import shutil

import pytest

from keras_transformer.cli.main import main
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.data.prepared import sealed
from keras_transformer.text.word import WordTokenizer


@pytest.fixture
def copy(run, tmp_path):
    """The trained run's copy, to be damaged."""
    return shutil.copytree(run, tmp_path / "run")


# Files that the commands below read, in `{tmp}`.
FILES = {
    "empty.tsv": b"",
    "alone.tsv": b"a\tb\nalone\n",
    "latin.tsv": b"a\tb\nc\t\xff\xfe\n",
    "blank.tsv": b"a\t\n\tb\n",
    "bzip2.tsv": bz2.compress(b"one\ttwo\n" * 99),
    "latin.txt": b"one\ntwo\n\xff\n",
    "in.txt": b"one two\n",
    "key.yaml": b"model:\n  d_modle: 32\n",
    "open.yaml": b"model:\n  d_model: [1\n",
    "text.yaml": b"hello world",
}
LANGUAGES = "--source-language en --target-language zh"
READ = f"prepare {LANGUAGES} --out {{tmp}}/new --train"
PREPARE = f"{READ} {{corpus}}/train.tsv"
TRAIN = "train --data {data} --out {tmp}/new"
EVALUATE = "evaluate --run {run} --input {corpus}/dev.tsv"
TRANSLATE = "translate --run {run} --input {tmp}/in.txt"
OUTPUT = "--output {tmp}/new"
SHARDS = f"{TRANSLATE} --shards=2 {OUTPUT}"
EXPORT = "export --run {run} --out {tmp}/new"
DISTILL = "distill --teacher {run} --data {data} --out {tmp}/new --beam-size=2"
TUNE = "prepare --train {corpus}/train.tsv --out {tmp}/new --tokenizers"
HOSTS = f"{TRAIN} --backend=jax"
BY_HAND = f"{HOSTS} --coordinator=h:1 --num-processes=2 --process-id=0"
# A command, and what its one line says, with | between parts.
REFUSED = [
    (
        "prepare --out {tmp}/new --train {corpus}/train.tsv",
        "the source and the target language must be named|--source-language",
    ),
    (
        "train --print-config",
        "preset auto goes by the data|--data FOLDER|tatoeba",
    ),
    (f"{READ} {{tmp}}/no.tsv", "no.tsv|No such file"),
    (f"{READ} {{tmp}}", "{tmp}"),
    (f"{READ} {{tmp}}/alone.tsv", "alone.tsv|line 2"),
    (f"{READ} {{tmp}}/latin.tsv", "line 2|UTF-8"),
    (f"{READ} {{tmp}}/empty.tsv", "empty.tsv"),
    (f"{READ} {{tmp}}/blank.tsv", "empty|2"),
    (f"{READ} {{tmp}}/bzip2.tsv", "compressed as bzip2"),
    (f"{READ} {{corpus}}/train.tsv*0", "weight 0. Accep"),
    (f"{PREPARE} --dev {{corpus}}/dev.tsv --dev 0.1", "given 2 times|one file"),
    (f"{PREPARE} --dev=200", "or a file; for 200 pairs of a million, 0.0002"),
    (f"{PREPARE} --source-language=English", "language tag; English is en."),
    (f"{PREPARE} --target-language=german", "german is de"),
    (f"{PREPARE} --target-language=klingon", "such as en, zh or pt-BR"),
    (f"{PREPARE} --preset=tini", "did you mean 'tiny'?"),
    (f"{PREPARE} --master=local[2]", "--master goes with --engine spark"),
    (f"{PREPARE} --engine=spark --workers=2", "--workers goes with --engine"),
    (
        f"{PREPARE} --target-language=de --preset=tiny "
        "--set=data.source_vocabulary_size=60",
        "data.source_vocabulary_size 60|size 10000. Accepted: the sa",
    ),
    (
        f"{TUNE} {{run}} --target-language=de",
        "data.target_language is 'en' there, 'de' here",
    ),
    (f"{TUNE} {{tmp}}", "{tmp}|manifest.json"),
    ("train --data {data}", "--data FOLDER and --out FOLDER|--print-config"),
    (f"{TRAIN} --set=model.d_model=30", "model.d_model|model.num_heads (4)|30"),
    (f"{TRAIN} --epochs=many", "--epochs: training.epochs takes an|'many'"),
    (f"{TRAIN} --preset=huge", "'huge'|notebook|base|tiny"),
    (f"{TRAIN} --config {{tmp}}/key.yaml", "key.yaml|mean model.d_model?"),
    (f"{TRAIN} --config {{tmp}}/open.yaml", "open.yaml|line"),
    (f"{TRAIN} --config {{tmp}}/text.yaml", "expected 'key: value' lines"),
    ("train --out {tmp}/new --data {tmp}", "{tmp}|prepare"),
    ("train --data {data} --out {run}", "{run}|--resume"),
    (
        "train --data {data} --out {run} --resume --from elsewhere",
        "was started from random weights|elsewhere",
    ),
    (
        "train --data {data} --out {run} --resume --set=training.seed=77",
        "training.seed 77 (the run has 1)|None was taken",
    ),
    (
        "train --data {data} --out {run} --resume --set=model.d_ff=64",
        "model.d_ff 64 (the run has 32)|None was taken",
    ),
    (f"{BY_HAND} --backend=tensorflow", "--backend jax"),
    (f"{TRAIN} --hosts=auto --backend=tensorflow", "--hosts: several"),
    (f"{HOSTS} --coordinator=h:1", "--num-processes and --process-id"),
    (f"{HOSTS} --process-id=1", "needs --coordinator"),
    (f"{BY_HAND} --hosts=slurm", "--hosts slurm says"),
    (f"{BY_HAND} --num-processes=0", "--num-processes|0"),
    (f"{BY_HAND} --process-id=2", "--process-id must be 0 to 1"),
    (f"{BY_HAND} --process-id=-1", "Received: -1"),
    (f"{BY_HAND} --coordinator=h", "HOST:PORT|Received: h"),
    (f"{BY_HAND} --coordinator=h:0", "1 to 65535"),
    (f"{BY_HAND} --coordinator=::1:80000", "1 to 65535"),
    (f"{BY_HAND} --join-timeout=0", "--join-timeout|0"),
    (f"{HOSTS} --join-timeout=5", "--join-timeout is for hosts"),
    ("evaluate --input {corpus}/dev.tsv --run {tmp}", "{tmp}"),
    ("evaluate --run {run} --input {tmp}/no.tsv", "no.tsv"),
    ("evaluate --run {run} --input {tmp}/empty.tsv", "empty.tsv"),
    ("evaluate --run {run} --input {tmp}/blank.tsv", "no sentence pair to e"),
    (f"{EVALUATE} --beam-size=0", "--beam-size: decoding.beam_size|0"),
    (
        f"{EVALUATE} --weights=average",
        "average.weights.h5|training.average_epochs",
    ),
    ("score --run {run} --input {tmp}/no.tsv", "no.tsv"),
    ("score --run {run} --input {tmp}/empty.tsv", "empty.tsv: empty"),
    ("score --run {run} --input {tmp}/alone.tsv", "line 2|one column"),
    ("score --run {run} --input {tmp}/latin.tsv", "line 2|UTF-8"),
    ("score --run {tmp}/no --input {tmp}/in.txt", "{tmp}/no"),
    ("score --saved-model {tmp}/no --input {tmp}/in.txt", "{tmp}/no"),
    ("export --out {tmp}/new --run {tmp}", "{tmp}"),
    ("export --out {tmp}/new --run {data}", "{data}: prepared data, not a run"),
    (f"{EXPORT} --precision=auto", "precision auto needs a dev set (--dev"),
    (f"{EXPORT} --dev=x.tsv", "(--dev) goes with precision auto or int8"),
    (
        f"{EXPORT} --format=keras --model-version=2",
        "version goes with format None or 'tfserv",
    ),
    (f"{EXPORT} --format=keras --precision=bfloat16", "precision goes with"),
    (f"{EXPORT} --format=keras --quantization=int8", "goes with format 'ctra"),
    (f"{EXPORT} --format=keras --beam-size=2", "decoding goes with format"),
    ("export", "--run|--out|--verify-only"),
    ("export --run r", "--run FOLDER and --out FOLDER"),
    ("export --verify-only x --out y", "--out can't|--json"),
    ("export --verify-only x --beam-size=2", "--beam-size can't"),
    ("export --verify-only no/such", "no/such doesn't exist"),
    ("distill --teacher {data} --data {data} --out {tmp}/new", "not a run"),
    ("distill --teacher {tmp} --data {data} --out {tmp}/new", "not a run f"),
    (f"{DISTILL} --out={{tmp}}", "exists and isn't empty"),
    (f"{DISTILL} --n-best=3", "n-best must be 1 to 2, the beam size|3"),
    (f"{DISTILL} --n-best=0", "n-best must be 1 to 2|0"),
    (f"{DISTILL} --mix=1", "ORIGINAL:TRANSLATED|Received: 1"),
    (f"{DISTILL} --mix=1:0", "ORIGINAL:TRANSLATED|Received: 1:0"),
    (f"{DISTILL} --mix=nan:1", "ORIGINAL:TRANSLATED|nan"),
    (f"{DISTILL} --mix=1:1e9", "1:1e9"),
    (f"{DISTILL} --workers=0", "--workers: must be 1 or more"),
    (f"{DISTILL} --retries=-1", "--retries: must be 0 or more"),
    (f"{DISTILL} --out=gs://bucket/x", "an address"),
    ("versions {tmp}/no list", "{tmp}/no doesn't exist"),
    ("info {tmp}", "{tmp}: no prepared data, run, export"),
    ("translate --input {tmp}/in.txt --run {tmp}", "{tmp}"),
    ("translate --input {tmp}/in.txt --saved-model {tmp}", "saved_model.pb"),
    ("translate --run {run} --input {tmp}/no.txt", "no.txt"),
    (f"translate --run {{run}} --input {{tmp}}/latin.txt {OUTPUT}", "line 3"),
    (f"{TRANSLATE} --output {{tmp}}/in.txt", "in.txt is read, too"),
    (f"{TRANSLATE} --output {{tmp}}/a/b", "a/b|no such folder"),
    (f"{TRANSLATE} --output {{tmp}}", "is a folder. Accepted: a file"),
    (f"{TRANSLATE} --shard=1", "--shard goes with --shards"),
    (f"{TRANSLATE} --join", "--join goes with --shards"),
    (f"{TRANSLATE} --retries=1", "--retries goes with --shards"),
    (f"{TRANSLATE} --shards=0", "--shards: must be 1 or more|0"),
    (f"{TRANSLATE} --shards=2", "--shards needs --output"),
    (f"{TRANSLATE} --shards=2 --output {{tmp}}/o.gz", "--shards|o.gz"),
    (f"{TRANSLATE} --shards=2 --output {{tmp}}", "a folder. Accepted: a file"),
    (f"{SHARDS} --shard=2", "--shard|0 to 1|2"),
    (f"{SHARDS} --shard=x", "--shard|0 to 1|x"),
    (f"{SHARDS} --retries=-1", "--retries|-1"),
    (f"{SHARDS} --join --shard=1", "--join"),
    (f"{SHARDS} --join", "new.shards: isn't there"),
    (f"translate --run {{run}} --shards=2 {OUTPUT}", "--shards needs --input"),
    (
        f"translate --server=x --input {{tmp}}/in.txt --shards=2 {OUTPUT}",
        "--shards goes with --run or --saved-model or",
    ),
    (f"{TRANSLATE} --run={{tmp}}/no --shards=2 {OUTPUT}", "no|No such"),
    (f"{TRANSLATE} --workers=0", "--workers: must be 1 or more|0"),
    (f"{TRANSLATE} --set=decoding.beem_size=2", "--set|decoding.beam_size?"),
    (f"{TRANSLATE} --set=decoding.banned_tokens=[nine]", "banned_tok|'nine'"),
    (f"{TRANSLATE} --n-best=5", "--n-best|1 to 4|5"),
    (
        f"{TRANSLATE} --n-best=2 --set=decoding.sampling=true",
        "--n-best|sampling",
    ),
    (f"{TRANSLATE} --prefix=no.txt", "no.txt|No such file"),
    ("translate --run {run} --input=x aaa", "TEXT"),
    ("translate --run {run} --shards=2 aaa", "TEXT"),
]


@pytest.mark.parametrize(("command", "says"), REFUSED)
def test_refused_in_one_line(
    command, says, data, run, corpus, refuses, tmp_path
):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    manifest = (run / "manifest.json").read_bytes()
    places = {"data": data, "run": run, "corpus": corpus, "tmp": tmp_path}
    words = [word.format(**places) for word in command.split()]
    refuses(*words, says=says.format(**places).split("|"))
    assert {path.name for path in tmp_path.iterdir()} == FILES.keys()
    assert (tmp_path / "in.txt").read_bytes() == FILES["in.txt"]
    assert (run / "manifest.json").read_bytes() == manifest


def flip(content):
    content = bytearray(content)
    content[len(content) // 2] ^= 0xFF
    return bytes(content)


@pytest.mark.parametrize(
    ("damage", "notes"),
    [
        (lambda content: content[:-100] + flip(content[-100:]), True),
        (lambda content: content[:-50], True),
        (lambda content: b"", True),
        (lambda content: b"not an HDF5 file", False),
    ],
)
def test_damaged_weights(copy, corpus, refuses, damage, notes):
    path = copy / "weights" / "best.weights.h5"
    path.write_bytes(damage(path.read_bytes()))
    if not notes:
        (copy / "weights" / "best.json").unlink()
    command = ["evaluate", "--run", copy, "--input", corpus / "dev.tsv"]
    says = "damaged" if notes else "without a checksum"
    refuses(*command, says=[path, says, "best.json"])


def test_damaged_checkpoint(copy, data, refuses):
    path = copy / "checkpoint.npz"
    path.write_bytes(flip(path.read_bytes()))
    command = ["train", "--data", data, "--out", copy, "--resume"]
    refuses(*command, "--epochs=2", says=[path, "damaged"])


def test_a_tokenizer_that_does_not_fit_the_weights(copy, corpus, refuses):
    folder = copy / "target_tokenizer"
    shutil.rmtree(folder)
    WordTokenizer([*SPECIAL_TOKENS, "other"]).save(folder)
    command = ["evaluate", "--run", copy, "--input", corpus / "dev.tsv"]
    refuses(*command, says=[folder, "doesn't fit the run's weights"])


def test_translate_of_an_argument_that_is_no_text(run, refuses, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("one")
    for text, says in (
        (os.fsdecode(b"caf\xe9"), ["TEXT: not UTF-8", r"caf\udce9"]),
        (path, ["is a file's name. Accepted: --input, or a text"]),
    ):
        refuses("translate", "--run", run, text, says=says)


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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("trian", "invalid choice: 'trian' (choose from 'demo', 'prepare', "),
        ("train --lr=1", "--lr=1. See keras-transformer train --help"),
        (
            "versions m prune --kep=1",
            "--kep=1. See keras-transformer versions BASE prune --help",
        ),
        ("translate --run=r --workers=two", "invalid integer value: 'two'"),
    ],
)
def test_bad_usage_is_one_line_and_exits_with_2(capsys, words, says):
    with pytest.raises(SystemExit) as stop:
        main(words.split())
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert "--help" in line


@pytest.mark.parametrize("ending", ["bz2", "xz", "zst", "lzma", "zip", "Z"])
@pytest.mark.parametrize("command", ["translate --output", "evaluate --report"])
def test_an_output_of_a_compression_that_is_not_written(
    refuses, corpus, tmp_path, command, ending
):
    name, option = command.split()
    path = tmp_path / f"out.{ending}"
    words = [name, "--run", "no-run", "--input", corpus / "dev.tsv"]
    refuses(*words, option, path, says=[path, "Accepted: ", ".gz"])
