"""Bad input gets one line that names it, exit 2, and harms nothing."""

import bz2
import json
import os
import shutil

import pytest

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
RESUME = "train --data {data} --out {run} --resume"
EVALUATE = "evaluate --run {run} --input {corpus}/dev.tsv"
TRANSLATE = "translate --run {run} --input {tmp}/in.txt"
OUTPUT = "--output {tmp}/new"
CUT = "translate-shards --run {run} --input {tmp}/in.txt"
SHARDS = f"{CUT} --shards=2 {OUTPUT}"
EXPORT = "export --run {run} --out {tmp}/new"
DISTILL = "distill --teacher {run} --data {data} --out {tmp}/new --beam-size=2"
TUNE = "prepare --train {corpus}/train.tsv --out {tmp}/new --tokenizers"
FROM = f"{TRAIN} --from {{run}}"
EXPORTED = "translate --saved-model {export} --input {tmp}/in.txt"
SERVER = "translate --input {tmp}/in.txt --server"
HTTP, GRPC = (f"{SERVER} {kind}://127.0.0.1:1" for kind in ("http", "grpc"))
EMBEDDED = "serve {tmp} --engine=embedded"
# Of digits, or of letters.
HUGE, LONG = "9" * 6000, "x" * 10**6
NO_TEXT = "must not be empty"
NO_TIME = "takes a finite number of seconds"
HOSTS = f"{TRAIN} --backend=jax"
BY_HAND = f"{HOSTS} --coordinator=h:1 --num-processes=2 --process-id=0"
# A command, and what its one line says, with | between parts.
REFUSED = [
    ("prepare --out {tmp}/new --train {corpus}/train.tsv", "be named|--sour"),
    ("train --print-config", "auto goes by the data|--data FOLDER|tatoeba"),
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
    (f"{TUNE} {{run}} --target-language=de", "is 'en', not 'de'"),
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
    (f"{RESUME} --from elsewhere", "started from random weights|elsewhere"),
    (f"{RESUME} --set=training.seed=77", "seed 77 (the run has 1)|None was"),
    (f"{RESUME} --set=model.d_ff=64", "d_ff 64 (the run has 32)|None was"),
    (f"{BY_HAND} --backend=tensorflow", "--backend jax"),
    (f"{TRAIN} --hosts=auto --backend=tensorflow", "--hosts: several"),
    (f"{HOSTS} --coordinator=h:1", "--num-processes and --process-id"),
    (f"{HOSTS} --process-id=1", "needs --coordinator"),
    (f"{BY_HAND} --hosts=slurm", "--hosts slurm already"),
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
    (f"{EVALUATE} --weights=average", "average.weights.h5|average_epochs"),
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
    (f"{EXPORT} --format=keras --model-version=2", "goes with format None"),
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
    (f"{TRANSLATE} --markup=project --prefix=x", "doesn't go with --prefix"),
    (f"{CUT} {OUTPUT}", "--shards"),
    (f"{CUT} --shards=0", "--shards: must be 1 or more|0"),
    (f"{CUT} --shards=2", "--output"),
    (f"{CUT} --shards=2 --output {{tmp}}/o.gz", "plain text|o.gz"),
    (f"{CUT} --shards=2 --output {{tmp}}", "a folder. Accepted: a file"),
    (f"{SHARDS} --shard=2", "--shard|0 to 1|2"),
    (f"{SHARDS} --shard=x", "--shard|0 to 1|x"),
    (f"{SHARDS} --retries=-1", "--retries|-1"),
    (f"{SHARDS} --join --shard=1", "--join"),
    (f"{SHARDS} --join", "new.shards: isn't there"),
    (f"{SHARDS} --server=http://h:1", "unrecognized arguments: --server"),
    (f"{SHARDS} --run={{tmp}}/no", "no|No such"),
    (f"{SHARDS} --n-best=5", "--n-best|1 to 4|5"),
    (f"{TRANSLATE} --workers=0", "--workers: must be 1 or more|0"),
    (f"{TRANSLATE} --set=decoding.beem_size=2", "--set|decoding.beam_size?"),
    (f"{TRANSLATE} --set=decoding.banned_tokens=[nine]", "banned_tok|'nine'"),
    (f"{TRANSLATE} --n-best=5", "--n-best|1 to 4|5"),
    (f"{TRANSLATE} --n-best=2 --set=decoding.temperature=1", "--n-best|samp"),
    (f"{TRANSLATE} --prefix=no.txt", "no.txt|No such file"),
    ("translate --run {run} --input=x aaa", "TEXT"),
    (f"{SHARDS} aaa", "unrecognized arguments: aaa"),
    (f"{SHARDS} --master=x", "--master goes with"),
    (f"{SHARDS} --engine=spark --shard=1", "--engine spark does all shards"),
    (f"{SHARDS} --engine=spark --workers=1", "--workers goes with --engine l"),
    # What is up to an export, to a server, and what nothing else has.
    (f"{EXPORTED} --n-best=2 --beam-size=1", "beam-size"),
    *(
        (f"{EXPORTED} {option}", option.partition("=")[0].lstrip("-"))
        for option in (
            *("--set=decoding.top_k=3", "--alignment", "--token-scores"),
            *("--n-best=9", "--ensemble=other", "--shortlist=pairs.tsv"),
        )
    ),
    *(
        (f"{EXPORTED} {option}=1", f"{option}|with --server")
        for option in ("--model", "--version", "--label", "--timeout")
    ),
    *(
        (f"{HTTP} {option}", option.partition("=")[0])
        for option in (
            *("--weights=best", "--set=decoding.top_k=3", "--beam-size=2"),
            *("--workers=2", "--threads=2", "--alignment", "--token-scores"),
            *("--prefix=x", "--ensemble=x", "--shortlist=x"),
        )
    ),
    (f"{FROM} --set=model.d_ff=64", "{run}|model.d_ff is 32 there, 64 here"),
    (f"{FROM} --preset=tatoeba", "model.d_model is 16 there, 256 here"),
    (f"{TRAIN} --from {{data}}", "{data}|prepared data, not a run"),
    # Usage, and values that nothing takes.
    ("trian", "invalid choice: 'trian' (choose from 'demo', 'prep|--help"),
    ("train --lr=1", "--lr=1. See keras-transformer train --help"),
    ("versions m prune --kep=1", "--kep=1. See |versions BASE prune --help"),
    ("translate --run=r --workers=two", "invalid integer value: 'two'|--help"),
    # As a shell makes of a variable that isn't set.
    (f"{TRAIN} --config ''", NO_TEXT),
    (f"{TRAIN} --preset=", NO_TEXT),
    ("translate --saved-model '' text", NO_TEXT),
    (f"{SERVER} ''", NO_TEXT),
    ("translate --run=x --input ''", NO_TEXT),
    ("evaluate --ctranslate2 '' --input=x", NO_TEXT),
    ("plot lengths --text ''", NO_TEXT),
    *(
        (f"serve models --{option}-seconds={value}", NO_TIME)
        for option in ("drain", "receive", "load")
        for value in ("inf", "nan", "1e300")
    ),
    *(
        (f"{HTTP} --timeout={value}", "greater than 0 and finite")
        for value in ("inf", "nan", "0")
    ),
    (f"{EMBEDDED} --max-request-bytes=3000000000", "and at most 2147483647"),
    (f"{GRPC} --model=\udcff", "a name that isn't UTF-8"),
    (f"{GRPC} --version={10**20}", "a version takes 0 to 2^63 - 1"),
    (f"{TRAIN} --set=model.d_model={HUGE}", "model.d_model|not a YAML value"),
    (f"{TRAIN} --epochs={HUGE * 200}", "training.epochs|not a YAML value"),
    (f"{TRAIN} --set=model.d_model=2020-99-99", "not a YAML value: '2020-9"),
    (f"{TRAIN} --set=model.d_model=0x{'f' * 6000}", "model.d_model"),
    (f"{TRAIN} --set=model.dropout=0x{'f' * 6000}", "model.dropout"),
    (f"{TRAIN} --set=model.{LONG}=1", "unknown key model.xxx"),
    (f"{TRAIN} --set={LONG}", "SECTION.KEY=VALUE"),
    (f"{TRAIN} --set=model.norm={LONG}", "pre, post|1,000,000 char"),
    (f"{TRAIN} --set=model.num_encoder_layers=100000000", "1,000 or less"),
    (f"{TRAIN} --set=model.d_model=1000000000", "65,536 or less"),
    (f"{TRAIN} --set=model.max_length=1000000000", "1,048,576 or less"),
    (f"{TRAIN} --set=training.threads=100000000", "1,024 or less"),
    (f"{TRAIN} --set=training.epochs=100000000000", "below 2^31"),
    (f"{TRAIN} --set=decoding.beam_size=100000000", "1,000 or less"),
]


@pytest.mark.parametrize(
    ("command", "says"), REFUSED, ids=[row[0][:80] for row in REFUSED]
)
def test_refused_in_one_line(
    command, says, data, run, corpus, export, refuses, tmp_path
):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    manifest = (run / "manifest.json").read_bytes()
    places = {"data": data, "run": run, "corpus": corpus, "tmp": tmp_path}
    places["export"] = export
    words = command.replace("''", "").split(" ")
    words = [word.format(**places) for word in words]
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


def test_translate_of_an_argument_that_is_no_text(run, refuses, write):
    for text, says in (
        (os.fsdecode(b"caf\xe9"), ["TEXT: not UTF-8", r"caf\udce9"]),
        (write("in.txt", "one"), ["is a file's name. Accepted: --input, or a"]),
    ):
        refuses("translate", "--run", run, text, says=says)


@pytest.mark.parametrize(
    "command", [["translate"], ["translate-shards", "--shards=2"]]
)
def test_translate_spares_all_that_it_reads(run, refuses, write, command):
    words = [*command, "--run", run]
    other = ["--input", write("in.txt", "one two\n")]
    for option in ("--input", "--prefix", "--shortlist"):
        read = write(f"{option}.txt", "one two\tthree\n")
        given = [] if option == "--input" else other
        output = ["--output", read.parent / "." / read.name]
        says = [read.name, "is read, too"]
        refuses(*words, *given, option, read, *output, says=says)
        assert read.read_text() == "one two\tthree\n"


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


@pytest.mark.parametrize("ending", ["bz2", "xz", "zst", "lzma", "zip", "Z"])
@pytest.mark.parametrize("command", ["translate --output", "evaluate --report"])
def test_an_output_of_a_compression_that_is_not_written(
    refuses, corpus, tmp_path, command, ending
):
    name, option = command.split()
    path = tmp_path / f"out.{ending}"
    words = [name, "--run", "no-run", "--input", corpus / "dev.tsv"]
    refuses(*words, option, path, says=[path, "Accepted: ", ".gz"])
