"""Runner of the peers, with the same data and the same shape of model.

    python scripts/benchmarks/peers setup
    python scripts/benchmarks/peers train --steps 120
    python scripts/benchmarks/peers decode
    python scripts/benchmarks/peers torch --batches FILE --model FILE

`torch` measures PyTorch's own Transformer on batches that are given, with the
Python that `--python` names, which has to have torch.

`setup` makes two environments, of OpenNMT-tf 2.32 and CTranslate2 4.8.5, with
the exact versions of `opennmt_tf.txt` and `ctranslate2.txt`; `train` measures
source and target tokens a second of OpenNMT-tf's training, `decode` output
tokens a second of CTranslate2's search: one sentence after another and
batches of 64, greedy and beam 4, float32 and int8, every sentence forced to 20
tokens. Both set up what is missing, and print one JSON object last.

The model is the notebook's: 6 + 6 layers, d_model 256, 8 heads, d_ff 1024,
pre-norm, dropout 0.1; English words, Chinese characters; batches of 128
sentences. The environments and the models lie in the folder that the variable
KT_PEERS names, else in ~/.cache/keras-transformer-peers. OpenNMT-tf needs
TensorFlow 2.13, whose newest Python is 3.11: `--python` names one.

Both peers are under the MIT licence. They are installed from the package
index, and nothing of them is part of this repository.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from scripts.benchmarks.corpus import MISSING, corpus_folder

HERE = pathlib.Path(__file__).resolve().parent
HOME = pathlib.Path(
    os.environ.get(
        "KT_PEERS", pathlib.Path.home() / ".cache" / "keras-transformer-peers"
    )
)
ONMT, CT2, WORK = HOME / "onmt", HOME / "ct2", HOME / "work"
REQUIREMENTS = {ONMT: "opennmt_tf.txt", CT2: "ctranslate2.txt"}
_MODEL = ("--model", HERE / "opennmt_model.py", "--config", "config.yml")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "torch":
        return _train_torch(options)
    data = corpus_folder(options.data)
    if options.command != "setup" and data is None:
        print(f"peers: {MISSING}", file=sys.stderr)
        return 2
    _make_environments(options.python)
    if options.command == "setup":
        result = {"ready": str(HOME)}
    else:
        _tokenize(data)
        result = _train(options) if options.command == "train" else None
        result = result or _decode(options)
    print(json.dumps(result))
    return 0


def _make_environments(python):
    """Makes the environments that aren't there, with the pinned versions."""
    WORK.mkdir(parents=True, exist_ok=True)
    for folder, requirements in REQUIREMENTS.items():
        ready = folder / "ready"
        if ready.exists():
            continue
        if folder == ONMT and _version(python) != "3.11":
            sys.exit(
                f"peers: OpenNMT-tf needs Python 3.11, and '{python}' is "
                f"{_version(python)}. Accepted: --python with one"
            )
        _run(python, "-m", "venv", "--clear", folder)
        pip = folder / "bin/python", "-m", "pip", "install", "--quiet"
        _run(*pip, "--requirement", HERE / requirements)
        ready.touch()


def _version(python):
    """`3.11` of a Python, or why it can't be run."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        return str(error)
    return done.stdout.strip()


def _tokenize(data):
    """Tokens and vocabularies of a corpus, unless the folder has them."""
    digest = hashlib.sha256()
    for name in ("train.tsv", "dev.tsv"):
        digest.update((data / name).read_bytes())
    note = WORK / "corpus.sha256"
    if note.exists() and note.read_text().strip() == digest.hexdigest():
        return
    note.unlink(missing_ok=True)
    # Models of other vocabularies.
    for folder in ("run", "ctranslate2_model"):
        shutil.rmtree(WORK / folder, ignore_errors=True)
    _run(ONMT / "bin/python", HERE / "tokenize_corpus.py", data.resolve())
    for side in ("en", "zh"):
        build = ONMT / "bin/onmt-build-vocab", "--save_vocab", f"{side}.vocab"
        _run(*build, f"train.{side}", log="vocab.log")
    note.write_text(f"{digest.hexdigest()}\n")


def _train(options) -> dict:
    """Tokens a second, the median of windows of 20 steps after the first."""
    steps = options.steps
    # JSON is YAML, but for numbers that YAML 1.1 takes for text.
    text = json.dumps(_config(steps)).replace("1e-09", "1.0e-9")
    (WORK / "config.yml").write_text(text)
    shutil.rmtree(WORK / "run", ignore_errors=True)
    _run(ONMT / "bin/onmt-main", *_MODEL, "train", log="train.log")
    told = (WORK / "train.log").read_text()
    rates = [float(rate) for rate in re.findall(r"tokens/s = (\d+)", told)]
    if not rates:
        sys.exit(f"peers: no rate after {steps} steps. Accepted: 20 or more")
    return {
        "peer": "OpenNMT-tf 2.32.0",
        "tokens_per_s_median": statistics.median(rates[1:] or rates),
        "windows": rates,
    }


def _config(steps):
    """OpenNMT-tf's configuration."""
    return {
        "model_dir": "run",
        "data": {
            "train_features_file": "train.en",
            "train_labels_file": "train.zh",
            "eval_features_file": "dev.en",
            "eval_labels_file": "dev.zh",
            "source_vocabulary": "en.vocab",
            "target_vocabulary": "zh.vocab",
        },
        "params": {
            "optimizer": "Adam",
            "optimizer_params": {
                "beta_1": 0.9,
                "beta_2": 0.98,
                "epsilon": 1e-9,
            },
            "learning_rate": 1.0,
            "label_smoothing": 0.1,
            "decay_type": "NoamDecay",
            "decay_params": {"model_dim": 256, "warmup_steps": 2000},
        },
        "train": {
            "batch_size": 128,
            "batch_type": "examples",
            "effective_batch_size": None,
            "length_bucket_width": 2,
            "max_step": steps,
            "save_summary_steps": 20,
            "save_checkpoints_steps": 10**6,
            "maximum_features_length": 100,
            "maximum_labels_length": 100,
            "sample_buffer_size": 100000,
        },
    }


def _train_torch(options) -> int:
    """Prints what PyTorch reaches; the exit status."""
    WORK.mkdir(parents=True, exist_ok=True)
    files = options.batches.resolve(), options.model.resolve()
    script = HERE / "torch_train.py"
    print(_run(options.python, script, *files, capture=True).strip())
    return 0


def _decode(options) -> dict:
    """CTranslate2's rates by cell, with a model of hardly trained weights."""
    if not (WORK / "ctranslate2_model").exists():
        if not list(WORK.glob("run/ckpt-*.index")):
            _train(argparse.Namespace(steps=20))
        export = "export", "--format", "ctranslate2"
        _run(
            *(ONMT / "bin/onmt-main", *_MODEL, *export),
            *("--output_dir", "ctranslate2_model"),
            log="export.log",
        )
    size = options.sentences, options.repeats
    said = _run(CT2 / "bin/python", HERE / "decode.py", *size, capture=True)
    return json.loads(said.splitlines()[-1])


def _run(*command, log=None, capture=False):
    """Runs a command in the working folder; ends everything if it fails.

    Args:
        *command: its words.
        log: the file in the working folder that its output goes to.
        capture: whether to return its standard output.
    """
    words = [str(word) for word in command]
    if log is None:
        done = subprocess.run(
            words, cwd=WORK, text=True, check=False, stdout=_stdout(capture)
        )
    else:
        with (WORK / log).open("w", encoding="utf-8") as file:
            done = subprocess.run(
                words, cwd=WORK, check=False, stdout=file, stderr=file
            )
    if done.returncode:
        where = f", see {WORK / log}" if log else ""
        sys.exit(f"failed ({done.returncode}): {' '.join(words)}{where}")
    return done.stdout


def _stdout(capture):
    """Standard output is for the result: pip's goes to standard error."""
    return subprocess.PIPE if capture else sys.stderr


def _parser():
    parser = argparse.ArgumentParser(
        prog="peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--python", default=sys.executable)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--data", type=pathlib.Path, help="folder of train.tsv and dev.tsv"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("setup", parents=[common])
    train = commands.add_parser("train", parents=[common])
    train.add_argument("--steps", type=int, default=120)
    torch = commands.add_parser("torch")
    torch.add_argument("--batches", type=pathlib.Path, required=True)
    torch.add_argument("--model", type=pathlib.Path, required=True)
    decode = commands.add_parser("decode", parents=[common])
    decode.add_argument("--sentences", type=int, default=640)
    decode.add_argument("--repeats", type=int, default=3)
    return parser


if __name__ == "__main__":
    sys.exit(main())
