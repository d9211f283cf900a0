"""From a parallel corpus to a folder of ids: read, clean, split, encode.

The text is read once and cleaned into a work file; the tokenizers, which see
training text only, and the records are made from there.
"""

import dataclasses
import os
import shutil
from collections.abc import Iterable

from keras_transformer.config import DataConfig
from keras_transformer.data.clean_text import Progress
from keras_transformer.data.corpus import CorpusFile, CorpusSpec
from keras_transformer.data.encoding import encode_split, measure_ratios
from keras_transformer.data.prepared import (
    DEV_PAIRS,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    SOURCE_TOKENIZER,
    TARGET_TOKENIZER,
    PreparedData,
)
from keras_transformer.data.provenance import (
    describe_corpus,
    fingerprint,
)
from keras_transformer.data.splits import (
    clean_splits,
    parse_dev,
    require_pairs,
)
from keras_transformer.data.tokenizers import (
    build_tokenizers,
    existing_tokenizers,
    stage_of,
)
from keras_transformer.errors import InputError
from keras_transformer.files import check_free, new_folder, write_json
from keras_transformer.version import versions


def prepare(
    train: Iterable[CorpusSpec],
    out: str | os.PathLike,
    config: DataConfig,
    dev: CorpusSpec | float | None = None,
    progress: Progress | None = None,
    *,
    tokenizers: str | os.PathLike | None = None,
    held_out: Iterable[CorpusSpec] = (),
) -> PreparedData:
    """Turns a parallel corpus into a folder of prepared data.

    The folder appears when all is written, or not at all. Memory is that of
    the vocabularies and some 30 bytes a pair (170 with a fraction as `dev`);
    on disk, the cleaned text stands beside the records until they are done.

    Of a dev file, pairs that are empty or over-long are left out and counted,
    nothing else: what is measured shouldn't depend on how training data is
    cleaned. With a fraction, the dev pairs come from the cleaned corpus, and
    count as read in dev, not in training.

    Args:
        train: corpus files, see `CorpusFile.parse`.
        out: the goal, a folder that doesn't exist or is empty.
        config: languages, tokenizers, cleaning.
        dev: a corpus file; or the share of the pairs to hold out, above 0
            and below 1; or None.
        progress: called with (stage, done, total or None), in pairs.
        tokenizers: a run or prepared data whose tokenizers are used, and no
            new ones made; `config` must be one that they fit.
        held_out: further corpus files, such as test sets, whose pairs
            `config.remove_leaked` keeps out of training, as those of a dev
            file; nothing else is made of them.

    Returns:
        The prepared data. Its `report` has `cleaning` (counts for `train`
        and `dev`), `dev_overlap` (pairs of a dev file of which a side stands
        in training), `usual_ratios` (`UsualRatios` or None),
        `vocabulary_sizes` and `dev_unknown_share` (unknown tokens over
        tokens), by side.

    Raises:
        InputError: `out` is taken or can't be written, a corpus file or the
            tokenizers can't be used, no pair is left, or `held_out` is given
            and `config.remove_leaked` is "none". Nothing is left behind then.
    """
    files = [CorpusFile.parse(spec) for spec in train]
    held_out = [CorpusFile.parse(spec) for spec in held_out]
    dev = parse_dev(dev)
    if not files:
        raise InputError("no training file. Accepted: one or more")
    if held_out and config.remove_leaked == "none":
        raise InputError(
            "held-out files need data.remove_leaked. Accepted: pair, source "
            "or side. Received: none"
        )
    check_free(out)
    inputs = {
        "train": describe_corpus(files),
        "dev": describe_corpus([dev]) if isinstance(dev, CorpusFile) else dev,
    }
    existing = tokenizers and existing_tokenizers(tokenizers, config)
    prints = [tokenizer.fingerprint() for tokenizer in existing or ()]
    if existing:
        folder = str(tokenizers)
        inputs["tokenizers"] = {"folder": folder, "fingerprints": prints}
    if held_out:
        inputs["held_out"] = describe_corpus(held_out)
    progress = progress or (lambda stage, done, total: None)
    with new_folder(out) as folder:
        work = folder / "work"
        work.mkdir()
        texts, overlap = clean_splits(
            files, dev, work, config, progress, held_out
        )
        results = _encode(texts, folder, config, progress, existing)
        shutil.rmtree(work)
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "fingerprint": fingerprint(
                inputs["train"],
                inputs["dev"],
                config,
                prints,
                inputs.get("held_out"),
            ),
            "config": dataclasses.asdict(config),
            "counts": {name: text.report.kept for name, text in texts.items()},
            "report": {
                "cleaning": {
                    name: text.report.to_dict() for name, text in texts.items()
                },
                "dev_overlap": overlap,
                "usual_ratios": results.usual_ratios,
                "vocabulary_sizes": results.vocabulary_sizes,
                "dev_unknown_share": results.dev_unknown_share,
            },
            "versions": versions(),
            "input": inputs,
            "splits": results.splits,
        }
        write_json(folder / MANIFEST, manifest)
    return PreparedData.load(out)


@dataclasses.dataclass
class _Results:
    vocabulary_sizes: dict[str, int]
    splits: dict[str, dict]
    dev_unknown_share: dict[str, float] | None = None
    usual_ratios: dict[str, float] | None = None


def _encode(texts, folder, config, progress, tokenizers) -> _Results:
    """Builds (if None are given) and saves the tokenizers; writes records."""
    tokenizers = tokenizers or build_tokenizers(
        texts["train"], config, progress
    )
    names = (SOURCE_TOKENIZER, TARGET_TOKENIZER)
    for name, tokenizer in zip(names, tokenizers, strict=True):
        tokenizer.save(folder / name)
    source, target = (tokenizer.vocabulary_size for tokenizer in tokenizers)
    results = _Results({"source": source, "target": target}, splits={})
    usual = None
    if config.length_ratio_deviations:
        text = texts["train"]
        stage = stage_of(progress, "measuring train", text.pairs)
        usual = measure_ratios(text, tokenizers, config, stage)
        results.usual_ratios = usual and dataclasses.asdict(usual)
    for split, text in texts.items():
        is_dev = split == "dev"
        results.splits[split], tokens = encode_split(
            text,
            folder,
            split,
            tokenizers,
            config,
            stage_of(progress, f"writing {split}", text.pairs),
            check_ratio=not is_dev,
            usual=None if is_dev else usual,
            text_path=folder / DEV_PAIRS if is_dev else None,
        )
        require_pairs(text, split)
        if is_dev:
            results.dev_unknown_share = tokens.unknown_share()
    return results
