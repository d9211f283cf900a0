#!/usr/bin/env python3
"""Trains variants of a recipe and tabulates what each change is worth.

    .venv/bin/python scripts/benchmarks/ablations --train train.tsv \\
        --dev dev.tsv --out runs/ablations --jobs 2

The base and its variants stand in `variants.yaml`, or the file of
`--variants`: `variants_quarter.yaml` is another.
Each is prepared, trained and evaluated by the command line in processes of
their own, and what came out is kept in OUT/NAME-SEED.json with the commands,
so that an interrupted call goes on where it was. What changes the evaluation
alone uses the base's run. With `--jobs` several run at a time, one thread
each. The last thing printed is a table in Markdown, sorted by BLEU: the means
of the seeds with intervals, and whether the difference to the base is real, by
the tests that `differences.py` says. `--quick` tries the whole path in
minutes: an epoch of the base on 2,000 pairs, searched in two ways, in
OUT/quick.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from scripts.benchmarks import command
from scripts.benchmarks.ablations import results
from scripts.benchmarks.corpus import MISSING, corpus_folder

HERE = pathlib.Path(__file__).resolve().parent
PARTS = "prepare", "train", "evaluate"
QUICK = {"only": ["base", "greedy"], "pairs": 2000, "epochs": 1, "seeds": [1]}


_ONE_THREAD = (
    " --set=training.threads=1"  # of commands side by side; no other recipe
)


class _Failed(Exception):
    """A command's exit status wasn't 0."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = command.parse(_parser(), arguments, QUICK)
    if problem := _choose_files(options):
        command.say(f"ablations: {problem}")
        return 2
    recipes = _recipes(options.variants, options.only, options.epochs)
    for name in {recipe["data"] for recipe in recipes.values()}:
        (options.out / "data").mkdir(parents=True, exist_ok=True)
        recipe = next(r for r in recipes.values() if r["data"] == name)
        _prepare(recipe, options)
    failed = 0
    # Runs first: others may evaluate them.
    for trains in (True, False):
        jobs = [
            (name, recipe, seed)
            for seed in options.seeds
            for name, recipe in recipes.items()
            if (recipe["run"] == name) == trains
        ]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            done = pool.map(lambda job: _try_to_measure(*job, options), jobs)
            failed += list(done).count(False)
    print(results.table(recipes, options.out, options.dev))
    if options.quick:
        command.say(f"quick: {command.QUICK_NOTE}")
    return 1 if failed else 0


def _choose_files(options):
    """Completes the paths of the options; what is missing, or None."""
    if options.quick:
        # Results of other sizes are kept by the same names.
        options.out = options.out / "quick"
    folder = corpus_folder()
    if folder is None and not (options.train and options.dev):
        return MISSING
    options.train = options.train or folder / "train.tsv"
    options.dev = options.dev or folder / "dev.tsv"
    if options.pairs:
        options.out.mkdir(parents=True, exist_ok=True)
        options.train = _head(options.train, options.pairs, options.out)
        options.dev = _head(options.dev, options.pairs // 10, options.out)
    return None


def _head(path, count, folder):
    """Lines of a TSV, spread evenly, in another folder."""
    lines = pathlib.Path(path).read_text("utf-8").splitlines(keepends=True)
    chosen = lines[:: max(1, len(lines) // count)][:count]
    shorter = folder / pathlib.Path(path).name
    shorter.write_text("".join(chosen), encoding="utf-8")
    return shorter


def _recipes(path, only, epochs=None):
    """Each variant whole: what it is, its settings, the name of its data."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    base = content["base"]
    named = {"base": {"what": "the base"}, **content["variants"]}
    unknown = set(only or ()) - set(named)
    if unknown:
        raise SystemExit(
            f"{path}: no variant {', '.join(sorted(unknown))}. Accepted: "
            f"{', '.join(named)}"
        )
    recipes = {}
    for name, variant in named.items():
        if only and name not in only:
            continue
        recipe = {
            part: {**base.get(part, {}), **variant.get(part, {})}
            for part in PARTS
        }
        if epochs is not None:
            recipe["train"]["training.epochs"] = epochs
        text = json.dumps(recipe["prepare"], sort_keys=True)
        recipe["data"] = hashlib.sha256(text.encode()).hexdigest()[:8]
        recipe["what"] = variant["what"]
        changed = {part: variant[part] for part in PARTS if part in variant}
        recipe["changes"] = {
            key: value
            for values in changed.values()
            for key, value in values.items()
        }
        recipe["run"] = "base" if set(changed) == {"evaluate"} else name
        recipes[name] = recipe
    return recipes


def _prepare(recipe, options):
    folder = options.out / "data" / recipe["data"]
    if not folder.exists():
        try:
            _run(_prepare_command(recipe, options), {}, None)
        except _Failed as error:
            raise SystemExit(str(error)) from None


def _prepare_command(recipe, options):
    return [
        *("prepare", "--train", options.train, "--dev", options.dev),
        *("--out", options.out / "data" / recipe["data"]),
        *_settings(recipe["prepare"]),
    ]


def _settings(values):
    return [
        f"--set={key}={'null' if value is None else value}"
        for key, value in values.items()
    ]


def _evaluate_options(recipe):
    """Options of `evaluate`, and keys of the configuration, which have dots."""
    return [
        f"--set={name}={value}" if "." in name else f"--{name}={value}"
        for name, value in recipe["evaluate"].items()
    ]


def _try_to_measure(name, recipe, seed, options):
    """False, and a message, if a command failed: the others go on."""
    try:
        _measure(name, recipe, seed, options)
    except _Failed as error:
        print(f"{name}, seed {seed}: {error}", file=sys.stderr, flush=True)
        return False
    return True


def _measure(name, recipe, seed, options):
    """Trains and evaluates, unless that was done before."""
    run = options.out / f"{recipe['run']}-{seed}"
    train = [
        *("train", "--data", options.out / "data" / recipe["data"]),
        *("--out", run, *_settings(recipe["train"])),
        f"--set=training.seed={seed}",
    ]
    evaluate = ["evaluate", "--run", run, "--input", options.dev, "--json"]
    evaluate += ["--output", results.translations(options.out, name, seed)]
    evaluate += _evaluate_options(recipe)
    commands = _prepare_command(recipe, options), train, evaluate
    commands = [_line(command) for command in commands]
    result = options.out / f"{name}-{seed}.json"
    if result.is_file():
        _require_same(result, commands)
        return
    threads = {}
    if options.jobs > 1:
        train.append(_ONE_THREAD.strip())
        names = "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"
        threads = dict.fromkeys(names, "1")
    log = run.with_name(f"{run.name}.log")
    started = time.monotonic()
    if recipe["run"] == name:
        resume = ["--resume"] if run.exists() else []
        _run([*train, *resume], threads, log)
    seconds = time.monotonic() - started
    scores = json.loads(_run(evaluate, threads, log).strip().splitlines()[-1])
    measured = {
        "name": name,
        "seed": seed,
        "seconds": seconds,
        "scores": scores,
        "commands": commands,
    }
    result.write_text(json.dumps(measured), encoding="utf-8")
    text = f"{name}, seed {seed}: {scores}, {seconds:.0f} s"
    print(text, file=sys.stderr, flush=True)


def _require_same(result, commands):
    """Refuses what was measured by other commands, as of fewer epochs."""
    kept = json.loads(result.read_text(encoding="utf-8"))["commands"]
    for old, new in zip(kept, commands, strict=True):
        if old.replace(_ONE_THREAD, "") != new:
            raise _Failed(
                f"{result} was measured by another command: choose another "
                f"--out, or remove it.\n  then: {old}\n  now:  {new}"
            )


def _run(command, environment, log):
    """The command line's output; its messages go to a file."""
    done = subprocess.run(
        [sys.executable, "-m", "keras_transformer", *map(str, command)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(done.stderr)
    if done.returncode:
        raise _Failed(f"{_line(command)}\n{done.stderr[-1000:]}")
    return done.stdout


def _line(command):
    return shlex.join(["keras-transformer", *map(str, command)])


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--train", help="TSV of sentence pairs; none: Tatoeba's at hand")
    add("--dev", help="TSV that is scored")
    add("--out", required=True, type=pathlib.Path)
    add("--variants", type=pathlib.Path, default=HERE / "variants.yaml")
    add("--only", nargs="+", metavar="NAME", help="base is one")
    add("--seeds", nargs="+", type=int, default=[1, 2, 3])
    add("--pairs", type=int, help="train on so many, score a tenth as many")
    add("--epochs", type=int, help="of every variant, whatever it says")
    add("--quick", action="store_true", help=command.QUICK_NOTE)
    add("--jobs", type=int, default=1, help="variants trained at a time")
    return parser


if __name__ == "__main__":
    sys.exit(main())
