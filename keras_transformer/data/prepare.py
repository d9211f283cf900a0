"""Preparation: converts a parallel corpus to a folder of ids.

The steps are those of `data.pipeline`; tokenizers are trained on training text
only.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from keras_transformer.config.data import DataConfig
from keras_transformer.config.presets import AUTO, resolved, settings_of
from keras_transformer.data.cleaning import ALIGNMENT, check_filters
from keras_transformer.data.corpus import CorpusFile, CorpusSpec
from keras_transformer.data.corpus_languages import (
    language_hint,
    share_script,
    with_languages,
)
from keras_transformer.data.corpus_tokenizers import (
    existing_tokenizers,
    save_tokenizers,
    tokenizer_settings,
)
from keras_transformer.data.engines import ENGINES, local_engine
from keras_transformer.data.mixing import WeightedCorpus, with_tags
from keras_transformer.data.pipeline import Pipeline, Progress
from keras_transformer.data.prepared import (
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    TOKENIZER_FINGERPRINTS,
    TOKENIZERS,
    PreparedData,
    describe_corpora,
    fingerprint,
    sealed,
)
from keras_transformer.documents.glossary import Glossary
from keras_transformer.errors import InputError
from keras_transformer.system.checksums import describe_file
from keras_transformer.system.files import write_json
from keras_transformer.system.remote import (
    RemotePath,
    any_path,
    check_target,
    new_target,
)
from keras_transformer.text.tokenizer import load_tokenizer
from keras_transformer.version import versions

# The share of unknown tokens in training text above which existing tokenizers
# cause a warning.
_MOST_UNKNOWN = 0.05
# If one of these is set, the choice of vocabularies is the user's.
_OF_VOCABULARIES = (
    "shared_vocabulary",
    "source_tokenizer",
    "target_tokenizer",
    "source_vocabulary_size",
    "target_vocabulary_size",
)


def prepare(
    train: WeightedCorpus | CorpusSpec | Iterable[WeightedCorpus | CorpusSpec],
    out: str | os.PathLike,
    config: DataConfig | Mapping | str | os.PathLike | None = None,
    dev: WeightedCorpus | CorpusSpec | float | None = None,
    progress: Progress | None = None,
    *,
    preset: str | None = None,
    tokenizers: str | os.PathLike | None = None,
    add_tokens: Sequence[str] = (),
    held_out: CorpusSpec | Iterable[CorpusSpec] = (),
    workers: int | None = None,
    load: Callable[[], None] | None = None,
    engine: str = "local",
    master: str | None = None,
    terms: str | os.PathLike | None = None,
    **data: Any,
) -> PreparedData:
    """Turns a parallel corpus into a folder of prepared data.

    The folder appears only when it is complete. Memory doesn't grow with the
    corpus: some 500 MiB for each worker, 512 MiB for the database that selects
    and sorts, SentencePiece's memory for up to two million sentences, and 1 GiB
    while the filter `alignment` learns. On disk, the cleaned text is kept
    beside the records until they are complete; while it is sorted, it takes
    four times its size.

    Pairs are in a random order that depends only on their text and the seed,
    not on their order in the corpus or the number of workers.

    From a dev file, only empty and over-long pairs are dropped, and counted:
    scores shouldn't depend on how training data is cleaned. With a fraction,
    the dev pairs come from the cleaned corpus, and count as read in dev, not in
    training; see `selection.dev_steps`.

    Args:
        train: one or more corpora, optionally with a weight and a tag; see
            `WeightedCorpus.parse`. Two files, one for each side, must be in a
            list: `[("train.en", "train.zh")]`.
        out: the target path, a folder that doesn't exist or is empty; or an
            address, see `remote`.
        config: changes to the preset, as `{"data": {key: value}}` or a YAML
            file of the same; or a `DataConfig` in place of a preset.
        dev: a corpus file; or the fraction of the pairs to hold out, above 0
            and below 1; or None.
        progress: called with (stage, done, total or None), in pairs.
        preset: name of the preset whose data section is used; None or "auto":
            SentencePiece, with one vocabulary if both languages share a script.
        tokenizers: a run or prepared data whose tokenizers are used instead of
            new ones; their settings must match the configuration.
        add_tokens: tokens that are added to `tokenizers` if missing; a run that
            starts from theirs learns them. `▁` is a space.
        held_out: further corpus files, such as test sets, whose pairs
            `data.remove_leaked` keeps out of training, like those of a dev
            file. They have no other effect.
        workers: number of processes, 1: only this one; None: one per core if
            the corpus is large enough. Only for the engine "local".
        load: called in each worker before TensorFlow is used; must be picklable
            by name.
        engine: "local", this machine, or "spark", Apache Spark, which makes the
            same data from corpora that are larger than a machine.
        master: the address of Spark's cluster; None: as in Spark's own
            configuration, else all cores of this machine.
        terms: glossary (see `Glossary.read`) whose terms are annotated in
            sources in addition to phrases of the corpus, see `data.term_share`.
        **data: values of the data section, such as `source_language="de"`.
            The languages must be given unless they follow from a preset,
            `tokenizers` or file names: `train.de-en.tsv`, or `train.de` and
            `train.en`.

    Returns:
        The prepared data; for an address only what is in the manifest. Its
        `report` has `cleaning` (counts for `train` and `dev`), `samples` (pairs
        that were dropped from training, by reason), `alignment_limit` (of
        scores, see `data.alignment`), `corpora` (see `Mixture.describe`),
        `markup` and `terms` (see `Pipeline.put_symbols`),
        `dev_overlap` (pairs of a dev file of which a side is in training),
        `vocabulary_sizes`, `train_unknown_share` and `dev_unknown_share`
        (unknown tokens, and bytes of characters without a token, over tokens),
        by side. A `UserWarning` names columns in scripts of other languages,
        and `tokenizers` with too many unknown tokens.

    Raises:
        InputError: a value isn't accepted, a language isn't known, `out` is
            taken or can't be written, a corpus file or the tokenizers can't
            be used, no pair is left, or `held_out` is given and
            `data.remove_leaked` is "none"; or a worker was killed. Nothing is
            left behind then.

    Example:
        >>> data = prepare(
        ...     "train.tsv",
        ...     "data/en-de",
        ...     dev=0.02,
        ...     source_language="en",
        ...     target_language="de",
        ... )
        >>> data.counts
        {'train': 26679, 'dev': 534}
    """
    if isinstance(add_tokens, str):
        add_tokens = [add_tokens]
    tokenizers = getattr(tokenizers, "folder", tokenizers)
    if add_tokens and tokenizers is None:
        raise InputError(
            "add_tokens requires tokenizers, of the run that learns the "
            f"tokens. Received: {len(add_tokens)} tokens and no tokenizers"
        )
    dev_file, fraction = _parse_dev(dev)
    inputs = _Inputs(
        as_corpora(train), dev_file, fraction, as_corpora(held_out)
    )
    config = _section(config, preset, data, inputs.train, tokenizers)
    config = with_tags(config, inputs.tagged)
    inputs.check(config)
    inputs = inputs.in_languages(config.source_language, config.target_language)
    out = any_path(out)
    check_target(out)
    described = inputs.describe()
    for corpus in [*inputs.tagged, *inputs.held_out]:
        if hint := language_hint(corpus.file, config):
            warnings.warn(hint, stacklevel=2)
    glossary = None
    if terms is not None:
        if not config.term_share:
            raise InputError(
                f"{terms}: terms need data.term_share, the share of pairs in "
                "which they are annotated. Accepted: such as 0.2. Received: 0"
            )
        glossary = Glossary.read(terms)
        described["terms"] = describe_file(pathlib.Path(terms))
    existing = tokenizers and existing_tokenizers(
        tokenizers, config, add_tokens
    )
    prints = [tokenizer.fingerprint() for tokenizer in existing or ()]
    if existing:
        name = str(tokenizers)
        described["tokenizers"] = {"folder": name, "fingerprints": prints}
    progress = progress or (lambda stage, done, total: None)
    with new_target(out) as folder:
        (folder / "work").mkdir()
        with _open_engine(
            engine, folder, out, config, inputs, workers, load, master
        ) as opened:
            pipeline = Pipeline(opened, folder, config, progress)
            parts = _run(pipeline, inputs, existing, folder, glossary)
        shutil.rmtree(folder / "work")
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "fingerprint": fingerprint(described, config, prints),
            "config": dataclasses.asdict(config),
            **parts,
            "versions": versions(),
            "input": described,
        }
        manifest[TOKENIZER_FINGERPRINTS] = {
            name: load_tokenizer(folder / name).fingerprint()
            for name in TOKENIZERS
        }
        # As it will be read: with lists instead of tuples.
        manifest = sealed(json.loads(json.dumps(manifest)))
        write_json(folder / MANIFEST, manifest)
    limit = manifest["report"]["alignment_limit"]
    if ALIGNMENT in config.filters and limit is None:
        warnings.warn(
            "the filter alignment drops nothing: there are too few pairs, or "
            "too many whose sides don't translate each other, to set a limit",
            stacklevel=2,
        )
    for side, share in manifest["report"]["train_unknown_share"].items():
        if existing and share > _MOST_UNKNOWN:
            warnings.warn(
                f"{share:.0%} of the {side} tokens of training are unknown to "
                f"the tokenizers of {tokenizers}: lost, or spelled in bytes. "
                "Try a run that was trained on such text",
                stacklevel=2,
            )
    if isinstance(out, RemotePath):
        return PreparedData(out, manifest, config)
    return PreparedData.load(out)


def _section(config, preset, data, train, tokenizers) -> DataConfig:
    """The data section for the arguments of `prepare`."""
    if not isinstance(config, DataConfig):
        changes = [*settings_of(config), ({"data": data}, "prepare")]
        return data_config(train, preset, changes, tokenizers)
    if preset is not None:
        raise InputError(
            f"prepare takes a preset or a DataConfig. Received: {preset!r} "
            "and a DataConfig. Accepted beside a preset: values such as "
            'source_language="de"'
        )
    return with_languages(dataclasses.replace(config, **data), train)


def data_config(
    train: Sequence[WeightedCorpus],
    preset: str | None,
    changes: Sequence[tuple[dict, str]],
    tokenizers: str | os.PathLike | None = None,
) -> DataConfig:
    """The data section of a corpus, with its languages.

    Args:
        train: the training corpora.
        preset: the preset's name; None or "auto": see `prepare`.
        changes: pairs of `{"data": {key: value}}` and its origin.
        tokenizers: a run or prepared data whose tokenizers will be used.

    Raises:
        InputError: a value isn't accepted, or a language isn't known.
    """
    name = None if preset == AUTO else preset
    taken_over = None
    if tokenizers is not None:
        taken_over = {"data": tokenizer_settings(tokenizers)}
    section = resolved(name, changes, taken_over=taken_over).data
    section = with_languages(section, train)
    given = {key for change, _ in changes for key in change.get("data", {})}
    if name or tokenizers is not None or not given.isdisjoint(_OF_VOCABULARIES):
        return section
    return dataclasses.replace(section, shared_vocabulary=share_script(section))


def as_corpora(
    specs: WeightedCorpus | CorpusSpec | Iterable[WeightedCorpus | CorpusSpec],
) -> list[WeightedCorpus]:
    """Parses one or several specifications of corpora."""
    if isinstance(specs, str | os.PathLike | CorpusFile | WeightedCorpus):
        specs = [specs]
    return [WeightedCorpus.parse(spec) for spec in specs]


def _parse_dev(dev):
    """Returns a corpus or None, and a fraction or None, from `dev`."""
    if dev is None:
        return None, None
    try:
        fraction = float(dev)
    except (TypeError, ValueError):
        corpus = WeightedCorpus.parse(dev)
        if corpus.weight != 1:
            raise InputError(
                f"{corpus}: a weight. Accepted: a dev file without; weights "
                "are for training"
            ) from None
        return corpus, None
    if not 0 < fraction < 1:
        accepted = "above 0 and below 1, or a file"
        if fraction > 1 and fraction.is_integer():
            share = f"{fraction / 1e6:.2g}"
            accepted += f"; for {dev} pairs of a million, {share}"
        raise InputError(f"dev fraction {dev}. Accepted: {accepted}")
    return None, fraction


@dataclasses.dataclass(frozen=True)
class _Inputs:
    """The files from which data is prepared; dev may be a fraction instead."""

    train: list[WeightedCorpus]
    dev_file: WeightedCorpus | None
    dev_fraction: float | None
    held_out: list[WeightedCorpus]

    def check(self, config):
        check_filters(config)
        if not self.train:
            raise InputError("no training file. Accepted: one or more")
        sizes = config.source_vocabulary_size, config.target_vocabulary_size
        apart = None not in sizes and sizes[0] != sizes[1]
        if config.shared_vocabulary and apart:
            raise InputError(
                "data.shared_vocabulary makes one vocabulary. Received: "
                f"data.source_vocabulary_size {sizes[0]} and "
                f"data.target_vocabulary_size {sizes[1]}. Accepted: the "
                "same, or one of them"
            )
        if self.held_out and config.remove_leaked == "none":
            raise InputError(
                "held-out files need data.remove_leaked. Accepted: pair, "
                "source or side. Received: none"
            )

    def in_languages(self, *languages: str) -> "_Inputs":
        def named(corpora):
            return [corpus.in_languages(*languages) for corpus in corpora]

        dev = self.dev_file and self.dev_file.in_languages(*languages)
        return dataclasses.replace(
            self,
            train=named(self.train),
            dev_file=dev,
            held_out=named(self.held_out),
        )

    def describe(self) -> dict:
        described = {
            "train": describe_corpora(self.train),
            "dev": self.dev_fraction,
        }
        if self.dev_file:
            described["dev"] = describe_corpora([self.dev_file])
        if self.held_out:
            described["held_out"] = describe_corpora(self.held_out)
        return described

    @property
    def tagged(self) -> list[WeightedCorpus]:
        """The corpora whose tags are tokens."""
        return self.train + ([self.dev_file] if self.dev_file else [])


def _open_engine(name, folder, out, config, inputs, workers, load, master):
    """Opens the engine with a name, as a context manager."""
    if name not in ENGINES:
        raise InputError(
            f"unknown engine {name!r}. Accepted: {', '.join(ENGINES)}"
        )
    if name == "local":
        return local_engine(folder, config, inputs.train, workers, load)
    from keras_transformer.data.spark.engine import spark_engine

    return spark_engine(folder, out, config, master, load)


def _run(pipeline, inputs, tokenizers, folder, glossary):
    """Runs all steps; tokenizers are trained only if they are None.

    Returns:
        `counts`, `report` and `splits` of the manifest.
    """
    pipeline.hold_out(inputs.held_out, inputs.dev_file)
    pipeline.read(inputs.train)
    overlap = pipeline.select(inputs.dev_fraction)
    pipeline.sort()
    symbols = pipeline.put_symbols(glossary)
    tokenizers = tokenizers or pipeline.build_tokenizers()
    save_tokenizers(tokenizers, folder)
    source, target = (tokenizer.vocabulary_size for tokenizer in tokenizers)
    limit = pipeline.learn_alignment(tokenizers)
    splits, unknown = pipeline.encode()
    reports = pipeline.reports.items()
    return {
        "counts": {split: report.kept for split, report in reports},
        "report": {
            "cleaning": {split: report.to_dict() for split, report in reports},
            "samples": pipeline.reports["train"].shown_samples(),
            "alignment_limit": limit,
            "corpora": pipeline.mixture.describe(),
            **symbols,
            "dev_overlap": overlap,
            "vocabulary_sizes": {"source": source, "target": target},
            "train_unknown_share": unknown["train"],
            "dev_unknown_share": unknown.get("dev"),
        },
        "splits": splits,
    }
