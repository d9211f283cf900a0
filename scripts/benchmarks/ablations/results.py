"""The table of an experiment, from what was kept of each variant and seed."""

import json
import pathlib
import statistics
import types

from keras_transformer.api.runs import run_config
from keras_transformer.data.corpus import read_pairs
from keras_transformer.evaluation.scoring import text_columns
from keras_transformer.evaluation.significance import (
    RANDOMISATION,
    Resampling,
    compare,
    p_value_text,
)
from scripts.benchmarks import command
from scripts.benchmarks.ablations import differences

_COLUMNS = (
    *("variant", "what is changed", "how", "seeds", "BLEU", "chrF"),
    *("dev loss", "minutes", "p, seeds", "p, sentences", "differs"),
)
_BASE = "base"
_RESAMPLING = Resampling(resamples=0)
_UNKNOWN = "–"


def translations(folder: pathlib.Path, name: str, seed: int) -> pathlib.Path:
    """The file of a variant's translations of the dev set."""
    return folder / f"{name}-{seed}.txt"


def table(recipes: dict, folder: pathlib.Path, dev) -> str:
    """All seeds measured, in Markdown: means, intervals, p-values.

    Args:
        recipes: by name, the base among them or not.
        folder: of the results.
        dev: TSV that was scored.
    """
    measured = {name: _measured(folder, name) for name in recipes}
    measured = {name: seeds for name, seeds in measured.items() if seeds}
    by_seeds = {name: _difference(measured, recipes, name) for name in measured}
    by_seeds = differences.holm(by_seeds)
    rows = []
    for name, seeds in measured.items():
        recipe = recipes[name]
        bleu = [one["scores"]["bleu"] for one in seeds.values()]
        chrf = [one["scores"]["chrf"] for one in seeds.values()]
        loss = [one["scores"]["cross_entropy"] for one in seeds.values()]
        minutes = [one["seconds"] / 60 for one in seeds.values()]
        p_values = (
            by_seeds[name],
            _of_sentences(measured, recipes, folder, dev, name),
        )
        row = [
            *(name, recipe["what"], _changes(recipe), len(seeds)),
            *(_mean(bleu, ".1f"), _mean(chrf, ".1f"), _mean(loss, ".3f")),
            f"{statistics.mean(minutes):.0f}",
            *(_UNKNOWN if p is None else p_value_text(p) for p in p_values),
            "" if name == _BASE else _verdict(*p_values),
        ]
        rows.append((statistics.mean(bleu), row))
    rows.sort(key=lambda row: (-row[0], row[1][0]))
    return command.table(_COLUMNS, [row for _, row in rows])


def _measured(folder, name):
    """The results of a variant by seed."""
    every = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in folder.glob(f"{name}-*.json")
    ]
    mine = {one["seed"]: one for one in every if one["name"] == name}
    return dict(sorted(mine.items()))


def _difference(measured, recipes, name):
    """The p-value of a variant's BLEU and the base's, over seeds."""
    if name == _BASE or _BASE not in measured:
        return None
    ours, theirs = measured[name], measured[_BASE]
    # A search of the base's own runs differs seed by seed.
    paired = recipes[name]["run"] == _BASE
    if paired:
        seeds = ours.keys() & theirs.keys()
        ours, theirs = ({s: of[s] for s in seeds} for of in (ours, theirs))
    if not ours:
        return None
    scores = [
        [one["scores"]["bleu"] for one in of.values()] for of in (ours, theirs)
    ]
    return differences.difference_p_value(*scores, paired=paired)


def _of_sentences(measured, recipes, folder, dev, name):
    """The p-value of BLEU between the median seeds' translations.

    None: results of before translations were kept.
    """
    if name == _BASE or _BASE not in measured:
        return None
    seeds = [_median_seed(measured[which]) for which in (_BASE, name)]
    paths = [
        translations(folder, which, seed)
        for which, seed in zip((_BASE, name), seeds, strict=True)
    ]
    run = folder / f"{recipes[name]['run']}-{seeds[1]}"
    if not all(path.is_file() for path in (*paths, run / "config.yaml")):
        return None
    config = run_config(run)
    trained = types.SimpleNamespace(config=config)
    _, references = text_columns(trained, read_pairs([str(dev)]))
    systems = {str(path): _lines(path) for path in paths}
    language = config.data.target_language
    compared = compare(
        systems,
        references,
        language,
        tests=[RANDOMISATION],
        tokenize=recipes[name]["evaluate"].get("tokenize"),
        resampling=_RESAMPLING,
    )
    return compared.systems[1].bleu_p_values[RANDOMISATION]


def _median_seed(results):
    """The seed of the median BLEU; of an even number, the lower one."""
    ranked = sorted((one["scores"]["bleu"], s) for s, one in results.items())
    return ranked[(len(ranked) - 1) // 2][1]


def _lines(path):
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def _verdict(by_seeds, by_sentences):
    if by_seeds is None:
        return "one seed"
    if by_sentences is None:
        return _UNKNOWN
    return "yes" if max(by_seeds, by_sentences) < differences.LEVEL else "no"


def _mean(values, form):
    """The mean, and half of its interval over seeds."""
    mean, half = differences.mean_interval(values)
    return f"{mean:{form}}" + ("" if half is None else f" ± {half:{form}}")


def _changes(recipe):
    return " ".join(
        f"`{key}={'null' if value is None else value}`"
        for key, value in recipe["changes"].items()
    )
